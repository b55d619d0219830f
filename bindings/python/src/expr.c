/* SPDX-License-Identifier: Apache-2.0 */
/* Expr: a program of the expression language, and its gradient, on arrays. */
#include "array.h"
#include "describe.h"
#include "errors.h"
#include "lend.h"
#include "settings.h"

#include <stdio.h>

typedef struct expr_object {
    PyObject_HEAD context_object *context;
    rynd_expr *expr;
    bool running;
    int inputs, outputs;
    py_lent *in; /* room for a run's */
    rynd_tensor *lent, *written, *out;
    PyObject **results;
    py_pool **pools; /* one per output */
} expr_object;

static rynd_status describe(expr_object *self)
{
    self->inputs = (int)rynd_expr_input_count(self->expr);
    self->outputs = (int)rynd_expr_output_count(self->expr);
    const size_t inputs = (size_t)self->inputs + 1, outputs = (size_t)self->outputs + 1;
    self->in = PyMem_Calloc(inputs, sizeof *self->in);
    self->lent = PyMem_Calloc(inputs, sizeof *self->lent);
    self->written = PyMem_Calloc(outputs, sizeof *self->written);
    self->out = PyMem_Calloc(outputs, sizeof *self->out);
    self->results = PyMem_Calloc(outputs, sizeof(PyObject *));
    self->pools = PyMem_Calloc(outputs, sizeof(py_pool *));
    if (!self->in || !self->lent || !self->written || !self->out || !self->results ||
        !self->pools) {
        return RYND_ERROR_OUT_OF_MEMORY;
    }
    for (int i = 0; i < self->outputs; i++) {
        const rynd_status status = rynd_expr_get_output(self->expr, (size_t)i, &self->out[i]);
        if (status != RYND_OK) {
            return status;
        }
        self->pools[i] = py_pool_create((size_t)rynd_tensor_elements(&self->out[i]) *
                                        rynd_dtype_size(self->out[i].dtype));
        if (!self->pools[i]) {
            return RYND_ERROR_OUT_OF_MEMORY;
        }
    }
    return RYND_OK;
}

/* The object, when the expression is made; NULL, with an exception, and the object is gone. */
static PyObject *finish(expr_object *self, rynd_status status)
{
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

/* What Python gives as lists; freed by the caller. */
typedef struct request {
    rynd_tensor *inputs;
    int64_t axes[RYND_MAX_RANK];
    rynd_expr_options options;
} request;

static bool take_request(request *r, PyObject *inputs, PyObject *axes)
{
    const Py_ssize_t count = PyList_Size(inputs);
    r->inputs = PyMem_Calloc((size_t)count + 1, sizeof *r->inputs);
    if (!r->inputs) {
        return PyErr_NoMemory() != NULL;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        if (!py_take_description(PyList_GetItem(inputs, i), &r->inputs[i])) {
            return false;
        }
    }
    r->options.inputs = count > 0 ? r->inputs : NULL;
    r->options.input_count = (size_t)count;
    if (axes == Py_None) {
        return true;
    }
    const Py_ssize_t reduced = PyTuple_Check(axes) ? PyTuple_Size(axes) : -1;
    if (reduced < 0 || reduced > RYND_MAX_RANK) {
        return py_fail_value("axes: a tuple of at most %d numbers is wanted", RYND_MAX_RANK) !=
               NULL;
    }
    for (Py_ssize_t i = 0; i < reduced; i++) {
        r->axes[i] = PyLong_AsLongLong(PyTuple_GetItem(axes, i));
    }
    r->options.axes = r->axes;
    r->options.axis_count = (size_t)reduced;
    return !PyErr_Occurred();
}

static PyObject *expr_new(PyTypeObject *type, PyObject *args, PyObject *named)
{
    PyObject *context, *inputs, *axes;
    const char *text;
    int accuracy, keepdims;
    if (named || !PyArg_ParseTuple(args, "O!siO!Op:Expr", py_context_type, &context, &text,
                                   &accuracy, &PyList_Type, &inputs, &axes, &keepdims)) {
        return NULL;
    }
    expr_object *self = (expr_object *)PyType_GenericAlloc(type, 0);
    if (!self) {
        return NULL;
    }
    self->context = (context_object *)PY_TAKE(context);
    request r = {.options = RYND_SIZED(rynd_expr_options, .keepdims = keepdims,
                                       .accuracy = (rynd_accuracy)accuracy)};
    rynd_status status = RYND_ERROR_ARGUMENT;
    if (take_request(&r, inputs, axes)) {
        Py_BEGIN_ALLOW_THREADS
        status = rynd_expr_create(self->context->context, text, &r.options, &self->expr);
        Py_END_ALLOW_THREADS
    }
    PyMem_Free(r.inputs);
    return finish(self, status);
}

static void expr_free(PyObject *object)
{
    expr_object *self = (expr_object *)object;
    rynd_expr_destroy(self->expr);
    for (int i = 0; self->pools && i < self->outputs; i++) {
        py_pool_drop(self->pools[i]);
    }
    PyMem_Free(self->in);
    PyMem_Free(self->lent);
    PyMem_Free(self->written);
    PyMem_Free(self->out);
    PyMem_Free(self->results);
    PyMem_Free(self->pools);
    Py_XDECREF((PyObject *)self->context);
    py_free(object);
}

/* wanted: None, or a list of truths. */
static PyObject *expr_gradient(PyObject *object, PyObject *wanted)
{
    const expr_object *self = (expr_object *)object;
    int *numbers = NULL;
    if (wanted != Py_None) {
        if (!PyList_Check(wanted) || PyList_Size(wanted) != self->inputs) {
            return py_fail_type("one truth for each of %d inputs is wanted", self->inputs);
        }
        numbers = PyMem_Calloc((size_t)self->inputs + 1, sizeof *numbers);
        for (int i = 0; numbers && i < self->inputs; i++) {
            numbers[i] = PyObject_IsTrue(PyList_GetItem(wanted, i)) > 0;
        }
        if (!numbers) {
            return PyErr_NoMemory();
        }
    }
    expr_object *made = (expr_object *)PyType_GenericAlloc(Py_TYPE(object), 0);
    rynd_status status = RYND_ERROR_OUT_OF_MEMORY;
    if (made) {
        made->context = (context_object *)PY_TAKE(self->context);
        Py_BEGIN_ALLOW_THREADS
        status = rynd_expr_create_gradient(self->expr, numbers, &made->expr);
        Py_END_ALLOW_THREADS
    }
    PyMem_Free(numbers);
    return made ? finish(made, status) : NULL;
}

/* --- a run --- */

static bool lend_all(expr_object *self, PyObject *const *arrays, Py_ssize_t count)
{
    if (count != self->inputs) {
        return py_fail_type("%zd arrays are given, and the expression has %d inputs", count,
                            self->inputs) != NULL;
    }
    for (int i = 0; i < self->inputs; i++) {
        char what[32];
        snprintf(what, sizeof what, "input %d", i);
        if (!py_lend(arrays[i], what, false, &self->in[i])) {
            return false;
        }
        self->lent[i] = self->in[i].tensor;
    }
    return true;
}

static PyObject *execute(expr_object *self)
{
    rynd_status status = RYND_OK;
    for (int i = 0; status == RYND_OK && i < self->outputs; i++) {
        array_object *array = py_array_new(&self->out[i], self->pools[i]);
        self->results[i] = (PyObject *)array;
        status = array ? RYND_OK : RYND_ERROR_OUT_OF_MEMORY;
        if (array) {
            self->written[i] = array->tensor;
        }
    }
    if (status == RYND_OK) {
        Py_BEGIN_ALLOW_THREADS
        status = rynd_expr_execute(self->expr, self->lent, self->written);
        Py_END_ALLOW_THREADS
    }
    if (status != RYND_OK) {
        return py_raise(status);
    }
    if (self->outputs == 1) {
        return PY_TAKE(self->results[0]);
    }
    PyObject *tuple = PyTuple_New(self->outputs);
    for (int i = 0; tuple && i < self->outputs; i++) {
        PyTuple_SetItem(tuple, i, PY_TAKE(self->results[i]));
    }
    return tuple;
}

static PyObject *expr_run(PyObject *object, PyObject *const *arrays, Py_ssize_t count)
{
    expr_object *self = (expr_object *)object;
    if (self->running) {
        return py_fail_busy("this expression runs in another thread: make one a thread");
    }
    self->running = true;
    PyObject *result = lend_all(self, arrays, count) ? execute(self) : NULL;
    for (int i = 0; i < self->inputs; i++) {
        py_give_back(&self->in[i]);
        self->in[i] = (py_lent){.owner = NULL};
    }
    for (int i = 0; i < self->outputs; i++) {
        Py_CLEAR(self->results[i]);
    }
    self->running = false;
    return result;
}

/* --- what else an expression tells --- */

static PyObject *expr_model(PyObject *object, PyObject *unused)
{
    (void)unused;
    const expr_object *self = (expr_object *)object;
    return py_model_of_part(object, self->context, rynd_expr_model(self->expr), true);
}

static PyObject *expr_steps(PyObject *object, PyObject *unused)
{
    (void)unused;
    return py_steps(rynd_expr_plan(((expr_object *)object)->expr));
}

/* [(dtype, shape, strides)] of what `get` gives. */
static PyObject *descriptions(const expr_object *self, size_t count,
                              rynd_status (*get)(const rynd_expr *, size_t, rynd_tensor *))
{
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < count; i++) {
        rynd_tensor tensor;
        const rynd_status status = get(self->expr, i, &tensor);
        PyObject *one = status == RYND_OK ? py_describe(&tensor) : py_raise(status);
        if (!one || PyList_Append(list, one) != 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(one);
    }
    return list;
}

static PyObject *expr_inputs(PyObject *object, PyObject *unused)
{
    (void)unused;
    const expr_object *self = (expr_object *)object;
    return descriptions(self, (size_t)self->inputs, rynd_expr_get_input);
}

static PyObject *expr_outputs(PyObject *object, PyObject *unused)
{
    (void)unused;
    const expr_object *self = (expr_object *)object;
    return descriptions(self, (size_t)self->outputs, rynd_expr_get_output);
}

static PyMethodDef expr_methods[] = {
    {"run", (PyCFunction)(void (*)(void))expr_run, METH_FASTCALL,
     "run(*arrays)\n--\n\nComputes on one array for each input, and returns an Array, or a tuple "
     "of "
     "them where there are several outputs. One thread at a time: BusyError otherwise."},
    {"_gradient", expr_gradient, METH_O, "The gradient by the inputs wanted."},
    {"_model", expr_model, METH_NOARGS, "The expression as a model."},
    {"_steps", expr_steps, METH_NOARGS, "What it runs by, as dicts."},
    {"_inputs", expr_inputs, METH_NOARGS, "Descriptions of the inputs."},
    {"_outputs", expr_outputs, METH_NOARGS, "Descriptions of the outputs."},
    {NULL, NULL, 0, NULL}};

static PyType_Slot expr_slots[] = {{Py_tp_doc, "An expression, or a gradient of one."},
                                   {Py_tp_new, expr_new},
                                   {Py_tp_dealloc, expr_free},
                                   {Py_tp_methods, expr_methods},
                                   {0, NULL}};

PyType_Spec py_expr_spec = {"rynd._rynd.Expr", sizeof(expr_object), 0,
                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, expr_slots};
