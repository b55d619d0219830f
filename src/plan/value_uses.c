/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the roots of views and of other aliases, and the steps between which a value lives. */
#include "plan/value_uses.h"

#include "plan/aliases.h"

static void find_roots(const ry_graph *graph, const ry_value_layouts *layouts, ry_value_id *root)
{
    for (ry_value_id v = 0; v < graph->value_count; v++) {
        root[v] = v;
    }
    for (ry_node_id n = 0; n < graph->node_count; n++) {
        const ry_node *node = &graph->nodes[n];
        if (ry_plan_is_alias(graph, node, layouts)) {
            root[node->out[0]] = root[node->in[0]];
        }
    }
}

static void note_step(const ry_value_uses *uses, const ry_node *node, uint32_t step)
{
    for (int i = 0; i < node->inputs; i++) {
        if (node->in[i] != RY_NO_VALUE) {
            uses->last[uses->root[node->in[i]]] = step;
        }
    }
    for (int i = 0; i < node->outputs; i++) {
        if (node->out[i] != RY_NO_VALUE) {
            uses->first[node->out[i]] = uses->last[node->out[i]] = step;
            uses->made[node->out[i]] = true;
        }
    }
}

rynd_status ry_plan_find_uses(ry_plan_builder *b, ry_value_uses *uses, ry_error *error)
{
    const size_t count = b->graph->value_count;
    uses->root = RY_TAKE(&b->plan->arena, ry_value_id, count);
    uses->first = RY_TAKE(&b->plan->arena, uint32_t, count);
    uses->last = RY_TAKE(&b->plan->arena, uint32_t, count);
    uses->made = RY_TAKE(&b->plan->arena, bool, count);
    if (!uses->root || !uses->first || !uses->last || !uses->made) {
        return ry_fail_memory(error);
    }
    find_roots(b->graph, &b->layouts, uses->root);
    for (size_t s = 0; s < b->plan->step_count; s++) {
        note_step(uses, ry_plan_node(b, s), (uint32_t)s);
    }
    return RYND_OK;
}

size_t ry_plan_value_bytes(const ry_graph *graph, ry_value_id id)
{
    if (id == RY_NO_VALUE) {
        return 0;
    }
    const ry_value *value = &graph->values[id];
    return (size_t)ry_shape_bytes(&value->shape, value->dtype);
}
