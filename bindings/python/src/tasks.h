/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures in, boxes, masks and classes out: the functions behind rynd.tasks. */
#ifndef RYND_PYTHON_TASKS_H
#define RYND_PYTHON_TASKS_H

#include "extension.h"

#include <rynd/tasks.h>

PyObject *py_heads(PyObject *module, PyObject *unused);
PyObject *py_model_head(PyObject *module, PyObject *args);
PyObject *py_labels(PyObject *module, PyObject *args);
PyObject *py_prepare(PyObject *module, PyObject *args);
PyObject *py_detect(PyObject *module, PyObject *args);
PyObject *py_segment(PyObject *module, PyObject *args);
PyObject *py_classify(PyObject *module, PyObject *args);
PyObject *py_draw_boxes(PyObject *module, PyObject *args);
PyObject *py_draw_classes(PyObject *module, PyObject *args);

/* (left, top, right, bottom, score, label, keypoints); false: an exception is set. */
bool py_take_box(PyObject *tuple, rynd_box *box);

/* Appends to a list, and drops the reference to the item, which may be NULL; false: an exception
 * is set. */
bool py_append(PyObject *list, PyObject *item);

#endif
