/* SPDX-License-Identifier: Apache-2.0 */
/* Cycles of the depthwise convolution along channels: of sums, of staging, of tables of addresses.
 */
#include "kernels/cpu/depthwise/depthwise_nhwc_plan.h"

#include "base/integer.h"
#include "kernels/costs.h"

/* Columns of a line in full blocks. */
static int64_t blocks_of(const depthwise_axis *axis, int64_t pixels)
{
    int64_t columns = 0;
    for (int64_t r = 0; r < axis->classes; r++) {
        columns += ry_round_up(depthwise_axis_outputs(axis, r), pixels);
    }
    return columns;
}

double ry_depthwise_nhwc_tap_cycles(const depthwise_nhwc_plan *plan, int sources)
{
    const struct ry_depthwise_nhwc_costs *cost = &ry_costs_of(plan->costs)->depthwise_nhwc;
    const double tap[][3] = {
        {cost->tap, cost->tap_strided, cost->tap_any},
        {cost->tap_permuted, cost->tap_permuted_strided, cost->tap_permuted_any},
        {cost->tap_wide, cost->tap_wide_strided, cost->tap_wide_any}};
    return tap[sources][plan->window == 0 ? 2 : plan->stride > 1];
}

/* Vectors of outputs at a position. */
static double vectors_of(const depthwise_nhwc_plan *plan)
{
    return (double)(plan->geometry.batch * ry_ceil_div(plan->outputs, plan->lanes));
}

/* Pixels of a vector, in full blocks. */
static double pixels_of(const depthwise_nhwc_plan *plan)
{
    return (double)(plan->lines * blocks_of(&plan->axis[2], plan->pixels));
}

/* A vector's sums. */
static double sum_cycles(const depthwise_nhwc_plan *plan)
{
    const struct ry_depthwise_nhwc_costs *cost = &ry_costs_of(plan->costs)->depthwise_nhwc;
    const double rows =
        plan->height == 2 && plan->window == 3 ? 3.0 : ry_depthwise_axis_mean(&plan->axis[1]);
    const double taps =
        (double)plan->axis[2].taps / (double)(plan->axis[2].same ? 1 : plan->axis[2].classes);
    const double area = ry_depthwise_axis_mean(&plan->axis[0]) * rows * taps;
    const double each =
        area * (double)plan->depth * ry_depthwise_nhwc_tap_cycles(plan, plan->sources);
    const double end = cost->end + (plan->planes_out ? cost->write_planes
                                    : plan->through  ? cost->through
                                                     : 0.0);
    return pixels_of(plan) * (each + end);
}

double ry_depthwise_nhwc_sum_cycles(const depthwise_nhwc_plan *plan)
{
    return vectors_of(plan) * sum_cycles(plan);
}

double ry_depthwise_nhwc_cycles(const ry_query *query, const depthwise_nhwc_plan *plan)
{
    const struct ry_depthwise_nhwc_costs *cost = &ry_costs_of(plan->costs)->depthwise_nhwc;
    const ry_conv_geometry *g = &plan->geometry;
    const double read =
        (double)(g->in[0] * g->in[1] * g->in[2]) * (double)plan->depth / (double)plan->multiplier;
    const double staged = plan->planes_in ? cost->read_planes : plan->staged ? cost->staged : 0.0;
    const double tables = (double)(plan->slices * plan->table_rows * plan->field) *
                          pixels_of(plan) / (double)plan->pixels;
    return (double)g->batch * cost->image +
           vectors_of(plan) * (sum_cycles(plan) + read * staged +
                               cost->address * tables * (double)query->kernel->simd.width /
                                   (double)plan->channels);
}
