/* SPDX-License-Identifier: Apache-2.0 */
/* Makes objects of loaded models: names and labels of their inputs and outputs. */
#include "errors.h"
#include "extension.h"

#include <stdio.h>

/* The names of all inputs, or outputs, interned: callers' keywords mostly are these objects. */
static PyObject *names_of(const rynd_model *model, size_t count,
                          rynd_status (*get)(const rynd_model *, size_t, rynd_value_info *))
{
    PyObject *names = PyTuple_New((Py_ssize_t)count);
    for (size_t i = 0; names && i < count; i++) {
        rynd_value_info info = RYND_SIZED(rynd_value_info);
        const rynd_status status = get(model, i, &info);
        PyObject *name = status == RYND_OK ? PyUnicode_InternFromString(info.name) : NULL;
        if (!name || PyTuple_SetItem(names, (Py_ssize_t)i, name) != 0) {
            py_raise(status);
            Py_CLEAR(names);
        }
    }
    return names;
}

static bool label_inputs(model_object *self)
{
    const size_t count = rynd_model_input_count(self->model);
    self->input_labels = PyMem_Calloc(count + 1, sizeof *self->input_labels);
    for (size_t i = 0; self->input_labels && i < count; i++) {
        enum { LABEL = 160 };
        rynd_value_info info = RYND_SIZED(rynd_value_info);
        self->input_labels[i] = PyMem_Calloc(LABEL, 1);
        if (!self->input_labels[i] || rynd_model_get_input(self->model, i, &info) != RYND_OK) {
            return false;
        }
        snprintf(self->input_labels[i], LABEL, "input '%.120s'", info.name);
    }
    return self->input_labels;
}

PyObject *py_model_finish(model_object *self)
{
    self->input_names =
        names_of(self->model, rynd_model_input_count(self->model), rynd_model_get_input);
    self->output_names =
        names_of(self->model, rynd_model_output_count(self->model), rynd_model_get_output);
    if (!self->input_names || !self->output_names || !label_inputs(self)) {
        if (!PyErr_Occurred()) {
            PyErr_NoMemory();
        }
        Py_DECREF((PyObject *)self);
        return NULL;
    }
    return (PyObject *)self;
}

PyObject *py_model_of_part(PyObject *owner, context_object *context, rynd_model *model,
                           bool borrowed)
{
    model_object *self = (model_object *)PyType_GenericAlloc(py_model_type, 0);
    if (!self) {
        if (!borrowed) {
            rynd_model_destroy(model);
        }
        return NULL;
    }
    self->model = model;
    self->borrowed = borrowed;
    self->owner = PY_TAKE(owner);
    if (context) {
        self->context = (context_object *)PY_TAKE(context);
    }
    return py_model_finish(self);
}
