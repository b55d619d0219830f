/* SPDX-License-Identifier: Apache-2.0 */
/* Values of 16 bits between products become float32, and all values of a network with an operator
 * whose kernels read float32 only. Kernels compute in float32: a network in float16 would be widened
 * and rounded at each node, and few kernels widen as they read. Inputs, outputs and the results of
 * Casts keep their types. A single product is left to kernels that read such tensors directly. */
#include "expr/expr.h"
#include "graph/derive.h"
#include "graph/infer.h"
#include "graph/rewrite.h"

#include <string.h>

enum { MIN_PRODUCTS = 2 };

typedef struct widening {
    ry_graph *graph;
    /* indexed by value: its float32 form; the value itself, once its type is changed;
     * RY_NO_VALUE if not requested yet */
    ry_value_id *wide;
    ry_error *error;
} widening;

static bool is_half(const ry_graph *graph, ry_value_id id)
{
    return id != RY_NO_VALUE &&
           (graph->values[id].dtype == RY_f16 || graph->values[id].dtype == RY_bf16);
}

static bool is_product(ry_op op)
{
    return op == RY_OP_conv || op == RY_OP_convt || op == RY_OP_deform_conv || op == RY_OP_matmul;
}

/* Do kernels of processors read float32 only? */
static bool is_narrow(const ry_node *node)
{
    switch (node->op) {
    case RY_OP_layer_norm:
    case RY_OP_group_norm:
    case RY_OP_batch_norm:
    case RY_OP_batch_norm_train:
    case RY_OP_batch_norm_grad:
    case RY_OP_pool_grad:
    case RY_OP_dropout:
    case RY_OP_recurrent:
    case RY_OP_separable_conv: return true;
    case RY_OP_conv: return node->attrs.conv.dir == RY_direction_bwd_weights;
    default: return false;
    }
}

static void widen(ry_graph *graph, const void *how, void *to)
{
    const ry_value *old = &graph->values[*(const ry_value_id *)how];
    const char *from = old->constant;
    const bool bf16 = old->dtype == RY_bf16;
    for (int64_t i = 0, n = ry_shape_elements(&old->shape); i < n; i++) {
        uint16_t bits;
        memcpy(&bits, from + i * (int64_t)sizeof bits, sizeof bits);
        ((float *)to)[i] = bf16 ? ry_bf16_to_f32(bits) : ry_f16_to_f32(bits);
    }
}

static ry_value_id wide_constant(ry_graph *graph, ry_value_id id)
{
    const ry_shape shape = graph->values[id].shape;
    const ry_recipe recipe = {.what = "half", .count = 1, .from = &id};
    return ry_graph_add_derived(graph, &recipe, RY_f32, &shape, widen, &id);
}

/* `to` becomes `from` in its own type. */
static rynd_status add_cast(widening *w, ry_dtype dtype, ry_value_id from, ry_value_id to)
{
    const char *text = ry_arena_format(&w->graph->arena, "cast(x0, %s)", ry_dtype_name(dtype));
    if (!text) {
        return ry_fail_memory(w->error);
    }
    ry_attrs attrs = ry_attrs_default(RY_OP_expr);
    RY_TRY(ry_expr_parse(text, NULL, 0, &w->graph->arena, &attrs.expr.program, w->error));
    const ry_node_id made =
        ry_graph_add_node(w->graph, RY_OP_expr, NULL, "Cast", &attrs, 1, &from, 1, &to);
    return made == RY_NO_NODE ? ry_fail_memory(w->error) : RYND_OK;
}

/* A value of its shape in float32, which nothing makes yet. */
static ry_value_id add_wide(ry_graph *graph, ry_value_id id)
{
    const ry_shape shape = graph->values[id].shape;
    const ry_value_id made = ry_graph_add_value(graph, NULL, RY_f32, &shape);
    if (made != RY_NO_VALUE) {
        graph->values[made].bounded = graph->values[id].bounded;
    }
    return made;
}

static rynd_status widen_input(widening *w, ry_value_id id)
{
    if (w->wide[id] != RY_NO_VALUE) {
        return RYND_OK;
    }
    const ry_value *value = &w->graph->values[id];
    const bool constant =
        value->constant && ry_graph_spend(w->graph, ry_shape_bytes(&value->shape, RY_f32));
    w->wide[id] = constant ? wide_constant(w->graph, id) : add_wide(w->graph, id);
    if (w->wide[id] == RY_NO_VALUE) {
        return ry_fail_memory(w->error);
    }
    return constant ? RYND_OK : add_cast(w, RY_f32, id, w->wide[id]);
}

/* An output of the graph keeps its type: the node makes its float32 form, and a cast makes it of
 * that. */
static rynd_status widen_output(widening *w, ry_value_id *out, ry_dtype dtype)
{
    const ry_value_id id = *out;
    if (!ry_graph_is_output(w->graph, id)) {
        w->wide[id] = id;
        return RYND_OK;
    }
    w->graph->values[id].dtype = dtype;
    const ry_value_id wide = add_wide(w->graph, id);
    if (wide == RY_NO_VALUE) {
        return ry_fail_memory(w->error);
    }
    w->wide[id] = *out = wide;
    return add_cast(w, dtype, wide, id);
}

/* Types follow from the inputs; shapes stay, of which inference might know less than when the
 * values they depend on were there. `was` has room for the outputs. */
static rynd_status widen_outputs(widening *w, ry_node_id n, ry_value *was)
{
    ry_graph *graph = w->graph;
    ry_value_id *out = graph->nodes[n].out; /* in the arena: new nodes do not move it */
    const int outputs = graph->nodes[n].outputs;
    for (int i = 0; i < outputs; i++) {
        was[i] = out[i] == RY_NO_VALUE ? (ry_value){0} : graph->values[out[i]];
    }
    rynd_status status;
    ry_infer_node(graph, &graph->nodes[n], w->error, &status);
    for (int i = 0; i < outputs && status == RYND_OK; i++) {
        if (out[i] != RY_NO_VALUE) {
            ry_value *value = &graph->values[out[i]];
            value->shape = was[i].shape;
            value->bounded = was[i].bounded;
            status =
                value->dtype == was[i].dtype ? RYND_OK : widen_output(w, &out[i], was[i].dtype);
        }
    }
    return status;
}

/* A node that only reads such values into another type (a Cast, a comparison) does so from what is
 * there. */
static bool concerned(const widening *w, const ry_node *node)
{
    bool half_in = false, half_out = false, wide_in = false;
    for (int i = 0; i < node->inputs; i++) {
        half_in |= is_half(w->graph, node->in[i]);
        wide_in |= node->in[i] != RY_NO_VALUE && w->wide[node->in[i]] != RY_NO_VALUE;
    }
    for (int i = 0; i < node->outputs; i++) {
        half_out |= is_half(w->graph, node->out[i]);
    }
    return wide_in || (half_in && half_out);
}

/* What a node makes whose output's extent depends on data (Compress) is not made by a cast behind
 * it, of which nobody could tell the extent: such a node stays as it is, and is given its own type
 * again. */
static bool keeps_type(const ry_graph *graph, const ry_node *node)
{
    return ry_op_get_class(node->op) == RY_CLASS_BOUNDED && is_half(graph, node->out[0]);
}

static rynd_status narrow_inputs(widening *w, ry_node_id n)
{
    ry_graph *graph = w->graph;
    const ry_dtype dtype = graph->values[graph->nodes[n].out[0]].dtype;
    for (int i = 0; i < graph->nodes[n].inputs; i++) {
        const ry_value_id wide = graph->nodes[n].in[i];
        if (wide == RY_NO_VALUE || w->wide[wide] != wide) {
            continue;
        }
        const ry_shape shape = graph->values[wide].shape;
        const ry_value_id narrow = ry_graph_add_value(graph, NULL, dtype, &shape);
        if (narrow == RY_NO_VALUE) {
            return ry_fail_memory(w->error);
        }
        RY_TRY(add_cast(w, dtype, wide, narrow));
        ry_graph_set_input(graph, &graph->nodes[n], i, narrow);
    }
    return RYND_OK;
}

static rynd_status widen_node(widening *w, ry_node_id n)
{
    ry_graph *graph = w->graph;
    if (keeps_type(graph, &graph->nodes[n])) {
        return narrow_inputs(w, n);
    }
    if (!concerned(w, &graph->nodes[n])) {
        return RYND_OK;
    }
    ry_value_id *in = graph->nodes[n].in;
    for (int i = 0; i < graph->nodes[n].inputs; i++) {
        if (is_half(graph, in[i])) {
            RY_TRY(widen_input(w, in[i]));
            ry_graph_set_input(graph, &graph->nodes[n], i, w->wide[in[i]]);
        }
    }
    const ry_allocator *allocator = graph->arena.allocator;
    ry_value *was = ry_allocate_array(allocator, (size_t)graph->nodes[n].outputs, sizeof *was);
    const rynd_status status = was ? widen_outputs(w, n, was) : ry_fail_memory(w->error);
    ry_release(allocator, was);
    return status;
}

static rynd_status widen_graph(widening *w)
{
    for (size_t i = 0; i < w->graph->value_count; i++) {
        w->wide[i] = RY_NO_VALUE;
    }
    for (ry_node_id n = 0, nodes = (ry_node_id)w->graph->node_count; n < nodes; n++) {
        RY_TRY(widen_node(w, n));
    }
    return RYND_OK;
}

rynd_status ry_rewrite_half(ry_graph *graph, bool *changed, ry_error *error)
{
    int products = 0, narrow = 0;
    for (ry_node_id n = 0; n < graph->node_count; n++) {
        const ry_node *node = &graph->nodes[n];
        const bool half = node->inputs > 0 && is_half(graph, node->in[0]);
        products += half && is_product(node->op);
        narrow += half && is_narrow(node);
    }
    if (products < MIN_PRODUCTS && narrow == 0) {
        return RYND_OK;
    }
    const ry_allocator *allocator = graph->arena.allocator;
    widening w = {.graph = graph,
                  .wide = ry_allocate_array(allocator, graph->value_count, sizeof *w.wide),
                  .error = error};
    const rynd_status status = w.wide ? widen_graph(&w) : ry_fail_memory(error);
    ry_release(allocator, w.wide);
    *changed = true;
    return status;
}
