/* SPDX-License-Identifier: Apache-2.0 */
/* Composes and recognises the names of normalisations' own vectors. */
#include "graph/own_vector.h"

#include <string.h>

static const char *const roles[] = {"", "scale", "bias", "mean", "variance"};
enum { ROLES = sizeof roles / sizeof *roles };

bool ry_is_norm(ry_op op)
{
    return op == RY_OP_batch_norm || op == RY_OP_group_norm || op == RY_OP_layer_norm;
}

ry_value_id ry_norm_vector(const ry_node *node, int input)
{
    enum { MEAN = 3 };
    const ry_value_id running = input >= MEAN ? node->running[input - MEAN] : RY_NO_VALUE;
    return running != RY_NO_VALUE ? running : node->in[input];
}

const char *ry_own_vector_name(const ry_graph *graph, const ry_node *node, int input,
                               ry_arena *arena)
{
    return ry_arena_format(arena, "%s/%s/%s", graph->values[ry_norm_vector(node, input)].name,
                           graph->values[node->out[0]].name, roles[input]);
}

/* What follows `start` and a '/' in `name`; NULL: it begins otherwise. */
static const char *behind(const char *name, const char *start)
{
    const size_t length = strlen(start);
    return name && strncmp(name, start, length) == 0 && name[length] == '/' ? name + length + 1
                                                                            : NULL;
}

bool ry_own_vector_find(const ry_graph *graph, const char *name, ry_node_id *node, int *input)
{
    for (ry_node_id n = 0; n < graph->node_count; n++) {
        const ry_node *norm = &graph->nodes[n];
        const int inputs = !ry_is_norm(norm->op)  ? 0
                           : norm->inputs < ROLES ? norm->inputs
                                                  : (int)ROLES;
        for (int i = 1; i < inputs; i++) {
            const ry_value_id v = ry_norm_vector(norm, i);
            const char *rest = v == RY_NO_VALUE ? NULL : behind(name, graph->values[v].name);
            rest = behind(rest, graph->values[norm->out[0]].name);
            if (rest && strcmp(rest, roles[i]) == 0) {
                *node = n;
                *input = i;
                return true;
            }
        }
    }
    return false;
}
