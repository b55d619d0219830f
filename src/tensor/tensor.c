/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes, strides and copies of tensors. */
#include "tensor/tensor.h"

#include <string.h>

int64_t ry_shape_elements(const ry_shape *shape)
{
    int64_t count = 1;
    bool empty = false, overflow = false;
    for (int i = 0; i < shape->rank; i++) {
        if (shape->dim[i] < 0) {
            return -1;
        }
        empty |= shape->dim[i] == 0;
        overflow |= __builtin_mul_overflow(count, shape->dim[i], &count);
    }
    if (empty) {
        return 0;
    }
    return overflow || shape->rank < 0 ? -1 : count;
}

int64_t ry_shape_bytes(const ry_shape *shape, ry_dtype dtype)
{
    int64_t count = ry_shape_elements(shape), bytes;
    return count < 0 || __builtin_mul_overflow(count, (int64_t)ry_dtype_size(dtype), &bytes)
               ? -1
               : bytes;
}

bool ry_shape_equal(const ry_shape *a, const ry_shape *b)
{
    return a->rank == b->rank &&
           (a->rank <= 0 || memcmp(a->dim, b->dim, (size_t)a->rank * sizeof *a->dim) == 0);
}

ry_shape ry_shape_of(int rank, const int64_t *dim)
{
    ry_shape shape = {.rank = rank};
    if (rank > 0) {
        memcpy(shape.dim, dim, (size_t)rank * sizeof *dim);
    }
    return shape;
}

/* Wraps: a description may have dims whose product overflows, beside a 0 or a symbol; then nobody
 * reads the strides. */
static int64_t times(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

static ry_tensor describe(ry_dtype dtype, const ry_shape *shape, void *data)
{
    ry_tensor t = {.data = data, .dtype = (rynd_dtype)dtype, .rank = shape->rank};
    memcpy(t.dim, shape->dim, sizeof t.dim);
    return t;
}

ry_tensor ry_tensor_row_major(ry_dtype dtype, const ry_shape *shape, void *data)
{
    ry_tensor t = describe(dtype, shape, data);
    int64_t step = 1;
    for (int i = t.rank - 1; i >= 0; i--) {
        t.stride[i] = step;
        step = times(step, t.dim[i]);
    }
    return t;
}

ry_tensor ry_tensor_channels_last(ry_dtype dtype, const ry_shape *shape, void *data)
{
    if (shape->rank < 3) {
        return ry_tensor_row_major(dtype, shape, data);
    }
    ry_tensor t = describe(dtype, shape, data);
    int64_t step = t.dim[1];
    t.stride[1] = 1;
    for (int i = t.rank - 1; i >= 2; i--) {
        t.stride[i] = step;
        step = times(step, t.dim[i]);
    }
    t.stride[0] = step;
    return t;
}

ry_shape ry_tensor_shape(const ry_tensor *tensor)
{
    return ry_shape_of(tensor->rank, tensor->dim);
}

int64_t ry_tensor_count(const ry_tensor *tensor)
{
    int64_t count = 1;
    for (int i = 0; i < tensor->rank; i++) {
        count = times(count, tensor->dim[i]);
    }
    return count;
}

size_t ry_tensor_span(const ry_tensor *tensor)
{
    int64_t last = 0;
    for (int i = 0; i < tensor->rank; i++) {
        if (tensor->dim[i] == 0 || (tensor->stride[i] < 0 && tensor->dim[i] > 1)) {
            return 0;
        }
        last += tensor->dim[i] > 1 ? (tensor->dim[i] - 1) * tensor->stride[i] : 0;
    }
    return (size_t)(last + 1) * ry_dtype_size((ry_dtype)tensor->dtype);
}

size_t ry_tensor_bytes(const ry_tensor *tensor)
{
    return (size_t)ry_tensor_count(tensor) * ry_dtype_size((ry_dtype)tensor->dtype);
}

bool ry_tensor_range(const ry_tensor *tensor, int64_t *low, int64_t *high)
{
    const int64_t size = (int64_t)ry_dtype_size((ry_dtype)tensor->dtype);
    int64_t whole;
    *low = 0;
    *high = size;
    for (int i = 0; i < tensor->rank; i++) {
        int64_t far;
        if (__builtin_mul_overflow(tensor->dim[i] - 1, tensor->stride[i], &far) ||
            __builtin_mul_overflow(far, size, &far) ||
            __builtin_add_overflow(far < 0 ? *low : *high, far, far < 0 ? low : high)) {
            return false;
        }
    }
    return !__builtin_sub_overflow(*high, *low, &whole);
}

static int64_t magnitude(int64_t x)
{
    return x < 0 ? -x : x;
}

int ry_tensor_sharing_dim(const ry_tensor *tensor)
{
    int order[RY_MAX_RANK], count = 0;
    for (int i = 0; i < tensor->rank && ry_tensor_count(tensor) > 0; i++) {
        if (tensor->dim[i] == 1) {
            continue;
        }
        int at = count++;
        for (; at > 0 && magnitude(tensor->stride[order[at - 1]]) > magnitude(tensor->stride[i]);
             at--) {
            order[at] = order[at - 1];
        }
        order[at] = i;
    }
    int64_t reach = 0; /* elements spanned by the dims with smaller strides */
    for (int k = 0; k < count; k++) {
        const int i = order[k];
        if (magnitude(tensor->stride[i]) <= reach) {
            return i;
        }
        reach += (tensor->dim[i] - 1) * magnitude(tensor->stride[i]);
    }
    return -1;
}

bool ry_tensor_same_map(const ry_tensor *a, const ry_tensor *b)
{
    if (ry_tensor_count(a) == 0) {
        return true;
    }
    for (int i = 0; i < a->rank; i++) {
        if (a->dim[i] > 1 && a->stride[i] != b->stride[i]) {
            return false;
        }
    }
    return true;
}

bool ry_tensor_is_row_major(const ry_tensor *tensor)
{
    ry_shape shape = ry_tensor_shape(tensor);
    ry_tensor wanted = ry_tensor_row_major((ry_dtype)tensor->dtype, &shape, NULL);
    return ry_tensor_same_map(tensor, &wanted);
}

bool ry_tensor_is_channels_last(const ry_tensor *tensor)
{
    ry_shape shape = ry_tensor_shape(tensor);
    ry_tensor wanted = ry_tensor_channels_last((ry_dtype)tensor->dtype, &shape, NULL);
    return ry_tensor_same_map(tensor, &wanted);
}

const char *ry_layout_name(const ry_tensor *tensor)
{
    if (ry_tensor_is_row_major(tensor)) {
        return "nchw";
    }
    return ry_tensor_is_channels_last(tensor) ? "nhwc" : "strided";
}

bool ry_tensor_present(const ry_tensor *tensor)
{
    return tensor->dtype != RYND_DTYPE_NONE;
}

bool ry_shape_broadcast(const ry_shape *a, const ry_shape *b, ry_shape *out)
{
    ry_shape r = {.rank = a->rank > b->rank ? a->rank : b->rank};
    for (int i = 1; i <= r.rank; i++) {
        int64_t x = i <= a->rank ? a->dim[a->rank - i] : 1;
        int64_t y = i <= b->rank ? b->dim[b->rank - i] : 1;
        if (x != y && x != 1 && y != 1) {
            return false;
        }
        r.dim[r.rank - i] = x == 1 ? y : x;
    }
    *out = r;
    return true;
}

int ry_axis(int64_t axis, int rank)
{
    if (axis < -rank || axis >= rank) {
        return -1;
    }
    return (int)(axis < 0 ? axis + rank : axis);
}

bool ry_index_next(int rank, const int64_t *dim, int64_t *index)
{
    for (int i = rank - 1; i >= 0; i--) {
        if (++index[i] < dim[i]) {
            return true;
        }
        index[i] = 0;
    }
    return false;
}

int64_t ry_index_offset(const ry_tensor *tensor, const int64_t *index)
{
    int64_t offset = 0;
    for (int i = 0; i < tensor->rank; i++) {
        offset += index[i] * tensor->stride[i];
    }
    return offset;
}

static bool both_integer(ry_dtype a, ry_dtype b)
{
    return !ry_dtype_is_float(a) && !ry_dtype_is_float(b);
}

void ry_tensor_copy(const ry_tensor *dst, const ry_tensor *src)
{
    ry_dtype to = (ry_dtype)dst->dtype, from = (ry_dtype)src->dtype;
    if (ry_tensor_count(src) == 0) {
        return;
    }
    if (to == from && ry_tensor_is_row_major(dst) && ry_tensor_is_row_major(src)) {
        memcpy(dst->data, src->data, ry_tensor_bytes(src));
        return;
    }
    size_t size = ry_dtype_size(to);
    int64_t index[RY_MAX_RANK] = {0};
    do {
        int64_t d = ry_index_offset(dst, index), s = ry_index_offset(src, index);
        if (to == from) {
            memcpy((char *)dst->data + d * (int64_t)size,
                   (const char *)src->data + s * (int64_t)size, size);
        } else if (both_integer(to, from)) {
            ry_set_i64(to, dst->data, d, ry_get_i64(from, src->data, s));
        } else {
            ry_set_f64(to, dst->data, d, ry_get_f64(from, src->data, s));
        }
    } while (ry_index_next(src->rank, src->dim, index));
}
