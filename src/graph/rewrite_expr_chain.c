/* SPDX-License-Identifier: Apache-2.0 */
/* A pointwise node whose only reader is another expression joins it, so that a chain is one pass
 * over memory. */
#include "expr/expr.h"
#include "graph/rewrite.h"

/* More than this many operands or instructions would spill the evaluator's tiles from the cache. */
enum { MAX_INPUTS = 12, MAX_INSTRUCTIONS = 64 };

/* Joining a small operand that the outer node broadcasts would compute it again for every element.
 * A table of bytes is looked up sooner than it is computed. */
static bool joinable(const ry_graph *graph, const ry_node *outer, int input, const ry_node *inner)
{
    if (!inner || inner->outputs != 1 || inner->attrs.expr.axes_input ||
        inner->attrs.expr.program->reduces) {
        return false;
    }
    ry_value_id tensor;
    if (ry_rewrite_is_table(graph, inner, &tensor) &&
        !ry_rewrite_stays_table(graph, outer, input, tensor)) {
        return false;
    }
    const ry_expr *o = outer->attrs.expr.program, *i = inner->attrs.expr.program;
    if (outer->inputs + inner->inputs - 1 > MAX_INPUTS || o->count + i->count > MAX_INSTRUCTIONS) {
        return false;
    }
    const ry_shape *shape = &graph->values[outer->in[input]].shape;
    for (int other = 0; other < outer->inputs; other++) {
        const ry_shape *s = &graph->values[outer->in[other]].shape;
        ry_shape both;
        if (!ry_shape_broadcast(shape, s, &both) || !ry_shape_equal(&both, shape)) {
            return false;
        }
    }
    return true;
}

static rynd_status join(ry_graph *graph, ry_node *outer, int input, const ry_node *inner,
                        bool *changed, ry_error *error)
{
    const ry_expr *program = NULL;
    rynd_status status =
        ry_expr_compose(outer->attrs.expr.program, input, inner->attrs.expr.program, 0,
                        &graph->arena, &program, error);
    if (status != RYND_OK) {
        return status == RYND_ERROR_UNSUPPORTED ? RYND_OK : status; /* too long: they stay two */
    }
    int count = outer->inputs + inner->inputs - 1, next = 0;
    ry_value_id *in = RY_TAKE(&graph->arena, ry_value_id, count);
    if (!in) {
        return ry_fail_memory(error);
    }
    for (int i = 0; i < outer->inputs; i++) {
        if (i != input) {
            in[next++] = outer->in[i];
        }
    }
    for (int i = 0; i < inner->inputs; i++) {
        in[next++] = inner->in[i];
    }
    outer->attrs.expr.program = program;
    ry_graph_set_inputs(graph, outer, count, in);
    *changed = true;
    return RYND_OK;
}

/* One value as two inputs: the program reads it twice for nothing, and is not recognised as what it
 * is. */
static rynd_status merge_inputs(ry_graph *graph, ry_node *node, bool *changed, ry_error *error)
{
    ry_value_id in[MAX_INPUTS];
    int map[MAX_INPUTS], count = 0;
    if (node->inputs > MAX_INPUTS) {
        return RYND_OK;
    }
    for (int i = 0; i < node->inputs; i++) {
        map[i] = 0;
        while (map[i] < count && in[map[i]] != node->in[i]) {
            map[i]++;
        }
        if (map[i] == count) {
            in[count++] = node->in[i];
        }
    }
    if (count == node->inputs) {
        return RYND_OK;
    }
    *changed = true;
    ry_graph_set_inputs(graph, node, count, node->in);
    for (int i = 0; i < count; i++) {
        ry_graph_set_input(graph, node, i, in[i]);
    }
    return ry_expr_rename(node->attrs.expr.program, map, count, &graph->arena,
                          &node->attrs.expr.program, error);
}

rynd_status ry_rewrite_expr_chain(ry_graph *graph, bool *changed, ry_error *error)
{
    for (ry_node_id n = 0; n < graph->node_count; n++) {
        ry_node *outer = &graph->nodes[n];
        if (outer->op != RY_OP_expr || outer->attrs.expr.axes_input) {
            continue;
        }
        for (int i = 0; i < outer->inputs; i++) {
            const ry_node *inner = ry_rewrite_inner(graph, outer->in[i], RY_OP_expr);
            if (joinable(graph, outer, i, inner)) {
                ry_node_id dead = (ry_node_id)(inner - graph->nodes);
                bool joined = false;
                RY_TRY(join(graph, outer, i, inner, &joined, error));
                if (joined) {
                    ry_graph_remove_node(graph, dead);
                    *changed = true;
                    i = -1;
                }
            }
        }
        RY_TRY(merge_inputs(graph, outer, changed, error));
    }
    return RYND_OK;
}
