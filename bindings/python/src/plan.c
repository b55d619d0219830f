/* SPDX-License-Identifier: Apache-2.0 */
/* Plan: every decision for a model, made before anything runs. */
#include "errors.h"
#include "extension.h"
#include "lend.h"
#include "plan_request.h"

#include <stdio.h>

static PyObject *plan_new(PyTypeObject *type, PyObject *args, PyObject *named)
{
    PyObject *model, *dims, *inputs, *choices, *report;
    py_plan_request request = {.options = RYND_SIZED(rynd_plan_options)};
    int accuracy, weights;
    long long batch, own_weights;
    if (named || !PyArg_ParseTuple(args, "O!iLO!OO!pOL:Plan", py_model_type, &model, &accuracy,
                                   &batch, &PyList_Type, &dims, &inputs, &PyList_Type, &choices,
                                   &weights, &report, &own_weights)) {
        return NULL;
    }
    plan_object *self = (plan_object *)PyType_GenericAlloc(type, 0);
    if (!self) {
        return NULL;
    }
    self->model = (model_object *)PY_TAKE(model);
    if (!py_plan_request_take(&request, accuracy, batch, dims, inputs, choices)) {
        py_plan_request_free(&request);
        Py_DECREF((PyObject *)self);
        return NULL;
    }
    request.options.without_weights = !weights;
    request.options.own_weights = own_weights < 0 ? SIZE_MAX : (size_t)own_weights;
    request.options.progress = py_progress;
    request.options.progress_user = report == Py_None ? NULL : report;
    rynd_status status;
    Py_BEGIN_ALLOW_THREADS
    status = rynd_plan_create(self->model->model, &request.options, &self->plan);
    Py_END_ALLOW_THREADS
    py_plan_request_free(&request);
    if (status != RYND_OK) {
        py_raise(status);
        Py_DECREF((PyObject *)self);
        return NULL;
    }
    return (PyObject *)self;
}

static void plan_free(PyObject *self)
{
    plan_object *plan = (plan_object *)self;
    rynd_plan_destroy(plan->plan);
    Py_XDECREF((PyObject *)plan->model);
    py_free(self);
}

static PyObject *plan_memory(PyObject *self, PyObject *unused)
{
    (void)unused;
    rynd_memory memory = RYND_SIZED(rynd_memory);
    const rynd_status status = rynd_plan_get_memory(((plan_object *)self)->plan, &memory);
    return status == RYND_OK
               ? Py_BuildValue("(nnnn)", (Py_ssize_t)memory.weights, (Py_ssize_t)memory.activations,
                               (Py_ssize_t)memory.workspace, (Py_ssize_t)memory.total)
               : py_raise(status);
}

PyObject *py_step(const rynd_step_info *info)
{
    char source[20];
    snprintf(source, sizeof source, "%016llx", (unsigned long long)info->source);
    return Py_BuildValue("{sssssssssssssssssssdsdsssdsLsnsnsssO}", "name", info->name, "op",
                         info->op, "problem", info->problem, "kernel", info->kernel, "knobs",
                         info->knobs, "layout_in", info->layout_in, "layout_out", info->layout_out,
                         "fused", info->fused, "reason", info->reason, "flop", info->flop, "bytes",
                         info->bytes, "accuracy", info->accuracy, "kernel_flop", info->kernel_flop,
                         "micro_batches", (long long)info->micro_batches, "activations",
                         (Py_ssize_t)info->activations, "workspace", (Py_ssize_t)info->workspace,
                         "source", source, "reference", info->reference ? Py_True : Py_False);
}

PyObject *py_steps(const rynd_plan *plan)
{
    PyObject *steps = PyList_New(0);
    for (size_t i = 0; steps && i < rynd_plan_step_count(plan); i++) {
        rynd_step_info info = RYND_SIZED(rynd_step_info);
        const rynd_status status = rynd_plan_get_step(plan, i, &info);
        PyObject *step = status == RYND_OK ? py_step(&info) : py_raise(status);
        if (!step || PyList_Append(steps, step) != 0) {
            Py_CLEAR(steps);
        }
        Py_XDECREF(step);
    }
    return steps;
}

static PyObject *plan_step(PyObject *self, PyObject *index)
{
    const Py_ssize_t i = PyLong_AsSsize_t(index);
    rynd_step_info info = RYND_SIZED(rynd_step_info);
    if (i == -1 && PyErr_Occurred()) {
        return NULL;
    }
    const rynd_status status = rynd_plan_get_step(((plan_object *)self)->plan, (size_t)i, &info);
    return status == RYND_OK ? py_step(&info) : py_raise(status);
}

static PyObject *plan_step_count(PyObject *self, PyObject *unused)
{
    (void)unused;
    return PyLong_FromSize_t(rynd_plan_step_count(((plan_object *)self)->plan));
}

static PyObject *knob_values(const rynd_plan *plan, size_t step, size_t knob, size_t count)
{
    PyObject *values = PyTuple_New((Py_ssize_t)count);
    for (size_t v = 0; values && v < count; v++) {
        char text[RYND_KNOB_TEXT];
        const rynd_status status = rynd_plan_get_knob_value(plan, step, knob, v, text, sizeof text);
        PyObject *value = status == RYND_OK ? PyUnicode_FromString(text) : py_raise(status);
        if (!value || PyTuple_SetItem(values, (Py_ssize_t)v, value) != 0) {
            Py_CLEAR(values);
        }
    }
    return values;
}

static PyObject *describe_knob(const rynd_plan *plan, size_t step, size_t index)
{
    rynd_knob knob = RYND_SIZED(rynd_knob);
    const rynd_status status = rynd_plan_get_knob(plan, step, index, &knob);
    if (status != RYND_OK) {
        return py_raise(status);
    }
    PyObject *values = knob_values(plan, step, index, knob.value_count);
    return values ? Py_BuildValue("(ssNsO)", knob.name, knob.value, values, knob.unit,
                                  knob.main ? Py_True : Py_False)
                  : NULL;
}

static PyObject *plan_knobs(PyObject *self, PyObject *step)
{
    const rynd_plan *plan = ((plan_object *)self)->plan;
    const Py_ssize_t s = PyLong_AsSsize_t(step);
    PyObject *knobs = PyErr_Occurred() ? NULL : PyList_New(0);
    for (size_t k = 0; knobs && k < rynd_plan_knob_count(plan, (size_t)s); k++) {
        PyObject *made = describe_knob(plan, (size_t)s, k);
        if (!made || PyList_Append(knobs, made) != 0) {
            Py_CLEAR(knobs);
        }
        Py_XDECREF(made);
    }
    return knobs;
}

static PyObject *plan_form(PyObject *self, PyObject *unused)
{
    rynd_plan_form form = RYND_SIZED(rynd_plan_form);
    (void)unused;
    const rynd_status status = rynd_plan_get_form(((plan_object *)self)->plan, &form);
    return status == RYND_OK ? Py_BuildValue("(ssd)", form.knobs, form.reason, form.measured)
                             : py_raise(status);
}

static PyObject *plan_seconds(PyObject *self, PyObject *unused)
{
    (void)unused;
    return PyFloat_FromDouble(rynd_plan_planning_seconds(((plan_object *)self)->plan));
}

/* step: None: of the whole plan. */
static PyObject *plan_predict(PyObject *self, PyObject *step)
{
    const rynd_plan *plan = ((plan_object *)self)->plan;
    const Py_ssize_t index = step == Py_None ? 0 : PyLong_AsSsize_t(step);
    if (index == -1 && PyErr_Occurred()) {
        return NULL;
    }
    rynd_prediction prediction = RYND_SIZED(rynd_prediction);
    const rynd_status status = step == Py_None
                                   ? rynd_plan_predict(plan, &prediction)
                                   : rynd_plan_predict_step(plan, (size_t)index, &prediction);
    return status == RYND_OK ? py_prediction(&prediction) : py_raise(status);
}

static PyObject *plan_explain(PyObject *self, PyObject *step)
{
    const Py_ssize_t index = PyLong_AsSsize_t(step);
    if (index == -1 && PyErr_Occurred()) {
        return NULL;
    }
    PyObject *list = PyList_New(0);
    return py_candidates(list, list ? rynd_plan_explain(((plan_object *)self)->plan, (size_t)index,
                                                        py_add_candidate, list)
                                    : RYND_ERROR_OUT_OF_MEMORY);
}

static PyObject *plan_complete(PyObject *self, PyObject *unused)
{
    (void)unused;
    return PyBool_FromLong(rynd_plan_complete(((plan_object *)self)->plan));
}

static PyMethodDef plan_methods[] = {
    {"_memory", plan_memory, METH_NOARGS, "(weights, activations, workspace, total), in bytes."},
    {"_step_count", plan_step_count, METH_NOARGS, "How many steps there are."},
    {"_step", plan_step, METH_O, "A step, as a dict."},
    {"_operands", py_plan_operands, METH_O, "Operands of a step, as tuples."},
    {"_knobs", plan_knobs, METH_O,
     "[(name, value, legal values, unit, main)] of a step's kernel; -1: of the plan itself."},
    {"_form", plan_form, METH_NOARGS, "(knobs, reason, measured seconds) of the plan itself."},
    {"_plan_seconds", plan_seconds, METH_NOARGS, "How long making the plan took."},
    {"_predict", plan_predict, METH_O, "Seconds of a run, of a step or (None) of all."},
    {"_explain", plan_explain, METH_O, "All candidates for a step."},
    {"_complete", plan_complete, METH_NOARGS, "Is all planned before it runs?"},
    {NULL, NULL, 0, NULL}};

static PyType_Slot plan_slots[] = {{Py_tp_doc, "Every decision for a model."},
                                   {Py_tp_new, plan_new},
                                   {Py_tp_dealloc, plan_free},
                                   {Py_tp_methods, plan_methods},
                                   {0, NULL}};

PyType_Spec py_plan_spec = {"rynd._rynd.Plan", sizeof(plan_object), 0,
                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, plan_slots};
