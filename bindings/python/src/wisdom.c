/* SPDX-License-Identifier: Apache-2.0 */
/* Records of wisdom. The library calls its visitors while it holds a lock, so they keep what they
 * are given without Python's (GIL), as lines of JSON, and lists are made of them afterwards. */
#include "wisdom.h"

#include "errors.h"

#include <stdlib.h>

/* A record's line, and what is known of it here. */
typedef struct kept {
    char *line;
    bool here, current;
    rynd_wisdom_drift drift; /* from rynd_wisdom_check; without its record */
} kept;

typedef struct list {
    kept *items;
    size_t count, capacity;
    bool failed; /* out of memory */
} list;

static void list_free(list *l)
{
    for (size_t i = 0; i < l->count; i++) {
        free(l->items[i].line);
    }
    free(l->items);
}

static bool list_add(list *l, const rynd_wisdom_record *record, const rynd_wisdom_drift *drift)
{
    size_t length = 0;
    if (l->count == l->capacity) {
        const size_t capacity = l->capacity ? 2 * l->capacity : 64;
        kept *grown = realloc(l->items, capacity * sizeof *grown);
        l->items = grown ? grown : l->items;
        l->capacity = grown ? capacity : l->capacity;
    }
    char *line = l->count < l->capacity && rynd_wisdom_format(record, NULL, 0, &length) == RYND_OK
                     ? malloc(length + 1)
                     : NULL;
    if (!line || rynd_wisdom_format(record, line, length + 1, &length) != RYND_OK) {
        free(line);
        l->failed = true;
        return false;
    }
    l->items[l->count++] =
        (kept){line, record->here, record->current, drift ? *drift : (rynd_wisdom_drift){0}};
    return true;
}

static int keep_record(void *user, const rynd_wisdom_record *record)
{
    return !list_add(user, record, NULL);
}

/* No lock is held here: what interrupts Python ends the check. */
static int keep_drift(void *user, const rynd_wisdom_drift *drift)
{
    const bool added = list_add(user, drift->record, drift);
    const PyGILState_STATE state = PyGILState_Ensure();
    const bool interrupted = PyErr_CheckSignals() != 0;
    PyGILState_Release(state);
    return !added || interrupted;
}

static PyObject *item_of(const kept *item, bool drifts)
{
    return drifts ? Py_BuildValue("(sOOLdddd)", item->line, item->here ? Py_True : Py_False,
                                  item->current ? Py_True : Py_False,
                                  (long long)item->drift.samples, item->drift.median,
                                  item->drift.min, item->drift.max, item->drift.ratio)
                  : Py_BuildValue("(sOO)", item->line, item->here ? Py_True : Py_False,
                                  item->current ? Py_True : Py_False);
}

/* Frees the list. */
static PyObject *give(list *l, rynd_status status, bool drifts)
{
    PyObject *items = NULL;
    if (l->failed) {
        PyErr_NoMemory();
    } else if (status != RYND_OK) {
        py_raise(status);
    } else {
        items = PyList_New(0);
        for (size_t i = 0; items && i < l->count; i++) {
            PyObject *item = item_of(&l->items[i], drifts);
            if (!item || PyList_Append(items, item) != 0) {
                Py_CLEAR(items);
            }
            Py_XDECREF(item);
        }
    }
    list_free(l);
    return items;
}

PyObject *py_wisdom_show(PyObject *module, PyObject *args)
{
    context_object *self;
    list l = {0};
    rynd_status status;
    rynd_wisdom_filter filter = RYND_SIZED(rynd_wisdom_filter);
    (void)module;
    if (!PyArg_ParseTuple(args, "O!zzz", py_context_type, &self, &filter.machine, &filter.kernel,
                          &filter.problem)) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    status = rynd_wisdom_show(self->context, &filter, keep_record, &l);
    Py_END_ALLOW_THREADS
    return give(&l, status, false);
}

PyObject *py_wisdom_check(PyObject *module, PyObject *args)
{
    context_object *self;
    list l = {0};
    Py_ssize_t count;
    unsigned long long seed;
    rynd_status status;
    rynd_wisdom_filter filter = RYND_SIZED(rynd_wisdom_filter);
    rynd_wisdom_check_options options = RYND_SIZED(rynd_wisdom_check_options);
    (void)module;
    if (!PyArg_ParseTuple(args, "O!zzzndK", py_context_type, &self, &filter.machine, &filter.kernel,
                          &filter.problem, &count, &options.seconds, &seed)) {
        return NULL;
    }
    options.count = (size_t)count;
    options.seed = seed;
    Py_BEGIN_ALLOW_THREADS
    status = rynd_wisdom_check(self->context, &filter, &options, keep_drift, &l);
    Py_END_ALLOW_THREADS
    return give(&l, status, true);
}

PyObject *py_wisdom_export(PyObject *module, PyObject *args)
{
    context_object *self;
    PyObject *path;
    size_t count = 0;
    rynd_status status;
    rynd_wisdom_filter filter = RYND_SIZED(rynd_wisdom_filter);
    (void)module;
    if (!PyArg_ParseTuple(args, "O!O&zzz", py_context_type, &self, PyUnicode_FSConverter, &path,
                          &filter.machine, &filter.kernel, &filter.problem)) {
        return NULL;
    }
    const char *name = PyBytes_AsString(path);
    Py_BEGIN_ALLOW_THREADS
    status = rynd_wisdom_export(self->context, &filter, name, &count);
    Py_END_ALLOW_THREADS
    Py_DECREF(path);
    return status == RYND_OK ? PyLong_FromSize_t(count) : py_raise(status);
}

typedef rynd_status (*take_in)(rynd_context *context, const char *path, rynd_wisdom_count *count);

static PyObject *take(PyObject *args, take_in function)
{
    context_object *self;
    PyObject *path;
    rynd_status status;
    rynd_wisdom_count count = RYND_SIZED(rynd_wisdom_count);
    if (!PyArg_ParseTuple(args, "O!O&", py_context_type, &self, PyUnicode_FSConverter, &path)) {
        return NULL;
    }
    const char *name = PyBytes_AsString(path);
    Py_BEGIN_ALLOW_THREADS
    status = function(self->context, name, &count);
    Py_END_ALLOW_THREADS
    Py_DECREF(path);
    return status == RYND_OK ? Py_BuildValue("(nnn)", (Py_ssize_t)count.read,
                                             (Py_ssize_t)count.taken, (Py_ssize_t)count.foreign)
                             : py_raise(status);
}

PyObject *py_wisdom_import(PyObject *module, PyObject *args)
{
    (void)module;
    return take(args, rynd_wisdom_import);
}

PyObject *py_wisdom_merge(PyObject *module, PyObject *args)
{
    (void)module;
    return take(args, rynd_wisdom_merge);
}

PyObject *py_wisdom_clear(PyObject *module, PyObject *args)
{
    context_object *self;
    size_t cleared = 0;
    rynd_status status;
    rynd_wisdom_filter filter = RYND_SIZED(rynd_wisdom_filter);
    (void)module;
    if (!PyArg_ParseTuple(args, "O!zzz", py_context_type, &self, &filter.machine, &filter.kernel,
                          &filter.problem)) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    status = rynd_wisdom_clear(self->context, &filter, &cleared);
    Py_END_ALLOW_THREADS
    return status == RYND_OK ? PyLong_FromSize_t(cleared) : py_raise(status);
}
