/* SPDX-License-Identifier: Apache-2.0 */
/* Values with channels, as the connected components (by union-find) of what operators join that
 * leave dims in their places. */
#include "plan/channels.h"

typedef enum role {
    NEITHER, /* inputs and outputs need not share dims */
    SPATIAL, /* x and y, and what has y's shape, are images or signals [N, C, ..] */
    ALIGNED  /* operands of one rank have the same dims in the same places */
} role;

static const role roles[RY_OPS] = {
    [RY_OP_conv] = SPATIAL,
    [RY_OP_convt] = SPATIAL,
    [RY_OP_separable_conv] = SPATIAL,
    [RY_OP_qconv] = SPATIAL,
    [RY_OP_deform_conv] = SPATIAL,
    [RY_OP_deform_columns] = SPATIAL,
    [RY_OP_pool] = SPATIAL,
    [RY_OP_pool_grad] = SPATIAL,
    [RY_OP_max_unpool] = SPATIAL,
    [RY_OP_batch_norm] = SPATIAL,
    [RY_OP_batch_norm_train] = SPATIAL,
    [RY_OP_batch_norm_grad] = SPATIAL,
    [RY_OP_group_norm] = SPATIAL,
    [RY_OP_lrn] = SPATIAL,
    [RY_OP_resize] = SPATIAL,
    [RY_OP_resize_grad] = SPATIAL,
    [RY_OP_grid_sample] = SPATIAL,
    [RY_OP_roi_align] = SPATIAL,
    [RY_OP_depth_to_space] = SPATIAL,
    [RY_OP_space_to_depth] = SPATIAL,
    [RY_OP_expr] = ALIGNED,
    [RY_OP_layer_norm] = ALIGNED,
    [RY_OP_softmax] = ALIGNED,
    [RY_OP_cumsum] = ALIGNED,
    [RY_OP_arg_reduce] = ALIGNED,
    [RY_OP_topk] = ALIGNED,
    [RY_OP_concat] = ALIGNED,
    [RY_OP_split] = ALIGNED,
    [RY_OP_slice] = ALIGNED,
    [RY_OP_pad] = ALIGNED,
    [RY_OP_tile] = ALIGNED,
    [RY_OP_expand] = ALIGNED,
    [RY_OP_center_crop_pad] = ALIGNED,
    [RY_OP_copy] = ALIGNED,
};

/* The representative of a value's component; paths are halved on the way. */
static ry_value_id find(ry_value_id *parent, ry_value_id v)
{
    while (parent[v] != v) {
        v = parent[v] = parent[parent[v]];
    }
    return v;
}

static ry_value_id operand(const ry_node *node, int i)
{
    return i < node->inputs ? node->in[i] : node->out[i - node->inputs];
}

/* Is operand `i` among those that the role speaks of, beside operand `first`? Constants join
 * nothing: several nodes may share them. */
static bool belongs(const ry_graph *graph, const ry_node *node, int i, ry_value_id first)
{
    const ry_value_id id = operand(node, i);
    if (id == RY_NO_VALUE || graph->values[id].constant) {
        return false;
    }
    if (node->op == RY_OP_conv && node->attrs.conv.dir == RY_direction_bwd_weights) {
        return i < 2; /* x and y's gradient, which gives weights */
    }
    const ry_shape *shape = &graph->values[id].shape, *other = &graph->values[first].shape;
    return roles[node->op] == ALIGNED ? shape->rank == other->rank
                                      : i == 0 || ry_shape_equal(shape, other);
}

static void join_operands(const ry_graph *graph, const ry_node *node, ry_value_id *parent,
                          bool *seed)
{
    const ry_value_id first = node->outputs > 0 ? node->out[0] : RY_NO_VALUE;
    if (first == RY_NO_VALUE) {
        return;
    }
    for (int i = 0; i < node->inputs + node->outputs; i++) {
        if (!belongs(graph, node, i, first)) {
            continue;
        }
        if (roles[node->op] == SPATIAL) {
            seed[operand(node, i)] = true;
        } else {
            parent[find(parent, operand(node, i))] = find(parent, first);
        }
    }
}

rynd_status ry_plan_find_channels(const ry_graph *graph, ry_arena *arena, bool **channels,
                                  ry_error *error)
{
    ry_value_id *parent = RY_TAKE(arena, ry_value_id, graph->value_count);
    bool *seed = RY_TAKE(arena, bool, graph->value_count),
         *found = RY_TAKE(arena, bool, graph->value_count);
    if (!parent || !seed || !found) {
        return ry_fail_memory(error);
    }
    for (ry_value_id v = 0; v < graph->value_count; v++) {
        parent[v] = v;
    }
    for (ry_node_id n = 0; n < graph->node_count; n++) {
        const ry_node *node = &graph->nodes[n];
        if (node->op != RY_OP_dead && roles[node->op] != NEITHER) {
            join_operands(graph, node, parent, seed);
        }
    }
    for (ry_value_id v = 0; v < graph->value_count; v++) {
        found[find(parent, v)] |= seed[v];
    }
    for (ry_value_id v = 0; v < graph->value_count; v++) {
        found[v] = found[find(parent, v)];
    }
    *channels = found;
    return RYND_OK;
}
