/* SPDX-License-Identifier: Apache-2.0 */
/* An inference-time BatchNormalization that no convolution takes is y = x * a + b with one a and b
 * a channel: a pointwise node, which may join its neighbours. */
#include "expr/expr.h"
#include "graph/rewrite.h"

#include <math.h>

static double number(const ry_graph *graph, const ry_node *node, int input, int64_t index)
{
    const ry_value *value = &graph->values[node->in[input]];
    return ry_get_f64(value->dtype, value->constant, index);
}

static bool usable(const ry_graph *graph, const ry_node *node)
{
    for (int i = 1; i < 5; i++) {
        const ry_value *value = node->in[i] == RY_NO_VALUE ? NULL : &graph->values[node->in[i]];
        if (!value || !value->constant || value->shape.rank != 1 ||
            (uintptr_t)value->constant % ry_dtype_size(value->dtype) != 0) {
            return false;
        }
    }
    return node->attrs.batch_norm.spatial && graph->values[node->in[0]].shape.rank >= 2;
}

/* [C, 1, 1, ...]: broadcasts along dim 1 of x. */
static ry_value_id channel_constant(ry_graph *graph, ry_value_id x)
{
    const ry_value *value = &graph->values[x];
    ry_shape shape = {.rank = value->shape.rank - 1};
    for (int d = 0; d < shape.rank; d++) {
        shape.dim[d] = d == 0 ? value->shape.dim[1] : 1;
    }
    return ry_graph_add_constant(graph, NULL, value->dtype, &shape, NULL);
}

static rynd_status to_multiply_add(ry_graph *graph, ry_node_id id, const ry_expr *multiply_add,
                                   ry_error *error)
{
    ry_value_id x = graph->nodes[id].in[0];
    ry_value_id a = channel_constant(graph, x);
    ry_value_id b = a == RY_NO_VALUE ? a : channel_constant(graph, x);
    if (b == RY_NO_VALUE) {
        return ry_fail_memory(error);
    }
    ry_node *node = &graph->nodes[id];
    double epsilon = node->attrs.batch_norm.epsilon;
    ry_dtype dtype = graph->values[x].dtype;
    for (int64_t c = 0; c < graph->values[x].shape.dim[1]; c++) {
        double factor = number(graph, node, 1, c) / sqrt(number(graph, node, 4, c) + epsilon);
        ry_set_f64(dtype, ry_graph_constant_data(graph, a), c, factor);
        ry_set_f64(dtype, ry_graph_constant_data(graph, b), c,
                   number(graph, node, 2, c) - number(graph, node, 3, c) * factor);
    }
    node->op = RY_OP_expr;
    node->attrs = ry_attrs_default(RY_OP_expr);
    node->attrs.expr.program = multiply_add;
    ry_graph_set_inputs(graph, node, 3, node->in);
    ry_graph_set_input(graph, node, 1, a);
    ry_graph_set_input(graph, node, 2, b);
    return RYND_OK;
}

rynd_status ry_rewrite_batch_norm(ry_graph *graph, bool *changed, ry_error *error)
{
    const ry_expr *multiply_add = NULL;
    for (ry_node_id n = 0; n < graph->node_count; n++) {
        if (graph->nodes[n].op != RY_OP_batch_norm || !usable(graph, &graph->nodes[n])) {
            continue;
        }
        const ry_value *x = &graph->values[graph->nodes[n].in[0]];
        if (!ry_graph_spend(graph, 2 * x->shape.dim[1] * (int64_t)ry_dtype_size(x->dtype))) {
            continue;
        }
        if (!multiply_add) {
            RY_TRY(ry_expr_parse("x0 * x1 + x2", NULL, 0, &graph->arena, &multiply_add, error));
        }
        RY_TRY(to_multiply_add(graph, n, multiply_add, error));
        *changed = true;
    }
    return RYND_OK;
}
