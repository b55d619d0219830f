/* SPDX-License-Identifier: Apache-2.0 */
/* Spans of traced runs, operands of steps, parameters of models. */
#include "session.h"

#include "describe.h"
#include "errors.h"

#include <rynd/trace.h>
#include <rynd/train.h>

/* Appends an item and drops its reference. False: item is NULL, or memory is out. */
static bool append(PyObject *list, PyObject *item)
{
    const bool done = list && item && PyList_Append(list, item) == 0;
    Py_XDECREF(item);
    return done;
}

PyObject *py_session_spans(PyObject *object, PyObject *unused)
{
    (void)unused;
    const rynd_session *session = ((session_object *)object)->session;
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < rynd_session_span_count(session); i++) {
        rynd_span span = RYND_SIZED(rynd_span);
        const rynd_status status = rynd_session_get_span(session, i, &span);
        PyObject *item = status == RYND_OK
                             ? Py_BuildValue("(nIddn)", (Py_ssize_t)span.step, span.thread,
                                             span.begin, span.end, (Py_ssize_t)span.tasks)
                             : py_raise(status);
        if (!append(list, item)) {
            Py_CLEAR(list);
        }
    }
    return list;
}

static PyObject *describe_operand(const rynd_plan *plan, size_t step, size_t index)
{
    static const char *const storages[] = {"packed", "input", "constant", "arena", "output"};
    rynd_operand_info info = RYND_SIZED(rynd_operand_info);
    const rynd_status status = rynd_plan_get_operand(plan, step, index, &info);
    if (status != RYND_OK) {
        return py_raise(status);
    }
    const Py_ssize_t producer = info.producer == RYND_NO_STEP ? -1 : (Py_ssize_t)info.producer;
    return Py_BuildValue("(sOsNsnnn)", info.name, info.output ? Py_True : Py_False,
                         rynd_dtype_name(info.tensor.dtype),
                         py_tuple_of(info.tensor.dim, info.tensor.rank), storages[info.storage],
                         (Py_ssize_t)info.offset, (Py_ssize_t)info.bytes, producer);
}

PyObject *py_plan_operands(PyObject *object, PyObject *index)
{
    const rynd_plan *plan = ((plan_object *)object)->plan;
    const Py_ssize_t step = PyLong_AsSsize_t(index);
    if (step == -1 && PyErr_Occurred()) {
        return NULL;
    }
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < rynd_plan_operand_count(plan, (size_t)step); i++) {
        if (!append(list, describe_operand(plan, (size_t)step, i))) {
            Py_CLEAR(list);
        }
    }
    return list;
}

PyObject *py_model_parameters(PyObject *object, PyObject *unused)
{
    (void)unused;
    const rynd_model *model = ((model_object *)object)->model;
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < rynd_model_parameter_count(model); i++) {
        rynd_parameter_info info = RYND_SIZED(rynd_parameter_info);
        const rynd_status status = rynd_model_get_parameter(model, i, &info);
        PyObject *item =
            status == RYND_OK
                ? Py_BuildValue("(ssNs)", info.name, rynd_dtype_name(info.tensor.dtype),
                                py_tuple_of(info.tensor.dim, info.tensor.rank), info.node)
                : py_raise(status);
        if (!append(list, item)) {
            Py_CLEAR(list);
        }
    }
    return list;
}
