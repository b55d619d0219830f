/* SPDX-License-Identifier: Apache-2.0 */
/* An activation costs the same for every output. */
#include "predict/activation_price.h"

static const double costs[RY_activation_count][RY_COST_COLUMNS] = {
#define RY_ACTIVATION_COST(name, parts, lines, intel) \
    [RY_activation_##name] = {parts, lines, intel},
#include "predict/activation_costs.inc"
#undef RY_ACTIVATION_COST
};

/* The depthwise outputs of a separable convolution: at the output's positions, of the input's
 * channels. */
static double middle_outputs(const ry_problem *problem)
{
    const ry_tensor *x = &problem->in[0], *y = &problem->out[0];
    return (double)ry_tensor_count(y) / (double)y->dim[1] * (double)x->dim[1];
}

double ry_activation_work(const ry_problem *problem, ry_cost_column column)
{
    const ry_attrs *attrs = &problem->attrs;
    const double outputs = (double)ry_tensor_count(&problem->out[0]);
    const unsigned fitted = (unsigned)column % RY_COST_COLUMNS;
    switch (problem->op) {
    case RY_OP_conv: return outputs * costs[attrs->conv.activation][fitted];
    case RY_OP_convt: return outputs * costs[attrs->convt.activation][fitted];
    case RY_OP_matmul: return outputs * costs[attrs->matmul.activation][fitted];
    case RY_OP_separable_conv:
        return middle_outputs(problem) * costs[attrs->separable_conv.mid_activation][fitted] +
               outputs * costs[attrs->separable_conv.activation][fitted];
    default: return 0;
    }
}
