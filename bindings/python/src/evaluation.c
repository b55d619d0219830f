/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluation: answers of a model beside the truth, and their figures. */
#include "errors.h"
#include "lend.h"
#include "tasks.h"

#include <rynd/eval.h>

typedef struct evaluation_object {
    PyObject_HEAD rynd_evaluation *evaluation;
    int64_t classes;
} evaluation_object;

/* (task as a number, classes, range) */
static PyObject *evaluation_new(PyTypeObject *type, PyObject *args, PyObject *named)
{
    int task;
    long long classes;
    rynd_evaluation_options options = RYND_SIZED(rynd_evaluation_options);
    if (named || !PyArg_ParseTuple(args, "iLd:Evaluation", &task, &classes, &options.range)) {
        return NULL;
    }
    options.task = (rynd_task)task;
    options.classes = classes;
    evaluation_object *self = (evaluation_object *)PyType_GenericAlloc(type, 0);
    if (!self) {
        return NULL;
    }
    self->classes = classes;
    const rynd_status status = rynd_evaluation_create(NULL, &options, &self->evaluation);
    if (status != RYND_OK) {
        py_raise(status);
        Py_DECREF((PyObject *)self);
        return NULL;
    }
    return (PyObject *)self;
}

static void evaluation_free(PyObject *object)
{
    rynd_evaluation_destroy(((evaluation_object *)object)->evaluation);
    py_free(object);
}

static rynd_evaluation *of(PyObject *object)
{
    return ((evaluation_object *)object)->evaluation;
}

static PyObject *done(rynd_status status)
{
    return status == RYND_OK ? PY_TAKE(Py_None) : py_raise(status);
}

/* (list of classes, best first; the true class) */
static PyObject *add_label(PyObject *object, PyObject *args)
{
    PyObject *list;
    long long label;
    if (!PyArg_ParseTuple(args, "O!L:add_label", &PyList_Type, &list, &label)) {
        return NULL;
    }
    const Py_ssize_t count = PyList_Size(list);
    rynd_class *found = PyMem_Calloc((size_t)count + 1, sizeof *found);
    if (!found) {
        return PyErr_NoMemory();
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        found[i].label = PyLong_AsLongLong(PyList_GetItem(list, i));
    }
    PyObject *result =
        PyErr_Occurred() ? NULL
                         : done(rynd_evaluation_add_label(of(object), found, (size_t)count, label));
    PyMem_Free(found);
    return result;
}

/* Lends two arrays for a call. */
static PyObject *add_pair(PyObject *object, PyObject *found, PyObject *truth, bool map,
                          long long ignore)
{
    py_lent from, to;
    if (!py_lend(found, "found", false, &from)) {
        return NULL;
    }
    if (!py_lend(truth, "the truth", false, &to)) {
        py_give_back(&from);
        return NULL;
    }
    /* the lock stays held: one thread at a time uses an evaluation */
    const rynd_status status =
        map ? rynd_evaluation_add_map(of(object), &from.tensor, &to.tensor, ignore)
            : rynd_evaluation_add_picture(of(object), &from.tensor, &to.tensor);
    py_give_back(&from);
    py_give_back(&to);
    return done(status);
}

/* (found, truth, ignore) */
static PyObject *add_map(PyObject *object, PyObject *args)
{
    PyObject *found, *truth;
    long long ignore;
    return PyArg_ParseTuple(args, "OOL:add_map", &found, &truth, &ignore)
               ? add_pair(object, found, truth, true, ignore)
               : NULL;
}

/* (found, truth) */
static PyObject *add_picture(PyObject *object, PyObject *args)
{
    PyObject *found, *truth;
    return PyArg_ParseTuple(args, "OO:add_picture", &found, &truth)
               ? add_pair(object, found, truth, false, 0)
               : NULL;
}

/* (left, top, width, height, area, label, crowd) */
static bool take_object(PyObject *tuple, rynd_object *to)
{
    long long label;
    if (!PyArg_ParseTuple(tuple, "dddddLp", &to->left, &to->top, &to->width, &to->height, &to->area,
                          &label, &to->crowd)) {
        return false;
    }
    to->label = label;
    return true;
}

/* (list of boxes, list of objects) */
static PyObject *add_boxes(PyObject *object, PyObject *args)
{
    PyObject *list, *truth;
    if (!PyArg_ParseTuple(args, "O!O!:add_boxes", &PyList_Type, &list, &PyList_Type, &truth)) {
        return NULL;
    }
    const Py_ssize_t count = PyList_Size(list), object_count = PyList_Size(truth);
    rynd_box *boxes = PyMem_Calloc((size_t)count + 1, sizeof *boxes);
    rynd_object *objects = PyMem_Calloc((size_t)object_count + 1, sizeof *objects);
    bool fine = boxes && objects;
    if (!fine) {
        PyErr_NoMemory();
    }
    for (Py_ssize_t i = 0; fine && i < count; i++) {
        fine = py_take_box(PyList_GetItem(list, i), &boxes[i]);
    }
    for (Py_ssize_t i = 0; fine && i < object_count; i++) {
        fine = take_object(PyList_GetItem(truth, i), &objects[i]);
    }
    PyObject *result = fine ? done(rynd_evaluation_add_boxes(of(object), boxes, (size_t)count,
                                                             objects, (size_t)object_count))
                            : NULL;
    PyMem_Free(boxes);
    PyMem_Free(objects);
    return result;
}

/* A list of (name, about, unit, value). */
static PyObject *figures(PyObject *object, PyObject *unused)
{
    (void)unused;
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < rynd_evaluation_figure_count(of(object)); i++) {
        rynd_figure f = RYND_SIZED(rynd_figure);
        const rynd_status status = rynd_evaluation_get_figure(of(object), i, &f);
        if (!py_append(list, status == RYND_OK
                                 ? Py_BuildValue("(sssd)", f.name, f.about, f.unit, f.value)
                                 : py_raise(status))) {
            Py_CLEAR(list);
        }
    }
    return list;
}

/* A list of (count, found, recall, precision, iou, ap, ap50). */
static PyObject *classes(PyObject *object, PyObject *unused)
{
    (void)unused;
    PyObject *list = PyList_New(0);
    for (int64_t i = 0; list && i < ((evaluation_object *)object)->classes; i++) {
        rynd_class_figures f = RYND_SIZED(rynd_class_figures);
        const rynd_status status = rynd_evaluation_get_class(of(object), i, &f);
        if (!py_append(list, status == RYND_OK ? Py_BuildValue("(LLddddd)", (long long)f.count,
                                                               (long long)f.found, f.recall,
                                                               f.precision, f.iou, f.ap, f.ap50)
                                               : py_raise(status))) {
            Py_CLEAR(list);
        }
    }
    return list;
}

/* The confusion matrix as bytes of int64. */
static PyObject *confusion(PyObject *object, PyObject *unused)
{
    (void)unused;
    const int64_t *counts;
    int64_t count;
    const rynd_status status = rynd_evaluation_get_confusion(of(object), &counts, &count);
    return status == RYND_OK ? PyBytes_FromStringAndSize((const char *)counts,
                                                         count * count * (Py_ssize_t)sizeof *counts)
                             : py_raise(status);
}

static PyMethodDef methods[] = {
    {"add_label", add_label, METH_VARARGS, "(list of classes, label)."},
    {"add_map", add_map, METH_VARARGS, "(found, truth, ignore)."},
    {"add_boxes", add_boxes, METH_VARARGS, "(list of boxes, list of objects)."},
    {"add_picture", add_picture, METH_VARARGS, "(found, truth)."},
    {"figures", figures, METH_NOARGS, "A list of (name, about, unit, value)."},
    {"classes", classes, METH_NOARGS, "Numbers of each class."},
    {"confusion", confusion, METH_NOARGS, "The confusion matrix as bytes."},
    {NULL, NULL, 0, NULL}};

static PyType_Slot slots[] = {{Py_tp_doc, "Answers of a model beside the truth."},
                              {Py_tp_new, evaluation_new},
                              {Py_tp_dealloc, evaluation_free},
                              {Py_tp_methods, methods},
                              {0, NULL}};

PyType_Spec py_evaluation_spec = {"rynd._rynd.Evaluation", sizeof(evaluation_object), 0,
                                  Py_TPFLAGS_DEFAULT, slots};
