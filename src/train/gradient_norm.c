/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of normalisations. With g = dy * scale and z = (x - mean) / deviation:
 *
 *   dx = (g - mean(g) - z * mean(g * z)) / deviation        over what shares a mean
 *   dscale = sum(dy * z), dbias = sum(dy)                   over what shares a scale
 *
 * where the deviation is sqrt(variance + epsilon). Without a mean (rms), mean(g) is left out; with
 * statistics that do not depend on x, both are. */
#include "train/gradient.h"

typedef struct normed {
    ry_value_id z, inverse; /* inverse of the deviation; z and inverse broadcast together */
} normed;

static ry_value_id inverse_deviation(ry_emitter *e, ry_value_id variance, double epsilon)
{
    return ry_emit_expr_with(e, "1 / sqrt(x0 + e)", &(ry_expr_parameter){"e", epsilon}, 1, 1,
                             &variance);
}

static normed normalise(ry_emitter *e, ry_value_id x, const ry_ints *axes, double epsilon, bool rms)
{
    ry_value_id centred = x;
    if (!rms) {
        const ry_value_id mean = ry_emit_reduce(e, "mean(x0)", axes, true, 1, &x);
        centred = ry_emit_expr(e, "x0 - x1", 2, (ry_value_id[]){x, mean});
    }
    const ry_value_id variance = ry_emit_reduce(e, "mean(x0 * x0)", axes, true, 1, &centred);
    normed n = {.inverse = inverse_deviation(e, variance, epsilon)};
    n.z = ry_emit_expr(e, "x0 * x1", 2, (ry_value_id[]){centred, n.inverse});
    return n;
}

static ry_value_id data_gradient(ry_emitter *e, const normed *n, ry_value_id g, const ry_ints *axes,
                                 bool rms)
{
    const ry_value_id along =
        ry_emit_reduce(e, "mean(x0 * x1)", axes, true, 2, (ry_value_id[]){g, n->z});
    if (rms) {
        return ry_emit_expr(e, "(x0 - x1 * x2) * x3", 4,
                            (ry_value_id[]){g, n->z, along, n->inverse});
    }
    const ry_value_id mean = ry_emit_reduce(e, "mean(x0)", axes, true, 1, &g);
    return ry_emit_expr(e, "(x0 - x4 - x1 * x2) * x3", 5,
                        (ry_value_id[]){g, n->z, along, n->inverse, mean});
}

static ry_value_id scale_gradient(ry_emitter *e, ry_value_id dy, ry_value_id z,
                                  const ry_shape *shape)
{
    return ry_emit_sum_to(e, ry_emit_expr(e, "x0 * x1", 2, (ry_value_id[]){dy, z}), shape);
}

static bool has(const ry_node *node, int i)
{
    return i < node->inputs && node->in[i] != RY_NO_VALUE;
}

rynd_status ry_gradient_layer_norm(const ry_gradient_call *call)
{
    ry_emitter e = ry_gradient_emitter(call);
    const ry_node node = ry_gradient_node(call);
    const ry_layer_norm_attrs *attrs = &node.attrs.layer_norm;
    const ry_shape x = ry_emit_shape(&e, node.in[0]);
    ry_ints axes = {.count = 0};
    for (int i = 1; i < node.outputs; i++) {
        if (call->dy[i] != RY_NO_VALUE) {
            return ry_gradient_refuse(call, "its mean and deviation have no gradient");
        }
    }
    for (int d = (int)attrs->axis; d < x.rank; d++) {
        axes.at[axes.count++] = d;
    }
    const normed n = normalise(&e, node.in[0], &axes, attrs->epsilon, attrs->rms != 0);
    ry_value_id g = call->dy[0];
    if (has(&node, 1)) {
        const ry_shape scale = ry_emit_shape(&e, node.in[1]);
        if (call->wanted[1]) {
            call->dx[1] = scale_gradient(&e, call->dy[0], n.z, &scale);
        }
        g = ry_emit_expr(&e, "x0 * x1", 2, (ry_value_id[]){g, node.in[1]});
    }
    if (has(&node, 2) && call->wanted[2]) {
        const ry_shape bias = ry_emit_shape(&e, node.in[2]);
        call->dx[2] = ry_emit_sum_to(&e, call->dy[0], &bias);
    }
    if (call->wanted[0]) {
        call->dx[0] = data_gradient(&e, &n, g, &axes, attrs->rms != 0);
    }
    return e.status;
}

/* [C] beside [N, C, ..]: [C, 1, ..]. */
static ry_shape shape_of_channels(int rank, int64_t channels)
{
    ry_shape shape = {.rank = rank > 1 ? rank - 1 : 1, .dim = {channels}};
    for (int d = 1; d < shape.rank; d++) {
        shape.dim[d] = 1;
    }
    return shape;
}

/* Sums to [C, 1, ..] under the shape that the parameter has. */
static ry_value_id channel_gradient(ry_emitter *e, ry_value_id v, const ry_shape *per_channel,
                                    ry_value_id parameter)
{
    const ry_shape own = ry_emit_shape(e, parameter);
    return ry_emit_reshape(e, ry_emit_sum_to(e, v, per_channel), &own);
}

rynd_status ry_gradient_group_norm(const ry_gradient_call *call)
{
    ry_emitter e = ry_gradient_emitter(call);
    const ry_node node = ry_gradient_node(call);
    const ry_shape x = ry_emit_shape(&e, node.in[0]);
    const int64_t groups = node.attrs.group_norm.groups;
    const ry_ints axes = {1, {2}};
    ry_shape grouped = {.rank = 3, .dim = {x.dim[0], groups, x.dim[1] / groups}};
    for (int d = 2; d < x.rank; d++) {
        grouped.dim[2] *= x.dim[d];
    }
    const ry_shape per_channel = shape_of_channels(x.rank, x.dim[1]);
    const normed n = normalise(&e, ry_emit_reshape(&e, node.in[0], &grouped), &axes,
                               node.attrs.group_norm.epsilon, false);
    if (call->wanted[1]) {
        const ry_value_id z = ry_emit_reshape(&e, n.z, &x);
        const ry_value_id product = ry_emit_expr(&e, "x0 * x1", 2, (ry_value_id[]){call->dy[0], z});
        call->dx[1] = channel_gradient(&e, product, &per_channel, node.in[1]);
    }
    if (call->wanted[2]) {
        call->dx[2] = channel_gradient(&e, call->dy[0], &per_channel, node.in[2]);
    }
    if (call->wanted[0]) {
        const ry_value_id scale = ry_emit_reshape(&e, node.in[1], &per_channel);
        const ry_value_id g = ry_emit_expr(&e, "x0 * x1", 2, (ry_value_id[]){call->dy[0], scale});
        const ry_value_id dx =
            data_gradient(&e, &n, ry_emit_reshape(&e, g, &grouped), &axes, false);
        call->dx[0] = ry_emit_reshape(&e, dx, &x);
    }
    return e.status;
}

/* Statistics that the model computes: with c = x - mean and v = variance + epsilon,
 *   dmean = -sum(g) / sqrt(v), dvariance = -sum(g * c) / (2 v sqrt(v)). */
static void statistics_gradient(const ry_gradient_call *call, ry_emitter *e,
                                const ry_shape *per_channel)
{
    const ry_node node = ry_gradient_node(call);
    const ry_expr_parameter epsilon = {"e", node.attrs.batch_norm.epsilon};
    ry_value_id in[] = {call->dy[0], node.in[0], RY_NO_VALUE, RY_NO_VALUE, RY_NO_VALUE};
    for (int i = 0; i < 3; i++) {
        in[2 + i] = ry_emit_reshape(e, node.in[i ? 2 + i : 1], per_channel);
    }
    if (call->wanted[3]) {
        const ry_value_id g = ry_emit_expr_with(e, "-x0 * x1 / sqrt(x2 + e)", &epsilon, 1, 3,
                                                (ry_value_id[]){in[0], in[2], in[4]});
        call->dx[3] = channel_gradient(e, g, per_channel, node.in[3]);
    }
    if (call->wanted[4]) {
        const ry_value_id g = ry_emit_expr_with(
            e, "-0.5 * x0 * x2 * (x1 - x3) / ((x4 + e) * sqrt(x4 + e))", &epsilon, 1, 5, in);
        call->dx[4] = channel_gradient(e, g, per_channel, node.in[4]);
    }
}

/* With statistics given, as in inference. */
rynd_status ry_gradient_batch_norm(const ry_gradient_call *call)
{
    ry_emitter e = ry_gradient_emitter(call);
    const ry_node node = ry_gradient_node(call);
    const ry_shape x = ry_emit_shape(&e, node.in[0]);
    ry_shape per_channel = shape_of_channels(x.rank, ry_emit_shape(&e, node.in[1]).dim[0]);
    if (!node.attrs.batch_norm.spatial) {
        per_channel = ry_emit_shape(&e, node.in[1]);
    }
    if (call->wanted[3] || call->wanted[4]) {
        statistics_gradient(call, &e, &per_channel);
    }
    const ry_value_id variance = ry_emit_reshape(&e, node.in[4], &per_channel);
    const ry_value_id inverse = inverse_deviation(&e, variance, node.attrs.batch_norm.epsilon);
    if (call->wanted[1]) {
        const ry_value_id mean = ry_emit_reshape(&e, node.in[3], &per_channel);
        const ry_value_id product = ry_emit_expr(
            &e, "x0 * (x1 - x2) * x3", 4, (ry_value_id[]){call->dy[0], node.in[0], mean, inverse});
        call->dx[1] = channel_gradient(&e, product, &per_channel, node.in[1]);
    }
    if (call->wanted[2]) {
        call->dx[2] = channel_gradient(&e, call->dy[0], &per_channel, node.in[2]);
    }
    if (call->wanted[0]) {
        const ry_value_id scale = ry_emit_reshape(&e, node.in[1], &per_channel);
        call->dx[0] =
            ry_emit_expr(&e, "x0 * x1 * x2", 3, (ry_value_id[]){call->dy[0], scale, inverse});
    }
    return e.status;
}

static ry_ints softmax_axes(const ry_softmax_attrs *attrs, int rank)
{
    ry_ints axes = {.count = 0};
    for (int d = (int)attrs->axis; d < rank; d++) {
        if (attrs->flatten || d == attrs->axis) {
            axes.at[axes.count++] = d;
        }
    }
    return axes;
}

/* softmax: y * (dy - sum(dy * y)); its logarithm: dy - exp(y) * sum(dy); hardmax is constant where
 * it has a derivative, and so is what has one element alone. */
rynd_status ry_gradient_softmax(const ry_gradient_call *call)
{
    ry_emitter e = ry_gradient_emitter(call);
    const ry_node node = ry_gradient_node(call);
    const ry_softmax_attrs *attrs = &node.attrs.softmax;
    const ry_ints axes = softmax_axes(attrs, ry_emit_shape(&e, node.in[0]).rank);
    const ry_value_id in[2] = {call->dy[0], node.out[0]};
    if (attrs->kind == RY_softmax_kind_hardmax || axes.count == 0) {
        return RYND_OK;
    }
    const bool log = attrs->kind == RY_softmax_kind_log_softmax;
    const ry_value_id sum = log ? ry_emit_reduce(&e, "sum(x0)", &axes, true, 1, in)
                                : ry_emit_reduce(&e, "sum(x0 * x1)", &axes, true, 2, in);
    call->dx[0] = ry_emit_expr(&e, log ? "x0 - exp(x1) * x2" : "x1 * (x0 - x2)", 3,
                               (ry_value_id[]){in[0], in[1], sum});
    return e.status;
}

/* Sums over a window of channels over its size, of v[N, 1, C, rest]; reversed: of the channels
 * whose windows a channel is in. */
static ry_value_id channel_window(ry_emitter *e, ry_value_id v, int64_t size, bool reversed)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_pool);
    const int64_t before = (size - 1) / 2, after = size - 1 - before;
    attrs.pool.kind = RY_pool_kind_average;
    attrs.pool.count_include_pad = 1;
    attrs.pool.kernel = (ry_ints){2, {size, 1}};
    attrs.pool.pads = (ry_ints){4, {reversed ? after : before, 0, reversed ? before : after, 0}};
    return ry_emit(e, RY_OP_pool, &attrs, 1, &v);
}

/* y = x / s^beta with s = bias + alpha * (mean of x^2 over the window):
 * dx = dy / s^beta - 2 alpha beta x * (mean of dy x / s^(beta + 1) over the reversed window) */
rynd_status ry_gradient_lrn(const ry_gradient_call *call)
{
    ry_emitter e = ry_gradient_emitter(call);
    const ry_node node = ry_gradient_node(call);
    const ry_lrn_attrs *attrs = &node.attrs.lrn;
    const ry_shape shape = ry_emit_shape(&e, node.in[0]);
    ry_shape rows = {.rank = 4, .dim = {shape.dim[0], 1, shape.dim[1], 1}};
    for (int d = 2; d < shape.rank; d++) {
        rows.dim[3] *= shape.dim[d];
    }
    const ry_value_id x = ry_emit_reshape(&e, node.in[0], &rows);
    const ry_value_id dy = ry_emit_reshape(&e, call->dy[0], &rows);
    const ry_value_id squares = ry_emit_expr(&e, "x0 * x0", 1, &x);
    const ry_value_id mean = channel_window(&e, squares, attrs->size, false);
    const ry_expr_parameter numbers[] = {{"bias", attrs->bias},
                                         {"alpha", attrs->alpha},
                                         {"beta", attrs->beta},
                                         {"slope", 2 * attrs->alpha * attrs->beta}};
    const ry_value_id s = ry_emit_expr_with(&e, "bias + alpha * x0", numbers, 4, 1, &mean);
    const ry_value_id inner = ry_emit_expr_with(&e, "x0 * x1 * pow(x2, -beta - 1)", numbers, 4, 3,
                                                (ry_value_id[]){dy, x, s});
    const ry_value_id sums = channel_window(&e, inner, attrs->size, true);
    const ry_value_id dx = ry_emit_expr_with(&e, "x0 * pow(x2, -beta) - slope * x1 * x3", numbers,
                                             4, 4, (ry_value_id[]){dy, x, s, sums});
    call->dx[0] = ry_emit_reshape(&e, dx, &shape);
    return e.status;
}
