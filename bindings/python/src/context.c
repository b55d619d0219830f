/* SPDX-License-Identifier: Apache-2.0 */
/* Context: a device and its threads. */
#include "errors.h"
#include "extension.h"

void py_tell(void *user, int level, const char *message)
{
    const PyGILState_STATE state = PyGILState_Ensure();
    PyObject *answer = PyObject_CallFunction(user, "is", level, message);
    if (!answer) {
        PyErr_WriteUnraisable(user);
    }
    Py_XDECREF(answer);
    PyGILState_Release(state);
}

static PyObject *context_new(PyTypeObject *type, PyObject *args, PyObject *named)
{
    static char *keywords[] = {"device", "threads", "isa", "machine",
                               "wisdom", "frozen",  "log", NULL};
    rynd_context_options options = RYND_SIZED(rynd_context_options);
    PyObject *log = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, named, "|zIzzzpO:Context", keywords, &options.device,
                                     &options.threads, &options.isa, &options.machine,
                                     &options.wisdom, &options.frozen, &log)) {
        return NULL;
    }
    context_object *self = (context_object *)PyType_GenericAlloc(type, 0);
    if (!self) {
        return NULL;
    }
    if (log != Py_None) {
        self->log = PY_TAKE(log);
        options.log = py_tell;
        options.log_user = log;
    }
    rynd_status status;
    Py_BEGIN_ALLOW_THREADS
    status = rynd_context_create(&options, &self->context);
    Py_END_ALLOW_THREADS
    if (status != RYND_OK) {
        py_raise(status);
        Py_DECREF((PyObject *)self);
        return NULL;
    }
    return (PyObject *)self;
}

static void context_free(PyObject *self)
{
    context_object *context = (context_object *)self;
    Py_BEGIN_ALLOW_THREADS
    rynd_context_destroy(context->context); /* waits for its threads, which
                                                                      may tell */
    Py_END_ALLOW_THREADS
    Py_XDECREF(context->log);
    py_free(self);
}

static PyObject *context_info(PyObject *self, PyObject *unused)
{
    (void)unused;
    rynd_device_info info = RYND_SIZED(rynd_device_info);
    const rynd_status status = rynd_context_get_info(((context_object *)self)->context, &info);
    if (status != RYND_OK) {
        return py_raise(status);
    }
    return Py_BuildValue("{sssssssIsIszssszsO}", "device", info.device, "name", info.name, "isa",
                         info.isa, "threads", info.threads, "cores", info.cores, "machine",
                         info.machine, "fingerprint", info.fingerprint, "wisdom", info.wisdom,
                         "frozen", info.frozen ? Py_True : Py_False);
}

/* A kernel of the last check as a dict; NULL: an exception is set. */
static PyObject *checked_kernel(const rynd_context *context, size_t index)
{
    rynd_checked_kernel k = RYND_SIZED(rynd_checked_kernel);
    const rynd_status status = rynd_context_get_checked(context, index, &k);
    if (status != RYND_OK) {
        return py_raise(status);
    }
    return Py_BuildValue("{sssssssissss}", "kernel", k.kernel, "operator", k.op, "finding",
                         rynd_finding_text(k.finding), "problems", k.problems, "problem", k.problem,
                         "why", k.why);
}

static PyObject *context_check(PyObject *self, PyObject *unused)
{
    (void)unused;
    rynd_context *context = ((context_object *)self)->context;
    rynd_status status;
    Py_BEGIN_ALLOW_THREADS
    status = rynd_context_check(context, NULL, NULL);
    Py_END_ALLOW_THREADS
    if (status != RYND_OK) {
        return py_raise(status);
    }
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < rynd_context_checked_count(context); i++) {
        PyObject *kernel = checked_kernel(context, i);
        if (!kernel || PyList_Append(list, kernel) != 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(kernel);
    }
    return list;
}

/* A family of the last calibration as a dict; NULL: an exception is set. */
static PyObject *calibrated_family(const rynd_context *context, size_t index)
{
    rynd_calibrated_family f = RYND_SIZED(rynd_calibrated_family);
    const rynd_status status = rynd_context_get_calibrated(context, index, &f);
    if (status != RYND_OK) {
        return py_raise(status);
    }
    return Py_BuildValue("{sssIsIsdsdsdsd}", "family", f.family, "problems", f.problems, "times",
                         f.times, "factor", f.factor, "spread", f.spread, "error_before",
                         f.error_before, "error_after", f.error_after);
}

/* The last calibration's fit of energy as a dict, None without a meter; NULL: an exception is set.
 */
static PyObject *calibrated_energy(const rynd_context *context)
{
    rynd_calibrated_energy e = RYND_SIZED(rynd_calibrated_energy);
    const rynd_status status = rynd_context_get_calibrated_energy(context, &e);
    if (status != RYND_OK) {
        return py_raise(status);
    }
    return *e.meter ? Py_BuildValue("{sssIsdsdsd}", "meter", e.meter, "problems", e.problems,
                                    "spread", e.spread, "error_before", e.error_before,
                                    "error_after", e.error_after)
                    : PY_TAKE(Py_None);
}

/* (families, energy, disturbance, file); file is None where the machine was not kept. */
static PyObject *context_calibrate(PyObject *self, PyObject *args)
{
    rynd_context *context = ((context_object *)self)->context;
    rynd_calibrate_options options = RYND_SIZED(rynd_calibrate_options);
    rynd_machine machine = RYND_SIZED(rynd_machine);
    const char *path = NULL;
    rynd_status status;
    PyObject *progress;
    if (!PyArg_ParseTuple(args, "dO:calibrate", &options.seconds, &progress)) {
        return NULL;
    }
    options.progress = py_progress;
    options.progress_user = progress == Py_None ? NULL : progress;
    Py_BEGIN_ALLOW_THREADS
    status = rynd_context_calibrate(context, &options, &machine);
    if (status == RYND_OK && machine.disturbance <= RYND_DISTURBANCE_LIMIT) {
        status = rynd_context_keep_machine(context, &machine, &path);
    }
    Py_END_ALLOW_THREADS
    if (status != RYND_OK) {
        return py_raise(status);
    }
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < rynd_context_calibrated_count(context); i++) {
        PyObject *family = calibrated_family(context, i);
        if (!family || PyList_Append(list, family) != 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(family);
    }
    PyObject *energy = list ? calibrated_energy(context) : NULL;
    if (!energy) {
        Py_XDECREF(list);
        return NULL;
    }
    return Py_BuildValue("NNdz", list, energy, machine.disturbance, path);
}

static PyObject *context_op_cache(PyObject *self, PyObject *unused)
{
    (void)unused;
    rynd_op_cache_info info = RYND_SIZED(rynd_op_cache_info);
    const rynd_status status = rynd_context_get_op_cache(((context_object *)self)->context, &info);
    return status == RYND_OK
               ? Py_BuildValue("nnnnnnn", (Py_ssize_t)info.hits, (Py_ssize_t)info.misses,
                               (Py_ssize_t)info.evictions, (Py_ssize_t)info.ops,
                               (Py_ssize_t)info.bytes, (Py_ssize_t)info.limit_ops,
                               (Py_ssize_t)info.limit_bytes)
               : py_raise(status);
}

static PyObject *context_limit_op_cache(PyObject *self, PyObject *args)
{
    Py_ssize_t ops, bytes;
    if (!PyArg_ParseTuple(args, "nn", &ops, &bytes)) {
        return NULL;
    }
    if (ops < 0 || bytes < 0) {
        return py_fail_value("limits of %zd operators and %zd bytes: give 0 or more", ops, bytes);
    }
    const rynd_status status =
        rynd_context_limit_op_cache(((context_object *)self)->context, (size_t)ops, (size_t)bytes);
    return status == RYND_OK ? PY_TAKE(Py_None) : py_raise(status);
}

static PyObject *context_memory(PyObject *self, PyObject *unused)
{
    (void)unused;
    rynd_device_memory memory = RYND_SIZED(rynd_device_memory);
    const rynd_status status = rynd_context_get_memory(((context_object *)self)->context, &memory);
    return status == RYND_OK
               ? Py_BuildValue("nnnn", (Py_ssize_t)memory.used, (Py_ssize_t)memory.held,
                               (Py_ssize_t)memory.peak, (Py_ssize_t)memory.total)
               : py_raise(status);
}

static PyObject *context_trim(PyObject *self, PyObject *keep)
{
    const size_t bytes = PyLong_AsSize_t(keep);
    if (PyErr_Occurred()) {
        return NULL;
    }
    rynd_context_trim(((context_object *)self)->context, bytes);
    return PY_TAKE(Py_None);
}

static PyMethodDef context_methods[] = {
    {"op_cache", context_op_cache, METH_NOARGS, "Figures of the kept operators."},
    {"limit_op_cache", context_limit_op_cache, METH_VARARGS, "(ops, bytes)"},
    {"memory", context_memory, METH_NOARGS, "Device memory: used, held, peak, total."},
    {"trim", context_trim, METH_O, "Returns freed memory to the device, except some bytes."},
    {"info", context_info, METH_NOARGS, "What it runs on, as a dict."},
    {"check", context_check, METH_NOARGS, "Runs the device's kernels on known answers: dicts."},
    {"calibrate", context_calibrate, METH_VARARGS,
     "Fits predictions to this machine: families, disturbance, file."},
    {NULL, NULL, 0, NULL}};

static PyType_Slot context_slots[] = {{Py_tp_doc, "A device and its threads."},
                                      {Py_tp_new, context_new},
                                      {Py_tp_dealloc, context_free},
                                      {Py_tp_methods, context_methods},
                                      {0, NULL}};

PyType_Spec py_context_spec = {"rynd._rynd.Context", sizeof(context_object), 0, Py_TPFLAGS_DEFAULT,
                               context_slots};
