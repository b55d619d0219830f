/* SPDX-License-Identifier: Apache-2.0 */
/* Buffer: a block of device memory. Event: a point in a device's work. */
#include "errors.h"
#include "lend.h"
#include "queue.h"

#include <string.h>

static PyObject *buffer_new(PyTypeObject *type, PyObject *args, PyObject *named)
{
    PyObject *context, *native;
    Py_ssize_t size;
    if (named ||
        !PyArg_ParseTuple(args, "O!nO:Buffer", py_context_type, &context, &size, &native)) {
        return NULL;
    }
    if (size < 0) {
        return py_fail_value("a buffer of %zd bytes: give 0 or more", size);
    }
    void *address = native == Py_None ? NULL : PyLong_AsVoidPtr(native);
    if (PyErr_Occurred()) {
        return NULL;
    }
    buffer_object *self = (buffer_object *)PyType_GenericAlloc(type, 0);
    if (!self) {
        return NULL;
    }
    self->context = (context_object *)PY_TAKE(context);
    const rynd_status status =
        native == Py_None
            ? rynd_buffer_create(self->context->context, (size_t)size, &self->buffer)
            : rynd_buffer_import(self->context->context, address, (size_t)size, &self->buffer);
    if (status != RYND_OK) {
        py_raise(status);
        Py_DECREF((PyObject *)self);
        return NULL;
    }
    return (PyObject *)self;
}

static void buffer_free(PyObject *self)
{
    buffer_object *buffer = (buffer_object *)self;
    rynd_buffer_destroy(buffer->buffer);
    Py_XDECREF((PyObject *)buffer->context);
    py_free(self);
}

/* (array, offset): copies a row-major array to (write) or from the buffer, and waits. */
static PyObject *transfer(PyObject *object, PyObject *args, bool write)
{
    buffer_object *self = (buffer_object *)object;
    PyObject *array;
    Py_ssize_t offset;
    py_lent lent;
    size_t size;
    if (!PyArg_ParseTuple(args, "On", &array, &offset) ||
        !py_lend_flat(array, !write, &lent, &size)) {
        return NULL;
    }
    rynd_status status;
    Py_BEGIN_ALLOW_THREADS
    status = write ? rynd_buffer_write(self->buffer, (size_t)offset, lent.tensor.data, size)
                   : rynd_buffer_read(self->buffer, (size_t)offset, lent.tensor.data, size);
    Py_END_ALLOW_THREADS
    py_give_back(&lent);
    return status == RYND_OK ? PY_TAKE(Py_None) : py_raise(status);
}

static PyObject *buffer_write(PyObject *self, PyObject *args)
{
    return transfer(self, args, true);
}

static PyObject *buffer_read(PyObject *self, PyObject *args)
{
    return transfer(self, args, false);
}

static PyObject *buffer_size(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromSize_t(rynd_buffer_size(((buffer_object *)self)->buffer));
}

static PyObject *buffer_native(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromVoidPtr(rynd_buffer_native(((buffer_object *)self)->buffer));
}

static PyMethodDef buffer_methods[] = {
    {"_write", buffer_write, METH_VARARGS, "(array, offset): copies from the host, and waits."},
    {"_read", buffer_read, METH_VARARGS, "(array, offset): copies to the host, and waits."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef buffer_attributes[] = {
    {"size", buffer_size, NULL, "Bytes.", NULL},
    {"native", buffer_native, NULL,
     "The device's own handle as a number: a cl_mem, an address of CUDA, or a pointer.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot buffer_slots[] = {{Py_tp_doc, "A block of device memory."},
                                     {Py_tp_new, buffer_new},
                                     {Py_tp_dealloc, buffer_free},
                                     {Py_tp_methods, buffer_methods},
                                     {Py_tp_getset, buffer_attributes},
                                     {0, NULL}};

PyType_Spec py_buffer_spec = {"rynd._rynd.Buffer", sizeof(buffer_object), 0,
                              Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, buffer_slots};

static PyObject *event_new(PyTypeObject *type, PyObject *args, PyObject *named)
{
    PyObject *context;
    if (named || !PyArg_ParseTuple(args, "O!:Event", py_context_type, &context)) {
        return NULL;
    }
    event_object *self = (event_object *)PyType_GenericAlloc(type, 0);
    if (!self) {
        return NULL;
    }
    self->context = (context_object *)PY_TAKE(context);
    const rynd_status status = rynd_event_create(self->context->context, &self->event);
    if (status != RYND_OK) {
        py_raise(status);
        Py_DECREF((PyObject *)self);
        return NULL;
    }
    return (PyObject *)self;
}

static void event_free(PyObject *self)
{
    event_object *event = (event_object *)self;
    rynd_event_destroy(event->event);
    Py_XDECREF((PyObject *)event->context);
    py_free(self);
}

static PyObject *event_wait(PyObject *self, PyObject *unused)
{
    (void)unused;
    rynd_status status;
    Py_BEGIN_ALLOW_THREADS
    status = rynd_event_wait(((event_object *)self)->event);
    Py_END_ALLOW_THREADS
    return status == RYND_OK ? PY_TAKE(Py_None) : py_raise(status);
}

static PyObject *event_done(PyObject *self, void *unused)
{
    (void)unused;
    int done;
    const rynd_status status = rynd_event_get_done(((event_object *)self)->event, &done);
    return status == RYND_OK ? PyBool_FromLong(done) : py_raise(status);
}

static PyObject *event_elapsed(PyObject *self, PyObject *to)
{
    double seconds;
    rynd_status status;
    if (!PyObject_TypeCheck(to, py_event_type)) {
        return py_fail_type("elapsed() wants an Event");
    }
    Py_BEGIN_ALLOW_THREADS
    status = rynd_event_get_elapsed(((event_object *)self)->event, ((event_object *)to)->event,
                                    &seconds);
    Py_END_ALLOW_THREADS
    return status == RYND_OK ? PyFloat_FromDouble(seconds) : py_raise(status);
}

static PyMethodDef event_methods[] = {
    {"wait", event_wait, METH_NOARGS, "wait()\n--\n\nWaits until the event is reached."},
    {"elapsed", event_elapsed, METH_O,
     "elapsed(to)\n--\n\nSeconds from this event to a later one by the device's clock, after "
     "waiting for both. On OpenCL their streams must be profiled (Stream.profile)."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef event_attributes[] = {
    {"done", event_done, NULL, "Is the event reached? True if it was never recorded.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot event_slots[] = {{Py_tp_doc, "A point in a device's work."},
                                    {Py_tp_new, event_new},
                                    {Py_tp_dealloc, event_free},
                                    {Py_tp_methods, event_methods},
                                    {Py_tp_getset, event_attributes},
                                    {0, NULL}};

PyType_Spec py_event_spec = {"rynd._rynd.Event", sizeof(event_object), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, event_slots};
