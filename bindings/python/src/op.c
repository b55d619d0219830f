/* SPDX-License-Identifier: Apache-2.0 */
/* Op: a problem on arrays with planned strides. */
#include "op.h"
#include "array.h"
#include "describe.h"
#include "errors.h"
#include "lend.h"
#include "settings.h"

#include <stdio.h>
#include <string.h>

/* layouts: a list of (dtype, shape, strides), or None where the text's layout holds. */
static bool take_layouts(PyObject *layouts, rynd_tensor **taken)
{
    const Py_ssize_t count = PyList_Size(layouts);
    *taken = PyMem_Calloc((size_t)count + 1, sizeof **taken);
    for (Py_ssize_t i = 0; *taken && i < count; i++) {
        PyObject *layout = PyList_GetItem(layouts, i);
        if (layout != Py_None && !py_take_description(layout, &(*taken)[i])) {
            return false;
        }
    }
    return *taken || PyErr_NoMemory();
}

static rynd_status describe(op_object *self)
{
    self->inputs = (int)rynd_op_input_count(self->op);
    self->outputs = (int)rynd_op_output_count(self->op);
    self->in = PyMem_Calloc((size_t)self->inputs + 1, sizeof *self->in);
    self->out = PyMem_Calloc((size_t)self->outputs + 1, sizeof *self->out);
    self->pools = PyMem_Calloc((size_t)self->outputs + 1, sizeof *self->pools);
    if (!self->in || !self->out || !self->pools) {
        return RYND_ERROR_OUT_OF_MEMORY;
    }
    rynd_status status = RYND_OK;
    for (int i = 0; status == RYND_OK && i < self->inputs; i++) {
        status = rynd_op_get_input(self->op, (size_t)i, &self->in[i]);
    }
    for (int i = 0; status == RYND_OK && i < self->outputs; i++) {
        status = rynd_op_get_output(self->op, (size_t)i, &self->out[i]);
        self->pools[i] = py_pool_create((size_t)rynd_tensor_elements(&self->out[i]) *
                                        rynd_dtype_size(self->out[i].dtype));
        status = self->pools[i] ? status : RYND_ERROR_OUT_OF_MEMORY;
    }
    return status;
}

static PyObject *op_new(PyTypeObject *type, PyObject *args, PyObject *named)
{
    PyObject *context, *layouts, *choices;
    const char *problem;
    int accuracy, cached;
    if (named ||
        !PyArg_ParseTuple(args, "O!siO!O!p:Op", py_context_type, &context, &problem, &accuracy,
                          &PyList_Type, &layouts, &PyList_Type, &choices, &cached)) {
        return NULL;
    }
    op_object *self = (op_object *)PyType_GenericAlloc(type, 0);
    if (!self) {
        return NULL;
    }
    self->context = (context_object *)PY_TAKE(context);
    rynd_tensor *taken = NULL;
    py_settings settings = {NULL, 0};
    rynd_status status = RYND_ERROR_ARGUMENT;
    if (take_layouts(layouts, &taken) && py_settings_take(choices, &settings)) {
        const rynd_op_options options =
            RYND_SIZED(rynd_op_options, .accuracy = (rynd_accuracy)accuracy,
                       .inputs = PyList_Size(layouts) ? taken : NULL, .settings = settings.all,
                       .setting_count = settings.count);
        Py_BEGIN_ALLOW_THREADS
        status = (cached ? rynd_op_create_cached : rynd_op_create)(self->context->context, problem,
                                                                   &options, &self->op);
        Py_END_ALLOW_THREADS
    }
    PyMem_Free(taken);
    py_settings_free(&settings);
    if (status == RYND_OK) {
        status = describe(self);
    }
    if (status != RYND_OK) {
        py_raise(status);
        Py_DECREF((PyObject *)self);
        return NULL;
    }
    return (PyObject *)self;
}

static void op_free(PyObject *self)
{
    op_object *op = (op_object *)self;
    rynd_op_destroy(op->op);
    for (int i = 0; op->pools && i < op->outputs; i++) {
        py_pool_drop(op->pools[i]);
    }
    PyMem_Free(op->in);
    PyMem_Free(op->out);
    PyMem_Free(op->pools);
    Py_XDECREF((PyObject *)op->context);
    py_free(self);
}

static bool check(const rynd_tensor *wanted, const rynd_tensor *given, int index)
{
    bool same = wanted->dtype == given->dtype && wanted->rank == given->rank;
    bool order = true;
    for (int i = 0; same && i < wanted->rank; i++) {
        same = wanted->dim[i] == given->dim[i];
        order = order && (wanted->stride[i] == given->stride[i] || wanted->dim[i] == 1);
    }
    if (!same) {
        char a[256], b[256];
        py_fail_shape("input %d: made for %s, given %s", index, py_tensor_text(wanted, a, sizeof a),
                      py_tensor_text(given, b, sizeof b));
    } else if (!order) {
        py_fail_shape("input %d: its strides are not those that the operator was made for", index);
    }
    return same && order;
}

/* Arrays for the inputs that the operator has, absent ones left out. */
static bool lend_all(op_object *self, PyObject *const *arrays, Py_ssize_t count, py_lent *held,
                     const void **data)
{
    Py_ssize_t next = 0;
    for (int i = 0; i < self->inputs; i++) {
        char what[32];
        if (self->in[i].dtype == RYND_DTYPE_NONE) {
            continue;
        }
        if (next == count) {
            return py_fail_type("%zd arrays are given, and the operator has more inputs", count) !=
                   NULL;
        }
        snprintf(what, sizeof what, "input %d", i);
        if (!py_lend(arrays[next++], what, false, &held[i]) ||
            !check(&self->in[i], &held[i].tensor, i)) {
            return false;
        }
        data[i] = held[i].tensor.data;
    }
    return next == count || py_fail_type("%zd arrays are given, and the operator has %zd inputs",
                                         count, next) != NULL;
}

static PyObject *execute(op_object *self, const void *const *data)
{
    PyObject *results[OP_MOST_OUTPUTS] = {NULL};
    void *written[OP_MOST_OUTPUTS] = {NULL};
    rynd_status status = self->outputs <= OP_MOST_OUTPUTS ? RYND_OK : RYND_ERROR_UNSUPPORTED;
    for (int i = 0; status == RYND_OK && i < self->outputs; i++) {
        array_object *array = py_array_new(&self->out[i], self->pools[i]);
        results[i] = (PyObject *)array;
        written[i] = array ? array->tensor.data : NULL;
        status = array ? RYND_OK : RYND_ERROR_OUT_OF_MEMORY;
    }
    if (status == RYND_OK) {
        self->running = true;
        Py_BEGIN_ALLOW_THREADS
        status = rynd_op_execute(self->op, data, written);
        Py_END_ALLOW_THREADS
        self->running = false;
    }
    PyObject *result = NULL;
    if (status != RYND_OK) {
        py_raise(status);
    } else if (self->outputs == 1) {
        return results[0];
    } else {
        result = PyTuple_New(self->outputs);
    }
    for (int i = 0; i < self->outputs && i < OP_MOST_OUTPUTS; i++) {
        if (result && results[i]) {
            PyTuple_SetItem(result, i, results[i]);
        } else {
            Py_XDECREF(results[i]);
        }
    }
    return result;
}

static PyObject *op_run(PyObject *object, PyObject *const *arrays, Py_ssize_t count)
{
    op_object *self = (op_object *)object;
    py_lent held[OP_MOST_INPUTS];
    const void *data[OP_MOST_INPUTS] = {NULL};
    if (self->running) {
        return py_fail_busy("this operator runs in another thread: make one operator a thread");
    }
    if (self->inputs > OP_MOST_INPUTS) {
        return py_fail_type("the operator has %d inputs, more than %d", self->inputs,
                            OP_MOST_INPUTS);
    }
    memset(held, 0, sizeof held);
    PyObject *result = lend_all(self, arrays, count, held, data) ? execute(self, data) : NULL;
    for (int i = 0; i < self->inputs; i++) {
        py_give_back(&held[i]);
    }
    return result;
}

static PyObject *op_step(PyObject *self, PyObject *unused)
{
    (void)unused;
    rynd_step_info info = RYND_SIZED(rynd_step_info);
    const rynd_status status = rynd_op_get_info(((op_object *)self)->op, &info);
    return status == RYND_OK ? py_step(&info) : py_raise(status);
}

static PyObject *op_steps(PyObject *self, PyObject *unused)
{
    (void)unused;
    const rynd_plan *plan = rynd_op_plan(((op_object *)self)->op);
    if (plan) {
        return py_steps(plan);
    }
    PyObject *step = op_step(self, NULL), *steps = step ? PyList_New(1) : NULL;
    if (!steps || PyList_SetItem(steps, 0, step) != 0) {
        Py_XDECREF(step);
        Py_CLEAR(steps);
    }
    return steps;
}

static PyObject *op_predict(PyObject *self, PyObject *unused)
{
    (void)unused;
    rynd_prediction prediction = RYND_SIZED(rynd_prediction);
    const rynd_status status = rynd_op_predict(((op_object *)self)->op, &prediction);
    return status == RYND_OK ? py_prediction(&prediction) : py_raise(status);
}

static PyObject *op_explain(PyObject *self, PyObject *index)
{
    const rynd_op *op = ((op_object *)self)->op;
    const rynd_plan *plan = rynd_op_plan(op);
    const Py_ssize_t step = PyLong_AsSsize_t(index);
    if (step == -1 && PyErr_Occurred()) {
        return NULL;
    }
    PyObject *list = PyList_New(0);
    return py_candidates(list, !list ? RYND_ERROR_OUT_OF_MEMORY
                               : plan
                                   ? rynd_plan_explain(plan, (size_t)step, py_add_candidate, list)
                                   : rynd_op_explain(op, py_add_candidate, list));
}

static PyMethodDef op_methods[] = {
    {"run", (PyCFunction)(void (*)(void))op_run, METH_FASTCALL,
     "run(*arrays)\n--\n\nComputes on one array for each input, in "
     "the strides that the operator was "
     "made for. One thread at a time: BusyError otherwise."},
    {"_predict", op_predict, METH_NOARGS, "Seconds of a run."},
    {"_explain", op_explain, METH_O, "All candidates for a step."},
    {"_step", op_step, METH_NOARGS, "What was chosen, as a dict."},
    {"_steps", op_steps, METH_NOARGS, "The steps, as dicts."},
    {"_run_async", py_op_run_async, METH_VARARGS, "(stream, inputs, outputs, workspace)"},
    {"wait", py_op_wait, METH_NOARGS,
     "wait()\n--\n\nWaits for the operator's runs in streams. "
     "ShapeError if a tensor's content was illegal."},
    {"in_place", py_op_in_place, METH_VARARGS,
     "in_place(output, input)\n--\n\nMay a run in a stream write "
     "this output over this input?"},
    {"result", py_op_result, METH_O,
     "result(output)\n--\n\nDescribes an output of the last run in "
     "a stream, with exact dims where they depend on data: "
     "(dtype, shape, strides). Waits for the run."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef op_attributes[] = {
    {"inputs", py_op_inputs, NULL, "(dtype, shape, strides in elements) of each input.", NULL},
    {"outputs", py_op_outputs, NULL, "The same of each output.", NULL},
    {"workspace", py_op_workspace, NULL, "Bytes of a workspace for runs in streams.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot op_slots[] = {{Py_tp_doc, "One problem."},   {Py_tp_new, op_new},
                                 {Py_tp_dealloc, op_free},      {Py_tp_methods, op_methods},
                                 {Py_tp_getset, op_attributes}, {0, NULL}};

PyType_Spec py_op_spec = {"rynd._rynd.Op", sizeof(op_object), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, op_slots};
