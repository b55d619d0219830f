/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of operators that make values out of numbers: constant_of_shape, range, one_hot, eye_like.
 */
#include "base/number.h"
#include "graph/infer_table.h"

#include <math.h>

static ry_infer_result check_dtype(ry_infer *infer, int64_t dtype)
{
    return dtype > RY_NONE && dtype < RY_DTYPES
               ? RY_INFER_DONE
               : ry_infer_fail(infer, RYND_ERROR_UNSUPPORTED, "element type %lld",
                               (long long)dtype);
}

ry_infer_result ry_infer_op_constant_of_shape(ry_infer *infer)
{
    const ry_constant_of_shape_attrs *a = &infer->node->attrs.constant_of_shape;
    RY_INFER_TRY(check_dtype(infer, a->dtype));
    ry_shape y = {.rank = -1};
    const ry_shape *list = &ry_infer_in(infer, 0)->shape;
    if (list->rank < 0 || (list->rank == 1 && list->dim[0] < 0)) {
        ry_infer_set(infer, 0, (ry_dtype)a->dtype, &y);
        return RY_INFER_LATER;
    }
    ry_ints sizes;
    ry_infer_result result = ry_infer_ints(infer, 0, &sizes);
    RY_INFER_TRY(result);
    int64_t count = list->rank == 0 ? 1 : list->dim[0];
    if (count > RY_MAX_RANK) {
        return ry_infer_bad(infer, 0, "has %lld numbers, at most %d are supported",
                            (long long)count, RY_MAX_RANK);
    }
    y = result == RY_INFER_DONE ? ry_shape_of(sizes.count, sizes.at)
                                : ry_infer_unknown(infer, (int)count);
    for (int d = 0; result == RY_INFER_DONE && d < y.rank; d++) {
        if (y.dim[d] < 0) {
            return ry_infer_bad(infer, 0, "has the negative number %lld", (long long)y.dim[d]);
        }
    }
    ry_infer_set(infer, 0, (ry_dtype)a->dtype, &y);
    return result;
}

static ry_infer_result range_of_floats(ry_infer *infer, const double number[3], int64_t *count)
{
    double steps = ceil((number[1] - number[0]) / number[2]);
    if (number[2] == 0 || !(steps < 0x1p62)) {
        char text[3][RY_NUMBER_SIZE];
        for (int i = 0; i < 3; i++) {
            ry_number_print(number[i], text[i]);
        }
        return ry_infer_fail(infer, RYND_ERROR_SHAPE, "from %s to %s by %s is not a finite range",
                             text[0], text[1], text[2]);
    }
    *count = steps > 0 ? (int64_t)steps : 0;
    return RY_INFER_DONE;
}

/* Exact in 64 bits, whatever the signs; a u64 is its bits. */
static ry_infer_result range_of_integers(ry_infer *infer, const int64_t number[3], bool is_signed,
                                         int64_t *count)
{
    const uint64_t start = (uint64_t)number[0], limit = (uint64_t)number[1],
                   delta = (uint64_t)number[2];
    const bool rises = is_signed ? number[1] > number[0] : limit > start,
               forward = !is_signed || number[2] > 0;
    if (delta == 0) {
        return ry_infer_fail(infer, RYND_ERROR_SHAPE, "delta is 0");
    }
    *count = 0;
    if (start == limit || forward != rises) {
        return RY_INFER_DONE;
    }
    const uint64_t distance = rises ? limit - start : start - limit,
                   pace = forward ? delta : 0 - delta;
    const uint64_t steps = (distance - 1) / pace + 1;
    *count = steps > INT64_MAX ? RY_DIM_ERROR : (int64_t)steps;
    return RY_INFER_DONE;
}

ry_infer_result ry_infer_op_range(ry_infer *infer)
{
    const ry_dtype dtype = ry_infer_in(infer, 0)->dtype;
    const bool real = ry_dtype_is_float(dtype);
    double number[3] = {0};
    int64_t integer[3] = {0};
    bool later = false;
    for (int i = 0; i < 3; i++) {
        RY_INFER_TRY(ry_infer_check_same_type(infer, i, 0));
        ry_infer_result result =
            real ? ry_infer_float(infer, i, &number[i]) : ry_infer_int(infer, i, &integer[i]);
        RY_INFER_TRY(result);
        later = later || result == RY_INFER_LATER;
    }
    ry_shape y = {.rank = 1};
    ry_attrs attrs = ry_attrs_default(RY_OP_range);
    if (later) {
        y.dim[0] = ry_dim_unknown(infer->graph);
    } else if (real) {
        RY_INFER_TRY(range_of_floats(infer, number, &y.dim[0]));
        attrs.range.start = number[0];
        attrs.range.delta = number[2];
    } else {
        RY_INFER_TRY(range_of_integers(infer, integer, ry_dtype_get_kind(dtype) == RY_KIND_SIGNED,
                                       &y.dim[0]));
        attrs.range.integer_start = integer[0];
        attrs.range.integer_delta = integer[2];
    }
    if (!later) {
        infer->node->attrs = attrs;
    }
    ry_infer_set(infer, 0, dtype, &y);
    return later ? RY_INFER_LATER : RY_INFER_DONE;
}

ry_infer_result ry_infer_op_one_hot(ry_infer *infer)
{
    ry_one_hot_attrs *a = &infer->node->attrs.one_hot;
    const ry_shape *indices = &ry_infer_in(infer, 0)->shape;
    RY_INFER_TRY(ry_infer_check_rank(infer, 2, 1, 1));
    RY_INFER_TRY(ry_infer_check_dim(infer, 2, 0, 2, "off value, on value"));
    if (indices->rank == RY_MAX_RANK) {
        return ry_infer_fail(infer, RYND_ERROR_UNSUPPORTED,
                             "the output would have rank %d, at most %d is supported",
                             RY_MAX_RANK + 1, RY_MAX_RANK);
    }
    int axis = 0;
    double depth = 0; /* any number type */
    RY_INFER_TRY(ry_infer_axis(infer, a->axis, indices->rank + 1, &axis));
    ry_infer_result result = ry_infer_float(infer, 1, &depth);
    RY_INFER_TRY(result);
    if (result == RY_INFER_DONE && !(depth >= 0 && depth < 0x1p62)) {
        char text[RY_NUMBER_SIZE];
        ry_number_print(depth, text);
        return ry_infer_bad(infer, 1, "is %s, expected a number of classes", text);
    }
    a->axis = axis;
    ry_shape y = {.rank = indices->rank + 1};
    for (int d = 0, from = 0; d < y.rank; d++) {
        y.dim[d] = d != axis                 ? indices->dim[from++]
                   : result == RY_INFER_DONE ? (int64_t)depth
                                             : ry_dim_unknown(infer->graph);
    }
    ry_infer_set(infer, 0, ry_infer_in(infer, 2)->dtype, &y);
    return result;
}

ry_infer_result ry_infer_op_eye_like(ry_infer *infer)
{
    const ry_value *x = ry_infer_in(infer, 0);
    int64_t dtype = infer->node->attrs.eye_like.dtype;
    if (dtype) {
        RY_INFER_TRY(check_dtype(infer, dtype));
    }
    ry_shape y = x->shape;
    if (y.rank >= 0) {
        RY_INFER_TRY(ry_infer_check_rank(infer, 0, 2, 2));
    }
    ry_infer_set(infer, 0, dtype ? (ry_dtype)dtype : x->dtype, &y);
    return y.rank < 0 ? RY_INFER_LATER : RY_INFER_DONE;
}
