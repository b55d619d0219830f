/* SPDX-License-Identifier: Apache-2.0 */
/* A tensor without its data, as Python has it: (dtype, shape, strides in elements). */
#ifndef RYND_PYTHON_DESCRIBE_H
#define RYND_PYTHON_DESCRIBE_H

#include "extension.h"

/* (dtype, shape, strides in elements), and back (strides None: row-major; false: an exception is
 * set). */
PyObject *py_describe(const rynd_tensor *tensor);
bool py_take_description(PyObject *description, rynd_tensor *tensor);

/* A tuple of these numbers. NULL: an exception is set. */
PyObject *py_tuple_of(const int64_t *numbers, int count);

/* Returns the dtype by its name ("f32"), or RYND_DTYPE_NONE. */
rynd_dtype py_dtype_of(const char *name);

#endif
