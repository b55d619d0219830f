/* SPDX-License-Identifier: Apache-2.0 */
/* Methods of Model in files of their own, and what they share. */
#ifndef RYND_PYTHON_NAMES_H
#define RYND_PYTHON_NAMES_H

#include "extension.h"

/* Texts of a list of str, borrowed from it; freed by the caller. NULL: an exception. */
const char **py_texts_of(PyObject *list);

/* (inputs, outputs or None, batch, dims): a Model of outputs and gradients. */
PyObject *py_model_gradient(PyObject *object, PyObject *args);

#endif
