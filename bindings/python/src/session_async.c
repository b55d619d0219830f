/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of a session in a stream. The session keeps the arrays, buffers and events of a run until it
 * was waited for. */
#include "array.h"
#include "describe.h"
#include "errors.h"
#include "queue.h"
#include "session.h"

#include <string.h>

enum { MOST_WAITS = 16 };

/* A run that nobody has waited for. */
struct py_pending {
    PyObject *arguments; /* buffers, streams and events */
    PyObject *results;   /* a list */
    int lent_count;
    py_lent lent[]; /* arrays of inputs, then of outputs; owner NULL: none */
};

static py_pending *pending_new(const session_object *self, PyObject *arguments)
{
    const size_t count = (size_t)self->inputs + (size_t)self->outputs;
    py_pending *pending = PyMem_Calloc(1, sizeof *pending + count * sizeof pending->lent[0]);
    if (!pending) {
        PyErr_NoMemory();
        return NULL;
    }
    pending->lent_count = (int)count;
    pending->arguments = PY_TAKE(arguments);
    pending->results = PyList_New(self->outputs);
    return pending;
}

static void pending_drop(py_pending *pending)
{
    if (pending) {
        for (int i = 0; i < pending->lent_count; i++) {
            py_give_back(&pending->lent[i]);
        }
        Py_XDECREF(pending->results);
        Py_XDECREF(pending->arguments);
        PyMem_Free(pending);
    }
}

rynd_status py_session_settle(session_object *self)
{
    py_pending *pending = self->pending;
    if (!pending) {
        return RYND_OK;
    }
    rynd_status status;
    self->running = true;
    Py_BEGIN_ALLOW_THREADS
    status = rynd_session_wait(self->session);
    Py_END_ALLOW_THREADS
    self->running = false;
    self->pending = NULL;
    pending_drop(pending);
    return status;
}

static bool is_idle(const session_object *self)
{
    return !self->running ||
           py_fail_busy("this session runs in another thread: make one session a thread, by "
                        "plan.session()");
}

PyObject *py_session_wait(PyObject *object, PyObject *unused)
{
    (void)unused;
    session_object *self = (session_object *)object;
    if (!is_idle(self)) {
        return NULL;
    }
    const rynd_status status = py_session_settle(self);
    return status == RYND_OK ? PY_TAKE(Py_None) : py_raise(status);
}

/* --- operands --- */

static bool is_place(PyObject *object)
{
    return PyObject_TypeCheck(object, py_buffer_type) ||
           (PyTuple_Check(object) && PyTuple_Size(object) == 2 &&
            PyObject_TypeCheck(PyTuple_GetItem(object, 0), py_buffer_type));
}

static bool bind_input(session_object *self, int index, PyObject *object, py_lent *lent)
{
    rynd_operand place;
    rynd_status status;
    self->in[index].bound.dtype = RYND_DTYPE_NONE;
    if (is_place(object)) {
        if (!py_take_operand(object, "an input", &place)) {
            return false;
        }
        status = rynd_session_bind_input_buffer(self->session, (size_t)index, place.buffer,
                                                place.offset);
    } else {
        if (!py_lend(object, self->plan->model->input_labels[index], false, lent)) {
            return false;
        }
        status = rynd_session_bind_input(self->session, (size_t)index, &lent->tensor);
    }
    return status == RYND_OK || py_raise(status);
}

/* None: a new array. Returns the result; NULL: an exception is set. */
static PyObject *bind_output(session_object *self, int index, PyObject *object, py_lent *lent)
{
    rynd_operand place;
    rynd_status status;
    PyObject *result = NULL;
    if (object == Py_None) {
        session_output *output = &self->out[index];
        if (output->later) {
            return py_fail_unsupported("the shape of output %d depends on data: call run()", index);
        }
        array_object *array = py_array_new(&output->planned, output->pool);
        if (!array) {
            return NULL;
        }
        result = (PyObject *)array;
        status = rynd_session_bind_output(self->session, (size_t)index, &array->tensor);
    } else if (is_place(object)) {
        if (!py_take_operand(object, "an output", &place)) {
            return NULL;
        }
        result = PY_TAKE(object);
        status = rynd_session_bind_output_buffer(self->session, (size_t)index, place.buffer,
                                                 place.offset);
    } else {
        if (!py_lend(object, "an output", true, lent)) {
            return NULL;
        }
        result = PY_TAKE(object);
        status = rynd_session_bind_output(self->session, (size_t)index, &lent->tensor);
    }
    if (status != RYND_OK) {
        Py_DECREF(result);
        return py_raise(status);
    }
    return result;
}

static bool bind(session_object *self, PyObject *inputs, PyObject *outputs, py_pending *pending)
{
    if (PyTuple_Size(inputs) != self->inputs || PyTuple_Size(outputs) != self->outputs) {
        return py_fail_type("%zd inputs and %zd outputs are given, and the model has %d and %d",
                            PyTuple_Size(inputs), PyTuple_Size(outputs), self->inputs,
                            self->outputs) != NULL;
    }
    for (int i = 0; i < self->inputs; i++) {
        if (!bind_input(self, i, PyTuple_GetItem(inputs, i), &pending->lent[i])) {
            return false;
        }
    }
    for (int i = 0; i < self->outputs; i++) {
        PyObject *result =
            bind_output(self, i, PyTuple_GetItem(outputs, i), &pending->lent[self->inputs + i]);
        if (!result || PyList_SetItem(pending->results, i, result) != 0) {
            return false;
        }
    }
    return true;
}

static PyObject *described(const rynd_tensor *tensor, bool known)
{
    return known ? py_describe(tensor) : PY_TAKE(Py_None);
}

PyObject *py_session_descriptions(PyObject *object, PyObject *unused)
{
    (void)unused;
    const session_object *self = (session_object *)object;
    PyObject *inputs = PyList_New(self->inputs), *outputs = PyList_New(self->outputs);
    bool fine = inputs && outputs;
    for (int i = 0; fine && i < self->inputs + self->outputs; i++) {
        const bool of_input = i < self->inputs;
        const int index = of_input ? i : i - self->inputs;
        PyObject *one = of_input ? described(&self->in[index].planned, true)
                                 : described(&self->out[index].planned, !self->out[index].later);
        fine = one && PyList_SetItem(of_input ? inputs : outputs, index, one) == 0;
    }
    PyObject *both = fine ? PyTuple_Pack(2, inputs, outputs) : NULL;
    Py_XDECREF(inputs);
    Py_XDECREF(outputs);
    return both;
}

/* --- the run --- */

static bool take_events(PyObject *tuple, const rynd_event **events, size_t *count)
{
    *count = (size_t)PyTuple_Size(tuple);
    if (*count > MOST_WAITS) {
        return py_fail_value("a run waits for %zu events, and may for %d", *count, MOST_WAITS) !=
               NULL;
    }
    for (size_t i = 0; i < *count; i++) {
        PyObject *event = PyTuple_GetItem(tuple, (Py_ssize_t)i);
        if (!PyObject_TypeCheck(event, py_event_type)) {
            return py_fail_type("wait: give a tuple of Events") != NULL;
        }
        events[i] = ((event_object *)event)->event;
    }
    return true;
}

static bool start_run(session_object *self, const rynd_run_options *options, PyObject *stream)
{
    if (stream && !py_stream_begin((stream_object *)stream)) {
        return false;
    }
    rynd_status status;
    self->running = true;
    Py_BEGIN_ALLOW_THREADS
    status = rynd_session_run_async(self->session, options);
    Py_END_ALLOW_THREADS
    self->running = false;
    if (stream) {
        PyObject *none = py_stream_end((stream_object *)stream, status, NULL);
        Py_XDECREF(none);
        return none != NULL;
    }
    return status == RYND_OK || py_raise(status);
}

/* (inputs, outputs, stream, wait, record): stream and record may be None */
PyObject *py_session_run_in_stream(PyObject *object, PyObject *args)
{
    session_object *self = (session_object *)object;
    PyObject *inputs, *outputs, *stream, *wait, *record;
    const rynd_event *events[MOST_WAITS];
    rynd_run_options options = RYND_SIZED(rynd_run_options);
    if (!PyArg_ParseTuple(args, "O!O!OO!O", &PyTuple_Type, &inputs, &PyTuple_Type, &outputs,
                          &stream, &PyTuple_Type, &wait, &record) ||
        !is_idle(self)) {
        return NULL;
    }
    if ((stream != Py_None && !PyObject_TypeCheck(stream, py_stream_type)) ||
        (record != Py_None && !PyObject_TypeCheck(record, py_event_type))) {
        return py_fail_type("give a Stream, or None, and as record an Event, or None");
    }
    if (!take_events(wait, events, &options.wait_count)) {
        return NULL;
    }
    options.wait = events;
    options.record = record == Py_None ? NULL : ((event_object *)record)->event;
    options.stream = stream == Py_None ? NULL : ((stream_object *)stream)->stream;
    const rynd_status status = py_session_settle(self);
    if (status != RYND_OK) {
        return py_raise(status);
    }
    py_pending *pending = pending_new(self, args);
    if (!pending || !pending->results || !bind(self, inputs, outputs, pending)) {
        pending_drop(pending);
        return NULL;
    }
    self->pending = pending;
    if (!start_run(self, &options, stream == Py_None ? NULL : stream)) {
        self->pending = NULL;
        pending_drop(pending);
        return NULL;
    }
    return PyList_AsTuple(pending->results);
}
