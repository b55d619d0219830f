/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of operators that keep the elements and their order (reshape, flatten, squeeze, unsqueeze,
 * identity, copy), or move all of them (transpose, depth_to_space, space_to_depth), and of `shape`
 * itself. */
#include "graph/infer_table.h"

/* What the -1 of a reshape stands for: the elements of the input over the product of the output's
 * other dims. Equal dims cancel, which is what keeps a symbolic batch a symbol. */
static int64_t rest_dim(ry_graph *graph, const ry_shape *x, const ry_shape *y, int at)
{
    bool used[RY_MAX_RANK] = {false};
    int64_t above = 1, below = 1;
    for (int d = 0; d < y->rank; d++) {
        int same = 0;
        while (d != at && same < x->rank &&
               (used[same] || x->dim[same] != y->dim[d] || y->dim[d] == 0)) {
            same++;
        }
        if (d != at && same < x->rank) {
            used[same] = true;
        } else if (d != at) {
            below = ry_dim_mul(graph, below, y->dim[d]);
        }
    }
    for (int d = 0; d < x->rank; d++) {
        above = used[d] ? above : ry_dim_mul(graph, above, x->dim[d]);
    }
    return ry_dim_floor_div(graph, above, below);
}

static ry_infer_result check_elements(ry_infer *infer, const ry_shape *y)
{
    const ry_shape *x = &ry_infer_in(infer, 0)->shape;
    int64_t have = ry_shape_elements(x), wanted = ry_shape_elements(y);
    if (!ry_infer_known(x) || !ry_infer_known(y) || have == wanted) {
        return RY_INFER_DONE;
    }
    char text[200];
    return ry_infer_bad(infer, 0, "has %lld elements, the output's shape %s has %lld",
                        (long long)have, ry_shape_text(infer->graph, y, text, sizeof text),
                        (long long)wanted);
}

static ry_infer_result reshape_to(ry_infer *infer, const ry_ints *numbers)
{
    const ry_value *x = ry_infer_in(infer, 0);
    bool keep_zero = infer->node->attrs.reshape.allow_zero != 0;
    ry_shape y = {.rank = numbers->count};
    int rest = -1;
    if (numbers->count > RY_MAX_RANK) {
        return ry_infer_fail(infer, RYND_ERROR_UNSUPPORTED,
                             "the shape has %d dims, at most %d are supported", numbers->count,
                             RY_MAX_RANK);
    }
    for (int d = 0; d < y.rank; d++) {
        int64_t number = numbers->at[d];
        if (number < -1 || (number == -1 && rest >= 0) ||
            (number == 0 && !keep_zero && d >= x->shape.rank)) {
            return ry_infer_fail(infer, RYND_ERROR_SHAPE,
                                 "the shape has %lld at %d, expected a size, one -1, or 0 for a "
                                 "dim of the input (rank %d)",
                                 (long long)number, d, x->shape.rank);
        }
        rest = number == -1 ? d : rest;
        y.dim[d] = number == 0 && !keep_zero ? x->shape.dim[d] : number;
    }
    if (rest >= 0) {
        y.dim[rest] = 1;
        int64_t others = ry_shape_elements(&y);
        if (others == 0) {
            return ry_infer_fail(infer, RYND_ERROR_SHAPE,
                                 "the -1 in the shape at %d cannot be computed beside a dim of 0",
                                 rest);
        }
        y.dim[rest] = rest_dim(infer->graph, &x->shape, &y, rest);
    }
    RY_INFER_TRY(check_elements(infer, &y));
    ry_infer_set(infer, 0, x->dtype, &y);
    return RY_INFER_DONE;
}

ry_infer_result ry_infer_op_reshape(ry_infer *infer)
{
    ry_ints numbers = infer->node->attrs.reshape.shape;
    ry_infer_result result =
        ry_infer_has(infer, 1) ? ry_infer_ints(infer, 1, &numbers) : RY_INFER_DONE;
    if (result == RY_INFER_LATER) {
        const ry_shape *list = &ry_infer_in(infer, 1)->shape;
        int64_t rank = list->rank == 1 ? list->dim[0] : -1;
        ry_shape y = ry_infer_unknown(infer, rank > RY_MAX_RANK ? -1 : (int)rank);
        y.rank = rank < 0 ? -1 : y.rank;
        ry_infer_set(infer, 0, ry_infer_in(infer, 0)->dtype, &y);
    }
    return result == RY_INFER_DONE ? reshape_to(infer, &numbers) : result;
}

ry_infer_result ry_infer_op_flatten(ry_infer *infer)
{
    const ry_value *x = ry_infer_in(infer, 0);
    int64_t axis = infer->node->attrs.flatten.axis;
    int rank = x->shape.rank;
    if (axis < -rank || axis > rank) {
        return ry_infer_fail(infer, RYND_ERROR_SHAPE, "axis %lld is outside rank %d",
                             (long long)axis, rank);
    }
    axis += axis < 0 ? rank : 0;
    ry_shape y = {.rank = 2, .dim = {1, 1}};
    for (int d = 0; d < rank; d++) {
        y.dim[d >= axis] = ry_dim_mul(infer->graph, y.dim[d >= axis], x->shape.dim[d]);
    }
    infer->node->attrs.flatten.axis = axis;
    ry_infer_set(infer, 0, x->dtype, &y);
    return RY_INFER_DONE;
}

static void sort_axes(ry_ints *axes)
{
    for (int i = 1; i < axes->count; i++) {
        int64_t axis = axes->at[i];
        int j = i;
        for (; j > 0 && axes->at[j - 1] > axis; j--) {
            axes->at[j] = axes->at[j - 1];
        }
        axes->at[j] = axis;
    }
}

static bool contains(const ry_ints *list, int64_t number)
{
    for (int i = 0; i < list->count; i++) {
        if (list->at[i] == number) {
            return true;
        }
    }
    return false;
}

static ry_infer_result set_unknown_rank(ry_infer *infer)
{
    ry_shape y = {.rank = -1};
    ry_infer_set(infer, 0, ry_infer_in(infer, 0)->dtype, &y);
    return RY_INFER_LATER;
}

ry_infer_result ry_infer_op_squeeze(ry_infer *infer)
{
    const ry_value *x = ry_infer_in(infer, 0);
    ry_ints axes = infer->node->attrs.squeeze.axes;
    ry_infer_result result =
        ry_infer_has(infer, 1) ? ry_infer_ints(infer, 1, &axes) : RY_INFER_DONE;
    if (result != RY_INFER_DONE) {
        return result == RY_INFER_LATER ? set_unknown_rank(infer) : result;
    }
    RY_INFER_TRY(ry_infer_axes(infer, &axes, x->shape.rank));
    bool all = axes.count == 0;
    ry_shape y = {.rank = 0};
    for (int d = 0; d < x->shape.rank; d++) {
        int64_t dim = x->shape.dim[d];
        if (all && dim < 0) {
            return set_unknown_rank(infer); /* the symbol may turn out to be 1 */
        }
        bool drop = all ? dim == 1 : contains(&axes, d);
        if (drop && dim >= 0 && dim != 1) {
            return ry_infer_bad(infer, 0, "has %lld in dim %d, only a dim of 1 can be squeezed",
                                (long long)dim, d);
        }
        if (drop && all) {
            axes.at[axes.count++] = d;
        }
        if (!drop) {
            y.dim[y.rank++] = dim;
        }
    }
    sort_axes(&axes);
    infer->node->attrs.squeeze.axes = axes;
    ry_infer_set(infer, 0, x->dtype, &y);
    return RY_INFER_DONE;
}

ry_infer_result ry_infer_op_unsqueeze(ry_infer *infer)
{
    const ry_value *x = ry_infer_in(infer, 0);
    ry_ints axes = infer->node->attrs.unsqueeze.axes;
    ry_infer_result result =
        ry_infer_has(infer, 1) ? ry_infer_ints(infer, 1, &axes) : RY_INFER_DONE;
    if (result != RY_INFER_DONE) {
        return result == RY_INFER_LATER ? set_unknown_rank(infer) : result;
    }
    ry_shape y = {.rank = x->shape.rank + axes.count};
    if (y.rank > RY_MAX_RANK) {
        return ry_infer_fail(infer, RYND_ERROR_UNSUPPORTED,
                             "the output would have rank %d, at most %d is supported", y.rank,
                             RY_MAX_RANK);
    }
    RY_INFER_TRY(ry_infer_axes(infer, &axes, y.rank));
    sort_axes(&axes);
    for (int d = 0, from = 0; d < y.rank; d++) {
        y.dim[d] = contains(&axes, d) ? 1 : x->shape.dim[from++];
    }
    infer->node->attrs.unsqueeze.axes = axes;
    ry_infer_set(infer, 0, x->dtype, &y);
    return RY_INFER_DONE;
}

ry_infer_result ry_infer_op_identity(ry_infer *infer)
{
    ry_infer_like(infer, 0, 0);
    return RY_INFER_DONE;
}

/* A copy may change the type: whoever made it has stated the output's. */
ry_infer_result ry_infer_op_copy(ry_infer *infer)
{
    const ry_value *x = ry_infer_in(infer, 0);
    ry_value *out = ry_infer_out(infer, 0);
    ry_dtype dtype = out && out->dtype != RY_NONE ? out->dtype : x->dtype;
    ry_shape shape = x->shape;
    ry_infer_set(infer, 0, dtype, &shape);
    return shape.rank < 0 ? RY_INFER_LATER : RY_INFER_DONE;
}

ry_infer_result ry_infer_op_transpose(ry_infer *infer)
{
    const ry_value *x = ry_infer_in(infer, 0);
    ry_ints *perm = &infer->node->attrs.transpose.perm;
    ry_shape y = {.rank = x->shape.rank};
    if (perm->count == 0) {
        perm->count = y.rank;
        for (int d = 0; d < y.rank; d++) {
            perm->at[d] = y.rank - 1 - d;
        }
    }
    if (perm->count != y.rank) {
        return ry_infer_fail(infer, RYND_ERROR_SHAPE, "perm has %d numbers, expected %d",
                             perm->count, y.rank);
    }
    RY_INFER_TRY(ry_infer_axes(infer, perm, y.rank));
    for (int d = 0; d < y.rank; d++) {
        y.dim[d] = x->shape.dim[perm->at[d]];
    }
    ry_infer_set(infer, 0, x->dtype, &y);
    return RY_INFER_DONE;
}

static ry_infer_result check_block(ry_infer *infer, int64_t block)
{
    RY_INFER_TRY(ry_infer_check_rank(infer, 0, 4, 4));
    return block >= 1 && block <= INT16_MAX
               ? RY_INFER_DONE
               : ry_infer_fail(infer, RYND_ERROR_SHAPE, "blocksize is %lld, expected 1 to 32767",
                               (long long)block);
}

static ry_infer_result check_divides(ry_infer *infer, int axis, int64_t divisor)
{
    int64_t dim = ry_infer_in(infer, 0)->shape.dim[axis];
    return dim < 0 || dim % divisor == 0
               ? RY_INFER_DONE
               : ry_infer_bad(infer, 0, "has %lld in dim %d, expected a multiple of %lld",
                              (long long)dim, axis, (long long)divisor);
}

ry_infer_result ry_infer_op_depth_to_space(ry_infer *infer)
{
    int64_t block = infer->node->attrs.depth_to_space.block;
    RY_INFER_TRY(check_block(infer, block));
    RY_INFER_TRY(check_divides(infer, 1, block * block));
    ry_shape y = ry_infer_in(infer, 0)->shape;
    y.dim[1] = ry_dim_floor_div(infer->graph, y.dim[1], block * block);
    y.dim[2] = ry_dim_mul(infer->graph, y.dim[2], block);
    y.dim[3] = ry_dim_mul(infer->graph, y.dim[3], block);
    ry_infer_set(infer, 0, ry_infer_in(infer, 0)->dtype, &y);
    return RY_INFER_DONE;
}

ry_infer_result ry_infer_op_space_to_depth(ry_infer *infer)
{
    int64_t block = infer->node->attrs.space_to_depth.block;
    RY_INFER_TRY(check_block(infer, block));
    RY_INFER_TRY(check_divides(infer, 2, block));
    RY_INFER_TRY(check_divides(infer, 3, block));
    ry_shape y = ry_infer_in(infer, 0)->shape;
    y.dim[1] = ry_dim_mul(infer->graph, y.dim[1], block * block);
    y.dim[2] = ry_dim_floor_div(infer->graph, y.dim[2], block);
    y.dim[3] = ry_dim_floor_div(infer->graph, y.dim[3], block);
    ry_infer_set(infer, 0, ry_infer_in(infer, 0)->dtype, &y);
    return RY_INFER_DONE;
}

/* start and end of `shape` count from the end when negative, and are cut to the rank. */
static int clamp_axis(int64_t axis, int rank)
{
    axis += axis < 0 ? rank : 0;
    return axis < 0 ? 0 : axis > rank ? rank : (int)axis;
}

/* Where every dim is a number the content is known at once: no plan, no kernel, and what is
 * computed from it can be folded. */
static ry_infer_result set_content(ry_infer *infer, const int64_t *numbers, int count)
{
    ry_value *out = ry_infer_out(infer, 0);
    int64_t *data = out ? RY_TAKE(&infer->graph->arena, int64_t, count) : NULL;
    if (!out || out->constant) {
        return RY_INFER_DONE;
    }
    if (!data) {
        infer->status = ry_fail_memory(infer->error);
        return RY_INFER_FAILED;
    }
    for (int i = 0; i < count; i++) {
        data[i] = numbers[i];
    }
    out->constant = data;
    return RY_INFER_DONE;
}

ry_infer_result ry_infer_op_shape(ry_infer *infer)
{
    const ry_shape_attrs *a = &infer->node->attrs.shape;
    const ry_shape *x = &ry_infer_in(infer, 0)->shape;
    if (a->size) {
        ry_shape scalar = {.rank = 0};
        int64_t elements = ry_shape_elements(x);
        ry_infer_set(infer, 0, RY_i64, &scalar);
        return elements < 0 ? RY_INFER_DONE : set_content(infer, &elements, 1);
    }
    int start = clamp_axis(a->start, x->rank), end = clamp_axis(a->end, x->rank);
    ry_shape dims = ry_shape_of(end > start ? end - start : 0, x->dim + start),
             y = {.rank = 1, .dim = {dims.rank}};
    ry_infer_set(infer, 0, RY_i64, &y);
    return ry_infer_known(&dims) ? set_content(infer, dims.dim, dims.rank) : RY_INFER_DONE;
}
