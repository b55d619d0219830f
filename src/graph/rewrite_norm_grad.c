/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of softmax and of normalisations along rows become expressions: sums over rows, the
 * gradient of x, and sums over all rows for scale and bias. 16-bit types compute in float32. */
#include "graph/emitter.h"
#include "graph/rewrite.h"
#include "problem/norm_rows.h"

typedef struct gradient {
    ry_emitter emitter;
    ry_node node; /* as it was */
    ry_shape shape;
    ry_dtype wide; /* type of sums */
} gradient;

static bool has(const ry_value_id *list, int count, int i)
{
    return i < count && list[i] != RY_NO_VALUE;
}

static ry_value_id cast(gradient *g, ry_value_id value, ry_dtype dtype)
{
    if (g->emitter.status != RYND_OK || ry_emit_dtype(&g->emitter, value) == dtype) {
        return value;
    }
    const char *text =
        ry_arena_format(&g->emitter.graph->arena, "cast(x0, %s)", ry_dtype_name(dtype));
    return text ? ry_emit_expr(&g->emitter, text, 1, &value) : RY_NO_VALUE;
}

/* Input i under a shape, in the type of the sums. */
static ry_value_id take(gradient *g, int i, const ry_shape *shape)
{
    return cast(g, ry_emit_reshape(&g->emitter, g->node.in[i], shape), g->wide);
}

/* Several reductions over the same axes in one pass. */
static void reduce(gradient *g, const char *text, const ry_ints *axes, int inputs,
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

static ry_value_id softmax(gradient *g)
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

static norm describe(gradient *g)
{
    static const bool all[RY_NORM_DIMS] = {true, true, true, true};
    const ry_node *node = &g->node;
    norm n = {.rows = ry_norm_rows_of(node->op, &node->attrs, g->shape.rank, g->shape.dim),
              .centred = has(node->in, node->inputs, 3),
              .scaled = has(node->in, node->inputs, 2),
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

static ry_value_id data_gradient(gradient *g, norm *n)
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

/* A sum becomes output i of the node. */
static void give(gradient *g, int i, ry_value_id sum)
{
    if (!has(g->node.out, g->node.outputs, i) || g->emitter.status != RYND_OK) {
        return;
    }
    ry_emitter *e = &g->emitter;
    const ry_value_id out = g->node.out[i];
    const ry_shape shape = ry_emit_shape(e, out);
    const ry_value_id given = ry_emit_reshape(e, sum, &shape);
    const char *text =
        ry_arena_format(&e->graph->arena, "cast(x0, %s)", ry_dtype_name(ry_emit_dtype(e, out)));
    ry_attrs attrs = ry_attrs_default(RY_OP_expr);
    attrs.expr.program = text ? ry_emit_program(e, text) : NULL;
    if (attrs.expr.program) {
        ry_emit_into(e, RY_OP_expr, &attrs, 1, &given, 1, &out);
    }
}

static ry_value_id normalisation(gradient *g)
{
    norm n = describe(g);
    if (has(g->node.out, g->node.outputs, 1) || has(g->node.out, g->node.outputs, 2)) {
        ry_value_id sums[2] = {RY_NO_VALUE, RY_NO_VALUE};
        const char *h = n.centred ? "y0 = sum(x0 * (x1 - x3) * x2); y1 = sum(x0)"
                                  : "y0 = sum(x0 * x1 * x2); y1 = sum(x0)";
        reduce(g, h, &n.across, n.centred ? 4 : 3, n.in, sums);
        give(g, 1, sums[0]);
        give(g, 2, sums[1]);
    }
    return data_gradient(g, &n);
}

typedef ry_value_id (*gradient_rule)(gradient *g);

static gradient_rule rule_of(ry_op op)
{
    return op == RY_OP_softmax_grad                                     ? softmax
           : op == RY_OP_layer_norm_grad || op == RY_OP_group_norm_grad ? normalisation
                                                                        : NULL;
}

static rynd_status replace(ry_graph *graph, ry_node_id id, gradient_rule rule, ry_error *error)
{
    const ry_node node = graph->nodes[id];
    const ry_node_id first = (ry_node_id)graph->node_count;
    const ry_value *dy = &graph->values[node.in[0]];
    gradient g = {
        .emitter = {.graph = graph,
                    .name = ry_arena_format(&graph->arena, "%s/%s", graph->values[node.out[0]].name,
                                            ry_op_name(node.op)),
                    .error = error},
        .node = node,
        .shape = dy->shape,
        .wide = dy->dtype == RY_f64 ? RY_f64 : RY_f32};
    if (!g.emitter.name) {
        return ry_fail_memory(error);
    }
    const ry_value_id dx = cast(&g, rule(&g), dy->dtype);
    RY_TRY(g.emitter.status);
    ry_rewrite_replace(graph, id, first, dx);
    return RYND_OK;
}

rynd_status ry_rewrite_norm_grad(ry_graph *graph, bool *changed, ry_error *error)
{
    const size_t count = graph->node_count;
    for (ry_node_id id = 0; id < count; id++) {
        const ry_node *node = &graph->nodes[id];
        const gradient_rule rule = rule_of(node->op);
        if (rule && has(node->out, node->outputs, 0) &&
            ry_shape_elements(&graph->values[node->in[0]].shape) > 0) {
            RY_TRY(replace(graph, id, rule, error));
            *changed = true;
        }
    }
    return RYND_OK;
}
