/* SPDX-License-Identifier: Apache-2.0 */
/* Records of wisdom, for rynd/wisdom.py: functions of the module that take a Context first. */
#ifndef RYND_PYTHON_WISDOM_H
#define RYND_PYTHON_WISDOM_H

#include "extension.h"

PyObject *py_wisdom_show(PyObject *module, PyObject *args);
PyObject *py_wisdom_export(PyObject *module, PyObject *args);
PyObject *py_wisdom_import(PyObject *module, PyObject *args);
PyObject *py_wisdom_merge(PyObject *module, PyObject *args);
PyObject *py_wisdom_clear(PyObject *module, PyObject *args);
PyObject *py_wisdom_check(PyObject *module, PyObject *args);

#endif
