/* SPDX-License-Identifier: Apache-2.0 */
/* Stream: a queue of a device's work. */
#include "describe.h"
#include "errors.h"
#include "lend.h"
#include "queue.h"

#include <string.h>

bool py_stream_begin(stream_object *stream)
{
    if (stream->busy) {
        return py_fail_busy("this stream is in use by another thread: make one stream a thread") !=
               NULL;
    }
    stream->busy = true;
    return true;
}

static bool clear(PyObject *list)
{
    return PyList_SetSlice(list, 0, PyList_Size(list), NULL) == 0;
}

/* Drops the objects of work that is done. Work that was queued since waits for a new event. */
static rynd_status drop_done(stream_object *stream)
{
    int done = 1;
    rynd_status status =
        PyList_Size(stream->waiting) ? rynd_event_get_done(stream->reached, &done) : RYND_OK;
    if (status != RYND_OK || !done) {
        return status;
    }
    PyObject *old = stream->waiting;
    stream->waiting = stream->used;
    stream->used = old;
    if (!clear(old)) {
        return RYND_ERROR_OUT_OF_MEMORY;
    }
    if (PyList_Size(stream->waiting)) {
        status = rynd_stream_record(stream->stream, stream->reached);
    }
    return status;
}

PyObject *py_stream_end(stream_object *stream, rynd_status status, PyObject *object)
{
    if (status == RYND_OK && object) {
        status = PyList_Append(stream->used, object) == 0 ? RYND_OK : RYND_ERROR_OUT_OF_MEMORY;
        for (int turn = 0; turn < 2 && status == RYND_OK; turn++) { /* the second: done at once */
            status = drop_done(stream);
        }
    }
    stream->busy = false;
    return status == RYND_OK ? PY_TAKE(Py_None) : py_raise(status);
}

bool py_take_operand(PyObject *object, const char *what, rynd_operand *operand)
{
    *operand = (rynd_operand){.buffer = NULL};
    if (object == Py_None) {
        return true;
    }
    if (PyBytes_Check(object)) {
        operand->value = PyBytes_AsString(object);
        return operand->value != NULL;
    }
    PyObject *buffer = object;
    Py_ssize_t offset = 0;
    if (PyTuple_Check(object) && !PyArg_ParseTuple(object, "On", &buffer, &offset)) {
        return false;
    }
    if (!PyObject_TypeCheck(buffer, py_buffer_type) || offset < 0) {
        return py_fail_type("%s: give a Buffer, (Buffer, offset in bytes from 0 on), a View, or a "
                            "number",
                            what) != NULL;
    }
    *operand =
        (rynd_operand){.buffer = ((buffer_object *)buffer)->buffer, .offset = (size_t)offset};
    return true;
}

static PyObject *stream_new(PyTypeObject *type, PyObject *args, PyObject *named)
{
    PyObject *context;
    if (named || !PyArg_ParseTuple(args, "O!:Stream", py_context_type, &context)) {
        return NULL;
    }
    stream_object *self = (stream_object *)PyType_GenericAlloc(type, 0);
    if (!self) {
        return NULL;
    }
    self->context = (context_object *)PY_TAKE(context);
    self->used = PyList_New(0);
    self->waiting = PyList_New(0);
    rynd_status status = self->used && self->waiting ? RYND_OK : RYND_ERROR_OUT_OF_MEMORY;
    if (status == RYND_OK) {
        status = rynd_event_create(self->context->context, &self->reached);
    }
    if (status == RYND_OK) {
        status = rynd_stream_create(self->context->context, &self->stream);
    }
    if (status != RYND_OK) {
        py_raise(status);
        Py_DECREF((PyObject *)self);
        return NULL;
    }
    return (PyObject *)self;
}

static void stream_free(PyObject *self)
{
    stream_object *stream = (stream_object *)self;
    Py_BEGIN_ALLOW_THREADS
    rynd_stream_destroy(stream->stream); /* waits for its work */
    Py_END_ALLOW_THREADS
    rynd_event_destroy(stream->reached);
    Py_XDECREF(stream->used);
    Py_XDECREF(stream->waiting);
    Py_XDECREF((PyObject *)stream->context);
    py_free(self);
}

static PyObject *stream_synchronize(PyObject *object, PyObject *unused)
{
    (void)unused;
    stream_object *self = (stream_object *)object;
    if (!py_stream_begin(self)) {
        return NULL;
    }
    rynd_status status;
    Py_BEGIN_ALLOW_THREADS
    status = rynd_stream_synchronize(self->stream);
    Py_END_ALLOW_THREADS
    if (status == RYND_OK && !(clear(self->waiting) && clear(self->used))) {
        status = RYND_ERROR_OUT_OF_MEMORY;
    }
    return py_stream_end(self, status, NULL);
}

static PyObject *stream_profile(PyObject *object, PyObject *on)
{
    stream_object *self = (stream_object *)object;
    const int wanted = PyObject_IsTrue(on);
    if (wanted < 0 || !py_stream_begin(self)) {
        return NULL;
    }
    rynd_status status;
    Py_BEGIN_ALLOW_THREADS
    status = rynd_stream_profile(self->stream, wanted);
    Py_END_ALLOW_THREADS
    return py_stream_end(self, status, NULL);
}

static PyObject *stream_wait(PyObject *object, PyObject *other)
{
    stream_object *self = (stream_object *)object;
    const bool of_event = PyObject_TypeCheck(other, py_event_type);
    if (!of_event && !PyObject_TypeCheck(other, py_stream_type)) {
        return py_fail_type("wait() wants an Event or a Stream");
    }
    if (!py_stream_begin(self)) {
        return NULL;
    }
    return py_stream_end(
        self,
        of_event ? rynd_stream_wait_event(self->stream, ((event_object *)other)->event)
                 : rynd_stream_wait_stream(self->stream, ((stream_object *)other)->stream),
        NULL);
}

static PyObject *stream_record(PyObject *object, PyObject *event)
{
    stream_object *self = (stream_object *)object;
    if (!PyObject_TypeCheck(event, py_event_type)) {
        return py_fail_type("record() wants an Event");
    }
    if (!py_stream_begin(self)) {
        return NULL;
    }
    return py_stream_end(self, rynd_stream_record(self->stream, ((event_object *)event)->event),
                         NULL);
}

/* What a queued copy with the host's memory uses: the array stays lent until then. */
static void release_lent(PyObject *capsule)
{
    py_lent *lent = PyCapsule_GetPointer(capsule, "rynd.lent");
    py_give_back(lent);
    PyMem_Free(lent);
}

static PyObject *lend_until_done(PyObject *array, bool write, py_lent **lent, size_t *size)
{
    *lent = PyMem_Calloc(1, sizeof **lent);
    if (!*lent) {
        return PyErr_NoMemory();
    }
    if (!py_lend_flat(array, write, *lent, size)) {
        PyMem_Free(*lent);
        return NULL;
    }
    PyObject *capsule = PyCapsule_New(*lent, "rynd.lent", release_lent);
    if (!capsule) {
        py_give_back(*lent);
        PyMem_Free(*lent);
    }
    return capsule;
}

/* (buffer, array, offset) */
static PyObject *transfer(PyObject *object, PyObject *args, bool write)
{
    stream_object *self = (stream_object *)object;
    PyObject *buffer, *array;
    Py_ssize_t offset;
    py_lent *lent;
    size_t size;
    if (!PyArg_ParseTuple(args, "O!On", py_buffer_type, &buffer, &array, &offset)) {
        return NULL;
    }
    PyObject *capsule = lend_until_done(array, !write, &lent, &size);
    PyObject *used = capsule ? PyTuple_Pack(2, buffer, capsule) : NULL;
    PyObject *result = NULL;
    if (used && py_stream_begin(self)) {
        rynd_buffer *const memory = ((buffer_object *)buffer)->buffer;
        rynd_status status;
        Py_BEGIN_ALLOW_THREADS
        status = write ? rynd_buffer_write_async(self->stream, memory, (size_t)offset,
                                                 lent->tensor.data, size)
                       : rynd_buffer_read_async(self->stream, memory, (size_t)offset,
                                                lent->tensor.data, size);
        Py_END_ALLOW_THREADS
        result = py_stream_end(self, status, used);
    }
    Py_XDECREF(used);
    Py_XDECREF(capsule);
    return result;
}

static PyObject *stream_write(PyObject *self, PyObject *args)
{
    return transfer(self, args, true);
}

static PyObject *stream_read(PyObject *self, PyObject *args)
{
    return transfer(self, args, false);
}

/* (to, to_offset, from, from_offset, size) */
static PyObject *stream_copy(PyObject *object, PyObject *args)
{
    stream_object *self = (stream_object *)object;
    PyObject *to, *from;
    Py_ssize_t to_offset, from_offset, size;
    if (!PyArg_ParseTuple(args, "O!nO!nn", py_buffer_type, &to, &to_offset, py_buffer_type, &from,
                          &from_offset, &size)) {
        return NULL;
    }
    PyObject *used = PyTuple_Pack(2, to, from);
    PyObject *result = NULL;
    if (used && py_stream_begin(self)) {
        rynd_status status;
        Py_BEGIN_ALLOW_THREADS
        status = rynd_buffer_copy_async(self->stream, ((buffer_object *)to)->buffer,
                                        (size_t)to_offset, ((buffer_object *)from)->buffer,
                                        (size_t)from_offset, (size_t)size);
        Py_END_ALLOW_THREADS
        result = py_stream_end(self, status, used);
    }
    Py_XDECREF(used);
    return result;
}

/* (buffer, offset, size, pattern) */
static PyObject *stream_fill(PyObject *object, PyObject *args)
{
    stream_object *self = (stream_object *)object;
    PyObject *buffer;
    Py_ssize_t offset, size, pattern_size;
    const char *pattern;
    if (!PyArg_ParseTuple(args, "O!nny#", py_buffer_type, &buffer, &offset, &size, &pattern,
                          &pattern_size) ||
        !py_stream_begin(self)) {
        return NULL;
    }
    rynd_status status;
    Py_BEGIN_ALLOW_THREADS
    status = rynd_buffer_fill_async(self->stream, ((buffer_object *)buffer)->buffer, (size_t)offset,
                                    (size_t)size, pattern, (size_t)pattern_size);
    Py_END_ALLOW_THREADS
    return py_stream_end(self, status, buffer);
}

/* (to's description, to's operand, from's description, from's operand) */
static PyObject *stream_copy_tensor(PyObject *object, PyObject *args)
{
    stream_object *self = (stream_object *)object;
    PyObject *to_like, *to_place, *from_like, *from_place;
    rynd_tensor to, from;
    rynd_operand to_memory, from_memory;
    if (!PyArg_ParseTuple(args, "OOOO", &to_like, &to_place, &from_like, &from_place) ||
        !py_take_description(to_like, &to) || !py_take_description(from_like, &from) ||
        !py_take_operand(to_place, "to", &to_memory) ||
        !py_take_operand(from_place, "from", &from_memory) || !py_stream_begin(self)) {
        return NULL;
    }
    rynd_status status;
    Py_BEGIN_ALLOW_THREADS
    status = rynd_tensor_copy_async(self->stream, &to, &to_memory, &from, &from_memory);
    Py_END_ALLOW_THREADS
    return py_stream_end(self, status, args);
}

static PyMethodDef stream_methods[] = {
    {"synchronize", stream_synchronize, METH_NOARGS,
     "synchronize()\n--\n\nWaits until all work in the stream is done."},
    {"profile", stream_profile, METH_O,
     "profile(on)\n--\n\nGives later events of the stream a time, or none; waits for its work. "
     "Only "
     "OpenCL needs it."},
    {"wait", stream_wait, METH_O,
     "wait(other)\n--\n\nLets later work begin when an Event is reached, or when all present work "
     "of another Stream is done. Returns at once."},
    {"_record", stream_record, METH_O, "Records an Event."},
    {"_write", stream_write, METH_VARARGS, "(buffer, array, offset)"},
    {"_read", stream_read, METH_VARARGS, "(buffer, array, offset)"},
    {"_copy", stream_copy, METH_VARARGS, "(to, to_offset, from, from_offset, size)"},
    {"_fill", stream_fill, METH_VARARGS, "(buffer, offset, size, pattern)"},
    {"_copy_tensor", stream_copy_tensor, METH_VARARGS, "(description, operand) of to and from"},
    {NULL, NULL, 0, NULL}};

static PyType_Slot stream_slots[] = {{Py_tp_doc, "A queue of a device's work."},
                                     {Py_tp_new, stream_new},
                                     {Py_tp_dealloc, stream_free},
                                     {Py_tp_methods, stream_methods},
                                     {0, NULL}};

PyType_Spec py_stream_spec = {"rynd._rynd.Stream", sizeof(stream_object), 0,
                              Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, stream_slots};
