/* SPDX-License-Identifier: Apache-2.0 */
/* Models written once more with other weights, and random numbers by seed and place. */
#include "save.h"

#include "array.h"
#include "errors.h"
#include "lend.h"

#include <stdio.h>

/* {name: array} as tensors, lent for a call. */
typedef struct lent_tensors {
    rynd_named_tensor *tensors;
    py_lent *lent;
    Py_ssize_t count, held;
} lent_tensors;

static void give_back(lent_tensors *all)
{
    for (Py_ssize_t i = 0; i < all->held; i++) {
        py_give_back(&all->lent[i]);
    }
    PyMem_Free(all->tensors);
    PyMem_Free(all->lent);
}

static bool lend_item(PyObject *name, PyObject *array, rynd_named_tensor *tensor, py_lent *lent)
{
    char what[160];
    tensor->name = PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, NULL)
                                         : (py_fail_type("a tensor's name is no str"), NULL);
    if (!tensor->name) {
        return false;
    }
    snprintf(what, sizeof what, "tensor '%.120s'", tensor->name);
    if (!py_lend(array, what, false, lent)) {
        return false;
    }
    tensor->tensor = lent->tensor;
    return true;
}

/* False: an exception is set, and nothing is held. */
static bool lend_all(PyObject *dict, lent_tensors *all)
{
    *all = (lent_tensors){.count = PyDict_Size(dict)};
    all->tensors = PyMem_Calloc((size_t)all->count + 1, sizeof *all->tensors);
    all->lent = PyMem_Calloc((size_t)all->count + 1, sizeof *all->lent);
    bool good = all->tensors && all->lent;
    if (!good) {
        PyErr_NoMemory();
    }
    PyObject *name, *array;
    Py_ssize_t at = 0;
    while (good && PyDict_Next(dict, &at, &name, &array)) {
        good = lend_item(name, array, &all->tensors[all->held], &all->lent[all->held]);
        all->held += good;
    }
    if (!good) {
        give_back(all);
    }
    return good;
}

PyObject *py_model_save(PyObject *self, PyObject *args)
{
    const rynd_model *model = ((model_object *)self)->model;
    PyObject *path, *dict;
    lent_tensors all;
    if (!PyArg_ParseTuple(args, "O&O!:save", PyUnicode_FSConverter, &path, &PyDict_Type, &dict)) {
        return NULL;
    }
    if (!lend_all(dict, &all)) {
        Py_DECREF(path);
        return NULL;
    }
    rynd_status status;
    const char *name = PyBytes_AsString(path);
    Py_BEGIN_ALLOW_THREADS
    status = rynd_model_save(model, name, all.tensors, (size_t)all.count);
    Py_END_ALLOW_THREADS
    give_back(&all);
    Py_DECREF(path);
    return status == RYND_OK ? PY_TAKE(Py_None) : py_raise(status);
}

PyObject *py_model_save_memory(PyObject *self, PyObject *args)
{
    const model_object *model = (model_object *)self;
    PyObject *dict;
    lent_tensors all;
    if (!PyArg_ParseTuple(args, "O!:save_memory", &PyDict_Type, &dict) || !lend_all(dict, &all)) {
        return NULL;
    }
    rynd_status status;
    void *data;
    size_t size;
    Py_BEGIN_ALLOW_THREADS
    status = rynd_model_save_memory(model->model, all.tensors, (size_t)all.count, &data, &size);
    Py_END_ALLOW_THREADS
    give_back(&all);
    if (status != RYND_OK) {
        return py_raise(status);
    }
    PyObject *bytes = PyBytes_FromStringAndSize(data, (Py_ssize_t)size);
    rynd_memory_free(model->context->context, data);
    return bytes;
}

static PyObject *new_array(rynd_dtype dtype, Py_ssize_t count, void **data)
{
    const int64_t dim[] = {count};
    const rynd_tensor like = rynd_tensor_of(NULL, dtype, 1, dim);
    py_pool *pool = count < 0 || like.dtype == RYND_DTYPE_NONE
                        ? NULL
                        : py_pool_create((size_t)count * rynd_dtype_size(dtype));
    array_object *array = pool ? py_array_new(&like, pool) : NULL;
    if (!pool) {
        PyErr_NoMemory();
    }
    py_pool_drop(pool);
    *data = array ? array->tensor.data : NULL;
    return (PyObject *)array;
}

PyObject *py_random(PyObject *module, PyObject *args)
{
    (void)module;
    const char *kind;
    unsigned long long seed, first;
    unsigned long stream, step;
    Py_ssize_t count;
    if (!PyArg_ParseTuple(args, "sKkkKn:random", &kind, &seed, &stream, &step, &first, &count)) {
        return NULL;
    }
    const rynd_random from = {seed, (uint32_t)stream, (uint32_t)step};
    void *data;
    const bool whole = *kind == 'p';
    PyObject *array = new_array(whole ? RYND_DTYPE_U64 : RYND_DTYPE_F32, count, &data);
    if (!array) {
        return NULL;
    }
    rynd_status status;
    Py_BEGIN_ALLOW_THREADS
    status = whole          ? rynd_random_permutation(&from, (size_t)count, data)
             : *kind == 'n' ? rynd_random_normal(&from, first, (size_t)count, data)
                            : rynd_random_uniform(&from, first, (size_t)count, data);
    Py_END_ALLOW_THREADS
    if (status != RYND_OK) {
        Py_DECREF(array);
        return py_raise(status);
    }
    return array;
}
