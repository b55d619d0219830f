/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of joining, cutting, padding and repeating: concat, split, slice, pad, tile, expand,
 * center_crop_pad. */
#include "graph/infer_table.h"

ry_infer_result ry_infer_op_concat(ry_infer *infer)
{
    ry_shape y = ry_infer_in(infer, 0)->shape;
    int axis = 0;
    RY_INFER_TRY(ry_infer_axis(infer, infer->node->attrs.concat.axis, y.rank, &axis));
    for (int i = 1; i < infer->node->inputs; i++) {
        if (!ry_infer_has(infer, i)) {
            return ry_infer_fail(infer, RYND_ERROR_FORMAT, "input %d is absent", i);
        }
        RY_INFER_TRY(ry_infer_check_same_type(infer, i, 0));
        RY_INFER_TRY(ry_infer_check_rank(infer, i, y.rank, y.rank));
        const ry_shape *x = &ry_infer_in(infer, i)->shape;
        for (int d = 0; d < y.rank; d++) {
            if (d == axis) {
                y.dim[d] = ry_dim_add(infer->graph, y.dim[d], x->dim[d]);
                continue;
            }
            RY_INFER_TRY(ry_infer_check_dim(infer, i, d, y.dim[d], "as the other inputs"));
            y.dim[d] = y.dim[d] < 0 ? x->dim[d] : y.dim[d]; /* a number says more than a symbol */
        }
    }
    infer->node->attrs.concat.axis = axis;
    ry_infer_set(infer, 0, ry_infer_in(infer, 0)->dtype, &y);
    return RY_INFER_DONE;
}

/* Parts of unequal size, from the input; there may be more than RY_MAX_INTS. */
static ry_infer_result split_by_parts(ry_infer *infer, ry_shape *y, int axis)
{
    const ry_value *x = ry_infer_in(infer, 0), *parts = ry_infer_in(infer, 1);
    RY_INFER_TRY(ry_infer_check_integer(infer, 1));
    RY_INFER_TRY(ry_infer_check_rank(infer, 1, 1, 1));
    RY_INFER_TRY(ry_infer_check_dim(infer, 1, 0, infer->node->outputs, "one part an output"));
    bool known = parts->constant && parts->shape.dim[0] >= 0;
    int64_t sum = 0;
    for (int i = 0; i < infer->node->outputs; i++) {
        int64_t part = known ? ry_get_i64(parts->dtype, parts->constant, i) : -1;
        if (known && part < 0) {
            return ry_infer_bad(infer, 1, "has the negative number %lld", (long long)part);
        }
        sum = known ? ry_dim_add(infer->graph, sum, part) : -1;
        y->dim[axis] = known ? part : ry_dim_unknown(infer->graph);
        ry_infer_set(infer, i, x->dtype, y);
    }
    if (known && !ry_infer_agree(x->shape.dim[axis], sum)) {
        return ry_infer_bad(infer, 1,
                            "has the sum %lld, expected %lld, the size of dim %d of value '%s'",
                            (long long)sum, (long long)x->shape.dim[axis], axis, x->name);
    }
    return known ? RY_INFER_DONE : RY_INFER_LATER;
}

/* Equal parts: all of ceil(size / count), and the last what is left. */
ry_infer_result ry_infer_op_split(ry_infer *infer)
{
    ry_split_attrs *a = &infer->node->attrs.split;
    const ry_value *x = ry_infer_in(infer, 0);
    ry_shape y = x->shape;
    int axis = 0, count = infer->node->outputs;
    RY_INFER_TRY(ry_infer_axis(infer, a->axis, y.rank, &axis));
    a->axis = axis;
    if (ry_infer_has(infer, 1)) {
        return split_by_parts(infer, &y, axis);
    }
    if (a->num_outputs && a->num_outputs != count) {
        return ry_infer_fail(infer, RYND_ERROR_SHAPE,
                             "num_outputs is %lld, but the node has %d outputs",
                             (long long)a->num_outputs, count);
    }
    int64_t size = x->shape.dim[axis];
    if (size >= 0 && !a->num_outputs && size % count != 0) {
        return ry_infer_bad(infer, 0,
                            "has %lld in dim %d, which does not split into %d equal parts",
                            (long long)size, axis, count);
    }
    int64_t part = ry_dim_ceil_div(infer->graph, size, count);
    int64_t last = a->num_outputs
                       ? ry_dim_sub(infer->graph, size, ry_dim_mul(infer->graph, part, count - 1))
                       : part;
    for (int i = 0; i < count; i++) {
        y.dim[axis] = i + 1 < count ? part : last;
        ry_infer_set(infer, i, x->dtype, &y);
    }
    return RY_INFER_DONE;
}

/* Returns the extent of one dim of a slice; `start` becomes the first element taken. ONNX's
 * clamping: a negative start or end counts from the end of the dim. A forward step then clamps both
 * to [0, size], a backward step clamps start to [0, size - 1] and end to [-1, size - 1]. An empty
 * dim stays empty, as [0, size - 1] holds nothing. */
static int64_t slice_dim(int64_t size, int64_t *start, int64_t end, int64_t *step)
{
    int64_t first = *start < 0 ? *start + size : *start, stop = end < 0 ? end + size : end;
    int64_t low = *step > 0 ? 0 : -1, high = *step > 0 ? size : size - 1;
    first = first < 0 ? 0 : first > high ? high : first;
    stop = stop < low ? low : stop > high ? high : stop;
    *step = *step == INT64_MIN ? -INT64_MAX : *step;
    int64_t distance = *step > 0 ? stop - first : first - stop, pace = *step > 0 ? *step : -*step;
    const bool empty = size == 0 || distance <= 0;
    *start = empty ? 0 : first;
    return empty ? 0 : (distance - 1) / pace + 1;
}

/* The same of a symbolic size, where the result does not depend on how it compares with start and
 * end. */
static int64_t slice_symbol(ry_graph *graph, int64_t size, int64_t start, int64_t end, int64_t step)
{
    bool to_end = end >= INT32_MAX, from_start = start == 0;
    if (step > 0 && to_end && start >= 0 && start < INT32_MAX) {
        return ry_dim_ceil_div(graph, ry_dim_affine(graph, size, -start, 1), step);
    }
    if (step == 1 && from_start && end < 0 && end > -INT32_MAX) {
        return ry_dim_affine(graph, size, end, 1);
    }
    if (step == -1 && start == -1 && end <= -INT32_MAX) {
        return size;
    }
    return ry_dim_unknown(graph);
}

typedef struct cut {
    ry_ints starts, ends, axes, steps;
} cut;

static ry_infer_result read_cut(ry_infer *infer, cut *c)
{
    ry_slice_attrs *a = &infer->node->attrs.slice;
    ry_ints *lists[4] = {&c->starts, &c->ends, &c->axes, &c->steps};
    *c = (cut){a->starts, a->ends, a->axes, a->steps};
    bool inputs = ry_infer_has(infer, 1) || ry_infer_has(infer, 2), later = false;
    for (int i = 0; inputs && i < 4; i++) {
        lists[i]->count = 0;
        if (ry_infer_has(infer, i + 1)) {
            ry_infer_result result = ry_infer_ints(infer, i + 1, lists[i]);
            RY_INFER_TRY(result);
            later = later || result == RY_INFER_LATER;
        }
    }
    return later ? RY_INFER_LATER : RY_INFER_DONE;
}

static ry_infer_result check_cut(ry_infer *infer, cut *c, int rank)
{
    int count = c->starts.count;
    if (c->ends.count != count || (c->axes.count != 0 && c->axes.count != count) ||
        (c->steps.count != 0 && c->steps.count != count) || (c->axes.count == 0 && count > rank)) {
        return ry_infer_fail(
            infer, RYND_ERROR_SHAPE,
            "%d starts, %d ends, %d axes and %d steps for rank %d, expected as many of each", count,
            c->ends.count, c->axes.count, c->steps.count, rank);
    }
    for (int i = 0; i < count; i++) {
        c->axes.at[i] = c->axes.count ? c->axes.at[i] : i;
        c->steps.at[i] = c->steps.count ? c->steps.at[i] : 1;
        if (c->steps.at[i] == 0) {
            return ry_infer_fail(infer, RYND_ERROR_SHAPE, "a step is 0");
        }
    }
    c->axes.count = c->steps.count = count;
    return ry_infer_axes(infer, &c->axes, rank);
}

/* Contents not known: the axes may still say which dims stay. */
static ry_infer_result slice_later(ry_infer *infer, cut *c)
{
    ry_shape y = ry_infer_in(infer, 0)->shape;
    bool axes_known = c->axes.count > 0;
    RY_INFER_TRY(ry_infer_axes(infer, &c->axes, y.rank));
    for (int i = 0; i < (axes_known ? c->axes.count : y.rank); i++) {
        y.dim[axes_known ? c->axes.at[i] : i] = ry_dim_unknown(infer->graph);
    }
    ry_infer_set(infer, 0, ry_infer_in(infer, 0)->dtype, &y);
    return RY_INFER_LATER;
}

/* Canonical starts and steps: the extents are the output's, as nothing else holds them any more. */
static ry_infer_result check_extents(ry_infer *infer, const ry_slice_attrs *a, const ry_shape *x,
                                     const ry_shape *y)
{
    for (int d = 0; d < y->rank; d++) {
        int64_t size = x->dim[d], first = a->starts.at[d], last = 0;
        if (size < 0 || y->dim[d] <= 0) {
            continue;
        }
        bool overflow = __builtin_mul_overflow(y->dim[d] - 1, a->steps.at[d], &last) ||
                        __builtin_add_overflow(last, first, &last);
        if (overflow || first < 0 || first >= size || last < 0 || last >= size) {
            return ry_infer_bad(
                infer, 0, "has %lld elements along dim %d, too few for %lld from %lld by %lld",
                (long long)size, d, (long long)y->dim[d], (long long)first,
                (long long)a->steps.at[d]);
        }
    }
    return RY_INFER_DONE;
}

ry_infer_result ry_infer_op_slice(ry_infer *infer)
{
    ry_slice_attrs *a = &infer->node->attrs.slice;
    const ry_value *x = ry_infer_in(infer, 0);
    const ry_value *out = ry_infer_out(infer, 0);
    int rank = x->shape.rank;
    bool canonical = !ry_infer_has(infer, 1) && a->ends.count == 0 && a->starts.count == rank &&
                     a->steps.count == rank;
    if (canonical && out && out->shape.rank == rank) {
        return check_extents(infer, a, &x->shape, &out->shape);
    }
    cut c;
    ry_infer_result result = read_cut(infer, &c);
    RY_INFER_TRY(result);
    if (result == RY_INFER_LATER) {
        return slice_later(infer, &c);
    }
    RY_INFER_TRY(check_cut(infer, &c, rank));
    ry_shape y = x->shape;
    ry_ints starts = {.count = rank}, steps = {.count = rank};
    for (int d = 0; d < rank; d++) {
        steps.at[d] = 1;
    }
    for (int i = 0; i < c.starts.count; i++) {
        int d = (int)c.axes.at[i];
        steps.at[d] = c.steps.at[i];
        starts.at[d] = c.starts.at[i];
        y.dim[d] = x->shape.dim[d] < 0
                       ? slice_symbol(infer->graph, x->shape.dim[d], c.starts.at[i], c.ends.at[i],
                                      c.steps.at[i])
                       : slice_dim(x->shape.dim[d], &starts.at[d], c.ends.at[i], &steps.at[d]);
    }
    if (ry_infer_known(&x->shape)) {
        *a = (ry_slice_attrs){.starts = starts, .steps = steps};
    }
    ry_infer_set(infer, 0, x->dtype, &y);
    return RY_INFER_DONE;
}

static ry_infer_result read_pads(ry_infer *infer, ry_ints *pads, int rank)
{
    ry_ints given = infer->node->attrs.pad.pads, axes = {.count = 0};
    if (!ry_infer_has(infer, 1)) {
        *pads = given;
        if (given.count == 2 * rank) {
            return RY_INFER_DONE;
        }
        return ry_infer_fail(infer, RYND_ERROR_SHAPE, "pads has %d numbers, expected %d",
                             given.count, 2 * rank);
    }
    ry_infer_result result = ry_infer_ints(infer, 1, &given);
    ry_infer_result have_axes =
        ry_infer_has(infer, 3) ? ry_infer_ints(infer, 3, &axes) : RY_INFER_DONE;
    if (result == RY_INFER_FAILED || have_axes == RY_INFER_FAILED) {
        return RY_INFER_FAILED;
    }
    if (result == RY_INFER_LATER || have_axes == RY_INFER_LATER) {
        return RY_INFER_LATER;
    }
    RY_INFER_TRY(ry_infer_axes(infer, &axes, rank));
    int count = ry_infer_has(infer, 3) ? axes.count : rank;
    if (given.count != 2 * count) {
        return ry_infer_bad(infer, 1, "has %d numbers, expected %d: begins, then ends, of %d dims",
                            given.count, 2 * count, count);
    }
    *pads = (ry_ints){.count = 2 * rank};
    for (int i = 0; i < count; i++) {
        int d = ry_infer_has(infer, 3) ? (int)axes.at[i] : i;
        pads->at[d] = given.at[i];
        pads->at[rank + d] = given.at[count + i];
    }
    return RY_INFER_DONE;
}

/* What the modes other than constant need: something to repeat, and for reflect more than they
 * repeat. */
static ry_infer_result check_pad_mode(ry_infer *infer, const ry_ints *pads)
{
    ry_pad_mode mode = infer->node->attrs.pad.mode;
    const ry_shape *x = &ry_infer_in(infer, 0)->shape;
    for (int i = 0; mode != RY_pad_mode_constant && i < 2 * x->rank; i++) {
        int64_t size = x->dim[i % x->rank];
        if (pads->at[i] > 0 &&
            (size == 0 || (mode == RY_pad_mode_reflect && size > 0 && pads->at[i] >= size))) {
            return ry_infer_bad(
                infer, 0, "has %lld in dim %d, too few for %lld reflected or repeated elements",
                (long long)size, i % x->rank, (long long)pads->at[i]);
        }
    }
    return RY_INFER_DONE;
}

ry_infer_result ry_infer_op_pad(ry_infer *infer)
{
    const ry_value *x = ry_infer_in(infer, 0);
    int rank = x->shape.rank;
    ry_ints pads = {.count = 0};
    RY_INFER_TRY(ry_infer_check_same_type(infer, 2, 0));
    ry_infer_result result = read_pads(infer, &pads, rank);
    RY_INFER_TRY(result);
    if (result == RY_INFER_LATER) {
        ry_shape unknown = ry_infer_unknown(infer, rank);
        ry_infer_set(infer, 0, x->dtype, &unknown);
        return RY_INFER_LATER;
    }
    RY_INFER_TRY(check_pad_mode(infer, &pads));
    ry_shape y = x->shape;
    for (int d = 0; d < rank; d++) {
        y.dim[d] = ry_dim_affine(infer->graph,
                                 ry_dim_affine(infer->graph, y.dim[d],
                                               pads.at[d] > 0 ? pads.at[d] : pads.at[rank + d], 1),
                                 pads.at[d] > 0 ? pads.at[rank + d] : pads.at[d], 1);
    }
    infer->node->attrs.pad.pads = pads;
    ry_infer_set(infer, 0, x->dtype, &y);
    return RY_INFER_DONE;
}

ry_infer_result ry_infer_op_tile(ry_infer *infer)
{
    const ry_value *x = ry_infer_in(infer, 0);
    ry_ints repeats;
    ry_infer_result result = ry_infer_ints(infer, 1, &repeats);
    RY_INFER_TRY(result);
    if (result == RY_INFER_DONE && repeats.count != x->shape.rank) {
        return ry_infer_bad(infer, 1, "has %d numbers, expected %d", repeats.count, x->shape.rank);
    }
    ry_shape y = x->shape;
    for (int d = 0; d < y.rank; d++) {
        int64_t times = result == RY_INFER_DONE ? repeats.at[d] : 0;
        if (times < 0) {
            return ry_infer_bad(infer, 1, "has the negative number %lld", (long long)times);
        }
        y.dim[d] = result == RY_INFER_DONE ? ry_dim_mul(infer->graph, y.dim[d], times)
                                           : ry_dim_unknown(infer->graph);
    }
    ry_infer_set(infer, 0, x->dtype, &y);
    return result;
}

/* The rank that a list input of unknown content stands for; -1 when not known. */
static int listed_rank(const ry_value *list)
{
    int64_t count = list->shape.rank == 1 ? list->shape.dim[0] : -1;
    return count > RY_MAX_RANK ? -1 : (int)count;
}

ry_infer_result ry_infer_op_expand(ry_infer *infer)
{
    const ry_value *x = ry_infer_in(infer, 0);
    ry_ints sizes;
    ry_infer_result result = ry_infer_ints(infer, 1, &sizes);
    RY_INFER_TRY(result);
    if (result == RY_INFER_LATER) {
        int rank = listed_rank(ry_infer_in(infer, 1));
        ry_shape unknown =
            ry_infer_unknown(infer, rank < 0 || rank > x->shape.rank ? rank : x->shape.rank);
        ry_infer_set(infer, 0, x->dtype, &unknown);
        return RY_INFER_LATER;
    }
    if (sizes.count > RY_MAX_RANK) {
        return ry_infer_bad(infer, 1, "has %d numbers, at most %d are supported", sizes.count,
                            RY_MAX_RANK);
    }
    for (int i = 0; i < sizes.count; i++) {
        if (sizes.at[i] < 0) {
            return ry_infer_bad(infer, 1, "has the negative number %lld", (long long)sizes.at[i]);
        }
    }
    ry_shape wanted = ry_shape_of(sizes.count, sizes.at), y;
    if (!ry_infer_broadcast(infer->graph, &x->shape, &wanted, &y)) {
        char text[200];
        return ry_infer_bad(infer, 0, "does not broadcast with %s",
                            ry_shape_text(infer->graph, &wanted, text, sizeof text));
    }
    ry_infer_set(infer, 0, x->dtype, &y);
    return RY_INFER_DONE;
}

ry_infer_result ry_infer_op_center_crop_pad(ry_infer *infer)
{
    ry_center_crop_pad_attrs *a = &infer->node->attrs.center_crop_pad;
    const ry_value *x = ry_infer_in(infer, 0);
    ry_ints sizes;
    ry_infer_result result = ry_infer_ints(infer, 1, &sizes);
    RY_INFER_TRY(result);
    RY_INFER_TRY(ry_infer_axes(infer, &a->axes, x->shape.rank));
    int count = a->axes.count ? a->axes.count : x->shape.rank;
    if (result == RY_INFER_DONE && sizes.count != count) {
        return ry_infer_bad(infer, 1, "has %d numbers, expected %d", sizes.count, count);
    }
    ry_shape y = x->shape;
    for (int i = 0; i < count; i++) {
        if (result == RY_INFER_DONE && sizes.at[i] < 0) {
            return ry_infer_bad(infer, 1, "has the negative number %lld", (long long)sizes.at[i]);
        }
        y.dim[a->axes.count ? a->axes.at[i] : i] =
            result == RY_INFER_DONE ? sizes.at[i] : ry_dim_unknown(infer->graph);
    }
    ry_infer_set(infer, 0, x->dtype, &y);
    return result;
}
