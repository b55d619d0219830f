/* SPDX-License-Identifier: Apache-2.0 */
/* Which of a call's arguments is which input of the model. */
#include "errors.h"
#include "session.h"

static Py_ssize_t index_of(PyObject *names, PyObject *name)
{
    const Py_ssize_t count = PyTuple_Size(names);
    for (Py_ssize_t i = 0; i < count; i++) {
        if (PyTuple_GetItem(names, i) == name) {
            return i;
        }
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        if (PyUnicode_Compare(PyTuple_GetItem(names, i), name) == 0) {
            return i;
        }
    }
    return -1;
}

static PyObject *quoted(PyObject *names)
{
    PyObject *comma = PyUnicode_FromString("', '");
    PyObject *joined = comma ? PyUnicode_Join(comma, names) : NULL;
    Py_XDECREF(comma);
    return joined;
}

static bool fail_name(const model_object *model, PyObject *name)
{
    PyObject *joined = quoted(model->input_names);
    if (joined) {
        py_fail_name("the model has no input '%U': its inputs are '%U'", name, joined);
        Py_DECREF(joined);
    }
    return false;
}

static bool lend_one(const model_object *model, Py_ssize_t index, PyObject *object, py_lent *to)
{
    if (to[index].tensor.dtype != RYND_DTYPE_NONE) {
        return py_fail_type("input '%U' is given twice, by position and by name",
                            PyTuple_GetItem(model->input_names, index)) != NULL;
    }
    return py_lend(object, model->input_labels[index], false, &to[index]);
}

bool py_lend_inputs(const model_object *model, PyObject *const *positional, Py_ssize_t count,
                    PyObject *names, PyObject *const *named, py_lent *to)
{
    const Py_ssize_t inputs = PyTuple_Size(model->input_names);
    const Py_ssize_t others = names ? PyTuple_Size(names) : 0;
    for (Py_ssize_t i = 0; i < inputs; i++) {
        to[i] = (py_lent){.owner = NULL};
    }
    bool fine = count <= inputs;
    if (!fine) {
        py_fail_type("%zd arrays are given, and the model has %zd inputs", count, inputs);
    }
    for (Py_ssize_t i = 0; fine && i < count; i++) {
        fine = lend_one(model, i, positional[i], to);
    }
    for (Py_ssize_t i = 0; fine && i < others; i++) {
        PyObject *name = PyTuple_GetItem(names, i);
        const Py_ssize_t index = index_of(model->input_names, name);
        fine = index < 0 ? fail_name(model, name) : lend_one(model, index, named[i], to);
    }
    for (Py_ssize_t i = 0; fine && i < inputs; i++) {
        if (to[i].tensor.dtype == RYND_DTYPE_NONE) {
            py_fail_type("input '%U' is not given", PyTuple_GetItem(model->input_names, i));
            fine = false;
        }
    }
    if (!fine) {
        py_give_inputs_back(model, to);
    }
    return fine;
}

void py_give_inputs_back(const model_object *model, py_lent *inputs)
{
    const Py_ssize_t count = PyTuple_Size(model->input_names);
    for (Py_ssize_t i = 0; i < count; i++) {
        py_give_back(&inputs[i]);
    }
}
