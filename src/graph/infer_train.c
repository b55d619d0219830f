/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of what only training computes: batch normalisation by the batch's statistics, and
 * gradients that are operators of their own. */
#include "graph/infer_window.h"

#include <string.h>

/* Statistics are as wide as what they are of, and at least f32. */
static void set_statistic(ry_infer *infer, int i, const ry_value *x, int64_t channels)
{
    const ry_shape shape = {.rank = 1, .dim = {channels}};
    ry_infer_set(infer, i, x->dtype == RY_f64 ? RY_f64 : RY_f32, &shape);
}

/* Has input i the shape of input `as`? */
static ry_infer_result check_shape(ry_infer *infer, int i, int as, const char *what)
{
    const ry_shape *wanted = &ry_infer_in(infer, as)->shape;
    RY_INFER_TRY(ry_infer_check_rank(infer, i, wanted->rank, wanted->rank));
    for (int d = 0; d < wanted->rank; d++) {
        RY_INFER_TRY(ry_infer_check_dim(infer, i, d, wanted->dim[d], what));
    }
    return RY_INFER_DONE;
}

/* And its type? */
static ry_infer_result check_like(ry_infer *infer, int i, int as, const char *what)
{
    if (!ry_infer_has(infer, i)) {
        return RY_INFER_DONE;
    }
    RY_INFER_TRY(check_shape(infer, i, as, what));
    return ry_infer_check_same_type(infer, i, as);
}

/* The activations whose gradient follows from what they give: passed on between two bounds. */
static ry_infer_result check_activation(ry_infer *infer, ry_activation activation)
{
    return activation == RY_activation_none || activation == RY_activation_relu ||
                   activation == RY_activation_clip
               ? RY_INFER_DONE
               : ry_infer_fail(infer, RYND_ERROR_SHAPE,
                               "the activation is of another kind than none, relu and clip, whose "
                               "gradient does not follow from what they give");
}

/* Is input i, if present, a scalar of this type? */
static ry_infer_result check_number(ry_infer *infer, int i, ry_dtype dtype, const char *what)
{
    if (!ry_infer_has(infer, i)) {
        return RY_INFER_DONE;
    }
    RY_INFER_TRY(ry_infer_check_rank(infer, i, 0, 0));
    return ry_infer_in(infer, i)->dtype == dtype ? RY_INFER_DONE
                                                 : ry_infer_bad(infer, i, "is %s", what);
}

ry_infer_result ry_infer_op_dropout(ry_infer *infer)
{
    const ry_dropout_attrs *a = &infer->node->attrs.dropout;
    if (!(a->ratio >= 0 && a->ratio < 1)) {
        return ry_infer_fail(infer, RYND_ERROR_SHAPE, "ratio is %g, expected 0 to below 1",
                             a->ratio);
    }
    RY_INFER_TRY(check_number(infer, 1, RY_f64, "the number of steps, expected f64"));
    RY_INFER_TRY(check_number(infer, 2, RY_u64, "the seed, expected u64"));
    RY_INFER_TRY(check_number(infer, 3, RY_u64, "the generator's offset, expected u64"));
    ry_infer_like(infer, 0, 0);
    ry_infer_set(infer, 1, RY_bool, &ry_infer_in(infer, 0)->shape);
    return RY_INFER_DONE;
}

ry_infer_result ry_infer_op_random(ry_infer *infer)
{
    const ry_random_attrs *a = &infer->node->attrs.random;
    const ry_value *y = ry_infer_out(infer, 0);
    RY_INFER_TRY(check_number(infer, 0, RY_u64, "the seed, expected u64"));
    RY_INFER_TRY(check_number(infer, 1, RY_u64, "the generator's offset, expected u64"));
    if (!y || y->dtype == RY_NONE || y->shape.rank < 0) {
        return ry_infer_fail(infer, RYND_ERROR_SHAPE, "the shape of output 0 must be stated");
    }
    if (a->kind == RY_random_kind_bernoulli && !(a->p >= 0 && a->p <= 1)) {
        return ry_infer_fail(infer, RYND_ERROR_SHAPE, "p is %g, expected 0 to 1", a->p);
    }
    if (a->kind != RY_random_kind_bernoulli && !ry_dtype_is_float(y->dtype)) {
        return ry_infer_fail(infer, RYND_ERROR_SHAPE, "output 0 is %s, expected a float type",
                             ry_dtype_name(y->dtype));
    }
    return RY_INFER_DONE;
}

ry_infer_result ry_infer_op_batch_norm_train(ry_infer *infer)
{
    RY_INFER_TRY(ry_infer_check_rank(infer, 0, 2, RY_MAX_RANK));
    const ry_value *x = ry_infer_in(infer, 0);
    const int64_t channels = x->shape.dim[1];
    for (int i = 1; i < 5; i++) {
        RY_INFER_TRY(ry_infer_check_rank(infer, i, 1, 1));
        RY_INFER_TRY(ry_infer_check_dim(infer, i, 0, channels, "channels of the input"));
    }
    RY_INFER_TRY(check_like(infer, 5, 0, "the residual has the input's shape"));
    RY_INFER_TRY(check_activation(infer, infer->node->attrs.batch_norm_train.activation));
    if (ry_infer_known(&x->shape) && channels > 0 && ry_shape_elements(&x->shape) / channels == 1) {
        return ry_infer_bad(infer, 0,
                            "has one element a channel, whose variance is nothing: expected a "
                            "larger batch or image");
    }
    ry_infer_like(infer, 0, 0);
    set_statistic(infer, 1, x, channels);
    set_statistic(infer, 2, x, channels);
    for (int i = 3; i < 5; i++) {
        ry_infer_set(infer, i, ry_infer_in(infer, i)->dtype, &ry_infer_in(infer, i)->shape);
    }
    return RY_INFER_DONE;
}

ry_infer_result ry_infer_op_batch_norm_grad(ry_infer *infer)
{
    RY_INFER_TRY(ry_infer_check_rank(infer, 0, 2, RY_MAX_RANK));
    const ry_value *dy = ry_infer_in(infer, 0);
    const ry_activation activation = infer->node->attrs.batch_norm_grad.activation;
    RY_INFER_TRY(check_shape(infer, 1, 0, "the gradient's shape"));
    if (ry_infer_in(infer, 1)->dtype != RY_bf16) { /* which training may have kept it as */
        RY_INFER_TRY(ry_infer_check_same_type(infer, 1, 0));
    }
    for (int i = 2; i < 5; i++) {
        RY_INFER_TRY(ry_infer_check_rank(infer, i, 1, 1));
        RY_INFER_TRY(ry_infer_check_dim(infer, i, 0, dy->shape.dim[1], "channels of the input"));
    }
    RY_INFER_TRY(check_like(infer, 5, 1, "the shape of x"));
    RY_INFER_TRY(check_activation(infer, activation));
    if (activation != RY_activation_none && !ry_infer_has(infer, 5)) {
        return ry_infer_fail(infer, RYND_ERROR_SHAPE,
                             "an activation's gradient needs y, which is absent");
    }
    ry_infer_like(infer, 0, 0);
    for (int i = 1; i < 3; i++) {
        ry_infer_set(infer, i, ry_infer_in(infer, 2)->dtype, &ry_infer_in(infer, 2)->shape);
    }
    ry_infer_set(infer, 3, dy->dtype, &dy->shape);
    return RY_INFER_DONE;
}

/* Input i has this shape. */
static ry_infer_result check_statistic(ry_infer *infer, int i, const ry_shape *wanted,
                                       const char *what)
{
    RY_INFER_TRY(ry_infer_check_rank(infer, i, wanted->rank, wanted->rank));
    for (int d = 0; d < wanted->rank; d++) {
        RY_INFER_TRY(ry_infer_check_dim(infer, i, d, wanted->dim[d], what));
    }
    return RY_INFER_DONE;
}

/* Gradients of layer and group normalisation, whose scale and statistics have these shapes. */
static ry_infer_result set_row_gradients(ry_infer *infer, const ry_shape *scale,
                                         const ry_shape *statistics, bool centred)
{
    const bool scaled = ry_infer_has(infer, 2);
    RY_INFER_TRY(check_like(infer, 1, 0, "the gradient's shape"));
    if (scaled) {
        RY_INFER_TRY(check_statistic(infer, 2, scale, "a factor for each element of a row"));
    }
    for (int i = centred ? 3 : 4; i < 5; i++) {
        if (!ry_infer_has(infer, i)) {
            return ry_infer_fail(infer, RYND_ERROR_SHAPE, "needs %s (input %d), which is absent",
                                 i == 3 ? "the mean" : "the inverse deviation", i);
        }
        RY_INFER_TRY(check_statistic(infer, i, statistics, "a number for each row"));
    }
    ry_infer_like(infer, 0, 0);
    for (int i = 1; i < 3; i++) {
        ry_infer_set(infer, i, ry_infer_in(infer, scaled ? 2 : 0)->dtype, scale);
    }
    return RY_INFER_DONE;
}

ry_infer_result ry_infer_op_layer_norm_grad(ry_infer *infer)
{
    ry_layer_norm_grad_attrs *a = &infer->node->attrs.layer_norm_grad;
    const ry_shape *x = &ry_infer_in(infer, 0)->shape;
    int axis = 0;
    RY_INFER_TRY(ry_infer_check_rank(infer, 0, 1, RY_MAX_RANK));
    RY_INFER_TRY(ry_infer_axis(infer, a->axis, x->rank, &axis));
    a->axis = axis;
    ry_shape scale = {.rank = x->rank - axis}, statistics = *x;
    for (int d = axis; d < x->rank; d++) {
        scale.dim[d - axis] = x->dim[d];
        statistics.dim[d] = 1;
    }
    return set_row_gradients(infer, &scale, &statistics, !a->rms);
}

ry_infer_result ry_infer_op_group_norm_grad(ry_infer *infer)
{
    const int64_t groups = infer->node->attrs.group_norm_grad.groups;
    RY_INFER_TRY(ry_infer_check_rank(infer, 0, 2, RY_MAX_RANK));
    const ry_shape *x = &ry_infer_in(infer, 0)->shape;
    RY_INFER_TRY(ry_infer_check_groups(infer, groups, x->dim[1]));
    const ry_shape scale = {.rank = 1, .dim = {x->dim[1]}},
                   statistics = {.rank = 2, .dim = {x->dim[0], groups}};
    return set_row_gradients(infer, &scale, &statistics, true);
}

ry_infer_result ry_infer_op_softmax_grad(ry_infer *infer)
{
    ry_softmax_grad_attrs *a = &infer->node->attrs.softmax_grad;
    if (a->kind == RY_softmax_kind_hardmax) {
        return ry_infer_fail(infer, RYND_ERROR_SHAPE, "hardmax has no gradient");
    }
    RY_INFER_TRY(ry_infer_softmax_axis(infer, a->axis, a->flatten != 0, &a->axis));
    RY_INFER_TRY(check_like(infer, 1, 0, "the gradient's shape"));
    ry_infer_like(infer, 0, 0);
    return RY_INFER_DONE;
}

/* `image` has a number for each of `count` dims. */
static ry_infer_result check_image(ry_infer *infer, const ry_ints *image, int count)
{
    if (image->count != count) {
        return ry_infer_fail(infer, RYND_ERROR_SHAPE, "image has %d numbers, expected %d",
                             image->count, count);
    }
    for (int i = 0; i < count; i++) {
        if (image->at[i] < 0 || image->at[i] > INT32_MAX) {
            return ry_infer_fail(infer, RYND_ERROR_SHAPE, "image has %lld, expected 0 to 2^31-1",
                                 (long long)image->at[i]);
        }
    }
    return RY_INFER_DONE;
}

/* What a pooling's gradient reads beside dy: x (input 1) and y (input 2), or not. */
static ry_infer_result check_pooled(ry_infer *infer, const ry_shape *x)
{
    const ry_pool_kind kind = infer->node->attrs.pool_grad.kind;
    const bool wanted[] = {kind != RY_pool_kind_average, kind == RY_pool_kind_lp};
    for (int i = 1; i < 3; i++) {
        if (wanted[i - 1] && !ry_infer_has(infer, i)) {
            return ry_infer_fail(infer, RYND_ERROR_SHAPE, "the gradient of %s pooling needs %s",
                                 kind == RY_pool_kind_max ? "max" : "lp", i == 1 ? "x" : "y");
        }
    }
    if (ry_infer_has(infer, 1)) {
        RY_INFER_TRY(ry_infer_check_rank(infer, 1, x->rank, x->rank));
        for (int d = 0; d < x->rank; d++) {
            RY_INFER_TRY(ry_infer_check_dim(infer, 1, d, x->dim[d], "the pooled image"));
        }
        RY_INFER_TRY(ry_infer_check_same_type(infer, 1, 0));
    }
    return check_like(infer, 2, 0, "the gradient's shape");
}

/* dy has a position for each window; the image's dims become those of `out`. */
static ry_infer_result check_positions(ry_infer *infer, ry_shape *out)
{
    ry_pool_grad_attrs *a = &infer->node->attrs.pool_grad;
    const int rank = out->rank - 2;
    ry_window w;
    if (a->kernel.count != rank) {
        return ry_infer_fail(infer, RYND_ERROR_SHAPE, "kernel_shape has %d numbers, expected %d",
                             a->kernel.count, rank);
    }
    RY_INFER_TRY(ry_infer_list(infer, "kernel_shape", &a->kernel, rank, 1));
    RY_INFER_TRY(ry_infer_window(infer, rank, a->image.at, out->dim + 2, a->kernel.at, &w));
    for (int i = 0; i < rank; i++) {
        const int64_t positions =
            a->image.at[i] == 0 ? 0 : ry_window_positions(&w.axis[i], w.ceil_mode);
        RY_INFER_TRY(ry_infer_check_dim(infer, 0, 2 + i, positions, "the window's positions"));
    }
    return RY_INFER_DONE;
}

ry_infer_result ry_infer_op_pool_grad(ry_infer *infer)
{
    ry_pool_grad_attrs *a = &infer->node->attrs.pool_grad;
    RY_INFER_TRY(ry_infer_check_rank(infer, 0, 3, RY_MAX_RANK));
    const ry_value *dy = ry_infer_in(infer, 0);
    const int rank = dy->shape.rank - 2;
    ry_shape out = dy->shape;
    RY_INFER_TRY(check_image(infer, &a->image, rank));
    RY_INFER_TRY(a->adaptive ? ry_infer_adaptive(infer, a->image.at, out.dim + 2, rank, &a->kernel)
                             : check_positions(infer, &out));
    memcpy(out.dim + 2, a->image.at, (size_t)rank * sizeof *out.dim);
    RY_INFER_TRY(check_pooled(infer, &out));
    ry_infer_set(infer, 0, dy->dtype, &out);
    return RY_INFER_DONE;
}

static ry_infer_result check_scales(ry_infer *infer, int rank)
{
    const ry_resize_grad_attrs *a = &infer->node->attrs.resize_grad;
    if ((a->scales.count && a->scales.count != rank) ||
        (a->roi.count && a->roi.count != 2 * rank)) {
        return ry_infer_fail(infer, RYND_ERROR_SHAPE,
                             "scales has %d numbers and roi %d, expected %d and %d, or none",
                             a->scales.count, a->roi.count, rank, 2 * rank);
    }
    for (int d = 0; d < a->scales.count; d++) {
        if (!(a->scales.at[d] > 0) || isinf(a->scales.at[d])) {
            return ry_infer_fail(infer, RYND_ERROR_SHAPE,
                                 "the scale of dim %d is no positive number", d);
        }
    }
    return RY_INFER_DONE;
}

ry_infer_result ry_infer_op_resize_grad(ry_infer *infer)
{
    ry_resize_grad_attrs *a = &infer->node->attrs.resize_grad;
    const ry_value *dy = ry_infer_in(infer, 0);
    ry_shape out = dy->shape;
    RY_INFER_TRY(check_image(infer, &a->image, out.rank));
    RY_INFER_TRY(check_scales(infer, out.rank));
    for (int d = 0; d < out.rank; d++) {
        if (a->image.at[d] == 0 && out.dim[d] > 0) {
            return ry_infer_bad(infer, 0, "has %lld in dim %d, but image nothing",
                                (long long)out.dim[d], d);
        }
        out.dim[d] = a->image.at[d];
    }
    ry_infer_set(infer, 0, dy->dtype, &out);
    return RY_INFER_DONE;
}
