/* SPDX-License-Identifier: Apache-2.0 */
/* A status of the library as an exception of rynd/errors.py, with the library's message. */
#ifndef RYND_PYTHON_ERRORS_H
#define RYND_PYTHON_ERRORS_H

#include "extension.h"

/* Finds the exceptions; false: an exception is set. */
bool py_find_errors(void);

/* Raises what stands for the status; returns NULL. An exception that is set already stays. */
PyObject *py_raise(rynd_status status);

/* Exceptions for what the extension itself refuses. */
PyObject *py_fail_type(const char *format, ...);  /* the kind of a thing: TypeError */
PyObject *py_fail_value(const char *format, ...); /* ValueError */
PyObject *py_fail_shape(const char *format, ...);
PyObject *py_fail_name(const char *format, ...); /* KeyError */
PyObject *py_fail_unsupported(const char *format, ...);
PyObject *py_fail_busy(const char *format, ...); /* RuntimeError */

#endif
