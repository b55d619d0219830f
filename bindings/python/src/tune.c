/* SPDX-License-Identifier: Apache-2.0 */
/* Tuning, and its results as Python objects. */
#include "tune.h"

#include "errors.h"
#include "plan_request.h"

/* Ctrl-C ends it with an exception; the caller's progress by returning something true: then what
 * was learned stays. */
static int hear(void *user, const rynd_progress *progress)
{
    const rynd_tune_progress *p = progress->tuning;
    const PyGILState_STATE state = PyGILState_Ensure();
    bool end = PyErr_CheckSignals() != 0;
    if (!end && user) {
        PyObject *facts = Py_BuildValue(
            "({sssnsnsnsnsnsssssdsdsdsd})", "problem", p->problem, "index", (Py_ssize_t)p->index,
            "count", (Py_ssize_t)p->count, "looked", (Py_ssize_t)p->looked, "forms",
            (Py_ssize_t)p->forms, "left", (Py_ssize_t)p->left, "kernel", p->kernel, "knobs",
            p->knobs, "ratio", p->ratio, "spent", p->spent, "budget", p->budget, "saved", p->saved);
        PyObject *answer = facts ? PyObject_CallObject(user, facts) : NULL;
        end = !answer || PyObject_IsTrue(answer) != 0;
        Py_XDECREF(answer);
        Py_XDECREF(facts);
    }
    PyGILState_Release(state);
    return end;
}

static PyObject *describe_form(const rynd_tuning *tuning, size_t problem, size_t index)
{
    rynd_tuned_form f = RYND_SIZED(rynd_tuned_form);
    const rynd_status status = rynd_tuning_get_form(tuning, problem, index, &f);
    return status != RYND_OK
               ? py_raise(status)
               : Py_BuildValue("{sssssssssdsnsdsdsdsdsdsdsdsnsnsnsd}", "kernel", f.kernel, "knobs",
                               f.knobs, "verdict", rynd_tuned_verdict_text(f.verdict), "reason",
                               f.reason, "predicted", f.predicted, "n", (Py_ssize_t)f.n, "mean",
                               f.mean, "variance", f.variance, "median", f.median, "min", f.min,
                               "max", f.max, "flop", f.flop, "bytes", f.bytes, "tasks",
                               (Py_ssize_t)f.tasks, "packed", (Py_ssize_t)f.packed, "workspace",
                               (Py_ssize_t)f.workspace, "joule", f.joule);
}

static PyObject *describe_forms(const rynd_tuning *tuning, size_t problem, size_t count)
{
    PyObject *forms = PyList_New(0);
    for (size_t i = 0; forms && i < count; i++) {
        PyObject *form = describe_form(tuning, problem, i);
        if (!form || PyList_Append(forms, form) != 0) {
            Py_CLEAR(forms);
        }
        Py_XDECREF(form);
    }
    return forms;
}

static PyObject *describe_problem(const rynd_tuning *tuning, size_t index)
{
    rynd_tuned_problem p = RYND_SIZED(rynd_tuned_problem);
    const rynd_status status = rynd_tuning_get_problem(tuning, index, &p);
    if (status != RYND_OK) {
        return py_raise(status);
    }
    PyObject *forms = describe_forms(tuning, index, p.forms);
    return forms ? Py_BuildValue("{sssIsnsnsdsnsnsdsnsdsOsdsOsN}", "problem", p.problem,
                                 "constants", p.constants, "steps", (Py_ssize_t)p.steps, "taken",
                                 (Py_ssize_t)p.taken, "ratio", p.ratio, "rounds",
                                 (Py_ssize_t)p.rounds, "disturbed", (Py_ssize_t)p.disturbed,
                                 "disturbance", p.disturbance, "left_out", (Py_ssize_t)p.left_out,
                                 "seconds", p.seconds, "cold", p.cold ? Py_True : Py_False,
                                 "network_ratio", p.network_ratio, "elsewhere",
                                 p.elsewhere ? Py_True : Py_False, "forms", forms)
                 : NULL;
}

static PyObject *describe_plan(const rynd_tuning *tuning, size_t index)
{
    rynd_tuned_plan p = RYND_SIZED(rynd_tuned_plan);
    const rynd_status status = rynd_tuning_get_plan(tuning, index, &p);
    return status != RYND_OK
               ? py_raise(status)
               : Py_BuildValue("{sssdsnsdsdsdsdsdsdsO}", "knobs", p.knobs, "predicted", p.predicted,
                               "n", (Py_ssize_t)p.n, "mean", p.mean, "variance", p.variance,
                               "median", p.median, "min", p.min, "max", p.max, "ratio", p.ratio,
                               "faster", p.faster ? Py_True : Py_False);
}

static PyObject *describe_plans(const rynd_tuning *tuning, size_t count)
{
    PyObject *plans = PyList_New(0);
    for (size_t i = 0; plans && i < count; i++) {
        PyObject *plan = describe_plan(tuning, i);
        if (!plan || PyList_Append(plans, plan) != 0) {
            Py_CLEAR(plans);
        }
        Py_XDECREF(plan);
    }
    return plans;
}

static PyObject *describe(const rynd_tuning *tuning)
{
    rynd_tuning_info info = RYND_SIZED(rynd_tuning_info);
    const rynd_status status = rynd_tuning_get_info(tuning, &info);
    PyObject *problems = status == RYND_OK ? PyList_New(0) : py_raise(status);
    for (size_t i = 0; problems && i < info.problems; i++) {
        PyObject *problem = describe_problem(tuning, i);
        if (!problem || PyList_Append(problems, problem) != 0) {
            Py_CLEAR(problems);
        }
        Py_XDECREF(problem);
    }
    PyObject *plans = problems ? describe_plans(tuning, info.plans) : NULL;
    if (!plans) {
        Py_XDECREF(problems);
        return NULL;
    }
    return Py_BuildValue("({sdsdsdsdsdsnsOsOsnsn}NN)", "budget", info.budget, "used", info.used,
                         "before", info.before, "after", info.after, "ratio", info.ratio, "runs",
                         (Py_ssize_t)info.runs, "taken", info.taken ? Py_True : Py_False, "ended",
                         info.ended ? Py_True : Py_False, "plans_listed",
                         (Py_ssize_t)info.plans_listed, "plan", (Py_ssize_t)info.plan, problems,
                         plans);
}

/* An exception that ended it (Ctrl-C) goes on; what was measured until then is kept all the same.
 */
static PyObject *finish(rynd_status status, rynd_tuning *tuning)
{
    PyObject *result = NULL;
    if (status != RYND_OK) {
        py_raise(status);
    } else if (!PyErr_Occurred()) {
        result = describe(tuning);
    }
    rynd_tuning_destroy(tuning);
    return result;
}

PyObject *py_tune_problem(PyObject *module, PyObject *args)
{
    PyObject *context, *report;
    const char *problem;
    int accuracy, weights, keep, energy;
    unsigned long long seed;
    rynd_tune_options options = RYND_SIZED(rynd_tune_options, .progress = hear);
    (void)module;
    if (!PyArg_ParseTuple(args, "O!siIdKippO:tune_problem", py_context_type, &context, &problem,
                          &accuracy, &options.constants, &options.budget, &seed, &weights, &keep,
                          &energy, &report)) {
        return NULL;
    }
    options.accuracy = (rynd_accuracy)accuracy;
    options.seed = seed;
    options.weights = (rynd_tune_weights)weights;
    options.without_wisdom = !keep;
    options.energy = energy;
    options.progress_user = report == Py_None ? NULL : report;
    rynd_tuning *tuning = NULL;
    rynd_status status;
    Py_BEGIN_ALLOW_THREADS
    status = rynd_tune_problem(((context_object *)context)->context, problem, &options, &tuning);
    Py_END_ALLOW_THREADS
    return finish(status, tuning);
}

PyObject *py_tune_model(PyObject *module, PyObject *args)
{
    PyObject *model, *dims, *inputs, *choices, *report;
    py_plan_request request = {.options = RYND_SIZED(rynd_plan_options)};
    rynd_tune_options options = RYND_SIZED(rynd_tune_options, .progress = hear);
    int accuracy, weights, keep, energy;
    long long batch;
    unsigned long long seed;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!iLO!OO!dKippO:tune_model", py_model_type, &model, &accuracy,
                          &batch, &PyList_Type, &dims, &inputs, &PyList_Type, &choices,
                          &options.budget, &seed, &weights, &keep, &energy, &report)) {
        return NULL;
    }
    if (!py_plan_request_take(&request, accuracy, batch, dims, inputs, choices)) {
        py_plan_request_free(&request);
        return NULL;
    }
    options.seed = seed;
    options.weights = (rynd_tune_weights)weights;
    options.without_wisdom = !keep;
    options.energy = energy;
    options.progress_user = report == Py_None ? NULL : report;
    rynd_tuning *tuning = NULL;
    rynd_status status;
    Py_BEGIN_ALLOW_THREADS
    status = rynd_tune_model(((model_object *)model)->model, &request.options, &options, &tuning);
    Py_END_ALLOW_THREADS
    py_plan_request_free(&request);
    return finish(status, tuning);
}
