/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptions of tensors, to Python and from it. */
#include "describe.h"

#include "errors.h"

#include <string.h>

rynd_dtype py_dtype_of(const char *name)
{
    for (int d = RYND_DTYPE_F32; d <= RYND_DTYPE_BOOL; d++) {
        if (strcmp(name, rynd_dtype_name((rynd_dtype)d)) == 0) {
            return (rynd_dtype)d;
        }
    }
    return RYND_DTYPE_NONE;
}

PyObject *py_tuple_of(const int64_t *numbers, int count)
{
    PyObject *tuple = PyTuple_New(count);
    for (int i = 0; tuple && i < count; i++) {
        PyObject *number = PyLong_FromLongLong(numbers[i]);
        if (!number || PyTuple_SetItem(tuple, i, number) != 0) {
            Py_CLEAR(tuple);
        }
    }
    return tuple;
}

PyObject *py_describe(const rynd_tensor *tensor)
{
    return Py_BuildValue("(sNN)", rynd_dtype_name(tensor->dtype),
                         py_tuple_of(tensor->dim, tensor->rank),
                         py_tuple_of(tensor->stride, tensor->rank));
}

static bool take_numbers(PyObject *tuple, Py_ssize_t rank, int64_t *numbers)
{
    for (Py_ssize_t i = 0; i < rank; i++) {
        PyObject *number = PyTuple_GetItem(tuple, i);
        numbers[i] = number ? PyLong_AsLongLong(number) : 0;
        if (PyErr_Occurred()) {
            return false;
        }
    }
    return true;
}

bool py_take_description(PyObject *description, rynd_tensor *tensor)
{
    const char *dtype;
    PyObject *shape, *strides;
    int64_t dim[RYND_MAX_RANK];
    if (!PyArg_ParseTuple(description, "sO!O", &dtype, &PyTuple_Type, &shape, &strides)) {
        return false;
    }
    const Py_ssize_t rank = PyTuple_Size(shape);
    if (rank > RYND_MAX_RANK) {
        return py_fail_shape("%zd dimensions, and rynd has %d", rank, RYND_MAX_RANK) != NULL;
    }
    if (!take_numbers(shape, rank, dim)) {
        return false;
    }
    *tensor = rynd_tensor_of(NULL, py_dtype_of(dtype), (int)rank, dim);
    if (tensor->dtype == RYND_DTYPE_NONE) {
        return py_fail_shape("%R is no tensor of '%s'", shape, dtype) != NULL;
    }
    return strides == Py_None || take_numbers(strides, rank, tensor->stride);
}
