/* SPDX-License-Identifier: Apache-2.0 */
/* The caller's own choices of kernels and knobs, and a step's description. */
#ifndef RYND_PYTHON_SETTINGS_H
#define RYND_PYTHON_SETTINGS_H

#include "extension.h"

typedef struct py_settings {
    rynd_setting *all; /* owned; its strings belong to the source list */
    size_t count;
} py_settings;

/* Takes a list of (step or None, knob, value), all str. Returns false with an exception set. */
bool py_settings_take(PyObject *list, py_settings *settings);
void py_settings_free(py_settings *settings);

/* A step as a dict. */
PyObject *py_step(const rynd_step_info *info);
PyObject *py_steps(const rynd_plan *plan); /* a list of all of them */
/* dims: a list of (symbol, number), which keeps the texts alive; the caller frees *dims by
 * PyMem_Free also when this fails. */
bool py_dims_take(PyObject *list, rynd_dim **dims, size_t *count);

/* A prediction, as a tuple. */
PyObject *py_prediction(const rynd_prediction *p);
/* rynd_candidate_function of a list: appends a tuple (kernel, accuracy, refused or None, chosen,
 * knobs, prediction, measured, workspace, packed). Where that fails an exception is set, and the
 * walk ends. */
int py_add_candidate(void *list, const rynd_candidate *candidate);
/* The list, or NULL with the exception that was set or that the status means. */
PyObject *py_candidates(PyObject *list, rynd_status status);

#endif
