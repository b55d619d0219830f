/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of softmax and of normalisations along rows become expressions: sums over rows, the
 * gradient of x, and sums over all rows for scale and bias. 16-bit types compute in float32. */
#include "graph/rewrite.h"
#include "graph/rewrite_rule.h"
#include "problem/norm_rows.h"

/* The type of sums. */
static ry_dtype wide(const ry_rule_call *g)
{
    return g->dtype == RY_f64 ? RY_f64 : RY_f32;
}

static bool gives(const ry_rule_call *g, int output)
{
    return output < g->node.outputs && g->node.out[output] != RY_NO_VALUE;
}

static ry_value_id cast(ry_rule_call *g, ry_value_id value, ry_dtype dtype)
{
    return g->emitter.status != RYND_OK || ry_emit_dtype(&g->emitter, value) == dtype
               ? value
               : ry_rule_cast(g, value, dtype);
}

/* Input i under a shape, in the type of the sums. */
static ry_value_id take(ry_rule_call *g, int i, const ry_shape *shape)
{
    return cast(g, ry_emit_reshape(&g->emitter, g->node.in[i], shape), wide(g));
}

/* Several reductions over the same axes in one pass. */
static void reduce(ry_rule_call *g, const char *text, const ry_ints *axes, int inputs,
                   const ry_value_id *in, ry_value_id sums[2])
{
    ry_attrs attrs = ry_attrs_default(RY_OP_expr);
    attrs.expr.program = text ? ry_emit_program(&g->emitter, text) : NULL;
    attrs.expr.axes = *axes;
    if (attrs.expr.program) {
        ry_emit_outputs(&g->emitter, RY_OP_expr, &attrs, inputs, in, 2, NULL, sums);
    }
}

/* ---- softmax ---- */

static ry_value_id softmax(ry_rule_call *g)
{
    const ry_softmax_grad_attrs *a = &g->node.attrs.softmax_grad;
    const bool log = a->kind == RY_softmax_kind_log_softmax;
    ry_emitter *e = &g->emitter;
    ry_ints axes = {.count = 0};
    ry_value_id in[] = {take(g, 0, &g->shape), take(g, 1, &g->shape), RY_NO_VALUE};
    for (int d = (int)a->axis; d < g->shape.rank && (a->flatten || d == a->axis); d++) {
        axes.at[axes.count++] = d;
    }
    if (axes.count == 0) { /* each element is a row */
        return ry_emit_expr(e, log ? "x0 - exp(x1) * x0" : "x1 * (x0 - x0 * x1)", 2, in);
    }
    in[2] = ry_emit_reduce(e, log ? "sum(x0)" : "sum(x0 * x1)", &axes, true, log ? 1 : 2, in);
    return ry_emit_expr(e, log ? "x0 - exp(x1) * x2" : "x1 * (x0 - x2)", 3, in);
}

/* ---- normalisations ---- */

/* With g = dy * scale and h = (x - mean) * inverse:
 *   dx = (g - mean(g) - h * mean(g * h)) * inverse; without mean(g) if no mean is subtracted
 *   dscale = sum(dy * h), dbias = sum(dy). */
typedef struct norm {
    ry_norm_rows rows;
    ry_shape data, statistic, scale;
    ry_ints in_row, across; /* axes of a mean; axes over which a scale's gradient is summed */
    bool centred, scaled;
    int inputs;
    ry_value_id in[7]; /* dy x inverse mean? scale? */
    const char *terms; /* "g = ..; h = ..; " */
} norm;

static ry_shape kept(const ry_norm_rows *rows, const bool *keep)
{
    ry_shape shape = {.rank = RY_NORM_DIMS};
    for (int d = 0; d < RY_NORM_DIMS; d++) {
        shape.dim[d] = keep[d] ? rows->dim[d] : 1;
    }
    return shape;
}

static norm describe(ry_rule_call *g)
{
    static const bool all[RY_NORM_DIMS] = {true, true, true, true};
    const ry_node *node = &g->node;
    norm n = {.rows = ry_norm_rows_of(node->op, &node->attrs, g->shape.rank, g->shape.dim),
              .centred = ry_rule_has_input(node, 3),
              .scaled = ry_rule_has_input(node, 2),
              .inputs = 3};
    n.data = kept(&n.rows, all);
    n.statistic = kept(&n.rows, n.rows.statistic);
    n.scale = kept(&n.rows, n.rows.scale);
    for (int d = 0; d < RY_NORM_DIMS; d++) {
        if (!n.rows.statistic[d]) {
            n.in_row.at[n.in_row.count++] = d;
        }
        if (!n.rows.scale[d]) {
            n.across.at[n.across.count++] = d;
        }
    }
    n.in[0] = take(g, 0, &n.data);
    n.in[1] = take(g, 1, &n.data);
    n.in[2] = take(g, 4, &n.statistic);
    if (n.centred) {
        n.in[n.inputs++] = take(g, 3, &n.statistic);
    }
    if (n.scaled) {
        n.in[n.inputs++] = take(g, 2, &n.scale);
    }
    const char *h = n.centred ? "(x1 - x3) * x2" : "x1 * x2";
    n.terms = n.scaled ? ry_arena_format(&g->emitter.graph->arena, "g = x0 * x%d; h = %s; ",
                                         n.inputs - 1, h)
                       : ry_arena_format(&g->emitter.graph->arena, "g = x0; h = %s; ", h);
    return n;
}

static ry_value_id data_gradient(ry_rule_call *g, norm *n)
{
    ry_arena *arena = &g->emitter.graph->arena;
    ry_value_id means[2] = {RY_NO_VALUE, RY_NO_VALUE};
    reduce(g, ry_arena_format(arena, "%sy0 = mean(g * h); y1 = mean(g)", n->terms), &n->in_row,
           n->inputs, n->in, means);
    const int first = n->inputs;
    n->in[first] = means[0];
    n->in[first + 1] = means[1];
    const char *text =
        n->centred
            ? ry_arena_format(arena, "%sy0 = (g - x%d - h * x%d) * x2", n->terms, first + 1, first)
            : ry_arena_format(arena, "%sy0 = (g - h * x%d) * x2", n->terms, first);
    return text ? ry_emit_expr(&g->emitter, text, first + (n->centred ? 2 : 1), n->in)
                : RY_NO_VALUE;
}

static ry_value_id normalisation(ry_rule_call *g)
{
    norm n = describe(g);
    if (gives(g, 1) || gives(g, 2)) {
        ry_value_id sums[2] = {RY_NO_VALUE, RY_NO_VALUE};
        const char *h = n.centred ? "y0 = sum(x0 * (x1 - x3) * x2); y1 = sum(x0)"
                                  : "y0 = sum(x0 * x1 * x2); y1 = sum(x0)";
        reduce(g, h, &n.across, n.centred ? 4 : 3, n.in, sums);
        ry_rule_give(g, 1, sums[0]);
        ry_rule_give(g, 2, sums[1]);
    }
    return data_gradient(g, &n);
}

/* dx in its own type. */
static ry_value_id softmax_in_type(ry_rule_call *g)
{
    return cast(g, softmax(g), g->dtype);
}

static ry_value_id normalisation_in_type(ry_rule_call *g)
{
    return cast(g, normalisation(g), g->dtype);
}

static ry_rule rule_of(const ry_graph *graph, const ry_node *node)
{
    if (ry_shape_elements(&graph->values[node->in[0]].shape) <= 0) {
        return NULL;
    }
    return node->op == RY_OP_softmax_grad ? softmax_in_type
           : node->op == RY_OP_layer_norm_grad || node->op == RY_OP_group_norm_grad
               ? normalisation_in_type
               : NULL;
}

static bool has_outputs(const ry_node *node)
{
    bool any = false;
    for (int i = 0; i < node->outputs; i++) {
        any |= node->out[i] != RY_NO_VALUE;
    }
    return any;
}

/* Kernels and rules always give dx, the first output: the gradients of scale and bias alone get one
 * that nobody reads. */
static rynd_status add_data_gradient(ry_graph *graph, ry_node_id id, bool *changed, ry_error *error)
{
    const ry_node *node = &graph->nodes[id];
    const ry_op op = node->op;
    if ((op != RY_OP_layer_norm_grad && op != RY_OP_group_norm_grad &&
         op != RY_OP_batch_norm_grad) ||
        !has_outputs(node) || node->out[0] != RY_NO_VALUE) {
        return RYND_OK;
    }
    const ry_value *dy = &graph->values[node->in[0]];
    const ry_shape shape = dy->shape;
    const ry_value_id dx = ry_graph_add_value(graph, NULL, dy->dtype, &shape);
    if (dx == RY_NO_VALUE) {
        return ry_fail_memory(error);
    }
    graph->nodes[id].out[0] = dx;
    graph->values[dx].producer = id;
    *changed = true;
    return RYND_OK;
}

rynd_status ry_rewrite_norm_grad(ry_graph *graph, bool *changed, ry_error *error)
{
    for (ry_node_id id = 0; id < graph->node_count; id++) {
        RY_TRY(add_data_gradient(graph, id, changed, error));
    }
    return ry_rewrite_by_rules(graph, rule_of, changed, error);
}
