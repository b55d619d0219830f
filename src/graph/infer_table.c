/* SPDX-License-Identifier: Apache-2.0 */
/* The table of inference, made from infer_ops.inc. */
#include "graph/infer_table.h"

const ry_infer_row ry_infer_rows[RY_OPS] = {
#define RY_INFER(op, least, most, outputs, types, first, others) \
    [RY_OP_##op] = {least, most, outputs, RY_TYPES_##types, RY_RULE_##first, RY_RULE_##others, ry_infer_op_##op},
#include "graph/infer_ops.inc"
#undef RY_INFER
};
