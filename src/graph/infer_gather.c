/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of gathers and scatters, and of the operators whose extent depends on data (compress,
 * nonzero, nms: upper bounds). */
#include "base/number.h"
#include "graph/infer_table.h"

static ry_infer_result rank_too_large(ry_infer *infer, int rank)
{
    return ry_infer_fail(infer, RYND_ERROR_UNSUPPORTED,
                         "the output would have rank %d, at most %d is supported", rank,
                         RY_MAX_RANK);
}

ry_infer_result ry_infer_op_gather(ry_infer *infer)
{
    const ry_shape *x = &ry_infer_in(infer, 0)->shape, *indices = &ry_infer_in(infer, 1)->shape;
    int axis = 0;
    RY_INFER_TRY(ry_infer_axis(infer, infer->node->attrs.gather.axis, x->rank, &axis));
    RY_INFER_TRY(ry_infer_check_integer(infer, 1));
    int rank = x->rank - 1 + indices->rank;
    if (rank > RY_MAX_RANK) {
        return rank_too_large(infer, rank);
    }
    ry_shape y = {.rank = 0};
    for (int d = 0; d < axis; d++) {
        y.dim[y.rank++] = x->dim[d];
    }
    for (int d = 0; d < indices->rank; d++) {
        y.dim[y.rank++] = indices->dim[d];
    }
    for (int d = axis + 1; d < x->rank; d++) {
        y.dim[y.rank++] = x->dim[d];
    }
    infer->node->attrs.gather.axis = axis;
    ry_infer_set(infer, 0, ry_infer_in(infer, 0)->dtype, &y);
    return RY_INFER_DONE;
}

ry_infer_result ry_infer_op_gather_elements(ry_infer *infer)
{
    const ry_shape *x = &ry_infer_in(infer, 0)->shape;
    int axis = 0;
    RY_INFER_TRY(ry_infer_axis(infer, infer->node->attrs.gather_elements.axis, x->rank, &axis));
    RY_INFER_TRY(ry_infer_check_integer(infer, 1));
    RY_INFER_TRY(ry_infer_check_rank(infer, 1, x->rank, x->rank));
    for (int d = 0; d < x->rank; d++) {
        int64_t have = ry_infer_in(infer, 1)->shape.dim[d];
        if (d != axis && have >= 0 && x->dim[d] >= 0 && have > x->dim[d]) {
            return ry_infer_bad(infer, 1, "has more elements in dim %d than the data's %lld", d,
                                (long long)x->dim[d]);
        }
    }
    infer->node->attrs.gather_elements.axis = axis;
    ry_shape y = ry_infer_in(infer, 1)->shape;
    ry_infer_set(infer, 0, ry_infer_in(infer, 0)->dtype, &y);
    return RY_INFER_DONE;
}

/* The length of an index tuple (the last dim of input 1): it must be a number to know any rank. */
static ry_infer_result tuple_length(ry_infer *infer, int most, int64_t *length)
{
    RY_INFER_TRY(ry_infer_check_integer(infer, 1));
    RY_INFER_TRY(ry_infer_check_rank(infer, 1, 1, RY_MAX_RANK));
    const ry_shape *indices = &ry_infer_in(infer, 1)->shape;
    *length = indices->dim[indices->rank - 1];
    if (*length > most) {
        return ry_infer_bad(infer, 1, "has tuples of %lld indices, expected at most %d",
                            (long long)*length, most);
    }
    return RY_INFER_DONE;
}

ry_infer_result ry_infer_op_gather_nd(ry_infer *infer)
{
    const ry_value *x = ry_infer_in(infer, 0);
    int64_t batch = infer->node->attrs.gather_nd.batch_dims, length = 0;
    const ry_shape *indices = &ry_infer_in(infer, 1)->shape;
    if (batch < 0 || batch > x->shape.rank || batch >= indices->rank) {
        return ry_infer_fail(infer, RYND_ERROR_SHAPE,
                             "batch_dims is %lld, expected less than both ranks, %d and %d",
                             (long long)batch, x->shape.rank, indices->rank);
    }
    RY_INFER_TRY(tuple_length(infer, x->shape.rank - (int)batch, &length));
    for (int d = 0; d < batch; d++) {
        RY_INFER_TRY(ry_infer_check_dim(infer, 1, d, x->shape.dim[d], "batch dims of the data"));
    }
    ry_shape y = ry_shape_of(indices->rank - 1, indices->dim);
    if (length < 0) {
        y.rank = -1;
        ry_infer_set(infer, 0, x->dtype, &y);
        return RY_INFER_LATER;
    }
    int first = (int)(batch + length);
    if (y.rank + x->shape.rank - first > RY_MAX_RANK) {
        return rank_too_large(infer, y.rank + x->shape.rank - first);
    }
    for (int d = first; d < x->shape.rank; d++) {
        y.dim[y.rank++] = x->shape.dim[d];
    }
    ry_infer_set(infer, 0, x->dtype, &y);
    return RY_INFER_DONE;
}

ry_infer_result ry_infer_op_scatter_elements(ry_infer *infer)
{
    const ry_shape *x = &ry_infer_in(infer, 0)->shape;
    int axis = 0;
    RY_INFER_TRY(ry_infer_axis(infer, infer->node->attrs.scatter_elements.axis, x->rank, &axis));
    RY_INFER_TRY(ry_infer_check_integer(infer, 1));
    RY_INFER_TRY(ry_infer_check_same_type(infer, 2, 0));
    RY_INFER_TRY(ry_infer_check_rank(infer, 1, x->rank, x->rank));
    RY_INFER_TRY(ry_infer_check_rank(infer, 2, x->rank, x->rank));
    for (int d = 0; d < x->rank; d++) {
        int64_t have = ry_infer_in(infer, 1)->shape.dim[d];
        RY_INFER_TRY(
            ry_infer_check_dim(infer, 2, d, have, "updates have the shape of the indices"));
        if (d != axis && have >= 0 && x->dim[d] >= 0 && have > x->dim[d]) {
            return ry_infer_bad(infer, 1, "has more elements in dim %d than the data's %lld", d,
                                (long long)x->dim[d]);
        }
    }
    infer->node->attrs.scatter_elements.axis = axis;
    ry_infer_like(infer, 0, 0);
    return RY_INFER_DONE;
}

ry_infer_result ry_infer_op_scatter_nd(ry_infer *infer)
{
    const ry_shape *x = &ry_infer_in(infer, 0)->shape, *indices = &ry_infer_in(infer, 1)->shape;
    int64_t length = 0;
    RY_INFER_TRY(tuple_length(infer, x->rank, &length));
    RY_INFER_TRY(ry_infer_check_same_type(infer, 2, 0));
    ry_infer_like(infer, 0, 0);
    if (length < 0) {
        return RY_INFER_LATER;
    }
    RY_INFER_TRY(ry_infer_check_rank(infer, 2, indices->rank - 1 + x->rank - (int)length,
                                     indices->rank - 1 + x->rank - (int)length));
    for (int d = 0; d < indices->rank - 1; d++) {
        RY_INFER_TRY(
            ry_infer_check_dim(infer, 2, d, indices->dim[d], "one update a tuple of indices"));
    }
    for (int d = (int)length; d < x->rank; d++) {
        RY_INFER_TRY(ry_infer_check_dim(infer, 2, indices->rank - 1 + d - (int)length, x->dim[d],
                                        "slices of the data"));
    }
    return RY_INFER_DONE;
}

/* Sets an output whose dims are upper bounds. While a dim is a symbol there is no bound yet. */
static ry_infer_result set_bound(ry_infer *infer, ry_dtype dtype, const ry_shape *shape)
{
    ry_infer_set(infer, 0, dtype, shape);
    ry_value *out = ry_infer_out(infer, 0);
    if (out) {
        out->bounded = true;
    }
    return RY_INFER_DONE;
}

static int64_t count_elements(ry_graph *graph, const ry_shape *shape)
{
    int64_t count = 1;
    for (int d = 0; d < shape->rank; d++) {
        count = ry_dim_mul(graph, count, shape->dim[d]);
    }
    return count;
}

static int64_t least(ry_graph *graph, int64_t a, int64_t b)
{
    if (a >= 0 && b >= 0) {
        return a < b ? a : b;
    }
    return a == b ? a : ry_dim_unknown(graph);
}

ry_infer_result ry_infer_op_nonzero(ry_infer *infer)
{
    const ry_shape *x = &ry_infer_in(infer, 0)->shape;
    ry_shape y = {.rank = 2, .dim = {x->rank, count_elements(infer->graph, x)}};
    return set_bound(infer, RY_i64, &y);
}

ry_infer_result ry_infer_op_compress(ry_infer *infer)
{
    ry_compress_attrs *a = &infer->node->attrs.compress;
    ry_graph *graph = infer->graph;
    const ry_value *x = ry_infer_in(infer, 0);
    RY_INFER_TRY(ry_infer_check_rank(infer, 1, 1, 1));
    if (ry_infer_in(infer, 1)->dtype != RY_bool) {
        return ry_infer_bad(infer, 1, "must be bool");
    }
    int64_t conditions = ry_infer_in(infer, 1)->shape.dim[0];
    if (a->flat) {
        ry_shape y = {.rank = 1,
                      .dim = {least(graph, count_elements(graph, &x->shape), conditions)}};
        return set_bound(infer, x->dtype, &y);
    }
    int axis = 0;
    RY_INFER_TRY(ry_infer_axis(infer, a->axis, x->shape.rank, &axis));
    a->axis = axis;
    ry_shape y = x->shape;
    y.dim[axis] = least(graph, y.dim[axis], conditions);
    return set_bound(infer, x->dtype, &y);
}

/* At most max_output boxes for each batch entry and class. */
ry_infer_result ry_infer_op_nms(ry_infer *infer)
{
    ry_nms_attrs *a = &infer->node->attrs.nms;
    ry_graph *graph = infer->graph;
    RY_INFER_TRY(ry_infer_check_rank(infer, 0, 3, 3));
    RY_INFER_TRY(ry_infer_check_rank(infer, 1, 3, 3));
    const ry_shape *boxes = &ry_infer_in(infer, 0)->shape, *scores = &ry_infer_in(infer, 1)->shape;
    RY_INFER_TRY(ry_infer_check_dim(infer, 0, 2, 4, "coordinates of a box"));
    RY_INFER_TRY(ry_infer_check_dim(infer, 1, 0, boxes->dim[0], "batch of the boxes"));
    RY_INFER_TRY(ry_infer_check_dim(infer, 1, 2, boxes->dim[1], "number of boxes"));
    ry_infer_result most =
        ry_infer_has(infer, 2) ? ry_infer_int(infer, 2, &a->max_output) : RY_INFER_DONE;
    ry_infer_result iou =
        ry_infer_has(infer, 3) ? ry_infer_float(infer, 3, &a->iou_threshold) : RY_INFER_DONE;
    ry_infer_result score =
        ry_infer_has(infer, 4) ? ry_infer_float(infer, 4, &a->score_threshold) : RY_INFER_DONE;
    if (most == RY_INFER_FAILED || iou == RY_INFER_FAILED || score == RY_INFER_FAILED) {
        return RY_INFER_FAILED;
    }
    if (iou == RY_INFER_DONE && !(a->iou_threshold >= 0 && a->iou_threshold <= 1)) {
        char text[RY_NUMBER_SIZE];
        ry_number_print(a->iou_threshold, text);
        return ry_infer_fail(infer, RYND_ERROR_SHAPE, "iou_threshold is %s, expected 0 to 1", text);
    }
    if (a->max_output < 0) {
        a->max_output = 0;
    }
    int64_t boxes_each =
        most == RY_INFER_DONE ? least(graph, boxes->dim[1], a->max_output) : boxes->dim[1];
    ry_shape y = {
        .rank = 2,
        .dim = {ry_dim_mul(graph, ry_dim_mul(graph, scores->dim[0], scores->dim[1]), boxes_each),
                3}};
    set_bound(infer, RY_i64, &y);
    return most == RY_INFER_LATER || iou == RY_INFER_LATER || score == RY_INFER_LATER
               ? RY_INFER_LATER
               : RY_INFER_DONE;
}
