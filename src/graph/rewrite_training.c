/* SPDX-License-Identifier: Apache-2.0 */
/* Training steps and pools of types that no kernel computes become operators that have kernels of
 * every type: expressions, scatters, transposed convolutions. */
#include "graph/rewrite.h"
#include "graph/rewrite_rule.h"
#include "problem/window.h"

#include <string.h>

static ry_value_id expr(ry_rule_call *c, const char *text, int inputs, const ry_value_id *in)
{
    return ry_rule_expr(c, text, inputs, in);
}

/* All dims but the channels. */
static ry_ints channel_axes(const ry_rule_call *c)
{
    ry_ints axes = {.count = 0};
    for (int i = 0; i < c->shape.rank; i++) {
        if (i != 1) {
            axes.at[axes.count++] = i;
        }
    }
    return axes;
}

static double channel_elements(const ry_rule_call *c)
{
    return (double)(ry_shape_elements(&c->shape) / c->shape.dim[1]);
}

/* An input in float64. */
static ry_value_id wide_input(ry_rule_call *c, int input)
{
    const ry_value_id in = c->node.in[input];
    return ry_emit_dtype(&c->emitter, in) == RY_f64 ? in : ry_rule_cast(c, in, RY_f64);
}

static ry_value_id channel_input(ry_rule_call *c, int input)
{
    return ry_rule_along_channels(c, wide_input(c, input));
}

static ry_value_id from_wide(ry_rule_call *c, ry_value_id y)
{
    return c->dtype == RY_f64 ? y : ry_rule_cast(c, y, c->dtype);
}

/* x0, beside x1 = what the activation made, under texts for relu and clip. */
static ry_value_id activated(ry_rule_call *c, ry_activation activation, double a, double b,
                             const char *const texts[2], int inputs, const ry_value_id *in)
{
    const ry_expr_parameter bounds[] = {{"a", a}, {"b", b}};
    if (activation == RY_activation_none) {
        return in[0];
    }
    return ry_emit_expr_with(&c->emitter, texts[activation == RY_activation_clip], bounds, 2,
                             inputs, in);
}

static ry_value_id batch_norm_train(ry_rule_call *c)
{
    static const char *const activations[] = {"max(x0, 0)", "min(max(x0, a), b)"};
    const ry_batch_norm_train_attrs *a = &c->node.attrs.batch_norm_train;
    const ry_ints axes = channel_axes(c);
    const double n = channel_elements(c);
    const ry_expr_parameter epsilon = {"e", a->epsilon};
    const ry_expr_parameter moved[] = {
        {"m", a->momentum}, {"k", 1 - a->momentum}, {"n", n}, {"d", n - 1}};
    ry_emitter *e = &c->emitter;
    const ry_value_id x = wide_input(c, 0),
                      mean = ry_emit_reduce(e, "mean(x0)", &axes, true, 1, &x);
    const ry_value_id centred = expr(c, "x0 - x1", 2, (ry_value_id[]){x, mean});
    const ry_value_id variance = ry_emit_reduce(e, "mean(x0 * x0)", &axes, true, 1, &centred);
    const ry_value_id inverse = ry_emit_expr_with(e, "1 / sqrt(x0 + e)", &epsilon, 1, 1, &variance);
    ry_value_id y =
        expr(c, "x0 * x1 * x2 + x3", 4,
             (ry_value_id[]){centred, inverse, channel_input(c, 1), channel_input(c, 2)});
    if (ry_rule_has_input(&c->node, 5)) {
        y = expr(c, "x0 + x1", 2, (ry_value_id[]){y, wide_input(c, 5)});
    }
    ry_rule_give(c, 1, mean);
    ry_rule_give(c, 2, inverse);
    ry_rule_give(c, 3,
                 ry_emit_expr_with(e, "x0 * k + x1 * m", moved, 4, 2,
                                   (ry_value_id[]){channel_input(c, 3), mean}));
    ry_rule_give(c, 4,
                 ry_emit_expr_with(e, "x0 * k + x1 * n / d * m", moved, 4, 2,
                                   (ry_value_id[]){channel_input(c, 4), variance}));
    return from_wide(c, activated(c, a->activation, a->act_alpha, a->act_beta, activations, 1, &y));
}

static ry_value_id batch_norm_grad(ry_rule_call *c)
{
    static const char *const passes[] = {"select(x1 <= 0, 0, x0)",
                                         "select(x1 <= a, 0, select(x1 >= b, 0, x0))"};
    const ry_batch_norm_grad_attrs *a = &c->node.attrs.batch_norm_grad;
    const ry_ints axes = channel_axes(c);
    const ry_expr_parameter count = {"n", channel_elements(c)};
    const ry_value_id scale = channel_input(c, 2), mean = channel_input(c, 3),
                      inverse = channel_input(c, 4);
    ry_emitter *e = &c->emitter;
    const bool active = a->activation != RY_activation_none;
    const ry_value_id given[] = {wide_input(c, 0), active ? wide_input(c, 5) : RY_NO_VALUE};
    const ry_value_id dy = activated(c, a->activation, a->act_alpha, a->act_beta, passes, 2, given);
    const ry_value_id centred = expr(c, "x0 - x1", 2, (ry_value_id[]){wide_input(c, 1), mean});
    const ry_value_id both[] = {dy, centred};
    const ry_value_id sum = ry_emit_reduce(e, "sum(x0)", &axes, true, 1, &dy),
                      products = expr(
                          c, "x0 * x1", 2,
                          (ry_value_id[]){ry_emit_reduce(e, "sum(x0 * x1)", &axes, true, 2, both),
                                          inverse});
    ry_rule_give(c, 1, products);
    ry_rule_give(c, 2, sum);
    ry_rule_give(c, 3, dy);
    if (a->fixed) {
        return from_wide(c, expr(c, "x0 * (x1 * x2)", 3, (ry_value_id[]){dy, inverse, scale}));
    }
    return from_wide(
        c, ry_emit_expr_with(e, "(x0 - (x4 + x1 * x2 * x5) / n) * (x2 * x3)", &count, 1, 6,
                             (ry_value_id[]){dy, centred, inverse, scale, sum, products}));
}

/* The same random numbers choose among ones. */
static ry_value_id dropout(ry_rule_call *c)
{
    enum { STEP = 1, SEED, OFFSET, INPUTS };
    const ry_expr_parameter scale = {"s", 1 / (1 - c->node.attrs.dropout.ratio)};
    ry_emitter *e = &c->emitter;
    ry_value_id in[INPUTS] = {ry_emit_filled(e, RY_f32, &c->shape, 1)};
    for (int i = STEP; i < INPUTS; i++) {
        in[i] = i < c->node.inputs ? c->node.in[i] : RY_NO_VALUE;
    }
    const ry_value_id stays = ry_emit(e, RY_OP_dropout, &c->node.attrs, INPUTS, in);
    ry_rule_give(c, 1, expr(c, "x0 > 0", 1, &stays));
    return ry_emit_expr_with(e, "select(x1 > 0, x0 * s, 0)", &scale, 1, 2,
                             (ry_value_id[]){c->node.in[0], stays});
}

/* A depthwise convolution of ones over the pool's windows. */
static ry_attrs window_of_ones(const ry_rule_call *c, int64_t channels)
{
    const ry_window w =
        ry_window_of_attrs(RY_OP_pool_grad, &c->node.attrs, c->shape.rank - 2,
                           c->node.attrs.pool_grad.image.at, c->shape.dim + 2, NULL);
    ry_attrs attrs = ry_attrs_default(RY_OP_conv);
    ry_conv_attrs *conv = &attrs.conv;
    conv->groups = channels;
    conv->stride.count = conv->dilation.count = w.rank;
    conv->pads.count = 2 * w.rank;
    for (int i = 0; i < w.rank; i++) {
        const ry_window_axis *axis = &w.axis[i];
        const int64_t reach = (axis->out - 1) * axis->stride + ry_window_field(axis);
        conv->stride.at[i] = axis->stride;
        conv->dilation.at[i] = axis->dilation;
        conv->pads.at[i] = axis->pad;
        conv->pads.at[w.rank + i] = ry_max(reach - axis->pad - axis->in, axis->pad_end);
    }
    return attrs;
}

static ry_value_id ones(ry_rule_call *c, ry_dtype dtype, int64_t channels)
{
    const ry_ints *kernel = &c->node.attrs.pool_grad.kernel;
    ry_shape shape = {.rank = kernel->count + 2, .dim = {channels, 1}};
    for (int i = 0; i < kernel->count; i++) {
        shape.dim[i + 2] = kernel->at[i];
    }
    return ry_emit_filled(&c->emitter, dtype, &shape, 1);
}

/* Each element of x gets the sum over the windows that contain it. */
static ry_value_id spread(ry_rule_call *c, ry_value_id windows)
{
    const ry_shape image = ry_emit_shape(&c->emitter, c->node.out[0]), *shapes[] = {&image};
    ry_attrs attrs = window_of_ones(c, image.dim[1]);
    attrs.conv.dir = RY_direction_bwd_data;
    const ry_value_id in[] = {windows, ones(c, ry_emit_dtype(&c->emitter, windows), image.dim[1])};
    ry_value_id dx = RY_NO_VALUE;
    ry_emit_outputs(&c->emitter, RY_OP_conv, &attrs, 2, in, 1, shapes, &dx);
    return dx;
}

/* Elements of x in each window, or with its padding, as [1,1,..]. */
static ry_value_id counted(ry_rule_call *c, bool padded)
{
    const ry_ints *image = &c->node.attrs.pool_grad.image, *pads = &c->node.attrs.pool_grad.pads;
    ry_attrs attrs = window_of_ones(c, 1);
    ry_shape shape = {.rank = image->count + 2, .dim = {1, 1}};
    for (int i = 0; i < image->count; i++) {
        const int64_t begin = pads->count ? pads->at[i] : 0,
                      end = pads->count ? pads->at[image->count + i] : 0;
        shape.dim[i + 2] = image->at[i] + (padded ? begin + end : 0);
        if (padded) {
            attrs.conv.pads.at[i] = 0;
            attrs.conv.pads.at[image->count + i] -= end;
        }
    }
    const ry_value_id in[] = {ry_emit_filled(&c->emitter, c->dtype, &shape, 1),
                              ones(c, c->dtype, 1)};
    return ry_emit(&c->emitter, RY_OP_conv, &attrs, 2, in);
}

/* Do all windows of an adaptive pool have one size? Then a kernel with strides says the same. */
static bool has_equal_windows(const ry_pool_grad_attrs *a, const ry_shape *dy)
{
    bool equal = true;
    for (int i = 0; i < a->image.count; i++) {
        equal &= a->image.at[i] % dy->dim[i + 2] == 0;
    }
    return equal;
}

static void take_equal_windows(ry_pool_grad_attrs *a, const ry_shape *dy)
{
    if (!a->adaptive || !has_equal_windows(a, dy)) {
        return;
    }
    a->adaptive = 0;
    a->kernel.count = a->image.count;
    for (int i = 0; i < a->image.count; i++) {
        a->kernel.at[i] = a->image.at[i] / dy->dim[i + 2];
    }
    a->stride = a->kernel;
}

/* What each position of an adaptive mean gives to each element: [positions, elements]. */
static ry_value_id window_shares(ry_rule_call *c, int64_t positions, int64_t elements)
{
    const ry_shape shape = ry_shape_of(2, (int64_t[]){positions, elements});
    ry_graph *graph = c->emitter.graph;
    const ry_value_id shares = ry_graph_add_constant(graph, NULL, RY_f64, &shape, NULL);
    if (shares == RY_NO_VALUE) {
        ry_emit_fail(&c->emitter, RYND_ERROR_OUT_OF_MEMORY, "out of memory");
        return shares;
    }
    double *to = ry_graph_constant_data(graph, shares);
    for (int64_t o = 0; o < positions; o++) {
        const int64_t begin = o * elements / positions,
                      end = ((o + 1) * elements + positions - 1) / positions;
        for (int64_t i = begin; i < end; i++) {
            to[o * elements + i] = 1 / (double)(end - begin);
        }
    }
    return shares;
}

/* A product for each axis: windows of different sizes. */
static ry_value_id adaptive_grad(ry_rule_call *c)
{
    const ry_ints *image = &c->node.attrs.pool_grad.image;
    const ry_shape whole = ry_emit_shape(&c->emitter, c->node.out[0]);
    ry_value_id y = c->node.in[0];
    ry_shape dims = c->shape;
    for (int i = 0; i < image->count; i++) {
        ry_shape rows = {.rank = 3, .dim = {1, dims.dim[i + 2], 1}};
        ry_attrs attrs = ry_attrs_default(RY_OP_einsum);
        for (int d = 0; d < dims.rank; d++) {
            rows.dim[d < i + 2 ? 0 : 2] *= d == i + 2 ? 1 : dims.dim[d];
        }
        attrs.einsum.equation = "aob,oi->aib";
        y = ry_emit(&c->emitter, RY_OP_einsum, &attrs, 2,
                    (ry_value_id[]){ry_emit_reshape(&c->emitter, y, &rows),
                                    window_shares(c, dims.dim[i + 2], image->at[i])});
        dims.dim[i + 2] = image->at[i];
    }
    return ry_emit_reshape(&c->emitter, y, &whole);
}

static ry_value_id average_grad(ry_rule_call *c)
{
    take_equal_windows(&c->node.attrs.pool_grad, &c->shape);
    if (c->node.attrs.pool_grad.adaptive) {
        return adaptive_grad(c);
    }
    const bool padded = c->node.attrs.pool_grad.count_include_pad != 0;
    return spread(c, expr(c, "x0 / x1", 2, (ry_value_id[]){c->node.in[0], counted(c, padded)}));
}

/* Adds each window's gradient where its maximum is; a window without elements passes nothing. */
static ry_value_id max_grad(ry_rule_call *c)
{
    const ry_pool_grad_attrs *a = &c->node.attrs.pool_grad;
    ry_emitter *e = &c->emitter;
    ry_attrs pool = ry_attrs_default(RY_OP_pool),
             scatter = ry_attrs_default(RY_OP_scatter_elements);
    pool.pool.kernel = a->kernel;
    pool.pool.stride = a->stride;
    pool.pool.dilation = a->dilation;
    pool.pool.pads = a->pads;
    pool.pool.ceil_mode = a->ceil_mode;
    if (a->adaptive) {
        pool.pool.output = a->image;
        memcpy(pool.pool.output.at, c->shape.dim + 2,
               (size_t)a->image.count * sizeof *pool.pool.output.at);
    }
    scatter.scatter_elements.axis = 0;
    scatter.scatter_elements.reduction = RY_scatter_reduction_add;
    const ry_shape image = ry_emit_shape(e, c->node.in[1]),
                   all = ry_shape_of(1, (int64_t[]){ry_shape_elements(&image)}),
                   windows = ry_shape_of(1, (int64_t[]){ry_shape_elements(&c->shape)});
    ry_value_id pooled[2];
    if (!ry_emit_outputs(e, RY_OP_pool, &pool, 1, &c->node.in[1], 2, NULL, pooled)) {
        return RY_NO_VALUE;
    }
    const ry_value_id dy = a->adaptive ? c->node.in[0]
                                       : expr(c, "select(x1 > 0, x0, 0)", 2,
                                              (ry_value_id[]){c->node.in[0], counted(c, false)});
    const ry_value_id in[] = {ry_emit_filled(e, c->dtype, &all, 0),
                              ry_emit_reshape(e, pooled[1], &windows),
                              ry_emit_reshape(e, dy, &windows)};
    return ry_emit_reshape(e, ry_emit(e, RY_OP_scatter_elements, &scatter, 3, in), &image);
}

/* y = (sum of |x|^p)^(1/p), so that dx = sign(x) |x|^(p-1) * sum of dy / y^(p-1). In float64 from p
 * = 3 on: the power of a float32 could overflow. */
static ry_value_id norm_grad(ry_rule_call *c)
{
    const ry_expr_parameter q = {"q", (double)c->node.attrs.pool_grad.p - 1};
    const ry_dtype dtype = q.value > 1 ? RY_f64 : c->dtype;
    ry_value_id in[3];
    for (int i = 0; i < 3; i++) {
        in[i] = dtype == c->dtype ? c->node.in[i] : ry_rule_cast(c, c->node.in[i], dtype);
    }
    const ry_value_id share = ry_emit_expr_with(&c->emitter, "select(x1 == 0, 0, x0 / pow(x1, q))",
                                                &q, 1, 2, (ry_value_id[]){in[0], in[2]});
    const ry_value_id dx = ry_emit_expr_with(
        &c->emitter, "select(x0 < 0, 0 - x1, select(x0 > 0, x1, x0 * x1)) * pow(abs(x0), q)", &q, 1,
        2, (ry_value_id[]){in[1], spread(c, share)});
    return dtype == c->dtype ? dx : ry_rule_cast(c, dx, c->dtype);
}

/* Means and norms of integers, which are exact to 2^53. A norm that does not fit its type loses its
 * upper bits. */
static ry_value_id pool_of_integers(ry_rule_call *c)
{
    const ry_value_id wide = ry_rule_cast(c, c->node.in[0], RY_f64);
    const ry_value_id y = ry_emit(&c->emitter, RY_OP_pool, &c->node.attrs, 1, &wide);
    return c->dtype == RY_u64 ? ry_rule_cast(c, y, RY_u64)
                              : ry_rule_cast(c, ry_rule_cast(c, y, RY_i64), c->dtype);
}

static ry_value_id separable_conv(ry_rule_call *c)
{
    const ry_separable_conv_attrs *a = &c->node.attrs.separable_conv;
    ry_value_id in[6];
    for (int i = 0; i < 6; i++) {
        in[i] = i < c->node.inputs ? c->node.in[i] : RY_NO_VALUE;
    }
    ry_attrs depthwise = ry_attrs_default(RY_OP_conv), pointwise = depthwise;
    depthwise.conv.stride = a->stride;
    depthwise.conv.dilation = a->dilation;
    depthwise.conv.pads = a->pads;
    depthwise.conv.groups = c->shape.dim[1];
    depthwise.conv.activation = a->mid_activation;
    depthwise.conv.act_alpha = a->mid_alpha;
    depthwise.conv.act_beta = a->mid_beta;
    pointwise.conv.activation = a->activation;
    pointwise.conv.act_alpha = a->act_alpha;
    pointwise.conv.act_beta = a->act_beta;
    const ry_value_id middle = ry_emit(&c->emitter, RY_OP_conv, &depthwise, 3, in);
    return ry_emit(&c->emitter, RY_OP_conv, &pointwise, 4,
                   (ry_value_id[]){middle, in[3], in[4], in[5]});
}

static bool has_wide(const ry_graph *graph, const ry_node *node)
{
    bool any = false;
    for (int i = 0; i < node->inputs; i++) {
        any |= ry_rule_has_input(node, i) && graph->values[node->in[i]].dtype == RY_f64;
    }
    return any;
}

/* Are tables of positions and elements small? */
static bool has_small_axes(const ry_pool_grad_attrs *a, const ry_shape *dy)
{
    const int64_t most = (int64_t)1 << 18;
    bool small = true;
    for (int i = 0; i < a->image.count; i++) {
        small = small && dy->dim[i + 2] <= most / ry_max(a->image.at[i], 1);
    }
    return small;
}

static ry_rule pool_grad_of(const ry_pool_grad_attrs *a, const ry_shape *dy, bool wide)
{
    static const ry_rule pool_grads[] = {[RY_pool_kind_max] = max_grad,
                                         [RY_pool_kind_average] = average_grad,
                                         [RY_pool_kind_lp] = norm_grad};
    const bool average = a->kind == RY_pool_kind_average;
    if (wide && average && a->adaptive && !has_equal_windows(a, dy) && !has_small_axes(a, dy)) {
        return NULL;
    }
    return wide || a->kind == RY_pool_kind_lp ? pool_grads[a->kind] : NULL;
}

/* NULL: a kernel computes it, in 16 bits after float32 took their place. */
static ry_rule rule_of(const ry_graph *graph, const ry_node *node)
{
    const ry_value *x = &graph->values[node->in[0]];
    const bool wide = x->dtype == RY_f64;
    if (ry_shape_elements(&x->shape) <= 0) {
        return NULL;
    }
    switch (node->op) {
    case RY_OP_batch_norm_train: return has_wide(graph, node) ? batch_norm_train : NULL;
    case RY_OP_batch_norm_grad: return has_wide(graph, node) ? batch_norm_grad : NULL;
    case RY_OP_dropout: return wide ? dropout : NULL;
    case RY_OP_separable_conv: return wide ? separable_conv : NULL;
    case RY_OP_pool:
        return !ry_dtype_is_float(x->dtype) && node->attrs.pool.kind != RY_pool_kind_max
                   ? pool_of_integers
                   : NULL;
    case RY_OP_pool_grad: return pool_grad_of(&node->attrs.pool_grad, &x->shape, wide);
    default: return NULL;
    }
}

rynd_status ry_rewrite_training(ry_graph *graph, bool *changed, ry_error *error)
{
    return ry_rewrite_by_rules(graph, rule_of, changed, error);
}
