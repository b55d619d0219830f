/* SPDX-License-Identifier: Apache-2.0 */
#include "lend.h"

#include "array.h"
#include "dlpack.h"
#include "errors.h"

#include <stdio.h>
#include <string.h>

typedef enum element { SIGNED, UNSIGNED, FLOAT, BFLOAT, BOOL, KINDS } element;

/* By kind and bytes of an element. */
static rynd_dtype dtype_of(element kind, size_t bytes)
{
    static const struct {
        uint8_t kind, bytes;
        rynd_dtype dtype;
    } dtypes[] = {
        {SIGNED, 1, RYND_DTYPE_I8},    {SIGNED, 2, RYND_DTYPE_I16},   {SIGNED, 4, RYND_DTYPE_I32},
        {SIGNED, 8, RYND_DTYPE_I64},   {UNSIGNED, 1, RYND_DTYPE_U8},  {UNSIGNED, 2, RYND_DTYPE_U16},
        {UNSIGNED, 4, RYND_DTYPE_U32}, {UNSIGNED, 8, RYND_DTYPE_U64}, {FLOAT, 2, RYND_DTYPE_F16},
        {FLOAT, 4, RYND_DTYPE_F32},    {FLOAT, 8, RYND_DTYPE_F64},    {BFLOAT, 2, RYND_DTYPE_BF16},
        {BOOL, 1, RYND_DTYPE_BOOL},
    };
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        if (dtypes[i].kind == kind && dtypes[i].bytes == bytes) {
            return dtypes[i].dtype;
        }
    }
    return RYND_DTYPE_NONE;
}

const char *py_tensor_text(const rynd_tensor *tensor, char *text, size_t size)
{
    int at = snprintf(text, size, "%s [", rynd_dtype_name(tensor->dtype));
    for (int i = 0; i < tensor->rank && at > 0 && (size_t)at < size; i++) {
        at += snprintf(text + at, size - (size_t)at, "%s%lld", i ? ", " : "",
                       (long long)tensor->dim[i]);
    }
    if (at > 0 && (size_t)at < size) {
        snprintf(text + at, size - (size_t)at, "]");
    }
    return text;
}

/* --- the buffer protocol --- */

/* Returns the dtype of a struct format character in native byte order; KINDS: unknown. */
static element format_kind(const char *format)
{
    static const char *const kinds[] = {
        [SIGNED] = "bhilqn", [UNSIGNED] = "BHILQN", [FLOAT] = "efd", [BFLOAT] = "", [BOOL] = "?"};
    const union {
        uint16_t number;
        uint8_t low;
    } probe = {1};
    format = format ? format : "B";
    if (*format && strchr(probe.low ? "@=<" : "@=>!", *format)) {
        format++;
    }
    for (int k = 0; k < KINDS && *format && !format[1]; k++) {
        if (strchr(kinds[k], *format)) {
            return (element)k;
        }
    }
    return KINDS;
}

/* Refuses a rank outside 0 to RYND_MAX_RANK, and missing dims. */
static bool check_rank(int rank, const void *dims, const char *what)
{
    if (rank < 0 || (rank > 0 && !dims)) {
        return py_fail_value("%s: the array says that it has %d dimensions%s", what, rank,
                             rank < 0 ? "" : ", and gives none") != NULL;
    }
    return rank <= RYND_MAX_RANK ||
           py_fail_shape("%s: %d dimensions, and rynd has %d", what, rank, RYND_MAX_RANK) != NULL;
}

static bool take_view(const Py_buffer *view, const char *what, rynd_tensor *tensor)
{
    const rynd_dtype dtype = dtype_of(format_kind(view->format), (size_t)view->itemsize);
    if (dtype == RYND_DTYPE_NONE) {
        py_fail_type("%s: elements of format '%s' (%zd bytes) are none that rynd has: convert them",
                     what, view->format ? view->format : "B", view->itemsize);
        return false;
    }
    if (!check_rank(view->ndim, view->strides ? view->shape : NULL, what)) {
        return false;
    }
    *tensor = (rynd_tensor){.data = view->buf, .dtype = dtype, .rank = view->ndim};
    for (int i = 0; i < view->ndim; i++) {
        tensor->dim[i] = view->shape[i];
        if (view->strides[i] % view->itemsize) {
            py_fail_value("%s: its elements lie %zd bytes apart along dimension %d, no multiple of "
                          "the %zd that each has: copy it first",
                          what, view->strides[i], i, view->itemsize);
            return false;
        }
        tensor->stride[i] = view->strides[i] / view->itemsize;
    }
    return true;
}

static bool lend_buffer(PyObject *object, const char *what, bool write, py_lent *to)
{
    const int flags = PyBUF_STRIDES | PyBUF_FORMAT | (write ? PyBUF_WRITABLE : 0);
    if (PyObject_GetBuffer(object, &to->view, flags) != 0) {
        to->view.obj = NULL;
        return false;
    }
    if (!take_view(&to->view, what, &to->tensor)) {
        py_give_back(to);
        return false;
    }
    return true;
}

/* --- DLPack --- */

/* Where the first element is; NULL: no address. */
static void *dlpack_data(const dlpack_tensor *from)
{
    uintptr_t first;
    return from->data && !__builtin_add_overflow((uintptr_t)from->data, from->offset, &first)
               ? (char *)from->data + from->offset
               : NULL;
}

/* Strides are checked where tensors enter the library. */
static bool take_extent(const dlpack_tensor *from, const char *what, rynd_dtype dtype,
                        rynd_tensor *tensor)
{
    if (!check_rank(from->rank, from->dim, what)) {
        return false;
    }
    *tensor = rynd_tensor_of(dlpack_data(from), dtype, from->rank, from->dim);
    if (tensor->dtype == RYND_DTYPE_NONE) {
        return py_fail_value("%s: the array has dimensions below 0, or more bytes than there are "
                             "addresses",
                             what) != NULL;
    }
    if (!tensor->data && rynd_tensor_elements(tensor) > 0) {
        return py_fail_value("%s: the array has no data (address %p, offset %llu)", what,
                             from->data, (unsigned long long)from->offset) != NULL;
    }
    if (from->stride) {
        memcpy(tensor->stride, from->stride, (size_t)from->rank * sizeof *from->stride);
    }
    return true;
}

static bool take_dlpack(const dlpack_tensor *from, const char *what, rynd_tensor *tensor)
{
    static const uint8_t kinds[] = {
        [DLPACK_INT] = SIGNED, [DLPACK_UINT] = UNSIGNED, [DLPACK_FLOAT] = FLOAT,
        [3] = KINDS,           [DLPACK_BFLOAT] = BFLOAT, [5] = KINDS,
        [DLPACK_BOOL] = BOOL};
    const uint8_t code = from->dtype.code;
    const bool bytes = from->dtype.bits % 8u == 0 && from->dtype.lanes == 1;
    const rynd_dtype dtype = code < sizeof kinds && bytes
                                 ? dtype_of((element)kinds[code], from->dtype.bits / 8u)
                                 : RYND_DTYPE_NONE;
    if (from->device.type != DLPACK_CPU && from->device.type != DLPACK_CUDA_HOST) {
        py_fail_value("%s: the array is on another device (DLPack's type %d, number %d), and this "
                      "call reads host memory: copy it there first, as x.cpu() does",
                      what, (int)from->device.type, (int)from->device.id);
        return false;
    }
    if (dtype == RYND_DTYPE_NONE) {
        py_fail_type("%s: elements of DLPack's type %d with %d bits and %d lanes are none that "
                     "rynd has: convert them",
                     what, (int)code, (int)from->dtype.bits, (int)from->dtype.lanes);
        return false;
    }
    return take_extent(from, what, dtype, tensor);
}

static const dlpack_exchange *ask_exchange(PyTypeObject *type)
{
    PyObject *capsule = PyObject_GetAttrString((PyObject *)type, "__dlpack_c_exchange_api__");
    const dlpack_exchange *exchange =
        capsule ? PyCapsule_GetPointer(capsule, "dlpack_exchange_api") : NULL;
    PyErr_Clear();
    Py_XDECREF(capsule);
    return exchange && exchange->version.major == 1 && exchange->describe ? exchange : NULL;
}

/* What the last types have: asking costs more than using it. They are kept, so that no other type
 * can have their address. */
static const dlpack_exchange *exchange_of(PyObject *object)
{
    enum { TYPES = 4 };
    static struct {
        PyTypeObject *type;
        const dlpack_exchange *exchange;
    } known[TYPES];
    static int next;
    PyTypeObject *type = Py_TYPE(object);
    for (int i = 0; i < TYPES; i++) {
        if (known[i].type == type) {
            return known[i].exchange;
        }
    }
    Py_XDECREF((PyObject *)known[next].type);
    known[next].type = PY_TAKE(type);
    known[next].exchange = ask_exchange(type);
    const dlpack_exchange *exchange = known[next].exchange;
    next = (next + 1) % TYPES;
    return exchange;
}

static bool lend_exchange(PyObject *object, const dlpack_exchange *exchange, const char *what,
                          py_lent *to)
{
    dlpack_tensor tensor;
    if (exchange->describe(object, &tensor) != 0) {
        return !PyErr_Occurred() && py_fail_type("%s: DLPack does not describe it", what);
    }
    if (!take_dlpack(&tensor, what, &to->tensor)) {
        return false;
    }
    to->owner = PY_TAKE(object);
    return true;
}

/* Asked for a versioned capsule first, as the protocol says; who does not know the word gives the
 * older one. */
static PyObject *ask_capsule(PyObject *object)
{
    PyObject *method = PyObject_GetAttrString(object, "__dlpack__");
    PyObject *none = method ? PyTuple_New(0) : NULL;
    PyObject *words = none ? Py_BuildValue("{s(ii)}", "max_version", 1, 1) : NULL;
    PyObject *capsule = words ? PyObject_Call(method, none, words) : NULL;
    if (words && !capsule && PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyErr_Clear();
        capsule = PyObject_CallNoArgs(method);
    }
    Py_XDECREF(words);
    Py_XDECREF(none);
    Py_XDECREF(method);
    return capsule;
}

static bool lend_capsule(PyObject *object, const char *what, bool write, py_lent *to)
{
    to->capsule = ask_capsule(object);
    if (!to->capsule) {
        return false;
    }
    const dlpack_tensor *tensor = NULL;
    if (PyCapsule_IsValid(to->capsule, "dltensor_versioned")) {
        const dlpack_versioned *managed = PyCapsule_GetPointer(to->capsule, "dltensor_versioned");
        if (managed->version.major != 1) {
            py_fail_type("%s: DLPack %u, and rynd knows 1", what, (unsigned)managed->version.major);
        } else if (write && (managed->flags & DLPACK_READ_ONLY)) {
            py_fail_value("%s: the array may only be read", what);
        } else {
            tensor = &managed->tensor;
        }
    } else {
        const dlpack_managed *managed = PyCapsule_GetPointer(to->capsule, "dltensor");
        tensor = managed ? &managed->tensor : NULL;
    }
    if (!tensor || !take_dlpack(tensor, what, &to->tensor)) {
        py_give_back(to);
        return false;
    }
    return true;
}

/* --- arrays of dtypes that only their name tells --- */

/* Is the object a bfloat16 array? Keeps a pending exception. */
static bool is_bfloat16(PyObject *object)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *dtype = PyObject_GetAttrString(object, "dtype");
    PyObject *name = dtype ? PyObject_GetAttrString(dtype, "name") : NULL;
    const bool is =
        name && PyUnicode_Check(name) && PyUnicode_CompareWithASCIIString(name, "bfloat16") == 0;
    Py_XDECREF(name);
    Py_XDECREF(dtype);
    PyErr_Clear();
    if (is) {
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(trace);
    } else {
        PyErr_Restore(type, value, trace);
    }
    return is;
}

/* numpy lends them as 16-bit integers. */
static bool lend_bfloat16(PyObject *object, const char *what, bool write, py_lent *to)
{
    PyObject *bits = PyObject_CallMethod(object, "view", "s", "uint16");
    const bool lends = bits && lend_buffer(bits, what, write, to);
    Py_XDECREF(bits);
    if (!lends) {
        return false;
    }
    if (to->tensor.dtype != RYND_DTYPE_U16) {
        py_give_back(to);
        return py_fail_type("%s: its dtype is bfloat16, but view('uint16') gives others", what) !=
               NULL;
    }
    to->tensor.dtype = RYND_DTYPE_BF16;
    return true;
}

/* --- all --- */

static bool has(PyObject *object, const char *name)
{
    PyObject *attribute = PyObject_GetAttrString(object, name);
    PyErr_Clear();
    Py_XDECREF(attribute);
    return attribute != NULL;
}

static bool refuse(PyObject *object, const char *what)
{
    PyObject *name = PyObject_GetAttrString((PyObject *)Py_TYPE(object), "__name__");
    if (name) {
        py_fail_type("%s: a %U was given, and an array is wanted: of numpy, PyTorch, or any that "
                     "has the buffer protocol or __dlpack__",
                     what, name);
        Py_DECREF(name);
    }
    return false;
}

bool py_lend(PyObject *object, const char *what, bool write, py_lent *to)
{
    *to = (py_lent){.owner = NULL};
    if (PyObject_TypeCheck(object, py_array_type)) {
        to->tensor = ((array_object *)object)->tensor;
        to->owner = PY_TAKE(object);
        return true;
    }
    const dlpack_exchange *exchange = write ? NULL : exchange_of(object);
    if (exchange) {
        return lend_exchange(object, exchange, what, to);
    }
    if (PyObject_CheckBuffer(object)) {
        return lend_buffer(object, what, write, to) ||
               (is_bfloat16(object) && lend_bfloat16(object, what, write, to));
    }
    return has(object, "__dlpack__") ? lend_capsule(object, what, write, to) : refuse(object, what);
}

bool py_lend_flat(PyObject *object, bool write, py_lent *to, size_t *size)
{
    if (!py_lend(object, "the array", write, to)) {
        return false;
    }
    const rynd_tensor *given = &to->tensor;
    const rynd_tensor flat = rynd_tensor_of(NULL, given->dtype, given->rank, given->dim);
    for (int i = 0; i < given->rank; i++) {
        if (given->dim[i] > 1 && given->stride[i] != flat.stride[i]) {
            py_give_back(to);
            return py_fail_value("the array is not row-major: copy it first, as "
                                 "numpy.ascontiguousarray does") != NULL;
        }
    }
    *size = (size_t)rynd_tensor_elements(given) * rynd_dtype_size(given->dtype);
    return true;
}

void py_give_back(py_lent *lent)
{
    if (lent->view.obj) {
        PyBuffer_Release(&lent->view);
    }
    Py_CLEAR(lent->capsule);
    Py_CLEAR(lent->owner);
}
