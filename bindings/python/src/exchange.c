/* SPDX-License-Identifier: Apache-2.0 */
/* Exchange: MPI's; and calls of the library into an exchange that is written in Python. */
#include "exchange.h"

#include "errors.h"

typedef struct exchange_object {
    PyObject_HEAD rynd_exchange exchange;
} exchange_object;

/* --- MPI's --- */

static PyObject *exchange_new(PyTypeObject *type, PyObject *args, PyObject *named)
{
    if (named || !PyArg_ParseTuple(args, ":Exchange")) {
        return NULL;
    }
    exchange_object *self = (exchange_object *)PyType_GenericAlloc(type, 0);
    if (!self) {
        return NULL;
    }
    self->exchange = RYND_SIZED(rynd_exchange);
    rynd_status status;
    Py_BEGIN_ALLOW_THREADS
    status = rynd_mpi_open(&self->exchange);
    Py_END_ALLOW_THREADS
    if (status != RYND_OK) {
        self->exchange.all_reduce = NULL;
        Py_DECREF((PyObject *)self);
        return py_raise(status);
    }
    return (PyObject *)self;
}

static bool is_open(const exchange_object *self)
{
    return self->exchange.all_reduce || py_fail_value("the exchange is closed") != NULL;
}

static PyObject *exchange_place(PyObject *object, PyObject *unused)
{
    const rynd_exchange *e = &((exchange_object *)object)->exchange;
    (void)unused;
    return Py_BuildValue("(iii)", e->rank, e->ranks, e->local_ranks);
}

/* Takes a contiguous, writable buffer of floats. */
static bool take_floats(PyObject *object, Py_buffer *view)
{
    if (PyObject_GetBuffer(object, view, PyBUF_WRITABLE | PyBUF_ND | PyBUF_FORMAT) != 0) {
        return false;
    }
    if (view->itemsize != sizeof(float) || !view->format || view->format[0] != 'f') {
        PyBuffer_Release(view);
        return py_fail_type("all_reduce takes a writable array of float32 in one piece") != NULL;
    }
    return true;
}

static PyObject *exchange_all_reduce(PyObject *object, PyObject *array)
{
    const exchange_object *self = (exchange_object *)object;
    Py_buffer view;
    int result;
    if (!is_open(self) || !take_floats(array, &view)) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    result =
        self->exchange.all_reduce(self->exchange.user, view.buf, (size_t)view.len / sizeof(float));
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&view);
    if (result != 0) {
        PyErr_SetString(PyExc_OSError, "the exchange with the other ranks failed");
        return NULL;
    }
    return PY_TAKE(Py_None);
}

static PyObject *exchange_close(PyObject *object, PyObject *unused)
{
    exchange_object *self = (exchange_object *)object;
    (void)unused;
    if (self->exchange.all_reduce) {
        Py_BEGIN_ALLOW_THREADS
        rynd_mpi_close(&self->exchange);
        Py_END_ALLOW_THREADS
    }
    return PY_TAKE(Py_None);
}

static PyObject *exchange_abort(PyObject *object, PyObject *code)
{
    const exchange_object *self = (exchange_object *)object;
    const long number = PyLong_AsLong(code);
    if ((number == -1 && PyErr_Occurred()) || !is_open(self)) {
        return NULL;
    }
    rynd_mpi_abort(&self->exchange, (int)number);
    return PY_TAKE(Py_None);
}

/* One that was not closed is not ended here: the other ranks may be in the middle of something, and
 * so may a trainer. */
static void exchange_free(PyObject *object)
{
    py_free(object);
}

static PyMethodDef exchange_methods[] = {
    {"_place", exchange_place, METH_NOARGS, "(rank, ranks, local_ranks)."},
    {"all_reduce", exchange_all_reduce, METH_O, "Adds up an array over all ranks, in place."},
    {"close", exchange_close, METH_NOARGS, "Ends MPI; every rank does."},
    {"abort", exchange_abort, METH_O, "Ends all ranks with that exit code."},
    {NULL, NULL, 0, NULL}};

static PyType_Slot exchange_slots[] = {{Py_tp_doc, "MPI's exchange over the ranks."},
                                       {Py_tp_new, exchange_new},
                                       {Py_tp_dealloc, exchange_free},
                                       {Py_tp_methods, exchange_methods},
                                       {0, NULL}};

PyType_Spec py_exchange_spec = {"rynd._rynd.Exchange", sizeof(exchange_object), 0,
                                Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, exchange_slots};

PyObject *py_mpi_ranks(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return PyLong_FromLong(rynd_mpi_ranks());
}

/* --- Python's --- */

/* all_reduce(memoryview of float32). Called by threads of the library. */
static int call(void *user, float *data, size_t count)
{
    py_exchange *e = user;
    const PyGILState_STATE state = PyGILState_Ensure();
    PyObject *bytes =
        PyMemoryView_FromMemory((char *)data, (Py_ssize_t)(count * sizeof *data), PyBUF_WRITE);
    PyObject *floats = bytes ? PyObject_CallMethod(bytes, "cast", "s", "f") : NULL;
    PyObject *result = floats ? PyObject_CallMethod(e->object, "all_reduce", "O", floats) : NULL;
    const int status = result ? 0 : -1;
    if (!result && !e->type) {
        PyErr_Fetch(&e->type, &e->value, &e->traceback);
    }
    PyErr_Clear();
    Py_XDECREF(result);
    Py_XDECREF(floats);
    Py_XDECREF(bytes);
    PyGILState_Release(state);
    return status;
}

static bool take_number(PyObject *object, const char *name, int *number)
{
    PyObject *attribute = PyObject_GetAttrString(object, name);
    const long value = attribute ? PyLong_AsLong(attribute) : -1;
    Py_XDECREF(attribute);
    *number = (int)value;
    return !PyErr_Occurred();
}

bool py_exchange_take(PyObject *object, py_exchange *to)
{
    *to = (py_exchange){.exchange = RYND_SIZED(rynd_exchange)};
    if (object == Py_None) {
        return true;
    }
    if (PyObject_TypeCheck(object, py_exchange_type)) {
        const exchange_object *own = (exchange_object *)object;
        if (!is_open(own)) {
            return false;
        }
        to->exchange = own->exchange;
    } else {
        to->exchange.all_reduce = call;
        to->exchange.user = to;
        if (!take_number(object, "rank", &to->exchange.rank) ||
            !take_number(object, "ranks", &to->exchange.ranks)) {
            return false;
        }
    }
    to->object = PY_TAKE(object);
    return true;
}

void py_exchange_drop(py_exchange *exchange)
{
    Py_CLEAR(exchange->object);
    Py_CLEAR(exchange->type);
    Py_CLEAR(exchange->value);
    Py_CLEAR(exchange->traceback);
}

bool py_exchange_raise(py_exchange *exchange)
{
    if (!exchange->type) {
        return false;
    }
    PyErr_Restore(exchange->type, exchange->value, exchange->traceback);
    exchange->type = exchange->value = exchange->traceback = NULL;
    return true;
}
