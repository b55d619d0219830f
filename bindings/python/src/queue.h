/* SPDX-License-Identifier: Apache-2.0 */
/* Device memory, and streams of work on it. A stream keeps the objects alive that its queued work
 * uses: the host's memory of copies, and buffers. */
#ifndef RYND_PYTHON_QUEUE_H
#define RYND_PYTHON_QUEUE_H

#include "extension.h"

typedef struct buffer_object {
    PyObject_HEAD context_object *context;
    rynd_buffer *buffer;
} buffer_object;

typedef struct event_object {
    PyObject_HEAD context_object *context;
    rynd_event *event;
} event_object;

typedef struct stream_object {
    PyObject_HEAD context_object *context;
    rynd_stream *stream;
    bool busy;
    PyObject *used;    /* a list: objects of work behind `reached` */
    PyObject *waiting; /* a list: objects of work up to `reached` */
    rynd_event *reached;
} stream_object;

/* Takes the stream for this thread until py_stream_end. False: an exception is set. */
bool py_stream_begin(stream_object *stream);

/* Gives the stream back, and keeps `object` until the stream's present work is done. Returns None,
 * or NULL with an exception. */
PyObject *py_stream_end(stream_object *stream, rynd_status status, PyObject *object);

/* An operand from None, a Buffer, (Buffer, offset in bytes), or bytes: one element by value. False:
 * an exception is set. The object keeps what the operand refers to. */
bool py_take_operand(PyObject *object, const char *what, rynd_operand *operand);

#endif
