/* SPDX-License-Identifier: Apache-2.0 */
/* Session: the running state of a plan. */
#ifndef RYND_PYTHON_SESSION_H
#define RYND_PYTHON_SESSION_H

#include "lend.h"
#include "memory.h"

typedef struct session_input {
    rynd_tensor planned;
    rynd_tensor bound; /* dtype NONE: unbound, or unknown */
} session_input;

typedef struct session_output {
    rynd_tensor planned;
    bool later; /* its shape is only known after a run */
    py_pool *pool;
} session_output;

/* A run in a stream: session_async.c. */
typedef struct py_pending py_pending;

typedef struct session_object {
    PyObject_HEAD plan_object *plan;
    rynd_session *session;
    bool running;
    int inputs, outputs;
    session_input *in;
    session_output *out;
    py_pending *pending; /* NULL: no run in a stream to wait for */
} session_object;

/* Waits for a run in a stream, and lets its arrays go. */
rynd_status py_session_settle(session_object *session);

/* Methods for runs in streams. */
PyObject *py_session_run_in_stream(PyObject *object, PyObject *args);
PyObject *py_session_wait(PyObject *object, PyObject *unused);
PyObject *py_session_descriptions(PyObject *object, PyObject *unused);

/* Runs with inputs that are lent already, one each in the model's order: a result, or a tuple of
 * them where there are several outputs. NULL: an exception is set. */
PyObject *py_session_run(session_object *session, const py_lent *inputs);

/* The inputs and outputs of a run, and its function. */
typedef struct py_session_part {
    int first_input, end_input, first_output, end_output;
    rynd_status (*run)(rynd_session *session);
} py_session_part;

/* The same of a part. Inputs of dtype NONE stay bound as they are. */
PyObject *py_session_run_part(session_object *session, const py_session_part *part,
                              const py_lent *inputs);

/* Methods of sessions with gradients: gradient.c. */
PyObject *py_session_forward(PyObject *object, PyObject *const *arguments, Py_ssize_t count);
PyObject *py_session_backward(PyObject *object, PyObject *const *arguments, Py_ssize_t count);
PyObject *py_session_rereads(PyObject *object, void *unused);

/* Methods of traced runs: trace.c. */
PyObject *py_session_spans(PyObject *object, PyObject *unused);

/* Do the inputs have the planned dtypes, shapes and strides? */
bool py_session_fits(const session_object *session, const py_lent *inputs);

/* What is lent for each input of a model, by position and by name. False: an exception is set, and
 * nothing is held. */
bool py_lend_inputs(const model_object *model, PyObject *const *positional, Py_ssize_t count,
                    PyObject *names, PyObject *const *named, py_lent *to);
void py_give_inputs_back(const model_object *model, py_lent *inputs);

/* Room for what is lent to most models, on the stack. */
enum { FEW_INPUTS = 4 };

#endif
