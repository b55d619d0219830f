/* SPDX-License-Identifier: Apache-2.0 */
/* Zero padding of the spatial dims moves into the convolution behind it, or into the average
 * pooling behind it when that counts padding. */
#include "graph/rewrite.h"

static ry_ints *window_pads(ry_node *node)
{
    switch (node->op) {
    case RY_OP_conv:
        return node->attrs.conv.auto_pad == RY_auto_pad_explicit ? &node->attrs.conv.pads : NULL;
    case RY_OP_pool:
        return node->attrs.pool.kind == RY_pool_kind_average &&
                       node->attrs.pool.count_include_pad && !node->attrs.pool.ceil_mode &&
                       node->attrs.pool.output.count == 0 &&
                       node->attrs.pool.auto_pad == RY_auto_pad_explicit
                   ? &node->attrs.pool.pads
                   : NULL;
    default: return NULL;
    }
}

static bool pads_with_zero(const ry_graph *graph, const ry_node *pad)
{
    if (pad->attrs.pad.mode != RY_pad_mode_constant) {
        return false;
    }
    if (pad->inputs > 2 && pad->in[2] != RY_NO_VALUE) {
        const ry_value *value = &graph->values[pad->in[2]];
        return value->constant && (uintptr_t)value->constant % ry_dtype_size(value->dtype) == 0 &&
               ry_get_f64(value->dtype, value->constant, 0) == 0;
    }
    return pad->attrs.pad.value == 0;
}

/* Only the spatial dims grow. A pool's pads must stay smaller than its window, as ONNX demands. */
static bool movable(const ry_node *pad, const ry_node *window, int spatial)
{
    const ry_ints *pads = &pad->attrs.pad.pads;
    int rank = spatial + 2;
    if (pads->count != 2 * rank) {
        return false;
    }
    for (int d = 0; d < rank; d++) {
        int64_t before = pads->at[d], after = pads->at[rank + d];
        int64_t most = window->op == RY_OP_pool && d >= 2 ? window->attrs.pool.kernel.at[d - 2] - 1
                                                          : INT32_MAX;
        if (before < 0 || after < 0 || before > most || after > most ||
            (d < 2 && (before || after))) {
            return false;
        }
    }
    return true;
}

static void move_pads(ry_graph *graph, ry_node *window, ry_ints *pads, const ry_node *pad,
                      int spatial)
{
    for (int d = 0; d < spatial; d++) {
        int64_t before = ry_ints_get(pads, d, 0) + pad->attrs.pad.pads.at[d + 2];
        int64_t after =
            ry_ints_get(pads, spatial + d, 0) + pad->attrs.pad.pads.at[spatial + 2 + d + 2];
        if (pads->count == 0) {
            pads->count = 2 * spatial;
        }
        pads->at[d] = before;
        pads->at[spatial + d] = after;
    }
    ry_graph_set_input(graph, window, 0, pad->in[0]);
}

rynd_status ry_rewrite_pad_window(ry_graph *graph, bool *changed, ry_error *error)
{
    (void)error;
    for (ry_node_id n = 0; n < graph->node_count; n++) {
        ry_node *window = &graph->nodes[n];
        ry_ints *pads = window->op == RY_OP_dead ? NULL : window_pads(window);
        const ry_node *pad = pads ? ry_rewrite_producer(graph, window->in[0]) : NULL;
        if (!pad || pad->op != RY_OP_pad || !pads_with_zero(graph, pad)) {
            continue;
        }
        int spatial = graph->values[window->in[0]].shape.rank - 2;
        bool own =
            window->op == RY_OP_pool && pads->count && (pads->at[0] || pads->at[pads->count - 1]);
        if (spatial >= 1 && !own && movable(pad, window, spatial)) {
            move_pads(graph, window, pads, pad, spatial);
            *changed = true;
        }
    }
    return RYND_OK;
}
