/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of the extension that write models, and random numbers. */
#ifndef RYND_PYTHON_SAVE_H
#define RYND_PYTHON_SAVE_H

#include "extension.h"

/* Methods of Model: (path, {name: array}) and ({name: array}) -> bytes. */
PyObject *py_model_save(PyObject *self, PyObject *args);
PyObject *py_model_save_memory(PyObject *self, PyObject *args);

/* ("uniform"|"normal"|"permutation", seed, stream, step, first, count): an array. */
PyObject *py_random(PyObject *module, PyObject *args);

#endif
