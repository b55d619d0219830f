/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the extension share: one Python type for each handle of the library, each
 * keeping alive what it was made with. Only Python's limited interface is used, so that one binary
 * serves Python 3.11 and all that follow.
 *
 * Everything here runs with the lock (GIL) held, but for calls of the library that may last:
 * loading, planning, packing and running are between Py_BEGIN_ALLOW_THREADS and its end. */
#ifndef RYND_PYTHON_EXTENSION_H
#define RYND_PYTHON_EXTENSION_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <rynd/rynd.h>

#include <stdbool.h>

typedef struct context_object {
    PyObject_HEAD rynd_context *context;
    PyObject *log; /* called with a level and a message; NULL: nobody */
} context_object;

typedef struct model_object {
    PyObject_HEAD context_object *context;
    rynd_model *model;
    PyObject *path;        /* str; NULL: of memory */
    Py_buffer content;     /* .obj NULL: of a file */
    PyObject *input_names; /* tuple of interned str */
    PyObject *output_names;
    char **input_labels; /* "input 'x'", for messages */
    PyObject *owner;     /* the placement or the model that a part belongs to; else NULL */
    bool borrowed;       /* `model` is the owner's */
} model_object;

typedef struct plan_object {
    PyObject_HEAD model_object *model;
    rynd_plan *plan;
} plan_object;

/* The types, made when the module is (types.inc). */
#define TYPE(name) extern PyTypeObject *py_##name##_type;
#include "types.inc"
#undef TYPE

/* The type that results are made of: `array`, or what Python derived of it. */
extern PyTypeObject *py_result_type;

#define TYPE(name) extern PyType_Spec py_##name##_spec;
#include "types.inc"
#undef TYPE

/* Completes an object whose model is loaded. NULL, with an exception: the object is gone. */
PyObject *py_model_finish(model_object *self);

/* A Model object of a part: of `owner`, which has the model (borrowed), or of which it is made. The
 * model goes to the object, also when this fails: NULL, with an exception. context may be NULL. */
PyObject *py_model_of_part(PyObject *owner, context_object *context, rynd_model *model,
                           bool borrowed);

/* rynd_log_function: calls `user`, a Python function, with level and message. */
void py_tell(void *user, int level, const char *message);

/* For rynd_plan_options.progress and the like: Ctrl-C, and the caller's function (NULL: none); an
 * exception ends the work. */
int py_progress(void *user, const rynd_progress *progress);

/* Frees an object of a heap type, after its fields. */
void py_free(PyObject *self);

/* 3.11's limited interface has no Py_NewRef for each type of pointer. */
#define PY_TAKE(object) (Py_INCREF((PyObject *)(object)), (object))

/* Operands of a plan's step, and parameters of a model: trace.c. */
PyObject *py_plan_operands(PyObject *object, PyObject *index);
PyObject *py_model_parameters(PyObject *object, PyObject *unused);

#endif
