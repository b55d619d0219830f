/* SPDX-License-Identifier: Apache-2.0 */
#include "settings.h"
#include "names.h"

#include "errors.h"

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

/* (median, low, high, coverage, arithmetic, memory, overhead, energy), energy None or (joule, low,
 * high, meter). */
PyObject *py_prediction(const rynd_prediction *p)
{
    PyObject *energy =
        *p->meter ? Py_BuildValue("(ddds)", p->joule, p->joule_low, p->joule_high, p->meter)
                  : PY_TAKE(Py_None);
    return energy ? Py_BuildValue("(dddddddN)", p->median, p->low, p->high, p->coverage,
                                  p->arithmetic, p->memory, p->overhead, energy)
                  : NULL;
}

/* {kind: seconds}, without kinds that take none. */
static PyObject *kinds_of(const rynd_candidate *c)
{
    PyObject *kinds = PyDict_New();
    for (size_t i = 0; kinds && i < RYND_WORK_KINDS; i++) {
        PyObject *seconds = c->kinds[i] > 0 ? PyFloat_FromDouble(c->kinds[i]) : NULL;
        if (c->kinds[i] > 0 &&
            (!seconds || PyDict_SetItemString(kinds, rynd_work_kind_name(i), seconds) != 0)) {
            Py_CLEAR(kinds);
        }
        Py_XDECREF(seconds);
    }
    return kinds;
}

int py_add_candidate(void *list, const rynd_candidate *c)
{
    PyObject *prediction = py_prediction(&c->prediction), *kinds = prediction ? kinds_of(c) : NULL;
    PyObject *made = kinds ? Py_BuildValue("(sszisNdnnN)", c->kernel, c->accuracy, c->refused,
                                           c->chosen, c->knobs, prediction, c->measured,
                                           (Py_ssize_t)c->workspace, (Py_ssize_t)c->packed, kinds)
                           : NULL;
    if (!kinds) {
        Py_XDECREF(prediction);
    }
    const bool added = made && PyList_Append(list, made) == 0;
    Py_XDECREF(made);
    return !added;
}

PyObject *py_candidates(PyObject *list, rynd_status status)
{
    if (list && status == RYND_OK) {
        return list;
    }
    Py_XDECREF(list);
    return PyErr_Occurred() ? NULL : py_raise(status);
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

const char **py_texts_of(PyObject *list)
{
    const Py_ssize_t count = PyList_Size(list);
    const char **texts = PyMem_Calloc((size_t)count + 1, sizeof *texts);
    for (Py_ssize_t i = 0; texts && i < count; i++) {
        texts[i] = PyUnicode_AsUTF8AndSize(PyList_GetItem(list, i), NULL);
        if (!texts[i]) {
            PyMem_Free((void *)texts);
            return NULL;
        }
    }
    return texts ? texts : (const char **)PyErr_NoMemory();
}
