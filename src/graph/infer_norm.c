/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of normalisations and of operators along one axis. */
#include "graph/infer_table.h"

static ry_infer_result check_channels(ry_infer *infer, int i, int64_t channels)
{
    RY_INFER_TRY(ry_infer_check_rank(infer, i, 1, 1));
    return ry_infer_check_dim(infer, i, 0, channels, "channels of the input");
}

/* Statistics of a batch normalisation: one a channel, or (spatial 0) one a position of dims 1.. */
ry_infer_result ry_infer_op_batch_norm(ry_infer *infer)
{
    RY_INFER_TRY(ry_infer_check_rank(infer, 0, 1, RY_MAX_RANK));
    const ry_shape *x = &ry_infer_in(infer, 0)->shape;
    for (int i = 1; i < 5; i++) {
        if (infer->node->attrs.batch_norm.spatial) {
            RY_INFER_TRY(check_channels(infer, i, x->rank > 1 ? x->dim[1] : 1));
            continue;
        }
        RY_INFER_TRY(ry_infer_check_rank(infer, i, x->rank - 1, x->rank - 1));
        for (int d = 1; d < x->rank; d++) {
            RY_INFER_TRY(ry_infer_check_dim(infer, i, d - 1, x->dim[d], "the input's dims 1.."));
        }
    }
    ry_infer_like(infer, 0, 0);
    return RY_INFER_DONE;
}

ry_infer_result ry_infer_check_groups(ry_infer *infer, int64_t groups, int64_t channels)
{
    return groups < 1 || (channels >= 0 && channels % groups != 0)
               ? ry_infer_fail(infer, RYND_ERROR_SHAPE,
                               "%lld groups, expected a divisor of the %lld channels",
                               (long long)groups, (long long)channels)
               : RY_INFER_DONE;
}

ry_infer_result ry_infer_op_group_norm(ry_infer *infer)
{
    RY_INFER_TRY(ry_infer_check_rank(infer, 0, 2, RY_MAX_RANK));
    int64_t channels = ry_infer_in(infer, 0)->shape.dim[1];
    RY_INFER_TRY(ry_infer_check_groups(infer, infer->node->attrs.group_norm.groups, channels));
    RY_INFER_TRY(check_channels(infer, 1, channels));
    RY_INFER_TRY(check_channels(infer, 2, channels));
    ry_infer_like(infer, 0, 0);
    return RY_INFER_DONE;
}

/* scale and bias broadcast to the dims axis.. of x. */
static ry_infer_result check_affine(ry_infer *infer, int i)
{
    if (!ry_infer_has(infer, i)) {
        return RY_INFER_DONE;
    }
    const ry_shape *x = &ry_infer_in(infer, 0)->shape, *s = &ry_infer_in(infer, i)->shape;
    RY_INFER_TRY(ry_infer_check_rank(infer, i, 0, x->rank));
    for (int d = 1; d <= s->rank; d++) {
        if (s->dim[s->rank - d] != 1) {
            RY_INFER_TRY(ry_infer_check_dim(infer, i, s->rank - d, x->dim[x->rank - d],
                                            "the normalised dims"));
        }
    }
    return RY_INFER_DONE;
}

ry_infer_result ry_infer_op_layer_norm(ry_infer *infer)
{
    ry_layer_norm_attrs *a = &infer->node->attrs.layer_norm;
    const ry_value *x = ry_infer_in(infer, 0);
    int axis = 0;
    RY_INFER_TRY(ry_infer_check_rank(infer, 0, 1, RY_MAX_RANK));
    RY_INFER_TRY(ry_infer_axis(infer, a->axis, x->shape.rank, &axis));
    RY_INFER_TRY(check_affine(infer, 1));
    RY_INFER_TRY(check_affine(infer, 2));
    a->axis = axis;
    ry_infer_like(infer, 0, 0);
    ry_shape statistics = x->shape;
    for (int d = axis; d < statistics.rank; d++) {
        statistics.dim[d] = 1;
    }
    ry_infer_set(infer, 1, RY_f32, &statistics);
    ry_infer_set(infer, 2, RY_f32, &statistics);
    return RY_INFER_DONE;
}

ry_infer_result ry_infer_op_lrn(ry_infer *infer)
{
    RY_INFER_TRY(ry_infer_check_rank(infer, 0, 2, RY_MAX_RANK));
    if (infer->node->attrs.lrn.size < 1) {
        return ry_infer_fail(infer, RYND_ERROR_SHAPE, "size is %lld, expected at least 1",
                             (long long)infer->node->attrs.lrn.size);
    }
    ry_infer_like(infer, 0, 0);
    return RY_INFER_DONE;
}

ry_infer_result ry_infer_softmax_axis(ry_infer *infer, int64_t given, bool flatten, int64_t *axis)
{
    int rank = ry_infer_in(infer, 0)->shape.rank, found = 0;
    if (flatten && given == rank) {
        found = rank; /* no dim is left: each element is a row of its own */
    } else if (rank > 0) {
        RY_INFER_TRY(ry_infer_axis(infer, given, rank, &found));
    }
    *axis = found;
    return RY_INFER_DONE;
}

ry_infer_result ry_infer_op_softmax(ry_infer *infer)
{
    ry_softmax_attrs *a = &infer->node->attrs.softmax;
    RY_INFER_TRY(ry_infer_softmax_axis(infer, a->axis, a->flatten != 0, &a->axis));
    ry_infer_like(infer, 0, 0);
    return RY_INFER_DONE;
}

ry_infer_result ry_infer_op_cumsum(ry_infer *infer)
{
    int64_t given = 0;
    int axis = 0;
    ry_infer_like(infer, 0, 0);
    ry_infer_result result = ry_infer_int(infer, 1, &given);
    if (result == RY_INFER_DONE) {
        RY_INFER_TRY(ry_infer_axis(infer, given, ry_infer_in(infer, 0)->shape.rank, &axis));
        infer->node->attrs.cumsum.axis = axis;
    }
    return result;
}

ry_infer_result ry_infer_op_arg_reduce(ry_infer *infer)
{
    ry_arg_reduce_attrs *a = &infer->node->attrs.arg_reduce;
    ry_shape shape = ry_infer_in(infer, 0)->shape;
    int axis = 0;
    RY_INFER_TRY(ry_infer_axis(infer, a->axis, shape.rank, &axis));
    int64_t count = 1;
    for (int d = 0; d < shape.rank; d++) {
        /* no result, no need for something to choose from */
        count *= d == axis || shape.dim[d] != 0;
    }
    if (shape.dim[axis] == 0 && count) {
        return ry_infer_bad(infer, 0, "has no elements along axis %d to choose from", axis);
    }
    a->axis = axis;
    if (a->keepdims) {
        shape.dim[axis] = 1;
    } else {
        for (int d = axis; d + 1 < shape.rank; d++) {
            shape.dim[d] = shape.dim[d + 1];
        }
        shape.rank--;
    }
    ry_infer_set(infer, 0, RY_i64, &shape);
    return RY_INFER_DONE;
}

ry_infer_result ry_infer_op_topk(ry_infer *infer)
{
    ry_topk_attrs *a = &infer->node->attrs.topk;
    ry_shape shape = ry_infer_in(infer, 0)->shape;
    int axis = 0;
    RY_INFER_TRY(ry_infer_axis(infer, a->axis, shape.rank, &axis));
    ry_infer_result result = ry_infer_has(infer, 1) ? ry_infer_int(infer, 1, &a->k) : RY_INFER_DONE;
    RY_INFER_TRY(result);
    if (result == RY_INFER_DONE && (a->k < 0 || (shape.dim[axis] >= 0 && a->k > shape.dim[axis]))) {
        return ry_infer_bad(infer, 0,
                            "has %lld elements along axis %d, expected at least k = %lld, which "
                            "must not be negative",
                            (long long)shape.dim[axis], axis, (long long)a->k);
    }
    a->axis = axis;
    shape.dim[axis] = result == RY_INFER_DONE ? a->k : ry_dim_unknown(infer->graph);
    ry_infer_set(infer, 0, ry_infer_in(infer, 0)->dtype, &shape);
    ry_infer_set(infer, 1, RY_i64, &shape);
    return result;
}

ry_infer_result ry_infer_op_trilu(ry_infer *infer)
{
    RY_INFER_TRY(ry_infer_check_rank(infer, 0, 2, RY_MAX_RANK));
    ry_infer_like(infer, 0, 0);
    return ry_infer_has(infer, 1) ? ry_infer_int(infer, 1, &infer->node->attrs.trilu.k)
                                  : RY_INFER_DONE;
}

ry_infer_result ry_infer_op_reverse_sequence(ry_infer *infer)
{
    ry_reverse_sequence_attrs *a = &infer->node->attrs.reverse_sequence;
    const ry_shape *x = &ry_infer_in(infer, 0)->shape;
    int batch = 0, time = 0;
    RY_INFER_TRY(ry_infer_check_rank(infer, 0, 2, RY_MAX_RANK));
    RY_INFER_TRY(ry_infer_axis(infer, a->batch_axis, x->rank, &batch));
    RY_INFER_TRY(ry_infer_axis(infer, a->time_axis, x->rank, &time));
    if (batch == time || batch > 1 || time > 1) {
        return ry_infer_fail(infer, RYND_ERROR_SHAPE,
                             "batch_axis is %d and time_axis %d, expected 0 and 1 in either order",
                             batch, time);
    }
    RY_INFER_TRY(ry_infer_check_integer(infer, 1));
    RY_INFER_TRY(ry_infer_check_rank(infer, 1, 1, 1));
    RY_INFER_TRY(ry_infer_check_dim(infer, 1, 0, x->dim[batch], "one length a batch entry"));
    a->batch_axis = batch;
    a->time_axis = time;
    ry_infer_like(infer, 0, 0);
    return RY_INFER_DONE;
}
