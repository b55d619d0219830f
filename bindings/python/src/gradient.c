/* SPDX-License-Identifier: Apache-2.0 */
/* Models of gradients, and the two passes of their sessions. */
#include "errors.h"
#include "names.h"
#include "session.h"
#include "settings.h"

/* None keeps what is bound. */
static bool lend(session_object *self, int first, PyObject *const *arguments, Py_ssize_t count,
                 py_lent *inputs)
{
    for (Py_ssize_t i = 0; i < count; i++) {
        session_input *input = &self->in[first + i];
        if (arguments[i] == Py_None && input->bound.dtype == RYND_DTYPE_NONE) {
            return py_fail_type("%s is None, and no run before had an array for it",
                                self->plan->model->input_labels[first + i]) != NULL;
        }
        if (arguments[i] != Py_None &&
            !py_lend(arguments[i], self->plan->model->input_labels[first + i], false,
                     &inputs[first + i])) {
            return false;
        }
    }
    return true;
}

static PyObject *run(session_object *self, const py_session_part *part, PyObject *const *arguments,
                     Py_ssize_t count)
{
    const int wanted = part->end_input - part->first_input;
    if (part->end_output == part->first_output) {
        return py_fail_value("the session has no gradients: make it of a plan of model.gradient()");
    }
    if (count != wanted) {
        return py_fail_type("%zd arrays are given, and the pass has %d inputs", count, wanted);
    }
    py_lent *inputs = PyMem_Calloc((size_t)self->inputs + 1, sizeof *inputs);
    if (!inputs) {
        return PyErr_NoMemory();
    }
    PyObject *result = lend(self, part->first_input, arguments, count, inputs)
                           ? py_session_run_part(self, part, inputs)
                           : NULL;
    py_give_inputs_back(self->plan->model, inputs);
    PyMem_Free(inputs);
    return result;
}

PyObject *py_session_forward(PyObject *object, PyObject *const *arguments, Py_ssize_t count)
{
    session_object *self = (session_object *)object;
    const py_session_part part = {0, (int)rynd_plan_forward_inputs(self->plan->plan), 0,
                                  (int)rynd_plan_forward_outputs(self->plan->plan),
                                  rynd_session_run_forward};
    return run(self, &part, arguments, count);
}

PyObject *py_session_backward(PyObject *object, PyObject *const *arguments, Py_ssize_t count)
{
    session_object *self = (session_object *)object;
    const int outputs = (int)rynd_plan_forward_outputs(self->plan->plan);
    const py_session_part part = {(int)rynd_plan_forward_inputs(self->plan->plan), self->inputs,
                                  outputs, outputs ? self->outputs : 0, rynd_session_run_backward};
    return run(self, &part, arguments, count);
}

PyObject *py_session_rereads(PyObject *object, void *unused)
{
    (void)unused;
    const session_object *self = (session_object *)object;
    PyObject *list = PyList_New(0);
    for (int i = 0; list && i < self->inputs; i++) {
        if (!rynd_plan_rereads_input(self->plan->plan, (size_t)i)) {
            continue;
        }
        PyObject *index = PyLong_FromLong(i);
        if (!index || PyList_Append(list, index) != 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(index);
    }
    return list;
}

PyObject *py_model_gradient(PyObject *object, PyObject *args)
{
    model_object *self = (model_object *)object;
    PyObject *inputs, *outputs, *dims;
    long long batch;
    rynd_gradient_options options = RYND_SIZED(rynd_gradient_options);
    rynd_dim *taken = NULL;
    rynd_model *gradient = NULL;
    if (!PyArg_ParseTuple(args, "O!OLO!:gradient", &PyList_Type, &inputs, &outputs, &batch,
                          &PyList_Type, &dims)) {
        return NULL;
    }
    const bool all = outputs == Py_None;
    const char **in = py_texts_of(inputs), **out = in && !all ? py_texts_of(outputs) : NULL;
    if (in && (out || all) && py_dims_take(dims, &taken, &options.dim_count)) {
        options.inputs = in;
        options.input_count = (size_t)PyList_Size(inputs);
        options.outputs = out;
        options.output_count = out ? (size_t)PyList_Size(outputs) : 0;
        options.dims = taken;
        options.batch = batch;
        rynd_status status;
        Py_BEGIN_ALLOW_THREADS
        status = rynd_model_create_gradient(self->model, &options, &gradient);
        Py_END_ALLOW_THREADS
        if (status != RYND_OK) {
            py_raise(status);
        }
    }
    PyMem_Free((void *)in);
    PyMem_Free((void *)out);
    PyMem_Free(taken);
    return gradient ? py_model_of_part(object, self->context, gradient, false) : NULL;
}
