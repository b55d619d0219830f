/* SPDX-License-Identifier: Apache-2.0 */
/* Applies the rules that replace one node by nodes of other operators. */
#include "graph/rewrite_rule.h"

#include "graph/rewrite.h"

ry_value_id ry_rule_cast(ry_rule_call *call, ry_value_id value, ry_dtype dtype)
{
    const char *text =
        ry_arena_format(&call->emitter.graph->arena, "cast(x0, %s)", ry_dtype_name(dtype));
    if (!text) {
        ry_emit_fail(&call->emitter, RYND_ERROR_OUT_OF_MEMORY, "out of memory");
        return RY_NO_VALUE;
    }
    return ry_emit_expr(&call->emitter, text, 1, &value);
}

void ry_rule_give(ry_rule_call *call, int output, ry_value_id value)
{
    if (output >= call->node.outputs || call->node.out[output] == RY_NO_VALUE) {
        return;
    }
    ry_emitter *e = &call->emitter;
    const ry_value_id out = call->node.out[output];
    const ry_shape shape = ry_emit_shape(e, out);
    const ry_value_id shaped = ry_emit_reshape(e, value, &shape);
    const char *text =
        ry_arena_format(&e->graph->arena, "cast(x0, %s)", ry_dtype_name(ry_emit_dtype(e, out)));
    ry_attrs attrs = ry_attrs_default(RY_OP_expr);
    attrs.expr.program = text ? ry_emit_program(e, text) : NULL;
    if (attrs.expr.program) {
        ry_emit_into(e, RY_OP_expr, &attrs, 1, &shaped, 1, &out);
    }
}

ry_value_id ry_rule_along_channels(ry_rule_call *call, ry_value_id value)
{
    ry_shape shape = {.rank = call->shape.rank - 1, .dim = {call->shape.dim[1]}};
    for (int i = 1; i < shape.rank; i++) {
        shape.dim[i] = 1;
    }
    return ry_emit_reshape(&call->emitter, value, &shape);
}

rynd_status ry_rewrite_by_rules(ry_graph *graph, ry_rule_of rule_of, bool *changed, ry_error *error)
{
    const size_t count = graph->node_count;
    for (ry_node_id id = 0; id < count; id++) {
        const ry_node node = graph->nodes[id];
        const bool plain = node.inputs > 0 && node.in[0] != RY_NO_VALUE && node.outputs > 0 &&
                           node.out[0] != RY_NO_VALUE;
        const ry_rule rule = plain ? rule_of(graph, &node) : NULL;
        if (!rule) {
            continue;
        }
        const ry_node_id first = (ry_node_id)graph->node_count;
        ry_rule_call call = {.emitter = {.graph = graph,
                                         .name = ry_arena_format(&graph->arena, "%s/%s",
                                                                 graph->values[node.out[0]].name,
                                                                 ry_op_name(node.op)),
                                         .error = error},
                             .node = node,
                             .shape = graph->values[node.in[0]].shape,
                             .dtype = graph->values[node.in[0]].dtype};
        if (!call.emitter.name) {
            return ry_fail_memory(error);
        }
        const ry_value_id y = rule(&call);
        RY_TRY(call.emitter.status);
        ry_rewrite_replace(graph, id, first, y);
        *changed = true;
    }
    return RYND_OK;
}
