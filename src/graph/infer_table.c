/* SPDX-License-Identifier: Apache-2.0 */
/* The table of inference, made from infer_ops.inc. */
#include "graph/infer_table.h"

const ry_infer_row ry_infer_rows[RY_OPS] = {
#define RY_INFER(op, least, most, outputs, types, first, others)                             \
    [RY_OP_##op] = {                                                                         \
        least,           most, outputs, RY_TYPES_##types, RY_RULE_##first, RY_RULE_##others, \
        ry_infer_op_##op},
#include "graph/infer_ops.inc"
#undef RY_INFER
};

static const char *const type_texts[] = {
    [RY_TYPES_ANY] = "any type",
    [RY_TYPES_NUMBER] = "a number type, not bool",
    [RY_TYPES_FLOAT] = "f16, bf16, f32 or f64",
    [RY_TYPES_INTEGER] = "an integer type",
};

static bool type_allowed(ry_dtype dtype, ry_infer_types types)
{
    ry_dtype_kind kind = ry_dtype_get_kind(dtype);
    switch (types) {
    case RY_TYPES_NUMBER: return kind != RY_KIND_BOOL;
    case RY_TYPES_FLOAT: return kind == RY_KIND_FLOAT;
    case RY_TYPES_INTEGER: return kind == RY_KIND_SIGNED || kind == RY_KIND_UNSIGNED;
    default: return true;
    }
}

rynd_status ry_infer_check_arity(const ry_node *node, ry_error *error)
{
    const ry_infer_row *row = &ry_infer_rows[node->op];
    if (node->inputs < row->min_inputs ||
        (row->max_inputs >= 0 && node->inputs > row->max_inputs)) {
        return ry_fail(error, RYND_ERROR_FORMAT, "node '%s' (%s): %d inputs, expected %s %d",
                       node->name, node->source, node->inputs,
                       node->inputs < row->min_inputs ? "at least" : "at most",
                       node->inputs < row->min_inputs ? row->min_inputs : row->max_inputs);
    }
    if (node->outputs < 1 || (row->max_outputs >= 0 && node->outputs > row->max_outputs)) {
        return ry_fail(error, RYND_ERROR_FORMAT, "node '%s' (%s): %d outputs, expected %s %d",
                       node->name, node->source, node->outputs,
                       node->outputs < 1 ? "at least" : "at most",
                       node->outputs < 1 ? 1 : row->max_outputs);
    }
    for (int i = 0; i < row->min_inputs; i++) {
        if (node->in[i] == RY_NO_VALUE) {
            return ry_fail(error, RYND_ERROR_FORMAT,
                           "node '%s' (%s): input %d is required, but absent", node->name,
                           node->source, i);
        }
    }
    return RYND_OK;
}

rynd_status ry_infer_check_types(const ry_graph *graph, const ry_node *node, ry_error *error)
{
    const ry_infer_row *row = &ry_infer_rows[node->op];
    for (int i = 0; i < node->inputs; i++) {
        const ry_value *value = node->in[i] == RY_NO_VALUE ? NULL : &graph->values[node->in[i]];
        if (value && value->dtype == RY_NONE) {
            return ry_fail(error, RYND_ERROR_SHAPE,
                           "node '%s' (%s): the type of input %d, value '%s', is not known",
                           node->name, node->source, i, value->name);
        }
        if (value && i == 0 && !type_allowed(value->dtype, row->types)) {
            return ry_fail(error, RYND_ERROR_SHAPE,
                           "node '%s' (%s): input 0, value '%s', is %s, expected %s", node->name,
                           node->source, value->name, ry_dtype_name(value->dtype),
                           type_texts[row->types]);
        }
    }
    return RYND_OK;
}
