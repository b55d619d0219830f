/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a session, or one pass of it: binds arrays, and makes the results. */
#include "array.h"
#include "errors.h"
#include "session.h"

#include <string.h>

static bool same_layout(const rynd_tensor *a, const rynd_tensor *b)
{
    if (a->dtype != b->dtype || a->rank != b->rank) {
        return false;
    }
    for (int i = 0; i < a->rank; i++) {
        if (a->dim[i] != b->dim[i] || (a->stride[i] != b->stride[i] && a->dim[i] != 1)) {
            return false;
        }
    }
    return true;
}

bool py_session_fits(const session_object *session, const py_lent *inputs)
{
    for (int i = 0; i < session->inputs; i++) {
        if (!same_layout(&session->in[i].planned, &inputs[i].tensor)) {
            return false;
        }
    }
    return true;
}

static rynd_status bind_inputs(session_object *self, const py_session_part *part,
                               const py_lent *inputs)
{
    for (int i = part->first_input; i < part->end_input; i++) {
        session_input *input = &self->in[i];
        const rynd_tensor *tensor = &inputs[i].tensor;
        if (tensor->dtype == RYND_DTYPE_NONE) {
            continue; /* as in the run before, says the caller */
        }
        if (input->bound.data == tensor->data && tensor->data &&
            same_layout(&input->bound, tensor)) {
            continue; /* as in the run before */
        }
        input->bound.dtype = RYND_DTYPE_NONE;
        const rynd_status status = rynd_session_bind_input(self->session, (size_t)i, tensor);
        if (status != RYND_OK) {
            return status;
        }
        input->bound = *tensor;
    }
    return RYND_OK;
}

/* A new result for each output whose shape is known. */
static rynd_status bind_outputs(session_object *self, const py_session_part *part,
                                PyObject **results)
{
    for (int i = part->first_output; i < part->end_output; i++) {
        session_output *output = &self->out[i];
        if (output->later) {
            continue;
        }
        array_object *array = py_array_new(&output->planned, output->pool);
        if (!array) {
            return RYND_ERROR_OUT_OF_MEMORY;
        }
        const rynd_status status =
            rynd_session_bind_output(self->session, (size_t)i, &array->tensor);
        if (status == RYND_ERROR_UNSUPPORTED) {
            output->later = true; /* a bound of its shape is known, but not the shape */
            Py_DECREF((PyObject *)array);
            continue;
        }
        if (status != RYND_OK) {
            Py_DECREF((PyObject *)array);
            return status;
        }
        results[i] = (PyObject *)array;
    }
    return RYND_OK;
}

/* What the session has of an output whose shape only the run told. */
static PyObject *copy_output(session_object *self, int index)
{
    rynd_tensor tensor;
    const rynd_status status = rynd_session_get_output(self->session, (size_t)index, &tensor);
    if (status != RYND_OK) {
        return py_raise(status);
    }
    const size_t size = (size_t)rynd_tensor_elements(&tensor) * rynd_dtype_size(tensor.dtype);
    py_pool *pool = py_pool_create(size);
    array_object *array = pool ? py_array_new(&tensor, pool) : (array_object *)PyErr_NoMemory();
    py_pool_drop(pool);
    if (array && size > 0) {
        memcpy(array->tensor.data, tensor.data, size);
    }
    return (PyObject *)array;
}

static PyObject *run(session_object *self, const py_session_part *part, const py_lent *inputs,
                     PyObject **results)
{
    rynd_status status = bind_inputs(self, part, inputs);
    if (status == RYND_OK) {
        status = bind_outputs(self, part, results);
    }
    if (status == RYND_OK) {
        self->running = true;
        Py_BEGIN_ALLOW_THREADS
        status = part->run(self->session);
        Py_END_ALLOW_THREADS
        self->running = false;
    }
    if (status != RYND_OK) {
        return py_raise(status);
    }
    const int first = part->first_output, count = part->end_output - first;
    for (int i = first; i < part->end_output; i++) {
        if (!results[i] && !(results[i] = copy_output(self, i))) {
            return NULL;
        }
    }
    if (count == 1) {
        return PY_TAKE(results[first]);
    }
    PyObject *tuple = PyTuple_New(count);
    for (int i = 0; tuple && i < count; i++) {
        PyTuple_SetItem(tuple, i, PY_TAKE(results[first + i]));
    }
    return tuple;
}

PyObject *py_session_run(session_object *self, const py_lent *inputs)
{
    const py_session_part all = {0, self->inputs, 0, self->outputs, rynd_session_run};
    return py_session_run_part(self, &all, inputs);
}

PyObject *py_session_run_part(session_object *self, const py_session_part *part,
                              const py_lent *inputs)
{
    if (self->running) {
        return py_fail_busy("this session runs in another thread: make one session a thread, by "
                            "plan.session()");
    }
    const rynd_status earlier = py_session_settle(self);
    if (earlier != RYND_OK) {
        return py_raise(earlier);
    }
    enum { FEW = 4 };
    PyObject *few[FEW] = {NULL};
    PyObject **results =
        self->outputs <= FEW ? few : PyMem_Calloc((size_t)self->outputs, sizeof(PyObject *));
    if (!results) {
        return PyErr_NoMemory();
    }
    PyObject *result = run(self, part, inputs, results);
    for (int i = 0; i < self->outputs; i++) {
        Py_XDECREF(results[i]);
    }
    if (results != few) {
        PyMem_Free(results);
    }
    return result;
}
