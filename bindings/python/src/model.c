/* SPDX-License-Identifier: Apache-2.0 */
/* Model: an ONNX file as loaded for a context. */
#include "errors.h"
#include "extension.h"
#include "names.h"
#include "quantizer.h"
#include "save.h"
#include "settings.h"

#include <string.h>

static rynd_status load(model_object *self, PyObject *source)
{
    rynd_status status;
    if (PyUnicode_Check(source)) {
        self->path = PY_TAKE(source);
        PyObject *bytes;
        if (!PyUnicode_FSConverter(source, &bytes)) {
            return RYND_ERROR_ARGUMENT;
        }
        const char *path = PyBytes_AsString(bytes);
        Py_BEGIN_ALLOW_THREADS
        status = rynd_model_load(self->context->context, path, &self->model);
        Py_END_ALLOW_THREADS
        Py_DECREF(bytes);
        return status;
    }
    if (PyObject_GetBuffer(source, &self->content, PyBUF_SIMPLE) != 0) {
        self->content.obj = NULL;
        return RYND_ERROR_ARGUMENT;
    }
    Py_BEGIN_ALLOW_THREADS
    status = rynd_model_load_memory(self->context->context, self->content.buf,
                                    (size_t)self->content.len, &self->model);
    Py_END_ALLOW_THREADS
    return status;
}

static PyObject *model_new(PyTypeObject *type, PyObject *args, PyObject *named)
{
    PyObject *context, *source;
    if (named || !PyArg_ParseTuple(args, "O!O:Model", py_context_type, &context, &source)) {
        return NULL;
    }
    model_object *self = (model_object *)PyType_GenericAlloc(type, 0);
    if (!self) {
        return NULL;
    }
    self->context = (context_object *)PY_TAKE(context);
    const rynd_status status = load(self, source);
    if (status != RYND_OK) {
        py_raise(status);
        Py_DECREF((PyObject *)self);
        return NULL;
    }
    return py_model_finish(self);
}

static void model_free(PyObject *self)
{
    model_object *model = (model_object *)self;
    for (char **label = model->input_labels; label && *label; label++) {
        PyMem_Free(*label);
    }
    PyMem_Free(model->input_labels);
    if (!model->borrowed) {
        rynd_model_destroy(model->model);
    }
    Py_XDECREF(model->owner);
    if (model->content.obj) {
        PyBuffer_Release(&model->content);
    }
    Py_XDECREF(model->path);
    Py_XDECREF(model->input_names);
    Py_XDECREF(model->output_names);
    Py_XDECREF((PyObject *)model->context);
    py_free(self);
}

/* (name, dtype, dims): a dim is its number, or the name of one that is open; None: not known. */
static PyObject *describe(const rynd_value_info *info)
{
    PyObject *dims = info->rank < 0 ? PY_TAKE(Py_None) : PyTuple_New(info->rank);
    for (int i = 0; dims && i < info->rank; i++) {
        PyObject *dim = info->dim[i] < 0 ? PyUnicode_FromString(info->symbol[i])
                                         : PyLong_FromLongLong(info->dim[i]);
        if (!dim || PyTuple_SetItem(dims, i, dim) != 0) {
            Py_CLEAR(dims);
        }
    }
    return Py_BuildValue("(ssN)", info->name, rynd_dtype_name(info->dtype), dims);
}

static PyObject *list(PyObject *self, size_t (*count)(const rynd_model *),
                      rynd_status (*get)(const rynd_model *, size_t, rynd_value_info *))
{
    const rynd_model *model = ((model_object *)self)->model;
    PyObject *values = PyList_New(0);
    for (size_t i = 0; values && i < count(model); i++) {
        rynd_value_info info = RYND_SIZED(rynd_value_info);
        const rynd_status status = get(model, i, &info);
        PyObject *value = status == RYND_OK ? describe(&info) : py_raise(status);
        if (!value || PyList_Append(values, value) != 0) {
            Py_CLEAR(values);
        }
        Py_XDECREF(value);
    }
    return values;
}

static PyObject *model_inputs(PyObject *self, PyObject *unused)
{
    (void)unused;
    return list(self, rynd_model_input_count, rynd_model_get_input);
}

static PyObject *model_outputs(PyObject *self, PyObject *unused)
{
    (void)unused;
    return list(self, rynd_model_output_count, rynd_model_get_output);
}

static PyObject *operators(const rynd_model *model, size_t count)
{
    PyObject *counts = PyDict_New();
    for (size_t i = 0; counts && i < count; i++) {
        const char *name;
        size_t nodes;
        const rynd_status status = rynd_model_get_operator(model, i, &name, &nodes);
        PyObject *number = status == RYND_OK ? PyLong_FromSize_t(nodes) : py_raise(status);
        if (!number || PyDict_SetItemString(counts, name, number) != 0) {
            Py_CLEAR(counts);
        }
        Py_XDECREF(number);
    }
    return counts;
}

static PyObject *model_info(PyObject *self, PyObject *unused)
{
    (void)unused;
    const rynd_model *model = ((model_object *)self)->model;
    rynd_model_info info = RYND_SIZED(rynd_model_info);
    const rynd_status status = rynd_model_get_info(model, &info);
    if (status != RYND_OK) {
        return py_raise(status);
    }
    return Py_BuildValue("{szszsLsLsLsLsnsN}", "name", info.name, "producer", info.producer,
                         "ir_version", (long long)info.ir_version, "opset", (long long)info.opset,
                         "parameters", (long long)info.parameters, "macs", (long long)info.macs,
                         "nodes", (Py_ssize_t)info.node_count, "operators",
                         operators(model, info.operator_count));
}

static PyObject *model_new_head(PyObject *self, PyObject *args)
{
    const model_object *object = (model_object *)self;
    long long classes;
    unsigned long long seed;
    void *data;
    size_t size;
    rynd_status status;
    if (!PyArg_ParseTuple(args, "LK:new_head", &classes, &seed)) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    status = rynd_model_save_new_head_memory(object->model, classes, seed, &data, &size);
    Py_END_ALLOW_THREADS
    if (status != RYND_OK) {
        return py_raise(status);
    }
    PyObject *bytes = PyBytes_FromStringAndSize(data, (Py_ssize_t)size);
    rynd_memory_free(object->context->context, data);
    return bytes;
}

/* Bytes that are no UTF-8 become U+FFFD. */
static PyObject *text_of(const char *text)
{
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

/* {key: value} */
static PyObject *model_metadata(PyObject *self, PyObject *unused)
{
    (void)unused;
    const rynd_model *model = ((model_object *)self)->model;
    PyObject *entries = PyDict_New();
    for (size_t i = 0; entries && i < rynd_model_metadata_count(model); i++) {
        rynd_metadata entry = RYND_SIZED(rynd_metadata);
        const rynd_status status = rynd_model_get_metadata(model, i, &entry);
        PyObject *value = status == RYND_OK ? text_of(entry.value) : py_raise(status);
        PyObject *key = value ? text_of(entry.key) : NULL;
        if (!key || PyDict_SetItem(entries, key, value) != 0) {
            Py_CLEAR(entries);
        }
        Py_XDECREF(key);
        Py_XDECREF(value);
    }
    return entries;
}

static PyObject *model_set_metadata(PyObject *self, PyObject *args)
{
    const char *key, *value;
    if (!PyArg_ParseTuple(args, "sz:set_metadata", &key, &value)) {
        return NULL;
    }
    const rynd_status status = rynd_model_set_metadata(((model_object *)self)->model, key, value);
    return status == RYND_OK ? PY_TAKE(Py_None) : py_raise(status);
}

static PyObject *model_weights(PyObject *self, PyObject *unused)
{
    (void)unused;
    rynd_weights weights = RYND_SIZED(rynd_weights);
    const rynd_status status = rynd_model_get_weights(((model_object *)self)->model, &weights);
    return status == RYND_OK
               ? Py_BuildValue("(nnnnn)", (Py_ssize_t)weights.packed, (Py_ssize_t)weights.derived,
                               (Py_ssize_t)weights.unused_packed,
                               (Py_ssize_t)weights.unused_derived, (Py_ssize_t)weights.keep)
               : py_raise(status);
}

static PyObject *model_keep(PyObject *self, PyObject *bytes)
{
    const size_t keep = PyLong_AsSize_t(bytes);
    if (keep == (size_t)-1 && PyErr_Occurred()) {
        return NULL;
    }
    const rynd_status status = rynd_model_keep(((model_object *)self)->model, keep);
    return status == RYND_OK ? PY_TAKE(Py_None) : py_raise(status);
}

static PyObject *value_names(const rynd_model *model, size_t node, int count,
                             const char *(*get)(const rynd_model *, size_t, int))
{
    PyObject *names = PyList_New(0);
    for (int i = 0; names && i < count; i++) {
        PyObject *name = PyUnicode_FromString(get(model, node, i));
        if (!name || PyList_Append(names, name) != 0) {
            Py_CLEAR(names);
        }
        Py_XDECREF(name);
    }
    return names;
}

static PyObject *model_nodes(PyObject *self, PyObject *unused)
{
    (void)unused;
    const rynd_model *model = ((model_object *)self)->model;
    PyObject *nodes = PyList_New(0);
    for (size_t i = 0; nodes && i < rynd_model_node_count(model); i++) {
        rynd_node_info info = RYND_SIZED(rynd_node_info);
        const rynd_status status = rynd_model_get_node(model, i, &info);
        PyObject *node =
            status == RYND_OK
                ? Py_BuildValue("(sssNN)", info.name, info.op, info.source,
                                value_names(model, i, info.inputs, rynd_model_node_input),
                                value_names(model, i, info.outputs, rynd_model_node_output))
                : py_raise(status);
        if (!node || PyList_Append(nodes, node) != 0) {
            Py_CLEAR(nodes);
        }
        Py_XDECREF(node);
    }
    return nodes;
}

static PyObject *model_part(PyObject *object, PyObject *args)
{
    model_object *self = (model_object *)object;
    PyObject *inputs, *outputs, *dims;
    long long batch;
    rynd_part_options options = RYND_SIZED(rynd_part_options);
    rynd_dim *taken = NULL;
    rynd_model *part = NULL;
    if (!PyArg_ParseTuple(args, "O!O!LO!:part", &PyList_Type, &inputs, &PyList_Type, &outputs,
                          &batch, &PyList_Type, &dims)) {
        return NULL;
    }
    const char **in = py_texts_of(inputs), **out = in ? py_texts_of(outputs) : NULL;
    if (out && py_dims_take(dims, &taken, &options.dim_count)) {
        options.inputs = in;
        options.input_count = (size_t)PyList_Size(inputs);
        options.outputs = out;
        options.output_count = (size_t)PyList_Size(outputs);
        options.dims = taken;
        options.batch = batch;
        rynd_status status;
        rynd_context *context = self->context->context;
        Py_BEGIN_ALLOW_THREADS
        status = rynd_model_create_part(self->model, context, &options, &part);
        Py_END_ALLOW_THREADS
        if (status != RYND_OK) {
            py_raise(status);
        }
    }
    PyMem_Free((void *)in);
    PyMem_Free((void *)out);
    PyMem_Free(taken);
    return part ? py_model_of_part(object, self->context, part, false) : NULL;
}

static PyMethodDef model_methods[] = {
    {"gradient", py_model_gradient, METH_VARARGS,
     "(inputs, outputs, batch, dims): a Model of outputs and gradients."},
    {"part", model_part, METH_VARARGS, "(inputs, outputs, batch, dims): a Model of a part."},
    {"save", py_model_save, METH_VARARGS, "(path, {name: array})."},
    {"save_memory", py_model_save_memory, METH_VARARGS, "({name: array}): bytes."},
    {"parameters", py_model_parameters, METH_NOARGS, "(name, dtype, shape, node), one each."},
    {"metadata", model_metadata, METH_NOARGS, "{key: value}."},
    {"set_metadata", model_set_metadata, METH_VARARGS, "(key, value), None: no such key."},
    {"new_head", model_new_head, METH_VARARGS, "(classes, seed): bytes."},
    {"weights", model_weights, METH_NOARGS,
     "(packed, derived, unused_packed, unused_derived, keep), in bytes."},
    {"keep", model_keep, METH_O, "Sets how many bytes stay that no plan reads."},
    {"inputs", model_inputs, METH_NOARGS, "[(name, dtype, dims)]; an open dim is its name."},
    {"outputs", model_outputs, METH_NOARGS, "As inputs()."},
    {"info", model_info, METH_NOARGS, "Facts as a dict."},
    {"quantization", py_model_quantization, METH_NOARGS, "How it is quantised, as a tuple; None."},
    {"nodes", model_nodes, METH_NOARGS, "[(name, op, ONNX operator, inputs, outputs)]."},
    {NULL, NULL, 0, NULL}};

static PyType_Slot model_slots[] = {{Py_tp_doc, "An ONNX file as loaded for a context."},
                                    {Py_tp_new, model_new},
                                    {Py_tp_dealloc, model_free},
                                    {Py_tp_methods, model_methods},
                                    {0, NULL}};

PyType_Spec py_model_spec = {"rynd._rynd.Model", sizeof(model_object), 0, Py_TPFLAGS_DEFAULT,
                             model_slots};
