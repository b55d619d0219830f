/* SPDX-License-Identifier: Apache-2.0 */
#include "array.h"

#include "describe.h"
#include "dlpack.h"
#include "errors.h"

#include <stdlib.h>
#include <string.h>

/* By dtype: the struct module's character, numpy's, DLPack's code. bfloat16 has none of the first
 * two. */
static const struct {
    const char *format, *numpy;
    uint8_t code;
} words[] = {
    [RYND_DTYPE_F32] = {"f", "<f4", DLPACK_FLOAT},   [RYND_DTYPE_F16] = {"e", "<f2", DLPACK_FLOAT},
    [RYND_DTYPE_BF16] = {NULL, NULL, DLPACK_BFLOAT}, [RYND_DTYPE_F64] = {"d", "<f8", DLPACK_FLOAT},
    [RYND_DTYPE_I8] = {"b", "|i1", DLPACK_INT},      [RYND_DTYPE_I16] = {"h", "<i2", DLPACK_INT},
    [RYND_DTYPE_I32] = {"i", "<i4", DLPACK_INT},     [RYND_DTYPE_I64] = {"q", "<i8", DLPACK_INT},
    [RYND_DTYPE_U8] = {"B", "|u1", DLPACK_UINT},     [RYND_DTYPE_U16] = {"H", "<u2", DLPACK_UINT},
    [RYND_DTYPE_U32] = {"I", "<u4", DLPACK_UINT},    [RYND_DTYPE_U64] = {"Q", "<u8", DLPACK_UINT},
    [RYND_DTYPE_BOOL] = {"?", "|b1", DLPACK_BOOL},
};

static size_t bytes_of(const rynd_tensor *tensor)
{
    return (size_t)rynd_tensor_elements(tensor) * rynd_dtype_size(tensor->dtype);
}

array_object *py_array_new(const rynd_tensor *like, py_pool *pool)
{
    void *block = py_pool_take(pool);
    array_object *array = block ? (array_object *)PyType_GenericAlloc(py_result_type, 0) : NULL;
    if (!array) {
        if (block) {
            py_pool_give(pool, block);
        }
        return (array_object *)PyErr_NoMemory();
    }
    array->tensor = *like;
    array->tensor.data = block;
    for (int i = 0; i < like->rank; i++) {
        array->bytes[i] = (Py_ssize_t)like->stride[i] * (Py_ssize_t)rynd_dtype_size(like->dtype);
    }
    py_pool_keep(pool);
    array->pool = pool;
    return array;
}

array_object *py_array_make(const rynd_tensor *like)
{
    py_pool *pool =
        py_pool_create((size_t)rynd_tensor_elements(like) * rynd_dtype_size(like->dtype));
    if (!pool) {
        PyErr_NoMemory();
        return NULL;
    }
    array_object *array = py_array_new(like, pool);
    py_pool_drop(pool);
    return array;
}

PyObject *py_array_from(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *description;
    const char *bytes;
    Py_ssize_t size;
    rynd_tensor tensor;
    if (!PyArg_ParseTuple(args, "Oy#", &description, &bytes, &size) ||
        !py_take_description(description, &tensor)) {
        return NULL;
    }
    if ((size_t)size != bytes_of(&tensor)) {
        return py_fail_value("an array of %zu bytes was given %zd", bytes_of(&tensor), size);
    }
    py_pool *pool = py_pool_create((size_t)size);
    if (!pool) {
        return PyErr_NoMemory();
    }
    array_object *array = py_array_new(&tensor, pool);
    py_pool_drop(pool);
    if (array) {
        memcpy(array->tensor.data, bytes, (size_t)size);
    }
    return (PyObject *)array;
}

static void *take_pinned(void *user, size_t size)
{
    void *memory;
    return rynd_host_allocate(((context_object *)user)->context, size, &memory) == RYND_OK ? memory
                                                                                           : NULL;
}

static void give_pinned(void *user, void *block)
{
    rynd_host_free(((context_object *)user)->context, block);
}

static void end_pinned(void *user)
{
    Py_DECREF((PyObject *)user);
}

PyObject *py_host_allocate(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *context, *description;
    rynd_tensor tensor;
    if (!PyArg_ParseTuple(args, "O!O", py_context_type, &context, &description) ||
        !py_take_description(description, &tensor)) {
        return NULL;
    }
    const py_pool_source source = {take_pinned, give_pinned, end_pinned, PY_TAKE(context)};
    py_pool *pool = py_pool_create_from(bytes_of(&tensor), &source);
    if (!pool) {
        return PyErr_NoMemory();
    }
    array_object *array = py_array_new(&tensor, pool);
    py_pool_drop(pool);
    if (array) {
        memset(array->tensor.data, 0, bytes_of(&tensor));
    }
    return (PyObject *)array;
}

static void array_free(PyObject *self)
{
    array_object *array = (array_object *)self;
    py_pool_give(array->pool, array->tensor.data);
    py_pool_drop(array->pool);
    py_free(self);
}

/* --- the buffer protocol --- */

static int array_get_buffer(PyObject *self, Py_buffer *view, int flags)
{
    array_object *array = (array_object *)self;
    const rynd_tensor *tensor = &array->tensor;
    view->obj = NULL; /* row-major and writable: it fits every request but for a missing format */
    if (!words[tensor->dtype].format && flags & PyBUF_FORMAT) {
        PyErr_Format(PyExc_BufferError,
                     "the buffer protocol has no %s: take the array by DLPack, as "
                     "torch.from_dlpack does",
                     rynd_dtype_name(tensor->dtype));
        return -1;
    }
    view->buf = tensor->data;
    view->len = (Py_ssize_t)bytes_of(tensor);
    view->itemsize = (Py_ssize_t)rynd_dtype_size(tensor->dtype);
    view->readonly = 0;
    view->ndim = tensor->rank;
    view->format = flags & PyBUF_FORMAT ? (char *)words[tensor->dtype].format : NULL;
    view->shape = flags & PyBUF_ND ? (Py_ssize_t *)array->tensor.dim : NULL;
    view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? array->bytes : NULL;
    view->suboffsets = NULL;
    view->internal = NULL;
    view->obj = PY_TAKE(self);
    return 0;
}

/* --- DLPack --- */

static dlpack_tensor describe(array_object *array)
{
    rynd_tensor *tensor = &array->tensor;
    dlpack_tensor described = {
        .data = tensor->data, .rank = tensor->rank, .dim = tensor->dim, .stride = tensor->stride};
    described.device.type = DLPACK_CPU;
    described.dtype.code = words[tensor->dtype].code;
    described.dtype.bits = (uint8_t)(8 * rynd_dtype_size(tensor->dtype));
    described.dtype.lanes = 1;
    return described;
}

/* Releases the owner's memory, on any thread. */
static void drop(void *owner)
{
    if (Py_IsInitialized()) {
        const PyGILState_STATE state = PyGILState_Ensure();
        Py_DECREF((PyObject *)owner);
        PyGILState_Release(state);
    }
}

static void release_managed(dlpack_managed *self)
{
    drop(self->owner);
    free(self);
}

static void release_versioned(dlpack_versioned *self)
{
    drop(self->owner);
    free(self);
}

/* Frees a capsule without a consumer: a consumer renames it. */
static void free_capsule(PyObject *capsule)
{
    if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
        release_versioned(PyCapsule_GetPointer(capsule, "dltensor_versioned"));
    } else if (PyCapsule_IsValid(capsule, "dltensor")) {
        release_managed(PyCapsule_GetPointer(capsule, "dltensor"));
    }
}

static PyObject *new_versioned(array_object *array)
{
    dlpack_versioned *managed = calloc(1, sizeof *managed);
    if (!managed) {
        return PyErr_NoMemory();
    }
    managed->version.major = 1;
    managed->owner = PY_TAKE(array);
    managed->release = release_versioned;
    managed->tensor = describe(array);
    PyObject *capsule = PyCapsule_New(managed, "dltensor_versioned", free_capsule);
    if (!capsule) {
        release_versioned(managed);
    }
    return capsule;
}

static PyObject *new_managed(array_object *array)
{
    dlpack_managed *managed = calloc(1, sizeof *managed);
    if (!managed) {
        return PyErr_NoMemory();
    }
    managed->owner = PY_TAKE(array);
    managed->release = release_managed;
    managed->tensor = describe(array);
    PyObject *capsule = PyCapsule_New(managed, "dltensor", free_capsule);
    if (!capsule) {
        release_managed(managed);
    }
    return capsule;
}

static PyObject *array_dlpack(PyObject *self, PyObject *args, PyObject *named)
{
    static char *keywords[] = {"stream", "max_version", "dl_device", "copy", NULL};
    PyObject *stream = Py_None, *version = Py_None, *device = Py_None, *copy = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, named, "|$OOOO:__dlpack__", keywords, &stream, &version,
                                     &device, &copy)) {
        return NULL;
    }
    int major = 0, minor = 0, type = DLPACK_CPU, id = 0;
    if ((version != Py_None && !PyArg_ParseTuple(version, "ii", &major, &minor)) ||
        (device != Py_None && !PyArg_ParseTuple(device, "ii", &type, &id))) {
        return NULL;
    }
    if (stream != Py_None || type != DLPACK_CPU || copy == Py_True) {
        PyErr_SetString(PyExc_BufferError, "the array is in host memory and is not copied: leave "
                                           "stream, dl_device and copy at None");
        return NULL;
    }
    return major >= 1 ? new_versioned((array_object *)self) : new_managed((array_object *)self);
}

static PyObject *array_dlpack_device(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    return Py_BuildValue("(ii)", DLPACK_CPU, 0);
}

/* --- attributes --- */

static PyObject *array_shape(PyObject *self, void *unused)
{
    (void)unused;
    const array_object *array = (const array_object *)self;
    return py_tuple_of(array->tensor.dim, array->tensor.rank);
}

static PyObject *array_strides(PyObject *self, void *unused)
{
    (void)unused;
    const array_object *array = (const array_object *)self;
    return py_tuple_of((const int64_t *)array->bytes, array->tensor.rank);
}

static PyObject *array_dtype(PyObject *self, void *unused)
{
    (void)unused;
    return PyUnicode_FromString(rynd_dtype_name(((array_object *)self)->tensor.dtype));
}

static PyObject *array_nbytes(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromSize_t(bytes_of(&((array_object *)self)->tensor));
}

static PyObject *array_interface(PyObject *self, void *unused)
{
    (void)unused;
    const rynd_tensor *tensor = &((array_object *)self)->tensor;
    if (!words[tensor->dtype].numpy) {
        PyErr_Format(PyExc_AttributeError, "numpy's array interface has no %s: use __dlpack__",
                     rynd_dtype_name(tensor->dtype));
        return NULL;
    }
    return Py_BuildValue("{sisss(NO)sNsO}", "version", 3, "typestr", words[tensor->dtype].numpy,
                         "data", PyLong_FromVoidPtr(tensor->data), Py_False, "shape",
                         py_tuple_of(tensor->dim, tensor->rank), "strides", Py_None);
}

static PyObject *array_tobytes(PyObject *self, PyObject *unused)
{
    (void)unused;
    const rynd_tensor *tensor = &((array_object *)self)->tensor;
    return PyBytes_FromStringAndSize(tensor->data, (Py_ssize_t)bytes_of(tensor));
}

static PyGetSetDef array_attributes[] = {
    {"shape", array_shape, NULL, "Elements along each dimension.", NULL},
    {"strides", array_strides, NULL, "Bytes between neighbours along each dimension.", NULL},
    {"dtype", array_dtype, NULL, "The type of an element, as rynd names it: \"f32\".", NULL},
    {"nbytes", array_nbytes, NULL, "Bytes of all elements.", NULL},
    {"__array_interface__", array_interface, NULL, "numpy's description of the memory.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyMethodDef array_methods[] = {
    {"__dlpack__", (PyCFunction)(void (*)(void))array_dlpack, METH_VARARGS | METH_KEYWORDS,
     "A capsule of DLPack, which shares the memory."},
    {"tobytes", array_tobytes, METH_NOARGS, "The elements' bytes, row-major."},
    {"__dlpack_device__", array_dlpack_device, METH_NOARGS, "The host: (1, 0)."},
    {NULL, NULL, 0, NULL}};

static PyType_Slot array_slots[] = {{Py_tp_doc, "A tensor that owns its memory."},
                                    {Py_tp_dealloc, array_free},
                                    {Py_tp_getset, array_attributes},
                                    {Py_tp_methods, array_methods},
                                    {Py_bf_getbuffer, array_get_buffer},
                                    {0, NULL}};

PyType_Spec py_array_spec = {
    "rynd._rynd.Array", sizeof(array_object), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION, array_slots};
