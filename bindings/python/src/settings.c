/* SPDX-License-Identifier: Apache-2.0 */
#include "settings.h"

bool py_settings_take(PyObject *list, py_settings *settings)
{
    const Py_ssize_t count = PyList_Size(list);
    settings->all = PyMem_Calloc((size_t)count + 1, sizeof *settings->all);
    if (!settings->all) {
        PyErr_NoMemory();
        return false;
    }
    settings->count = (size_t)count;
    for (Py_ssize_t i = 0; i < count; i++) {
        rynd_setting *setting = &settings->all[i];
        if (!PyArg_ParseTuple(PyList_GetItem(list, i), "zss", &setting->step, &setting->knob,
                              &setting->value)) {
            return false;
        }
    }
    return true;
}

void py_settings_free(py_settings *settings)
{
    PyMem_Free(settings->all);
}

bool py_dims_take(PyObject *list, rynd_dim **dims, size_t *count)
{
    const Py_ssize_t given = PyList_Size(list);
    *count = 0;
    *dims = PyMem_Calloc((size_t)given + 1, sizeof **dims);
    if (!*dims) {
        PyErr_NoMemory();
        return false;
    }
    for (Py_ssize_t i = 0; i < given; i++) {
        long long value;
        if (!PyArg_ParseTuple(PyList_GetItem(list, i), "sL", &(*dims)[i].symbol, &value)) {
            return false;
        }
        (*dims)[i].value = value;
    }
    *count = (size_t)given;
    return true;
}
