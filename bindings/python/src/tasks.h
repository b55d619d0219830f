/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures in, boxes, masks and classes out: the functions behind rynd.tasks. */
#ifndef RYND_PYTHON_TASKS_H
#define RYND_PYTHON_TASKS_H

#include "extension.h"

PyObject *py_heads(PyObject *module, PyObject *unused);
PyObject *py_model_head(PyObject *module, PyObject *args);
PyObject *py_labels(PyObject *module, PyObject *args);
PyObject *py_prepare(PyObject *module, PyObject *args);
PyObject *py_detect(PyObject *module, PyObject *args);
PyObject *py_segment(PyObject *module, PyObject *args);
PyObject *py_classify(PyObject *module, PyObject *args);
PyObject *py_draw_boxes(PyObject *module, PyObject *args);
PyObject *py_draw_classes(PyObject *module, PyObject *args);

#endif
