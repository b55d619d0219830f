/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that only move or choose elements work on bytes: DequantizeLinear moves behind them,
 * QuantizeLinear moves before them, and the two cancel if their numbers are equal. */
#include "graph/quantise_inside.h"
#include "graph/rewrite.h"

#include <math.h>

enum { MAX_MOVED = 64 }; /* operands of a concatenation; longer ones stay as they are */

/* Operators whose outputs are elements of input 0, or, for concat, of all inputs. */
static bool moves(const ry_graph *graph, const ry_node *node)
{
    switch (node->op) {
    case RY_OP_pool: return node->attrs.pool.kind == RY_pool_kind_max && node->outputs == 1;
    case RY_OP_resize:
        return node->attrs.resize.mode == RY_resize_mode_nearest &&
               node->attrs.resize.coordinates != RY_resize_coordinates_tf_crop_and_resize;
    case RY_OP_pad:
        return node->attrs.pad.mode != RY_pad_mode_constant || node->inputs < 3 ||
               node->in[2] == RY_NO_VALUE || graph->values[node->in[2]].constant;
    case RY_OP_transpose:
    case RY_OP_depth_to_space:
    case RY_OP_space_to_depth:
    case RY_OP_slice:
    case RY_OP_split:
    case RY_OP_tile:
    case RY_OP_expand:
    case RY_OP_gather:
    case RY_OP_concat:
    case RY_OP_reshape:
    case RY_OP_flatten:
    case RY_OP_squeeze:
    case RY_OP_unsqueeze:
    case RY_OP_identity: return true;
    default: return false;
    }
}

static int moved_inputs(const ry_node *node)
{
    return node->op == RY_OP_concat ? node->inputs : 1;
}

/* The byte that stands for what a pad fills with. False: no byte does. */
static bool find_fill(const ry_graph *graph, const ry_node *node, const ry_quantiser *q,
                      int64_t *fill)
{
    if (node->op != RY_OP_pad || node->attrs.pad.mode != RY_pad_mode_constant) {
        return true;
    }
    const bool given = node->inputs > 2 && node->in[2] != RY_NO_VALUE;
    const float value =
        given ? (float)ry_quantise_number(graph, node->in[2], 0) : (float)node->attrs.pad.value;
    const float steps = rintf(value / q->scale);
    *fill = fabsf(steps) <= UINT8_MAX ? q->zero + (int64_t)steps : -1;
    return *fill >= 0 && *fill <= UINT8_MAX && steps * q->scale == value;
}

/* Sets what the pad fills with. */
static bool set_fill(ry_quantising *z, ry_node_id id, int64_t fill)
{
    if (z->graph->nodes[id].op != RY_OP_pad) {
        return true;
    }
    const ry_value_id value = ry_graph_add_scalar(z->graph, RY_u8, (double)fill);
    if (value == RY_NO_VALUE || !ry_rewrite_widen(z->graph, &z->graph->nodes[id], 3)) {
        return false;
    }
    ry_graph_set_input(z->graph, &z->graph->nodes[id], 2, value);
    return true;
}

/* The scale of the value's bytes as a constant. */
static ry_value_id scale_of(const ry_quantising *z, ry_value_id floats)
{
    return ry_rewrite_producer(z->graph, floats)->in[1];
}

/* Makes the node work on `bytes`. Its former outputs are made of its new ones: by dequantising
 * (scale: the scale), or as signed bytes (scale: RY_NO_VALUE). */
static rynd_status move_bytes(ry_quantising *z, ry_node_id id, const ry_value_id *bytes,
                              ry_value_id scale, int64_t zero)
{
    ry_graph *graph = z->graph;
    ry_emitter emitter = {graph, graph->nodes[id].name, z->error, RYND_OK};
    for (int i = 0; i < moved_inputs(&graph->nodes[id]); i++) {
        ry_graph_set_input(graph, &graph->nodes[id], i, bytes[i]);
    }
    for (int o = 0; o < graph->nodes[id].outputs; o++) {
        const ry_value_id was = graph->nodes[id].out[o];
        const ry_shape shape = graph->values[was].shape;
        const ry_value_id is = ry_graph_add_value(graph, NULL, RY_u8, &shape);
        if (is == RY_NO_VALUE) {
            return ry_fail_memory(z->error);
        }
        graph->nodes[id].out[o] = is;
        graph->values[is].producer = id;
        ry_attrs attrs = ry_attrs_default(RY_OP_expr);
        if (scale == RY_NO_VALUE) {
            z->as_unsigned[was] = is;
            attrs.expr.program = ry_emit_program(&emitter, "cast(cast(x0, i32) - 128, i8)");
            ry_emit_into(&emitter, RY_OP_expr, &attrs, 1, &is, 1, &was);
            continue;
        }
        const ry_value_id in[3] = {is, scale, ry_emit_scalar(&emitter, RY_u8, (double)zero)};
        attrs.expr.program = z->programs.dequantise_zero;
        ry_emit_into(&emitter, RY_OP_expr, &attrs, 3, in, 1, &was);
    }
    return emitter.status;
}

/* Signed bytes become unsigned ones. */
static rynd_status move_signed(ry_quantising *z, ry_node_id id)
{
    ry_value_id bytes[MAX_MOVED];
    const int inputs = moved_inputs(&z->graph->nodes[id]);
    for (int i = 0; i < inputs; i++) {
        const ry_value_id in = z->graph->nodes[id].in[i];
        if (in >= z->values || z->graph->values[in].dtype != RY_i8 ||
            z->graph->values[in].constant || z->graph->nodes[id].op == RY_OP_pad) {
            return RYND_OK;
        }
    }
    for (int i = 0; i < inputs; i++) {
        bytes[i] = ry_unsigned_of(z, z->graph->nodes[id].in[i]);
        if (bytes[i] == RY_NO_VALUE) {
            return ry_fail_memory(z->error);
        }
    }
    return move_bytes(z, id, bytes, RY_NO_VALUE, 0);
}

rynd_status ry_quantise_move(ry_quantising *z, ry_node_id id)
{
    ry_graph *graph = z->graph;
    const ry_node *node = &graph->nodes[id];
    const int inputs = moved_inputs(node);
    ry_value_id bytes[MAX_MOVED];
    ry_quantiser all = {0};
    int64_t fill = 0;
    if (!moves(graph, node) || inputs > MAX_MOVED) {
        return RYND_OK;
    }
    if (graph->values[node->in[0]].dtype == RY_i8) {
        return move_signed(z, id);
    }
    for (int i = 0; i < inputs; i++) {
        ry_quantiser q;
        const ry_node *from = ry_find_dequantise(graph, &z->programs, node->in[i], &q);
        if (!from || graph->values[from->in[0]].constant ||
            (i > 0 && (q.scale != all.scale || q.zero != all.zero))) {
            return RYND_OK;
        }
        bytes[i] = from->in[0];
        all = q;
    }
    if (!find_fill(graph, node, &all, &fill)) {
        return RYND_OK;
    }
    const ry_value_id scale = scale_of(z, node->in[0]);
    for (int i = 0; i < inputs; i++) {
        bytes[i] = ry_unsigned_of(z, bytes[i]);
        if (bytes[i] == RY_NO_VALUE) {
            return ry_fail_memory(z->error);
        }
    }
    return set_fill(z, id, fill) ? move_bytes(z, id, bytes, scale, all.zero)
                                 : ry_fail_memory(z->error);
}

rynd_status ry_quantise_again(ry_quantising *z, ry_node_id id)
{
    ry_graph *graph = z->graph;
    const ry_node *node = &graph->nodes[id];
    ry_quantised_end end = {.node = {id}, .nodes = 1, .high = UINT8_MAX};
    ry_quantiser from;
    if (!ry_find_quantise(graph, &z->programs, node, &end.q)) {
        return RYND_OK;
    }
    const ry_node *before = ry_find_dequantise(graph, &z->programs, node->in[0], &from);
    if (!before || from.scale != end.q.scale || from.zero != end.q.zero) {
        return RYND_OK;
    }
    end.out = node->out[0];
    const ry_value_id bytes = ry_unsigned_of(z, before->in[0]);
    const ry_value_id y = bytes == RY_NO_VALUE ? RY_NO_VALUE : ry_take_end(z, &end);
    if (y == RY_NO_VALUE) {
        return ry_fail_memory(z->error);
    }
    ry_emitter emitter = {graph, graph->values[y].name, z->error, RYND_OK};
    ry_emit_into(&emitter, RY_OP_identity, NULL, 1, &bytes, 1, &y);
    return emitter.status;
}

/* The node that quantises what a concatenation of floats gives, for nobody else; NULL: none. */
static const ry_node *end_of(const ry_quantising *z, const ry_node *concat)
{
    ry_quantiser q;
    const ry_node *end = ry_sole_reader(z, concat->out[0]);
    return ry_find_quantise(z->graph, &z->programs, end, &q) ? end : NULL;
}

rynd_status ry_quantise_concat(ry_quantising *z, ry_node_id id)
{
    ry_graph *graph = z->graph;
    const ry_node *concat = &graph->nodes[id];
    if (concat->op != RY_OP_concat || concat->inputs > MAX_MOVED || !end_of(z, concat)) {
        return RYND_OK;
    }
    const ry_node end = *end_of(z, concat);
    const ry_value_id y = end.out[0];
    const char *name = graph->values[y].name;
    const int inputs = concat->inputs;
    ry_graph_remove_node(graph, graph->values[y].producer);
    for (int i = 0; i < inputs; i++) {
        ry_emitter emitter = {graph, name, z->error, RYND_OK};
        const ry_value_id in[3] = {graph->nodes[id].in[i], end.in[1],
                                   end.inputs > 2 ? end.in[2] : RY_NO_VALUE};
        const ry_value_id bytes = ry_emit(&emitter, RY_OP_expr, &end.attrs, end.inputs, in);
        RY_TRY(emitter.status);
        ry_graph_set_input(graph, &graph->nodes[id], i, bytes);
    }
    graph->nodes[id].out[0] = y;
    graph->values[y].producer = id;
    return RYND_OK;
}
