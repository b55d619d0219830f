/* SPDX-License-Identifier: Apache-2.0 */
#include "session.h"

#include "array.h"
#include "errors.h"

#include <string.h>

static rynd_status describe_inputs(session_object *self)
{
    for (int i = 0; i < self->inputs; i++) {
        rynd_value_info info = RYND_SIZED(rynd_value_info);
        rynd_status status = rynd_model_get_input(self->plan->model->model, (size_t)i, &info);
        if (status == RYND_OK) {
            status = rynd_plan_get_input(self->plan->plan, (size_t)i, &self->in[i].planned);
        }
        if (status != RYND_OK) {
            return status;
        }
    }
    return RYND_OK;
}

static rynd_status describe_outputs(session_object *self)
{
    for (int i = 0; i < self->outputs; i++) {
        rynd_value_info info = RYND_SIZED(rynd_value_info);
        session_output *output = &self->out[i];
        const rynd_status status =
            rynd_model_get_output(self->plan->model->model, (size_t)i, &info);
        if (status != RYND_OK) {
            return status;
        }
        output->later =
            rynd_plan_get_output(self->plan->plan, (size_t)i, &output->planned) != RYND_OK;
        if (!output->later) {
            output->pool = py_pool_create((size_t)rynd_tensor_elements(&output->planned) *
                                          rynd_dtype_size(output->planned.dtype));
            if (!output->pool) {
                return RYND_ERROR_OUT_OF_MEMORY;
            }
        }
    }
    return RYND_OK;
}

static rynd_status start(session_object *self)
{
    const rynd_model *model = self->plan->model->model;
    self->inputs = (int)rynd_model_input_count(model);
    self->outputs = (int)rynd_model_output_count(model);
    self->in = PyMem_Calloc((size_t)self->inputs + 1, sizeof *self->in);
    self->out = PyMem_Calloc((size_t)self->outputs + 1, sizeof *self->out);
    if (!self->in || !self->out) {
        PyErr_NoMemory();
        return RYND_ERROR_OUT_OF_MEMORY;
    }
    rynd_status status;
    Py_BEGIN_ALLOW_THREADS
    status = rynd_session_create(self->plan->plan, &self->session);
    Py_END_ALLOW_THREADS
    if (status == RYND_OK) {
        status = describe_inputs(self);
    }
    return status == RYND_OK ? describe_outputs(self) : status;
}

static PyObject *session_new(PyTypeObject *type, PyObject *args, PyObject *named)
{
    PyObject *plan;
    if (named || !PyArg_ParseTuple(args, "O!:Session", py_plan_type, &plan)) {
        return NULL;
    }
    session_object *self = (session_object *)PyType_GenericAlloc(type, 0);
    if (!self) {
        return NULL;
    }
    self->plan = (plan_object *)PY_TAKE(plan);
    const rynd_status status = start(self);
    if (status != RYND_OK) {
        py_raise(status);
        Py_DECREF((PyObject *)self);
        return NULL;
    }
    return (PyObject *)self;
}

static void session_free(PyObject *self)
{
    session_object *session = (session_object *)self;
    (void)py_session_settle(session);
    rynd_session_destroy(session->session);
    for (int i = 0; session->out && i < session->outputs; i++) {
        py_pool_drop(session->out[i].pool);
    }
    PyMem_Free(session->in);
    PyMem_Free(session->out);
    Py_XDECREF((PyObject *)session->plan);
    py_free(self);
}

/* --- a run --- */

static PyObject *session_run(PyObject *object, PyObject *const *arguments, Py_ssize_t count,
                             PyObject *names)
{
    session_object *self = (session_object *)object;
    py_lent few[FEW_INPUTS];
    py_lent *inputs =
        self->inputs <= FEW_INPUTS ? few : PyMem_Calloc((size_t)self->inputs, sizeof(py_lent));
    if (!inputs) {
        return PyErr_NoMemory();
    }
    PyObject *result = NULL;
    if (py_lend_inputs(self->plan->model, arguments, count, names, arguments + count, inputs)) {
        result = py_session_run(self, inputs);
        py_give_inputs_back(self->plan->model, inputs);
    }
    if (inputs != few) {
        PyMem_Free(inputs);
    }
    return result;
}

/* --- what else a session tells --- */

static PyObject *session_memory(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromSize_t(rynd_session_memory(((session_object *)self)->session));
}

static PyObject *session_copied(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromSize_t(rynd_session_copied(((session_object *)self)->session));
}

/* Turns something of a session on or off, unless it runs. */
static PyObject *turn_session(PyObject *object, PyObject *on,
                              rynd_status (*turn)(rynd_session *session, int on))
{
    session_object *self = (session_object *)object;
    const int wanted = PyObject_IsTrue(on);
    if (wanted < 0) {
        return NULL;
    }
    if (self->running) {
        return py_fail_busy("this session runs in another thread");
    }
    const rynd_status status = turn(self->session, wanted);
    return status == RYND_OK ? PY_TAKE(Py_None) : py_raise(status);
}

static PyObject *session_profile(PyObject *object, PyObject *on)
{
    return turn_session(object, on, rynd_session_profile);
}

static PyObject *session_trace(PyObject *object, PyObject *on)
{
    return turn_session(object, on, rynd_session_trace);
}

static PyObject *session_step_seconds(PyObject *object, PyObject *unused)
{
    (void)unused;
    session_object *self = (session_object *)object;
    const size_t steps = rynd_plan_step_count(self->plan->plan);
    PyObject *list = PyList_New(0);
    for (size_t s = 0; list && s < steps; s++) {
        PyObject *seconds = PyFloat_FromDouble(rynd_session_step_time(self->session, s));
        if (!seconds || PyList_Append(list, seconds) != 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(seconds);
    }
    return list;
}

static PyMethodDef session_methods[] = {
    {"run", (PyCFunction)(void (*)(void))session_run, METH_FASTCALL | METH_KEYWORDS,
     "run(*arrays, **arrays)\n--\n\n"
     "Runs the plan on one array for each input, by position or by name, and returns an Array, or "
     "a tuple of them where the model has several outputs. Inputs are read where they are; results "
     "own their memory. One thread at a time: BusyError otherwise."},
    {"run_forward", (PyCFunction)(void (*)(void))py_session_forward, METH_FASTCALL,
     "run_forward(*arrays)\n--\n\n"
     "The forward pass of a Gradient's session: one array for each input of the model, in order; "
     "None: the array of the run before, which is still alive. Returns what the model does."},
    {"run_backward", (PyCFunction)(void (*)(void))py_session_backward, METH_FASTCALL,
     "run_backward(*gradients)\n--\n\n"
     "The backward pass after run_forward: one array for each output whose gradient is given. "
     "Returns the gradients of inputs. The inputs of the forward pass that `rereads` names must "
     "have kept their content."},
    {"_run_in_stream", py_session_run_in_stream, METH_VARARGS,
     "(inputs, outputs, stream, wait, record)"},
    {"_descriptions", py_session_descriptions, METH_NOARGS,
     "Of inputs, and of outputs (None: the shape depends on data)."},
    {"wait", py_session_wait, METH_NOARGS,
     "wait()\n--\n\n"
     "Waits for the last run_in_stream; then all outputs are written. Raises ShapeError (an "
     "illegal content of an input), DeviceError."},
    {"_profile", session_profile, METH_O, "Records step times in the runs that follow."},
    {"_trace", session_trace, METH_O, "Records spans in the runs that follow."},
    {"_spans", py_session_spans, METH_NOARGS, "(step, thread, begin, end, tasks) of the last run."},
    {"_step_seconds", session_step_seconds, METH_NOARGS, "Of the last run, one a step."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef session_attributes[] = {
    {"rereads", py_session_rereads, NULL,
     "Indices of the inputs that run_backward reads again, as a list; empty for other sessions.",
     NULL},
    {"memory", session_memory, NULL, "Bytes that the session holds.", NULL},
    {"copied", session_copied, NULL,
     "Bytes of inputs and outputs that the last run copied on the host: 0 where the plan was made "
     "for their strides.",
     NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot session_slots[] = {{Py_tp_doc, "The running state of a plan."},
                                      {Py_tp_new, session_new},
                                      {Py_tp_dealloc, session_free},
                                      {Py_tp_methods, session_methods},
                                      {Py_tp_getset, session_attributes},
                                      {0, NULL}};

PyType_Spec py_session_spec = {"rynd._rynd.Session", sizeof(session_object), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, session_slots};
