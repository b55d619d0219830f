/* SPDX-License-Identifier: Apache-2.0 */
/* Results: arrays that own their memory. They speak the buffer protocol, DLPack and numpy's
 * __array_interface__, and hold their memory until the last of those that look at it is gone. */
#ifndef RYND_PYTHON_ARRAY_H
#define RYND_PYTHON_ARRAY_H

#include "extension.h"
#include "memory.h"

typedef struct array_object {
    PyObject_HEAD rynd_tensor tensor; /* row-major */
    Py_ssize_t bytes[RYND_MAX_RANK];  /* from neighbour to neighbour */
    py_pool *pool;
} array_object;

/* An array of the type and shape of `like`, whose elements are not set. */
array_object *py_array_new(const rynd_tensor *like, py_pool *pool);
/* The same with memory of its own. */
array_object *py_array_make(const rynd_tensor *like);

/* host_allocate(context, description): an array in host memory that the device copies directly. */
PyObject *py_host_allocate(PyObject *module, PyObject *args);

/* array((dtype, shape, strides), bytes): a row-major array with these bytes, for pickle. */
PyObject *py_array_from(PyObject *module, PyObject *args);

#endif
