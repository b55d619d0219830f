/* SPDX-License-Identifier: Apache-2.0 */
/* Quantizer: quantises a model by examples. */
#include "quantizer.h"

#include "describe.h"
#include "errors.h"
#include "session.h"
#include "settings.h"

#include <string.h>

typedef struct quantizer_object {
    PyObject_HEAD rynd_quantizer *quantizer;
    model_object *model; /* kept alive */
    PyObject *report;    /* the caller's progress; NULL: none */
} quantizer_object;

static bool find_calibration(const char *word, rynd_calibration *calibration)
{
    for (int i = 0; rynd_calibration_text((rynd_calibration)i); i++) {
        if (strcmp(rynd_calibration_text((rynd_calibration)i), word) == 0) {
            *calibration = (rynd_calibration)i;
            return true;
        }
    }
    py_fail_value("calibrate '%s': give auto, mse, minmax, percentile or entropy", word);
    return false;
}

/* (model, calibrate, percentile, activations, per_tensor, bias_correction, equalise, samples, dims,
 * batch, progress or None) */
static PyObject *quantizer_new(PyTypeObject *type, PyObject *args, PyObject *named)
{
    PyObject *model, *dims, *report;
    const char *calibrate, *activations;
    rynd_quantize_options options = RYND_SIZED(rynd_quantize_options, .progress = py_progress);
    rynd_dim *taken = NULL;
    int correct;
    long long batch;
    Py_ssize_t samples;
    if (named ||
        !PyArg_ParseTuple(args, "O!sdsppnpO!LO:Quantizer", py_model_type, &model, &calibrate,
                          &options.percentile, &activations, &options.per_tensor, &correct,
                          &samples, &options.equalise, &PyList_Type, &dims, &batch, &report) ||
        !find_calibration(calibrate, &options.calibrate)) {
        return NULL;
    }
    quantizer_object *self = (quantizer_object *)PyType_GenericAlloc(type, 0);
    if (!self) {
        return NULL;
    }
    self->model = (model_object *)PY_TAKE(model);
    self->report = report == Py_None ? NULL : PY_TAKE(report);
    rynd_status status = RYND_ERROR_ARGUMENT;
    if (py_dims_take(dims, &taken, &options.dim_count)) {
        options.activations = py_dtype_of(activations);
        options.no_bias_correction = !correct;
        options.samples = (size_t)samples;
        options.dims = taken;
        options.batch = batch;
        options.progress_user = self->report;
        Py_BEGIN_ALLOW_THREADS
        status = rynd_quantizer_create(self->model->model, &options, &self->quantizer);
        Py_END_ALLOW_THREADS
    }
    PyMem_Free(taken);
    if (status != RYND_OK) {
        py_raise(status);
        Py_DECREF((PyObject *)self);
        return NULL;
    }
    return (PyObject *)self;
}

static void quantizer_free(PyObject *object)
{
    quantizer_object *self = (quantizer_object *)object;
    rynd_quantizer_destroy(self->quantizer);
    Py_XDECREF((PyObject *)self->model);
    Py_XDECREF(self->report);
    py_free(object);
}

static PyObject *done(rynd_status status)
{
    return status == RYND_OK ? PY_TAKE(Py_None) : py_raise(status);
}

/* Takes a list of arrays in the model's order. */
static PyObject *quantizer_observe(PyObject *object, PyObject *list)
{
    quantizer_object *self = (quantizer_object *)object;
    const Py_ssize_t inputs = PyTuple_Size(self->model->input_names);
    const Py_ssize_t count = PyList_Check(list) ? PyList_Size(list) : -1;
    PyObject **arrays = PyMem_Calloc((size_t)inputs + 1, sizeof *arrays);
    py_lent *lent = PyMem_Calloc((size_t)inputs + 1, sizeof *lent);
    rynd_tensor *tensors = PyMem_Calloc((size_t)inputs + 1, sizeof *tensors);
    bool good = arrays && lent && tensors;
    rynd_status status = RYND_ERROR_OUT_OF_MEMORY;
    if (!good) {
        PyErr_NoMemory();
    }
    for (Py_ssize_t i = 0; good && i < count && i < inputs; i++) {
        arrays[i] = PyList_GetItem(list, i);
    }
    good = good && py_lend_inputs(self->model, arrays, count, NULL, NULL, lent);
    if (good) {
        for (Py_ssize_t i = 0; i < inputs; i++) {
            tensors[i] = lent[i].tensor;
        }
        Py_BEGIN_ALLOW_THREADS
        status = rynd_quantizer_observe(self->quantizer, tensors);
        Py_END_ALLOW_THREADS
        py_give_inputs_back(self->model, lent);
    }
    PyMem_Free(arrays);
    PyMem_Free(lent);
    PyMem_Free(tensors);
    return good ? done(status) : NULL;
}

static PyObject *quantizer_measure(PyObject *object, PyObject *unused)
{
    rynd_status status;
    (void)unused;
    Py_BEGIN_ALLOW_THREADS
    status = rynd_quantizer_measure(((quantizer_object *)object)->quantizer);
    Py_END_ALLOW_THREADS
    return done(status);
}

static PyObject *describe_layer(const rynd_quantizer *quantizer, size_t index)
{
    rynd_quantized_layer l = RYND_SIZED(rynd_quantized_layer);
    const rynd_status status = rynd_quantizer_get_layer(quantizer, index, &l);
    return status == RYND_OK ? Py_BuildValue("(ssLOdddd)", l.name, l.op, (long long)l.weights,
                                             l.is_float ? Py_True : Py_False, l.snr, l.output_snr,
                                             l.seconds, l.float_seconds)
                             : py_raise(status);
}

static PyObject *quantizer_layers(PyObject *object, PyObject *unused)
{
    const rynd_quantizer *quantizer = ((quantizer_object *)object)->quantizer;
    PyObject *layers = PyList_New(0);
    (void)unused;
    for (size_t i = 0; layers && i < rynd_quantizer_layer_count(quantizer); i++) {
        PyObject *layer = describe_layer(quantizer, i);
        if (!layer || PyList_Append(layers, layer) != 0) {
            Py_CLEAR(layers);
        }
        Py_XDECREF(layer);
    }
    return layers;
}

static PyObject *quantizer_set_float(PyObject *object, PyObject *args)
{
    Py_ssize_t index;
    int on;
    return PyArg_ParseTuple(args, "np:_set_float", &index, &on)
               ? done(rynd_quantizer_set_float(((quantizer_object *)object)->quantizer,
                                               (size_t)index, on))
               : NULL;
}

static PyObject *quantizer_keep_float(PyObject *object, PyObject *number)
{
    const Py_ssize_t count = PyLong_AsSsize_t(number);
    if (count < 0) {
        return PyErr_Occurred() ? NULL : py_fail_value("count %zd: give at least 0", count);
    }
    return done(rynd_quantizer_keep_float(((quantizer_object *)object)->quantizer, (size_t)count));
}

static PyObject *quantizer_info(PyObject *object, PyObject *unused)
{
    rynd_quantized_info i = RYND_SIZED(rynd_quantized_info);
    rynd_status status;
    (void)unused;
    Py_BEGIN_ALLOW_THREADS
    status = rynd_quantizer_get_info(((quantizer_object *)object)->quantizer, &i);
    Py_END_ALLOW_THREADS
    return status == RYND_OK
               ? Py_BuildValue("(nnnddd)", (Py_ssize_t)i.layers, (Py_ssize_t)i.float_layers,
                               (Py_ssize_t)i.observed, i.output_snr, i.seconds, i.float_seconds)
               : py_raise(status);
}

static PyObject *quantizer_save(PyObject *object, PyObject *args)
{
    PyObject *path;
    rynd_status status;
    if (!PyArg_ParseTuple(args, "O&:_save", PyUnicode_FSConverter, &path)) {
        return NULL;
    }
    const char *name = PyBytes_AsString(path);
    Py_BEGIN_ALLOW_THREADS
    status = rynd_quantizer_save(((quantizer_object *)object)->quantizer, name);
    Py_END_ALLOW_THREADS
    Py_DECREF(path);
    return done(status);
}

static PyObject *quantizer_save_memory(PyObject *object, PyObject *unused)
{
    quantizer_object *self = (quantizer_object *)object;
    rynd_status status;
    void *data;
    size_t size;
    (void)unused;
    Py_BEGIN_ALLOW_THREADS
    status = rynd_quantizer_save_memory(self->quantizer, &data, &size);
    Py_END_ALLOW_THREADS
    if (status != RYND_OK) {
        return py_raise(status);
    }
    PyObject *bytes = PyBytes_FromStringAndSize(data, (Py_ssize_t)size);
    rynd_memory_free(self->model->context->context, data);
    return bytes;
}

static PyMethodDef quantizer_methods[] = {
    {"_observe", quantizer_observe, METH_O, "Observes a list of arrays, one per input."},
    {"_measure", quantizer_measure, METH_NOARGS, "Measures each layer alone."},
    {"_layers", quantizer_layers, METH_NOARGS, "The layers, as tuples."},
    {"_set_float", quantizer_set_float, METH_VARARGS, "Keeps a layer in float32, or not."},
    {"_keep_float", quantizer_keep_float, METH_O, "Keeps the worst layers in float32."},
    {"_info", quantizer_info, METH_NOARGS, "The present choice, as a tuple."},
    {"_save", quantizer_save, METH_VARARGS, "Writes the quantised model."},
    {"_save_memory", quantizer_save_memory, METH_NOARGS, "The quantised model as bytes."},
    {NULL, NULL, 0, NULL}};

static PyType_Slot quantizer_slots[] = {{Py_tp_doc, "Quantises a model by examples."},
                                        {Py_tp_new, quantizer_new},
                                        {Py_tp_dealloc, quantizer_free},
                                        {Py_tp_methods, quantizer_methods},
                                        {0, NULL}};

PyType_Spec py_quantizer_spec = {"rynd._rynd.Quantizer", sizeof(quantizer_object), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, quantizer_slots};

/* Describes a model's quantisation as a tuple; None: a float32 model. */
PyObject *py_model_quantization(PyObject *self, PyObject *unused)
{
    rynd_quantization q = RYND_SIZED(rynd_quantization);
    (void)unused;
    const rynd_status status = rynd_model_get_quantization(((model_object *)self)->model, &q);
    if (status != RYND_OK) {
        return py_raise(status);
    }
    const char *weights = q.weights ? rynd_dtype_name(q.weights) : NULL,
               *activations = q.activations ? rynd_dtype_name(q.activations) : NULL;
    return q.quantized
               ? Py_BuildValue("(snnnzz)", q.form, (Py_ssize_t)q.layers, (Py_ssize_t)q.quantized,
                               (Py_ssize_t)q.per_channel, weights, activations)
               : PY_TAKE(Py_None);
}
