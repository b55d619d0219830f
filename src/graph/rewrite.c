/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the list of rewrites until nothing changes. */
#include "graph/rewrite.h"

#include "expr/expr.h"

#include <string.h>

typedef rynd_status (*rewrite)(ry_graph *graph, bool *changed, ry_error *error);

static const rewrite rewrites[] = {
#define RY_REWRITE(name, what) ry_rewrite_##name,
    RY_REWRITES(RY_REWRITE)
#undef RY_REWRITE
};

/* Each round removes nodes or makes them richer; a graph that still changes after this many would
 * cycle. */
enum { MAX_ROUNDS = 16 };

rynd_status ry_graph_rewrite(ry_graph *graph, bool *changed, ry_error *error)
{
    bool again = true, any = false;
    for (int round = 0; again && round < MAX_ROUNDS; round++) {
        again = false;
        for (size_t i = 0; i < sizeof rewrites / sizeof *rewrites; i++) {
            bool here = false;
            RY_TRY(rewrites[i](graph, &here, error));
            if (here) {
                RY_TRY(ry_graph_compact(graph, error));
            }
            again |= here;
        }
        any |= again;
    }
    if (changed) {
        *changed = any;
    }
    return RYND_OK;
}

ry_node *ry_rewrite_producer(const ry_graph *graph, ry_value_id value)
{
    if (value == RY_NO_VALUE || graph->values[value].producer == RY_NO_NODE) {
        return NULL;
    }
    ry_node *node = &graph->nodes[graph->values[value].producer];
    return node->op == RY_OP_dead ? NULL : node;
}

ry_node *ry_rewrite_inner(const ry_graph *graph, ry_value_id value, ry_op op)
{
    ry_node *node = ry_rewrite_producer(graph, value);
    return node && node->op == op && ry_graph_use_count(graph, value) == 1 &&
                   !ry_graph_is_output(graph, value) && !graph->values[value].stored
               ? node
               : NULL;
}

bool ry_rewrite_is_expr(const ry_node *node, const struct ry_expr *program)
{
    return node && node->op == RY_OP_expr && node->attrs.expr.program &&
           ry_expr_equal(node->attrs.expr.program, program);
}

bool ry_rewrite_widen(ry_graph *graph, ry_node *node, int count)
{
    if (node->inputs >= count) {
        return true;
    }
    ry_value_id *in = RY_TAKE(&graph->arena, ry_value_id, count);
    if (!in) {
        return false;
    }
    for (int i = 0; i < count; i++) {
        in[i] = i < node->inputs ? node->in[i] : RY_NO_VALUE;
    }
    node->in = in;
    node->inputs = count;
    return true;
}

void ry_rewrite_replace(ry_graph *graph, ry_node_id id, ry_node_id first, ry_value_id result)
{
    ry_node *node = &graph->nodes[id];
    const ry_shape y = graph->values[node->out[0]].shape;
    for (ry_node_id n = first; n < graph->node_count; n++) {
        graph->nodes[n].source = node->source;
    }
    node->op = RY_OP_reshape;
    node->attrs = ry_attrs_default(RY_OP_reshape);
    node->attrs.reshape.allow_zero = 1;
    node->attrs.reshape.shape.count = y.rank;
    memcpy(node->attrs.reshape.shape.at, y.dim, (size_t)y.rank * sizeof *y.dim);
    node->outputs = 1;
    ry_graph_set_inputs(graph, node, 1, node->in);
    ry_graph_set_input(graph, node, 0, result);
}
