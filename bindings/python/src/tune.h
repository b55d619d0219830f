/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of the module that tune. Both return (info, problems): dicts, a problem's `forms` being
 * a list of dicts. */
#ifndef RYND_PYTHON_TUNE_H
#define RYND_PYTHON_TUNE_H

#include "extension.h"

/* (context, problem, accuracy, constants, budget, seed, weights, keep, progress or None) */
PyObject *py_tune_problem(PyObject *module, PyObject *args);

/* (model, accuracy, batch, dims, inputs, choices, budget, seed, weights, keep, progress or None) */
PyObject *py_tune_model(PyObject *module, PyObject *args);

#endif
