/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of an Op on device memory in a stream. */
#include "op.h"

#include "describe.h"
#include "errors.h"
#include "queue.h"

#include <stdio.h>

/* operands: a tuple with one object for each of `wanted` inputs or outputs. */
static bool take_operands(PyObject *operands, const char *kind, int wanted, rynd_operand *taken)
{
    const Py_ssize_t count = PyTuple_Size(operands);
    if (count != wanted) {
        return py_fail_type("%zd %ss are given, and the operator has %d: None stands for an absent "
                            "one",
                            count, kind, wanted) != NULL;
    }
    for (int i = 0; i < wanted; i++) {
        char what[32];
        snprintf(what, sizeof what, "%s %d", kind, i);
        if (!py_take_operand(PyTuple_GetItem(operands, i), what, &taken[i])) {
            return false;
        }
    }
    return true;
}

static bool is_free(const op_object *op)
{
    return !op->running ||
           py_fail_busy("this operator runs in another thread: make one operator a thread");
}

PyObject *py_op_run_async(PyObject *object, PyObject *args)
{
    op_object *self = (op_object *)object;
    rynd_operand in[OP_MOST_INPUTS], out[OP_MOST_OUTPUTS], space;
    PyObject *stream, *inputs, *outputs, *workspace;
    if (!PyArg_ParseTuple(args, "O!O!O!O", py_stream_type, &stream, &PyTuple_Type, &inputs,
                          &PyTuple_Type, &outputs, &workspace)) {
        return NULL;
    }
    if (self->inputs > OP_MOST_INPUTS || self->outputs > OP_MOST_OUTPUTS) {
        return py_fail_type("the operator has more than %d inputs or %d outputs", OP_MOST_INPUTS,
                            OP_MOST_OUTPUTS);
    }
    if (!take_operands(inputs, "input", self->inputs, in) ||
        !take_operands(outputs, "output", self->outputs, out) ||
        !py_take_operand(workspace, "workspace", &space) || !is_free(self)) {
        return NULL;
    }
    PyObject *used = PyTuple_Pack(2, object, args);
    PyObject *result = NULL;
    if (used && py_stream_begin((stream_object *)stream)) {
        rynd_status status;
        self->running = true;
        Py_BEGIN_ALLOW_THREADS
        status = rynd_op_run_async(self->op, in, out, space.buffer ? &space : NULL,
                                   ((stream_object *)stream)->stream);
        Py_END_ALLOW_THREADS
        self->running = false;
        result = py_stream_end((stream_object *)stream, status, used);
    }
    Py_XDECREF(used);
    return result;
}

PyObject *py_op_wait(PyObject *object, PyObject *unused)
{
    (void)unused;
    op_object *self = (op_object *)object;
    if (!is_free(self)) {
        return NULL;
    }
    rynd_status status;
    self->running = true;
    Py_BEGIN_ALLOW_THREADS
    status = rynd_op_wait(self->op);
    Py_END_ALLOW_THREADS
    self->running = false;
    return status == RYND_OK ? PY_TAKE(Py_None) : py_raise(status);
}

PyObject *py_op_in_place(PyObject *object, PyObject *args)
{
    const op_object *self = (const op_object *)object;
    Py_ssize_t output, input;
    if (!PyArg_ParseTuple(args, "nn:in_place", &output, &input)) {
        return NULL;
    }
    return PyBool_FromLong(rynd_op_in_place(self->op, (size_t)output, (size_t)input));
}

PyObject *py_op_result(PyObject *object, PyObject *index)
{
    op_object *self = (op_object *)object;
    const Py_ssize_t output = PyLong_AsSsize_t(index);
    rynd_tensor tensor;
    if (PyErr_Occurred() || !is_free(self)) {
        return NULL;
    }
    rynd_status status;
    self->running = true;
    Py_BEGIN_ALLOW_THREADS
    status = rynd_op_get_result(self->op, (size_t)output, &tensor);
    Py_END_ALLOW_THREADS
    self->running = false;
    return status == RYND_OK ? py_describe(&tensor) : py_raise(status);
}

static PyObject *descriptions(const rynd_tensor *tensors, int count)
{
    PyObject *list = PyList_New(count);
    for (int i = 0; list && i < count; i++) {
        PyObject *one =
            tensors[i].dtype == RYND_DTYPE_NONE ? PY_TAKE(Py_None) : py_describe(&tensors[i]);
        if (!one || PyList_SetItem(list, i, one) != 0) {
            Py_CLEAR(list);
        }
    }
    return list;
}

PyObject *py_op_inputs(PyObject *object, void *unused)
{
    (void)unused;
    return descriptions(((op_object *)object)->in, ((op_object *)object)->inputs);
}

PyObject *py_op_outputs(PyObject *object, void *unused)
{
    (void)unused;
    return descriptions(((op_object *)object)->out, ((op_object *)object)->outputs);
}

PyObject *py_op_workspace(PyObject *object, void *unused)
{
    (void)unused;
    return PyLong_FromSize_t(rynd_op_workspace(((op_object *)object)->op));
}
