/* SPDX-License-Identifier: Apache-2.0 */
/* Views, and transposes that change the description only. */
#include "plan/aliases.h"

bool ry_plan_keeps_memory(const ry_tensor *x, const ry_tensor *y, const ry_transpose_attrs *attrs)
{
    for (int i = 0; i < y->rank; i++) {
        if (y->dim[i] != 1 &&
            y->stride[i] != x->stride[ry_ints_get(&attrs->perm, i, y->rank - 1 - i)]) {
            return false;
        }
    }
    return true;
}

bool ry_plan_is_alias(const ry_graph *graph, const ry_node *node, const ry_value_layouts *layouts)
{
    if (node->op != RY_OP_transpose) {
        return node->op != RY_OP_dead && ry_op_get_class(node->op) == RY_CLASS_VIEW;
    }
    const ry_tensor x = ry_value_description(graph, node->in[0], layouts),
                    y = ry_value_description(graph, node->out[0], layouts);
    return !graph->values[node->out[0]].bounded &&
           ry_plan_keeps_memory(&x, &y, &node->attrs.transpose);
}
