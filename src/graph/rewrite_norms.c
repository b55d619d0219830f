/* SPDX-License-Identifier: Apache-2.0 */
/* Normalisations and softmaxes that no kernel computes become expressions, whose loops are one text
 * for all types: float64, BatchNormalization of every position, LayerNormalization whose scale or
 * bias is broadcast within a row. Hardmax becomes ArgMax and OneHot. */
#include "graph/rewrite.h"
#include "graph/rewrite_rule.h"

#include "base/integer.h"

static ry_value_id expr_with(ry_rule_call *n, const char *text, const char *name, double number,
                             int inputs, const ry_value_id *in)
{
    const ry_expr_parameter parameter = {name, number};
    return ry_emit_expr_with(&n->emitter, text, &parameter, 1, inputs, in);
}

static ry_ints axes_from(int begin, int end)
{
    ry_ints axes = {.count = end - begin};
    for (int i = begin; i < end; i++) {
        axes.at[i - begin] = i;
    }
    return axes;
}

/* y * scale + bias; an absent one is left out. */
static ry_value_id scale(ry_rule_call *n, ry_value_id y, ry_value_id factor, ry_value_id bias)
{
    if (factor != RY_NO_VALUE) {
        y = ry_rule_expr(n, "x0 * x1", 2, (ry_value_id[]){y, factor});
    }
    return bias == RY_NO_VALUE ? y : ry_rule_expr(n, "x0 + x1", 2, (ry_value_id[]){y, bias});
}

/* The dims of one row: [begin, end). */
static ry_ints softmax_axes(const ry_rule_call *n)
{
    const ry_softmax_attrs *a = &n->node.attrs.softmax;
    const int axis = ry_axis(a->axis, n->shape.rank);
    return axes_from(axis, a->flatten ? n->shape.rank : axis + 1);
}

static ry_value_id hardmax(ry_rule_call *n)
{
    ry_emitter *e = &n->emitter;
    const ry_ints axes = softmax_axes(n);
    int axis = (int)axes.at[0];
    ry_value_id x = n->node.in[0];
    if (axes.count > 1) { /* rows as one dim */
        ry_shape rows = {.rank = axis + 1};
        for (int i = 0; i <= axis; i++) {
            rows.dim[i] = i < axis ? n->shape.dim[i] : 1;
        }
        for (int i = axis; i < n->shape.rank; i++) {
            rows.dim[axis] *= n->shape.dim[i];
        }
        x = ry_emit_reshape(e, x, &rows);
    }
    ry_attrs reduce = ry_attrs_default(RY_OP_arg_reduce), hot = ry_attrs_default(RY_OP_one_hot);
    reduce.arg_reduce.axis = axis;
    reduce.arg_reduce.keepdims = 0;
    hot.one_hot.axis = axis;
    const int64_t depth = ry_emit_shape(e, x).dim[axis], values[] = {0, 1};
    const ry_value_id place = ry_emit(e, RY_OP_arg_reduce, &reduce, 1, &x),
                      classes = ry_emit_i64s(e, 1, &depth), numbers = ry_emit_i64s(e, 2, values);
    const char *cast = ry_arena_format(&e->graph->arena, "cast(x0, %s)", ry_dtype_name(n->dtype));
    const ry_value_id in[] = {place, classes,
                              cast ? ry_rule_expr(n, cast, 1, &numbers) : RY_NO_VALUE};
    return ry_emit(e, RY_OP_one_hot, &hot, 3, in);
}

/* A scalar, or an axis behind the last one (flatten): each element is a row. */
static ry_value_id softmax_of_one(ry_rule_call *n)
{
    static const char *const programs[] = {
        [RY_softmax_kind_softmax] = "exp(x0 - x0)",
        [RY_softmax_kind_log_softmax] = "x0 - x0",
        [RY_softmax_kind_hardmax] = "pow(x0, 0)", /* 1, even if x0 is NaN */
    };
    return ry_rule_expr(n, programs[n->node.attrs.softmax.kind], 1, n->node.in);
}

static ry_value_id softmax(ry_rule_call *n)
{
    if (n->node.attrs.softmax.kind == RY_softmax_kind_hardmax) {
        return hardmax(n);
    }
    ry_emitter *e = &n->emitter;
    const ry_ints axes = softmax_axes(n);
    const ry_value_id x = n->node.in[0], highest = ry_emit_reduce(e, "max(x0)", &axes, true, 1, &x);
    if (n->node.attrs.softmax.kind == RY_softmax_kind_log_softmax) {
        const ry_value_id d = ry_rule_expr(n, "x0 - x1", 2, (ry_value_id[]){x, highest});
        const ry_value_id sum = ry_emit_reduce(e, "log(sum(exp(x0)))", &axes, true, 1, &d);
        return ry_rule_expr(n, "x0 - x1", 2, (ry_value_id[]){d, sum});
    }
    const ry_value_id y = ry_rule_expr(n, "exp(x0 - x1)", 2, (ry_value_id[]){x, highest});
    const ry_value_id sum = ry_emit_reduce(e, "sum(x0)", &axes, true, 1, &y);
    return ry_rule_expr(n, "x0 / x1", 2, (ry_value_id[]){y, sum});
}

/* (x - mean) / deviation over some dims; *mean and *inverse as they are computed. */
static ry_value_id normalise(ry_rule_call *n, ry_value_id x, const ry_ints *axes, double epsilon,
                             bool rms, ry_value_id *mean, ry_value_id *inverse)
{
    static const char deviation[] = "1 / sqrt(mean(x0 * x0) + e)";
    const ry_expr_parameter e = {"e", epsilon};
    ry_emitter *emitter = &n->emitter;
    *mean = RY_NO_VALUE;
    if (!rms) {
        *mean = ry_emit_reduce(emitter, "mean(x0)", axes, true, 1, &x);
        x = ry_rule_expr(n, "x0 - x1", 2, (ry_value_id[]){x, *mean});
    }
    ry_attrs attrs = ry_attrs_default(RY_OP_expr);
    attrs.expr.program = ry_emit_program_with(emitter, deviation, &e, 1);
    attrs.expr.axes = *axes;
    *inverse = ry_emit(emitter, RY_OP_expr, &attrs, 1, &x);
    return ry_rule_expr(n, "x0 * x1", 2, (ry_value_id[]){x, *inverse});
}

static ry_value_id layer_norm(ry_rule_call *n)
{
    const ry_layer_norm_attrs *a = &n->node.attrs.layer_norm;
    const ry_ints axes = axes_from(ry_axis(a->axis, n->shape.rank), n->shape.rank);
    ry_value_id mean, inverse;
    const ry_value_id y =
        normalise(n, n->node.in[0], &axes, a->epsilon, a->rms != 0, &mean, &inverse);
    ry_rule_give(n, 1, a->rms ? ry_rule_expr(n, "x0 * 0", 1, &inverse) : mean);
    ry_rule_give(n, 2, inverse);
    return scale(n, y, ry_rule_has_input(&n->node, 1) ? n->node.in[1] : RY_NO_VALUE,
                 ry_rule_has_input(&n->node, 2) ? n->node.in[2] : RY_NO_VALUE);
}

static ry_value_id group_norm(ry_rule_call *n)
{
    const ry_group_norm_attrs *a = &n->node.attrs.group_norm;
    ry_shape groups = {.rank = 3, .dim = {n->shape.dim[0], a->groups, 1}};
    groups.dim[2] = ry_shape_elements(&n->shape) / (groups.dim[0] * groups.dim[1]);
    const ry_ints axes = axes_from(2, 3);
    ry_value_id mean, inverse;
    const ry_value_id x = ry_emit_reshape(&n->emitter, n->node.in[0], &groups);
    const ry_value_id y = normalise(n, x, &axes, a->epsilon, false, &mean, &inverse);
    return scale(n, ry_emit_reshape(&n->emitter, y, &n->shape),
                 ry_rule_along_channels(n, n->node.in[1]),
                 ry_rule_along_channels(n, n->node.in[2]));
}

/* A product and a sum, as for float32: both may join a convolution, and what is computed of
 * constants alone is folded. */
static ry_value_id batch_norm(ry_rule_call *n)
{
    const ry_batch_norm_attrs *a = &n->node.attrs.batch_norm;
    ry_value_id in[5] = {n->node.in[0]};
    for (int i = 1; i < 5; i++) {
        in[i] = a->spatial && n->shape.rank > 1 ? ry_rule_along_channels(n, n->node.in[i])
                                                : n->node.in[i];
    }
    const ry_value_id factor =
        expr_with(n, "x0 / sqrt(x1 + e)", "e", a->epsilon, 2, (ry_value_id[]){in[1], in[4]});
    const ry_value_id shift =
        ry_rule_expr(n, "x0 - x1 * x2", 3, (ry_value_id[]){in[2], in[3], factor});
    const ry_value_id scaled = ry_rule_expr(n, "x0 * x1", 2, (ry_value_id[]){in[0], factor});
    return ry_rule_expr(n, "x0 + x1", 2, (ry_value_id[]){scaled, shift});
}

/* The mean of squares of neighbouring channels is an average pooling along the channels. */
static ry_value_id lrn(ry_rule_call *n)
{
    ry_emitter *e = &n->emitter;
    const ry_lrn_attrs *a = &n->node.attrs.lrn;
    const int64_t channels = n->shape.dim[1], images = n->shape.dim[0],
                  before = ry_min((a->size - 1) / 2, channels - 1),
                  behind = ry_min(a->size / 2, channels - 1), taps = before + 1 + behind;
    const ry_shape planes = {
        .rank = 4,
        .dim = {images, 1, channels, ry_shape_elements(&n->shape) / (images * channels)}};
    ry_attrs pool = ry_attrs_default(RY_OP_pool);
    pool.pool.kind = RY_pool_kind_average;
    pool.pool.kernel = (ry_ints){2, {taps, 1}};
    pool.pool.pads = (ry_ints){4, {before, 0, behind, 0}};
    pool.pool.count_include_pad = 1;
    const ry_value_id x = n->node.in[0], flat = ry_emit_reshape(e, x, &planes);
    const ry_value_id squares = ry_rule_expr(n, "x0 * x0", 1, &flat);
    const ry_value_id mean =
        ry_emit_reshape(e, ry_emit(e, RY_OP_pool, &pool, 1, &squares), &n->shape);
    const ry_expr_parameter parameters[] = {
        {"a", a->alpha * (double)taps / (double)a->size}, {"b", a->bias}, {"p", a->beta}};
    return ry_emit_expr_with(e, "x0 / pow(x1 * a + b, p)", parameters, 3, 2,
                             (ry_value_id[]){x, mean});
}

/* Does a scale or bias have other elements than a row? */
static bool broadcasts_in_rows(const ry_graph *graph, const ry_node *node, const ry_shape *x)
{
    int64_t length = 1;
    for (int i = ry_axis(node->attrs.layer_norm.axis, x->rank); i < x->rank; i++) {
        length *= x->dim[i];
    }
    for (int i = 1; i < 3; i++) {
        if (ry_rule_has_input(node, i) &&
            ry_shape_elements(&graph->values[node->in[i]].shape) != length) {
            return true;
        }
    }
    return false;
}

/* Operands of one type, and elements. */
static bool is_plain(const ry_graph *graph, const ry_node *node)
{
    for (int i = 0; i < node->inputs; i++) {
        if (ry_rule_has_input(node, i) &&
            graph->values[node->in[i]].dtype != graph->values[node->in[0]].dtype) {
            return false;
        }
    }
    return ry_shape_elements(&graph->values[node->in[0]].shape) > 0;
}

/* NULL: a kernel computes it. */
static ry_rule rule_of(const ry_graph *graph, const ry_node *node)
{
    if (!is_plain(graph, node)) {
        return NULL;
    }
    const ry_value *x = &graph->values[node->in[0]];
    const bool wide = x->dtype == RY_f64;
    switch (node->op) {
    case RY_OP_softmax:
        if (x->shape.rank == 0 || node->attrs.softmax.axis == x->shape.rank) {
            return softmax_of_one;
        }
        if (ry_axis(node->attrs.softmax.axis, x->shape.rank) < 0) {
            return NULL;
        }
        return wide || node->attrs.softmax.kind == RY_softmax_kind_hardmax ? softmax : NULL;
    case RY_OP_layer_norm:
        return wide || broadcasts_in_rows(graph, node, &x->shape) ? layer_norm : NULL;
    case RY_OP_group_norm: return wide ? group_norm : NULL;
    case RY_OP_batch_norm: return wide || !node->attrs.batch_norm.spatial ? batch_norm : NULL;
    case RY_OP_lrn: return wide ? lrn : NULL;
    default: return NULL;
    }
}

rynd_status ry_rewrite_norms(ry_graph *graph, bool *changed, ry_error *error)
{
    return ry_rewrite_by_rules(graph, rule_of, changed, error);
}
