/* SPDX-License-Identifier: Apache-2.0 */
/* Layer normalisation as PyTorch exports it below opset 17: (x - mean) / sqrt(mean((x - mean)^2) +
 * epsilon), then a scale and a bias over the normalised dims. */
#include "expr/expr.h"
#include "graph/rewrite.h"

typedef enum pattern { MEAN, SUB, POW, MUL, ADD, SQRT, DIV, PATTERNS } pattern;

static const char *const pattern_texts[PATTERNS] = {
    [MEAN] = "mean(x0)", [SUB] = "x0 - x1",   [POW] = "pow(x0, x1)", [MUL] = "x0 * x1",
    [ADD] = "x0 + x1",   [SQRT] = "sqrt(x0)", [DIV] = "x0 / x1",
};

typedef struct matcher {
    ry_graph *graph;
    const ry_expr *programs[PATTERNS];
} matcher;

/* Returns the producer of `value` if it matches the pattern, else NULL. */
static const ry_node *made_by(const matcher *m, ry_value_id value, pattern kind)
{
    const ry_node *node = ry_rewrite_producer(m->graph, value);
    return ry_rewrite_is_expr(node, m->programs[kind]) ? node : NULL;
}

static bool scalar(const matcher *m, ry_value_id id, double *number)
{
    const ry_value *value = &m->graph->values[id];
    if (!value->constant || ry_shape_elements(&value->shape) != 1 ||
        (uintptr_t)value->constant % ry_dtype_size(value->dtype) != 0) {
        return false;
    }
    *number = ry_get_f64(value->dtype, value->constant, 0);
    return true;
}

/* mean over the last dims, kept: gives the first of them. */
static const ry_node *last_mean(const matcher *m, ry_value_id value, int64_t *axis)
{
    const ry_node *node = made_by(m, value, MEAN);
    if (!node || node->attrs.expr.axes_input || !node->attrs.expr.keepdims ||
        node->attrs.expr.axes.count == 0) {
        return NULL;
    }
    const ry_ints *axes = &node->attrs.expr.axes;
    int rank = m->graph->values[node->in[0]].shape.rank;
    for (int i = 0; i < axes->count; i++) {
        if (axes->at[i] != rank - axes->count + i) {
            return NULL;
        }
    }
    *axis = axes->at[0];
    return node;
}

static bool is_square_of(const matcher *m, ry_value_id value, ry_value_id d)
{
    double exponent;
    const ry_node *node = made_by(m, value, POW);
    if (node) {
        return node->in[0] == d && scalar(m, node->in[1], &exponent) && exponent == 2;
    }
    node = made_by(m, value, MUL);
    return node && node->in[0] == d && node->in[1] == d;
}

/* d / sqrt(mean(d^2) + epsilon) with d = x - mean(x) */
static bool match(const matcher *m, const ry_node *div, ry_value_id *x, int64_t *axis,
                  double *epsilon)
{
    const ry_node *root = made_by(m, div->in[1], SQRT);
    const ry_node *add = root ? made_by(m, root->in[0], ADD) : NULL;
    const ry_node *sub = made_by(m, div->in[0], SUB);
    if (!add || !sub) {
        return false;
    }
    int constant = scalar(m, add->in[1], epsilon) ? 1 : 0;
    if (constant == 0 && !scalar(m, add->in[0], epsilon)) {
        return false;
    }
    int64_t mean_axis;
    const ry_node *variance = last_mean(m, add->in[1 - constant], axis),
                  *mean = last_mean(m, sub->in[1], &mean_axis);
    *x = sub->in[0];
    return variance && mean && mean_axis == *axis && mean->in[0] == *x &&
           is_square_of(m, variance->in[0], div->in[0]);
}

static void normalise(ry_graph *graph, ry_node *div, ry_value_id x, int64_t axis, double epsilon)
{
    div->op = RY_OP_layer_norm;
    div->source = "LayerNormalization";
    div->attrs = ry_attrs_default(RY_OP_layer_norm);
    div->attrs.layer_norm.axis = axis;
    div->attrs.layer_norm.epsilon = epsilon;
    ry_graph_set_inputs(graph, div, 1, div->in);
    ry_graph_set_input(graph, div, 0, x);
}

/* norm * scale, or norm + bias, with a constant of the normalised dims' shape. */
static bool affine_operand(const matcher *m, const ry_node *node, pattern kind, ry_node **norm,
                           ry_value_id *operand)
{
    for (int i = 0; i < 2 && ry_rewrite_is_expr(node, m->programs[kind]); i++) {
        *norm = ry_rewrite_inner(m->graph, node->in[i], RY_OP_layer_norm);
        *operand = node->in[1 - i];
        if (!*norm || !m->graph->values[*operand].constant ||
            m->graph->values[*operand].dtype != m->graph->values[node->out[0]].dtype) {
            continue;
        }
        const ry_shape *x = &m->graph->values[(*norm)->in[0]].shape,
                       *s = &m->graph->values[*operand].shape;
        int64_t axis = (*norm)->attrs.layer_norm.axis;
        ry_shape wanted = ry_shape_of(x->rank - (int)axis, x->dim + axis);
        if (ry_shape_equal(s, &wanted)) {
            return true;
        }
    }
    return false;
}

static bool has(const ry_node *norm, int input)
{
    return norm->inputs > input && norm->in[input] != RY_NO_VALUE;
}

static rynd_status absorb_affine(matcher *m, ry_node_id id, bool *changed, ry_error *error)
{
    ry_node *node = &m->graph->nodes[id], *norm;
    ry_value_id operand;
    int input = 0;
    if (affine_operand(m, node, MUL, &norm, &operand) && !has(norm, 1) && !has(norm, 2)) {
        input = 1;
    } else if (affine_operand(m, node, ADD, &norm, &operand) && !has(norm, 2)) {
        input = 2;
    }
    if (input == 0) {
        return RYND_OK;
    }
    if (!ry_rewrite_widen(m->graph, norm, 3)) {
        return ry_fail_memory(error);
    }
    ry_value_id out = node->out[0];
    ry_graph_remove_node(m->graph, id);
    ry_graph_set_input(m->graph, norm, input, operand);
    norm->out[0] = out;
    m->graph->values[out].producer = (ry_node_id)(norm - m->graph->nodes);
    *changed = true;
    return RYND_OK;
}

rynd_status ry_rewrite_layer_norm(ry_graph *graph, bool *changed, ry_error *error)
{
    matcher m = {.graph = graph};
    for (int i = 0; i < PATTERNS; i++) {
        RY_TRY(ry_expr_parse(pattern_texts[i], NULL, 0, &graph->arena, &m.programs[i], error));
    }
    for (ry_node_id n = 0; n < graph->node_count; n++) {
        ry_node *node = &graph->nodes[n];
        ry_value_id x;
        int64_t axis;
        double epsilon;
        if (ry_rewrite_is_expr(node, m.programs[DIV]) && match(&m, node, &x, &axis, &epsilon)) {
            normalise(graph, node, x, axis, epsilon);
            *changed = true;
        } else if (node->op == RY_OP_expr && node->inputs == 2) {
            RY_TRY(absorb_affine(&m, n, changed, error));
        }
    }
    return RYND_OK;
}
