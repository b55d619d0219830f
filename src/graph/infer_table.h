/* SPDX-License-Identifier: Apache-2.0 */
/* The table of inference: one row an operator; what every row states is checked. */
#ifndef RY_GRAPH_INFER_TABLE_H
#define RY_GRAPH_INFER_TABLE_H

#include "graph/infer_tools.h"

typedef enum ry_infer_types {
    RY_TYPES_ANY,
    RY_TYPES_NUMBER,
    RY_TYPES_FLOAT,
    RY_TYPES_INTEGER
} ry_infer_types;
typedef enum ry_infer_rule {
    RY_RULE_FIRST,
    RY_RULE_THIRD,
    RY_RULE_I64,
    RY_RULE_F32,
    RY_RULE_OWN
} ry_infer_rule;

typedef struct ry_infer_row {
    int min_inputs, max_inputs, max_outputs;
    ry_infer_types types;
    ry_infer_rule first, others;
    ry_infer_fn infer;
} ry_infer_row;

extern const ry_infer_row ry_infer_rows[RY_OPS];

#define RY_INFER(op, least, most, outputs, types, first, others) \
    ry_infer_result ry_infer_op_##op(ry_infer *infer);
#include "graph/infer_ops.inc"
#undef RY_INFER

/* Against the row: number and presence of inputs and outputs; that input types are known, and the
 * type of input 0 allowed. */
rynd_status ry_infer_check_arity(const ry_node *node, ry_error *error);
rynd_status ry_infer_check_types(const ry_graph *graph, const ry_node *node, ry_error *error);

#endif
