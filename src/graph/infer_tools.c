/* SPDX-License-Identifier: Apache-2.0 */
/* What the functions of infer_*.c share: reading inputs, checking, broadcasting, failing. */
#include "graph/infer_tools.h"

#include <stdarg.h>
#include <stdio.h>

const ry_value *ry_infer_in(const ry_infer *infer, int i)
{
    return ry_infer_has(infer, i) ? &infer->graph->values[infer->node->in[i]] : NULL;
}

ry_value *ry_infer_out(const ry_infer *infer, int i)
{
    bool has = i < infer->node->outputs && infer->node->out[i] != RY_NO_VALUE;
    return has ? &infer->graph->values[infer->node->out[i]] : NULL;
}

bool ry_infer_has(const ry_infer *infer, int i)
{
    return i < infer->node->inputs && infer->node->in[i] != RY_NO_VALUE;
}

static void prefix(ry_infer *infer)
{
    ry_error_prefix(infer->error, "node '%s' (%s): ", infer->node->name, infer->node->source);
}

ry_infer_result ry_infer_fail(ry_infer *infer, rynd_status status, const char *format, ...)
{
    char text[700];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    infer->status = ry_fail(infer->error, status, "%s", text);
    prefix(infer);
    return RY_INFER_FAILED;
}

ry_infer_result ry_infer_bad(ry_infer *infer, int i, const char *format, ...)
{
    char text[400], shape[200];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    const ry_value *value = ry_infer_in(infer, i);
    infer->status = ry_fail(infer->error, RYND_ERROR_SHAPE, "input %d, value '%s' (%s %s), %s", i,
                            value->name, ry_dtype_name(value->dtype),
                            ry_shape_text(infer->graph, &value->shape, shape, sizeof shape), text);
    prefix(infer);
    return RY_INFER_FAILED;
}

ry_infer_result ry_infer_check_rank(ry_infer *infer, int i, int least, int most)
{
    int rank = ry_infer_in(infer, i)->shape.rank;
    if (rank >= least && rank <= most) {
        return RY_INFER_DONE;
    }
    if (least == most) {
        return ry_infer_bad(infer, i, "has rank %d, expected %d", rank, least);
    }
    return ry_infer_bad(infer, i, "has rank %d, expected %d to %d", rank, least, most);
}

ry_infer_result ry_infer_check_same_type(ry_infer *infer, int i, int as)
{
    if (!ry_infer_has(infer, i) || ry_infer_in(infer, i)->dtype == ry_infer_in(infer, as)->dtype) {
        return RY_INFER_DONE;
    }
    return ry_infer_bad(infer, i, "must have the type of input %d, value '%s': %s", as,
                        ry_infer_in(infer, as)->name, ry_dtype_name(ry_infer_in(infer, as)->dtype));
}

ry_infer_result ry_infer_check_integer(ry_infer *infer, int i)
{
    const ry_dtype_kind kind = ry_dtype_get_kind(ry_infer_in(infer, i)->dtype);
    const bool integer = kind == RY_KIND_SIGNED || kind == RY_KIND_UNSIGNED;
    return integer ? RY_INFER_DONE : ry_infer_bad(infer, i, "must have an integer type");
}

ry_infer_result ry_infer_check_dim(ry_infer *infer, int i, int axis, int64_t wanted,
                                   const char *what)
{
    int64_t dim = ry_infer_in(infer, i)->shape.dim[axis];
    if (ry_infer_agree(dim, wanted)) {
        return RY_INFER_DONE;
    }
    return ry_infer_bad(infer, i, "has %lld in dim %d, expected %lld (%s)", (long long)dim, axis,
                        (long long)wanted, what);
}

/* Numbers of a list input: how many, or LATER. */
static ry_infer_result list_count(ry_infer *infer, int i, int *count)
{
    const ry_value *value = ry_infer_in(infer, i);
    if (value->shape.rank > 1) {
        return ry_infer_bad(infer, i, "must be a list of numbers (rank 0 or 1)");
    }
    int64_t elements = ry_shape_elements(&value->shape);
    if (elements > RY_MAX_INTS) {
        return ry_infer_bad(infer, i, "must be a list of at most %d numbers", RY_MAX_INTS);
    }
    *count = (int)elements;
    return elements < 0 || (elements > 0 && !value->constant) ? RY_INFER_LATER : RY_INFER_DONE;
}

ry_infer_result ry_infer_ints(ry_infer *infer, int i, ry_ints *numbers)
{
    numbers->count = 0;
    RY_INFER_TRY(ry_infer_check_integer(infer, i));
    const ry_value *value = ry_infer_in(infer, i);
    int count = 0;
    ry_infer_result result = list_count(infer, i, &count);
    if (result == RY_INFER_DONE) {
        for (int k = 0; k < count; k++) {
            numbers->at[k] = ry_get_i64(value->dtype, value->constant, k);
        }
        numbers->count = count;
    }
    return result;
}

ry_infer_result ry_infer_floats(ry_infer *infer, int i, ry_floats *numbers)
{
    numbers->count = 0;
    const ry_value *value = ry_infer_in(infer, i);
    int count = 0;
    ry_infer_result result = list_count(infer, i, &count);
    if (result == RY_INFER_DONE) {
        for (int k = 0; k < count; k++) {
            numbers->at[k] = ry_get_f64(value->dtype, value->constant, k);
        }
        numbers->count = count;
    }
    return result;
}

ry_infer_result ry_infer_int(ry_infer *infer, int i, int64_t *number)
{
    ry_ints list;
    ry_infer_result result = ry_infer_ints(infer, i, &list);
    if (result == RY_INFER_DONE && list.count != 1) {
        return ry_infer_bad(infer, i, "must be one number");
    }
    if (result == RY_INFER_DONE) {
        *number = list.at[0];
    }
    return result;
}

ry_infer_result ry_infer_float(ry_infer *infer, int i, double *number)
{
    ry_floats list;
    ry_infer_result result = ry_infer_floats(infer, i, &list);
    if (result == RY_INFER_DONE && list.count != 1) {
        return ry_infer_bad(infer, i, "must be one number");
    }
    if (result == RY_INFER_DONE) {
        *number = list.at[0];
    }
    return result;
}

ry_infer_result ry_infer_axis(ry_infer *infer, int64_t axis, int rank, int *out)
{
    *out = ry_axis(axis, rank);
    if (*out >= 0) {
        return RY_INFER_DONE;
    }
    return ry_infer_fail(infer, RYND_ERROR_SHAPE, "axis %lld is outside rank %d", (long long)axis,
                         rank);
}

ry_infer_result ry_infer_axes(ry_infer *infer, ry_ints *axes, int rank)
{
    unsigned seen = 0;
    for (int i = 0; i < axes->count; i++) {
        int axis = 0;
        RY_INFER_TRY(ry_infer_axis(infer, axes->at[i], rank, &axis));
        if (seen >> axis & 1u) {
            return ry_infer_fail(infer, RYND_ERROR_SHAPE, "axis %lld is given twice",
                                 (long long)axes->at[i]);
        }
        seen |= 1u << axis;
        axes->at[i] = axis;
    }
    return RY_INFER_DONE;
}

bool ry_infer_broadcast_dim(ry_graph *graph, int64_t a, int64_t b, int64_t *out)
{
    if (a == b || b == 1) {
        *out = a;
    } else if (a == 1) {
        *out = b;
    } else if (a >= 0 && b >= 0) {
        return false;
    } else if (a >= 0 || b >= 0) {
        *out = a >= 0 ? a : b; /* the symbol must turn out to be this number or 1 */
    } else {
        *out = ry_dim_unknown(graph);
    }
    return true;
}

bool ry_infer_broadcast(ry_graph *graph, const ry_shape *a, const ry_shape *b, ry_shape *out)
{
    ry_shape r = {.rank = a->rank > b->rank ? a->rank : b->rank};
    for (int i = 1; i <= r.rank; i++) {
        int64_t x = i <= a->rank ? a->dim[a->rank - i] : 1;
        int64_t y = i <= b->rank ? b->dim[b->rank - i] : 1;
        if (!ry_infer_broadcast_dim(graph, x, y, &r.dim[r.rank - i])) {
            return false;
        }
    }
    *out = r;
    return true;
}

void ry_infer_set(const ry_infer *infer, int i, ry_dtype dtype, const ry_shape *shape)
{
    ry_value *out = ry_infer_out(infer, i);
    if (out) {
        out->dtype = dtype;
        out->shape = *shape;
        out->bounded = false;
    }
}

void ry_infer_like(ry_infer *infer, int i, int j)
{
    ry_value *out = ry_infer_out(infer, i);
    if (out) {
        ry_shape shape = ry_infer_in(infer, j)->shape;
        ry_infer_set(infer, i, out->dtype, &shape);
    }
}

bool ry_infer_known(const ry_shape *shape)
{
    for (int i = 0; i < shape->rank; i++) {
        if (shape->dim[i] < 0) {
            return false;
        }
    }
    return shape->rank >= 0;
}

ry_shape ry_infer_unknown(ry_infer *infer, int rank)
{
    ry_shape shape = {.rank = rank};
    for (int i = 0; i < rank; i++) {
        shape.dim[i] = ry_dim_unknown(infer->graph);
    }
    return shape;
}
