/* SPDX-License-Identifier: Apache-2.0 */
/* The table of gradients. */
#include "train/gradient.h"

static ry_gradient_rule *const rules[RY_OPS] = {
#define RY_GRADIENT(op, rule) [RY_OP_##op] = rule,
#include "train/gradients.inc"
#undef RY_GRADIENT
};

ry_gradient_rule *ry_gradient_rule_of(ry_op op)
{
    return op < RY_OPS ? rules[op] : NULL;
}
