/* SPDX-License-Identifier: Apache-2.0 */
/* The machinery of shape inference: checks that every operator needs, one node, and a whole graph.
 */
#include "graph/infer.h"

#include "graph/infer_table.h"

#include <string.h>

/* Element types by rule, before the operator's function runs. */
static ry_dtype rule_type(const ry_infer *infer, ry_infer_rule rule)
{
    switch (rule) {
    case RY_RULE_FIRST: return ry_infer_has(infer, 0) ? ry_infer_in(infer, 0)->dtype : RY_NONE;
    case RY_RULE_THIRD: return ry_infer_in(infer, 2)->dtype;
    case RY_RULE_I64: return RY_i64;
    case RY_RULE_F32: return RY_f32;
    default: return RY_NONE;
    }
}

static void set_types(const ry_infer *infer, const ry_infer_row *row)
{
    for (int i = 0; i < infer->node->outputs; i++) {
        ry_infer_rule rule = i ? row->others : row->first;
        ry_value *out = ry_infer_out(infer, i);
        if (out && rule != RY_RULE_OWN) {
            out->dtype = rule_type(infer, rule);
        }
    }
}

static bool rank_unknown(const ry_infer *infer)
{
    for (int i = 0; i < infer->node->inputs; i++) {
        if (ry_infer_has(infer, i) && ry_infer_in(infer, i)->shape.rank < 0) {
            return true;
        }
    }
    return false;
}

static ry_infer_result forget_outputs(const ry_infer *infer)
{
    for (int i = 0; i < infer->node->outputs; i++) {
        ry_value *out = ry_infer_out(infer, i);
        if (out) {
            out->shape.rank = -1;
            out->bounded = false;
        }
    }
    return RY_INFER_LATER;
}

/* What every operator's result must be: dims in range, and a size in bytes that fits int64. */
static ry_infer_result check_outputs(ry_infer *infer)
{
    if (infer->graph->exhausted) {
        infer->status = ry_fail_memory(infer->error);
        return RY_INFER_FAILED;
    }
    for (int i = 0; i < infer->node->outputs; i++) {
        const ry_value *out = ry_infer_out(infer, i);
        if (!out) {
            continue;
        }
        for (int d = 0; d < out->shape.rank; d++) {
            if (out->shape.dim[d] == RY_DIM_ERROR || out->shape.dim[d] > RY_MAX_DIM) {
                return ry_infer_fail(
                    infer, RYND_ERROR_SHAPE,
                    "dim %d of output %d, value '%s', would be negative or beyond 2^62", d, i,
                    out->name);
            }
        }
        if (out->shape.rank >= 0 && ry_infer_known(&out->shape) &&
            ry_shape_bytes(&out->shape, out->dtype) < 0) {
            char text[256];
            return ry_infer_fail(infer, RYND_ERROR_SHAPE,
                                 "output %d, value '%s', of shape %s has more bytes than 2^63", i,
                                 out->name,
                                 ry_shape_text(infer->graph, &out->shape, text, sizeof text));
        }
    }
    return RY_INFER_DONE;
}

static bool inputs_known(const ry_infer *infer)
{
    for (int i = 0; i < infer->node->inputs; i++) {
        if (ry_infer_has(infer, i) && !ry_infer_known(&ry_infer_in(infer, i)->shape)) {
            return false;
        }
    }
    return true;
}

/* Refuses unknown dims of outputs if all inputs are known: a negative number would be taken for a
 * symbol that nothing ever resolves. */
static ry_infer_result check_settled(ry_infer *infer)
{
    for (int i = 0; inputs_known(infer) && i < infer->node->outputs; i++) {
        const ry_value *out = ry_infer_out(infer, i);
        if (out && !ry_infer_known(&out->shape)) {
            char text[256];
            return ry_infer_fail(infer, RYND_ERROR_SHAPE,
                                 "the shape of output %d, value '%s', cannot be computed: %s", i,
                                 out->name,
                                 ry_shape_text(infer->graph, &out->shape, text, sizeof text));
        }
    }
    return RY_INFER_DONE;
}

static ry_infer_result infer_known_extents(ry_infer *infer, const ry_infer_row *row)
{
    if (row->first != RY_RULE_OWN && rank_unknown(infer)) {
        return forget_outputs(infer);
    }
    ry_infer_result result = row->infer(infer);
    if (result == RY_INFER_FAILED || check_outputs(infer) == RY_INFER_FAILED) {
        return RY_INFER_FAILED;
    }
    return result == RY_INFER_DONE ? check_settled(infer) : result;
}

static bool is_bounded(const ry_infer *infer, int i)
{
    return ry_infer_has(infer, i) && ry_infer_in(infer, i)->bounded;
}

/* An input whose shape is only a bound has, for its consumer, an unknown extent: its dims are
 * unknown while the function runs. */
static ry_infer_result infer_any_extents(ry_infer *infer, const ry_infer_row *row)
{
    int count = infer->node->inputs, first = 0;
    while (first < count && !is_bounded(infer, first)) {
        first++;
    }
    if (first == count) {
        return infer_known_extents(infer, row);
    }
    const ry_allocator *allocator = infer->graph->arena.allocator;
    ry_shape *bounds = ry_allocate_array(allocator, (size_t)count, sizeof *bounds);
    if (!bounds) {
        infer->status = ry_fail_memory(infer->error);
        return RY_INFER_FAILED;
    }
    for (int i = 0; i < count; i++) {
        bounds[i].rank = -1; /* -1: not set aside */
        if (is_bounded(infer, i)) {
            ry_value *value = &infer->graph->values[infer->node->in[i]];
            bounds[i] = value->shape;
            value->shape = ry_infer_unknown(infer, bounds[i].rank);
            value->bounded = false; /* so that a value used twice is set aside once */
        }
    }
    ry_infer_result result = infer_known_extents(infer, row);
    for (int i = 0; i < count; i++) {
        if (bounds[i].rank >= 0) {
            ry_value *value = &infer->graph->values[infer->node->in[i]];
            value->shape = bounds[i];
            value->bounded = true;
        }
    }
    ry_release(allocator, bounds);
    return result == RY_INFER_DONE ? RY_INFER_LATER : result;
}

ry_infer_result ry_infer_node(ry_graph *graph, ry_node *node, ry_error *error, rynd_status *status)
{
    ry_infer infer = {.graph = graph, .node = node, .error = error, .status = RYND_OK};
    ry_infer_result result = RY_INFER_FAILED;
    infer.status = ry_infer_check_arity(node, error);
    if (infer.status == RYND_OK) {
        infer.status = ry_infer_check_types(graph, node, error);
    }
    if (infer.status == RYND_OK) {
        const ry_infer_row *row = &ry_infer_rows[node->op];
        set_types(&infer, row);
        result = infer_any_extents(&infer, row);
    }
    *status = infer.status;
    return result;
}

static rynd_status check_declared(ry_graph *graph, const ry_value *value, const ry_value *declared,
                                  ry_error *error)
{
    if (declared->dtype != RY_NONE && value->dtype != RY_NONE && declared->dtype != value->dtype) {
        return ry_fail(error, RYND_ERROR_SHAPE,
                       "output '%s' is declared %s, but the graph computes %s", value->name,
                       ry_dtype_name(declared->dtype), ry_dtype_name(value->dtype));
    }
    bool differ = declared->shape.rank >= 0 && value->shape.rank >= 0 &&
                  declared->shape.rank != value->shape.rank;
    for (int i = 0; !differ && i < declared->shape.rank && i < value->shape.rank; i++) {
        differ = !ry_infer_agree(declared->shape.dim[i], value->shape.dim[i]);
    }
    if (differ && !value->bounded && !declared->bounded) {
        char is[256], was[256];
        ry_graph_warn(graph, "output '%s' is declared %s, but the graph computes %s, which holds",
                      value->name, ry_shape_text(graph, &declared->shape, was, sizeof was),
                      ry_shape_text(graph, &value->shape, is, sizeof is));
    }
    return RYND_OK;
}

rynd_status ry_graph_infer(ry_graph *graph, ry_error *error)
{
    ry_value *declared =
        ry_allocate_array(graph->arena.allocator, graph->output_count, sizeof *declared);
    if (!declared) {
        return ry_fail_memory(error);
    }
    for (size_t i = 0; i < graph->output_count; i++) {
        declared[i] = graph->values[graph->outputs[i]];
    }
    rynd_status status = RYND_OK;
    for (size_t n = 0; n < graph->node_count && status == RYND_OK; n++) {
        if (graph->nodes[n].op != RY_OP_dead) {
            ry_infer_node(graph, &graph->nodes[n], error, &status);
        }
    }
    for (size_t i = 0; i < graph->output_count && status == RYND_OK; i++) {
        status = check_declared(graph, &graph->values[graph->outputs[i]], &declared[i], error);
    }
    ry_release(graph->arena.allocator, declared);
    return status;
}
