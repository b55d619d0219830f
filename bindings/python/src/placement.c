/* SPDX-License-Identifier: Apache-2.0 */
/* Placement: assigns the parts of models to the devices of a fleet. */
#include "errors.h"
#include "extension.h"
#include "settings.h"

typedef struct placement_object {
    PyObject_HEAD rynd_fleet *fleet;
    rynd_placement *placement;
    PyObject *models; /* a list of Model, kept alive */
    PyObject *log;
} placement_object;

static rynd_status load_fleet(placement_object *self, PyObject *path)
{
    rynd_status status;
    PyObject *bytes;
    const rynd_context_options options =
        RYND_SIZED(rynd_context_options, .log = py_tell, .log_user = self->log);
    if (!PyUnicode_FSConverter(path, &bytes)) {
        return RYND_ERROR_ARGUMENT;
    }
    const char *name = PyBytes_AsString(bytes);
    Py_BEGIN_ALLOW_THREADS
    status = rynd_fleet_load(name, &options, &self->fleet);
    Py_END_ALLOW_THREADS
    Py_DECREF(bytes);
    return status;
}

static rynd_status place(placement_object *self, const rynd_placement_options *options)
{
    const Py_ssize_t count = PyList_Size(self->models);
    rynd_model **models = PyMem_Calloc((size_t)count + 1, sizeof *models);
    if (!models) {
        PyErr_NoMemory();
        return RYND_ERROR_OUT_OF_MEMORY;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *model = PyList_GetItem(self->models, i);
        if (!PyObject_TypeCheck(model, py_model_type)) {
            PyMem_Free((void *)models);
            py_fail_type("what is placed is no model");
            return RYND_ERROR_ARGUMENT;
        }
        models[i] = ((model_object *)model)->model;
    }
    rynd_status status;
    Py_BEGIN_ALLOW_THREADS
    status = rynd_placement_create(self->fleet, models, (size_t)count, options, &self->placement);
    Py_END_ALLOW_THREADS
    PyMem_Free((void *)models);
    return status;
}

static PyObject *placement_new(PyTypeObject *type, PyObject *args, PyObject *named)
{
    PyObject *path, *models, *dims, *report, *log;
    rynd_placement_options options = RYND_SIZED(rynd_placement_options);
    rynd_dim *taken = NULL;
    int objective, accuracy;
    long long batch;
    Py_ssize_t parts, nodes;
    if (named ||
        !PyArg_ParseTuple(args, "OO!iiLO!nnOO:Placement", &path, &PyList_Type, &models, &objective,
                          &accuracy, &batch, &PyList_Type, &dims, &parts, &nodes, &report, &log)) {
        return NULL;
    }
    placement_object *self = (placement_object *)PyType_GenericAlloc(type, 0);
    if (!self) {
        return NULL;
    }
    self->models = PY_TAKE(models);
    self->log = PY_TAKE(log);
    rynd_status status = RYND_ERROR_ARGUMENT;
    if (py_dims_take(dims, &taken, &options.dim_count)) {
        options.objective = (rynd_objective)objective;
        options.accuracy = (rynd_accuracy)accuracy;
        options.dims = taken;
        options.batch = batch;
        options.parts = (size_t)parts;
        options.nodes = (size_t)nodes;
        options.progress = py_progress;
        options.progress_user = report == Py_None ? NULL : report;
        status = load_fleet(self, path);
        status = status == RYND_OK ? place(self, &options) : status;
    }
    PyMem_Free(taken);
    if (status != RYND_OK) {
        py_raise(status);
        Py_DECREF((PyObject *)self);
        return NULL;
    }
    return (PyObject *)self;
}

static void placement_free(PyObject *object)
{
    placement_object *self = (placement_object *)object;
    rynd_placement_destroy(self->placement);
    Py_BEGIN_ALLOW_THREADS
    rynd_fleet_destroy(self->fleet); /* waits for threads, which may tell */
    Py_END_ALLOW_THREADS
    Py_XDECREF(self->models);
    Py_XDECREF(self->log);
    py_free(object);
}

static PyObject *placement_info(PyObject *self, PyObject *unused)
{
    (void)unused;
    rynd_placement_info i = RYND_SIZED(rynd_placement_info);
    const rynd_status status = rynd_placement_get_info(((placement_object *)self)->placement, &i);
    return status == RYND_OK
               ? Py_BuildValue("{sdsdsnsnsdsdsdsdsO}", "value", i.value, "bound", i.bound,
                               "searched", (Py_ssize_t)i.nodes, "parts", (Py_ssize_t)i.parts,
                               "latency", i.latency, "period", i.period, "energy", i.energy,
                               "memory", i.memory, "complete", i.complete ? Py_True : Py_False)
               : py_raise(status);
}

static PyObject *placement_devices(PyObject *object, PyObject *unused)
{
    (void)unused;
    const rynd_fleet *fleet = ((placement_object *)object)->fleet;
    PyObject *devices = PyList_New(0);
    for (size_t i = 0; devices && i < rynd_fleet_device_count(fleet); i++) {
        rynd_fleet_device d = RYND_SIZED(rynd_fleet_device);
        const rynd_status status = rynd_fleet_get_device(fleet, i, &d);
        PyObject *device = status == RYND_OK
                               ? Py_BuildValue("(sszIdd)", d.name, d.device, d.machine, d.threads,
                                               d.memory, d.watts)
                               : py_raise(status);
        if (!device || PyList_Append(devices, device) != 0) {
            Py_CLEAR(devices);
        }
        Py_XDECREF(device);
    }
    return devices;
}

static PyObject *placement_link(PyObject *object, PyObject *args)
{
    const rynd_fleet *fleet = ((placement_object *)object)->fleet;
    Py_ssize_t a, b;
    double bandwidth, latency;
    if (!PyArg_ParseTuple(args, "nn:_link", &a, &b)) {
        return NULL;
    }
    const rynd_status status =
        rynd_fleet_get_link(fleet, (size_t)a, (size_t)b, &bandwidth, &latency);
    return status == RYND_OK ? Py_BuildValue("(dd)", bandwidth, latency) : py_raise(status);
}

/* (its Model, its facts). */
static PyObject *placement_part(PyObject *object, PyObject *index)
{
    const rynd_placement *placement = ((placement_object *)object)->placement;
    const Py_ssize_t i = PyLong_AsSsize_t(index);
    rynd_placed_part p = RYND_SIZED(rynd_placed_part);
    if (i == -1 && PyErr_Occurred()) {
        return NULL;
    }
    const rynd_status status = rynd_placement_get_part(placement, (size_t)i, &p);
    if (status != RYND_OK) {
        return py_raise(status);
    }
    PyObject *model = py_model_of_part(object, NULL, p.model, true);
    return model ? Py_BuildValue("(N{snsnsnsnsnsssssds(nnnn)sdsd})", model, "network",
                                 (Py_ssize_t)p.network, "device", (Py_ssize_t)p.device, "first",
                                 (Py_ssize_t)p.first, "end", (Py_ssize_t)p.end, "steps",
                                 (Py_ssize_t)p.steps, "first_node", p.first_node, "last_node",
                                 p.last_node, "seconds", p.seconds, "memory",
                                 (Py_ssize_t)p.memory.weights, (Py_ssize_t)p.memory.activations,
                                 (Py_ssize_t)p.memory.workspace, (Py_ssize_t)p.memory.total,
                                 "bytes_in", p.bytes_in, "bytes_out", p.bytes_out)
                 : NULL;
}

static PyObject *placement_makespan(PyObject *object, PyObject *inputs)
{
    const rynd_placement *placement = ((placement_object *)object)->placement;
    const Py_ssize_t count = PyLong_AsSsize_t(inputs);
    double seconds;
    if (count == -1 && PyErr_Occurred()) {
        return NULL;
    }
    const rynd_status status = rynd_placement_get_makespan(placement, (size_t)count, &seconds);
    return status == RYND_OK ? PyFloat_FromDouble(seconds) : py_raise(status);
}

static PyMethodDef placement_methods[] = {
    {"_info", placement_info, METH_NOARGS, "What it comes to, as a dict."},
    {"_devices", placement_devices, METH_NOARGS,
     "[(name, device, machine, threads, memory, watts)]."},
    {"_link", placement_link, METH_VARARGS, "(bandwidth, latency) between two devices."},
    {"_part", placement_part, METH_O, "(Model, facts as a dict) of a part."},
    {"_makespan", placement_makespan, METH_O, "Predicted seconds of so many inputs."},
    {NULL, NULL, 0, NULL}};

static PyType_Slot placement_slots[] = {{Py_tp_doc, "Which device does which part."},
                                        {Py_tp_new, placement_new},
                                        {Py_tp_dealloc, placement_free},
                                        {Py_tp_methods, placement_methods},
                                        {0, NULL}};

PyType_Spec py_placement_spec = {"rynd._rynd.Placement", sizeof(placement_object), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, placement_slots};
