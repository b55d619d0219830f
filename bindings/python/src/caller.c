/* SPDX-License-Identifier: Apache-2.0 */
/* Caller: what `model(x)` is. It keeps the sessions of the last shapes, and asks `_session_for`,
 * which Python defines, for one that is missing. Threads that call at once have a session each. */
#include "describe.h"
#include "errors.h"
#include "session.h"

/* Sessions that are kept, for other shapes or threads: so many at most, and no more memory than
 * twice what the largest takes, or KEPT_BYTES. */
enum { KEPT = 16, KEPT_BYTES = 64 << 20 };

typedef struct caller_object {
    PyObject_HEAD model_object *model; /* that tells names; plans may be of others with the same
                                          content */
    PyObject *sessions;                /* list; the last used is the first */
} caller_object;

static PyObject *caller_new(PyTypeObject *type, PyObject *args, PyObject *named)
{
    PyObject *model;
    if (named || !PyArg_ParseTuple(args, "O!", py_model_type, &model)) {
        return NULL;
    }
    caller_object *self = (caller_object *)PyType_GenericAlloc(type, 0);
    if (self) {
        self->model = (model_object *)PY_TAKE(model);
        self->sessions = PyList_New(0);
        if (!self->sessions) {
            Py_DECREF((PyObject *)self);
            self = NULL;
        }
    }
    return (PyObject *)self;
}

/* A Python class derived of it has attributes, and so is the collector's. */
static int caller_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((caller_object *)self)->sessions);
    return 0;
}

static int caller_clear(PyObject *self)
{
    Py_CLEAR(((caller_object *)self)->sessions);
    return 0;
}

static void caller_free(PyObject *self)
{
    PyObject_GC_UnTrack(self);
    caller_clear(self);
    Py_XDECREF((PyObject *)((caller_object *)self)->model);
    py_free(self);
}

/* (dtype, shape, strides) of each input. */
static PyObject *describe(const caller_object *self, const py_lent *inputs)
{
    const Py_ssize_t count = PyTuple_Size(self->model->input_names);
    PyObject *all = PyTuple_New(count);
    for (Py_ssize_t i = 0; all && i < count; i++) {
        PyObject *one = py_describe(&inputs[i].tensor);
        if (!one || PyTuple_SetItem(all, i, one) != 0) {
            Py_CLEAR(all);
        }
    }
    return all;
}

static void put_first(PyObject *sessions, Py_ssize_t at, PyObject *session)
{
    if (at > 0) {
        Py_INCREF(session);
        PyList_SetSlice(sessions, at, at + 1, NULL);
        PyList_Insert(sessions, 0, session);
        Py_DECREF(session);
    }
}

static session_object *find(caller_object *self, const py_lent *inputs)
{
    const Py_ssize_t count = PyList_Size(self->sessions);
    for (Py_ssize_t i = 0; i < count; i++) {
        session_object *session = (session_object *)PyList_GetItem(self->sessions, i);
        if (!session->running && py_session_fits(session, inputs)) {
            put_first(self->sessions, i, (PyObject *)session);
            return PY_TAKE(session);
        }
    }
    return NULL;
}

static size_t memory_of(PyObject *sessions, Py_ssize_t i)
{
    return rynd_session_memory(((session_object *)PyList_GetItem(sessions, i))->session);
}

/* Lets go of the sessions that were used longest ago. */
static int trim(PyObject *sessions)
{
    const Py_ssize_t count = PyList_Size(sessions);
    size_t largest = KEPT_BYTES / 2, sum = 0;
    Py_ssize_t kept = 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        const size_t own = memory_of(sessions, i);
        largest = own > largest ? own : largest;
    }
    while (kept < count && kept < KEPT && (sum += memory_of(sessions, kept)) <= 2 * largest) {
        kept++;
    }
    return kept < count ? PyList_SetSlice(sessions, kept, count, NULL) : 0;
}

static session_object *make(caller_object *self, const py_lent *inputs)
{
    PyObject *tensors = describe(self, inputs);
    PyObject *made =
        tensors ? PyObject_CallMethod((PyObject *)self, "_session_for", "(O)", tensors) : NULL;
    Py_XDECREF(tensors);
    if (made && !PyObject_TypeCheck(made, py_session_type)) {
        py_fail_type("_session_for gave no session");
        Py_CLEAR(made);
    }
    if (made && (PyList_Insert(self->sessions, 0, made) != 0 || trim(self->sessions) != 0)) {
        Py_CLEAR(made);
    }
    return (session_object *)made;
}

static PyObject *call_lent(caller_object *self, const py_lent *inputs)
{
    session_object *session = find(self, inputs);
    if (!session && !PyErr_Occurred()) {
        session = make(self, inputs);
    }
    PyObject *result = session ? py_session_run(session, inputs) : NULL;
    Py_XDECREF((PyObject *)session);
    return result;
}

/* Spreads the arguments as py_lend_inputs takes them: positional, then named. */
static PyObject *call_spread(caller_object *self, PyObject **spread, Py_ssize_t count,
                             PyObject *names)
{
    const Py_ssize_t inputs = PyTuple_Size(self->model->input_names);
    py_lent few[FEW_INPUTS];
    py_lent *lent_inputs =
        inputs <= FEW_INPUTS ? few : PyMem_Calloc((size_t)inputs, sizeof(py_lent));
    if (!lent_inputs) {
        return PyErr_NoMemory();
    }
    PyObject *result = NULL;
    if (py_lend_inputs(self->model, spread, count, names, spread + count, lent_inputs)) {
        result = call_lent(self, lent_inputs);
        py_give_inputs_back(self->model, lent_inputs);
    }
    if (lent_inputs != few) {
        PyMem_Free(lent_inputs);
    }
    return result;
}

/* Puts what a dict holds behind `spread`, and its keys into *names. */
static bool spread_named(PyObject *named, PyObject **spread, PyObject **names)
{
    Py_ssize_t position = 0, i = 0;
    PyObject *key, *value;
    *names = PyTuple_New(PyDict_Size(named));
    while (*names && PyDict_Next(named, &position, &key, &value)) {
        if (!PyUnicode_Check(key)) {
            py_fail_type("a dict of inputs has a key that is no str");
            Py_CLEAR(*names);
            break;
        }
        PyTuple_SetItem(*names, i, PY_TAKE(key));
        spread[i++] = value;
    }
    return *names != NULL;
}

static PyObject *caller_call(PyObject *object, PyObject *args, PyObject *named)
{
    caller_object *self = (caller_object *)object;
    Py_ssize_t count = PyTuple_Size(args);
    PyObject *dict = named && PyDict_Size(named) > 0 ? named : NULL;
    if (count == 1 && !dict && PyDict_Check(PyTuple_GetItem(args, 0))) {
        dict = PyTuple_GetItem(args, 0); /* model({"x": x}) */
        count = 0;
    }
    const Py_ssize_t all = count + (dict ? PyDict_Size(dict) : 0);
    PyObject *few[FEW_INPUTS], *names = NULL;
    PyObject **spread = all <= FEW_INPUTS ? few : PyMem_Calloc((size_t)all, sizeof(PyObject *));
    if (!spread) {
        return PyErr_NoMemory();
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        spread[i] = PyTuple_GetItem(args, i);
    }
    PyObject *result = !dict || spread_named(dict, spread + count, &names)
                           ? call_spread(self, spread, count, names)
                           : NULL;
    Py_XDECREF(names);
    if (spread != few) {
        PyMem_Free(spread);
    }
    return result;
}

static PyObject *caller_forget(PyObject *self, PyObject *unused)
{
    (void)unused;
    PyObject *sessions = ((caller_object *)self)->sessions;
    return PyList_SetSlice(sessions, 0, PyList_Size(sessions), NULL) == 0 ? PY_TAKE(Py_None) : NULL;
}

static PyMethodDef caller_methods[] = {
    {"_forget", caller_forget, METH_NOARGS, "Drops all kept sessions."}, {NULL, NULL, 0, NULL}};

static PyType_Slot caller_slots[] = {{Py_tp_doc, "Runs a model, planned once for each shape."},
                                     {Py_tp_new, caller_new},
                                     {Py_tp_call, caller_call},
                                     {Py_tp_traverse, caller_traverse},
                                     {Py_tp_clear, caller_clear},
                                     {Py_tp_dealloc, caller_free},
                                     {Py_tp_methods, caller_methods},
                                     {0, NULL}};

PyType_Spec py_caller_spec = {"rynd._rynd.Caller", sizeof(caller_object), 0,
                              Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
                              caller_slots};
