/* SPDX-License-Identifier: Apache-2.0 */
/* What the depthwise convolution along rows is asked before it runs. */
#include "base/integer.h"
#include "kernels/cpu/depthwise/depthwise_nchw_plan.h"
#include "kernels/cpu/parts/conv_packing.h"
#include "kernels/knob_values.h"
#include "kernels/packing.h"

static const char *const variants[NCHW_VARIANTS] = {[NCHW_STRIP] = "strip",
                                                    [NCHW_WINDOW] = "window",
                                                    [NCHW_TWO_PLANES] = "two_planes",
                                                    [NCHW_ROTATING] = "rotating",
                                                    [NCHW_SEVEN_ROWS] = "seven_rows"};

const ry_knob ry_depthwise_nchw_knobs[NCHW_KNOBS] = {
    [NCHW_VARIANT] = {.name = "variant", .words = variants, .main = true},
    [NCHW_TWO_STRIPS] = {.name = "two_strips", .main = true},
    [NCHW_ROWS] = {.name = "rows"},
    [NCHW_CHANNELS] = {.name = "channels"}};

static void add_cuts(const ry_query *query, int knob, ry_knob_values *values)
{
    const ry_form form = ry_form_without(query, knob);
    const ry_query with = {query->kernel, query->problem, query->target, &form};
    depthwise_nchw_plan plan;
    const bool is_plan = ry_depthwise_nchw_plan_choose(&with, &plan);
    ry_knob_values_parts(knob == NCHW_ROWS ? plan.geometry.out[1] : plan.outputs, 1, values);
    if (is_plan) {
        ry_knob_values_add(values, knob == NCHW_ROWS ? plan.rows : plan.channels);
    }
}

void ry_depthwise_nchw_values(const ry_query *query, int knob, ry_knob_values *values)
{
    if (knob == NCHW_ROWS || knob == NCHW_CHANNELS) {
        add_cuts(query, knob, values);
        return;
    }
    for (int64_t value = 0; value < (knob == NCHW_VARIANT ? NCHW_VARIANTS : 2); value++) {
        const bool is = knob == NCHW_VARIANT
                            ? ry_depthwise_nchw_has(query, (depthwise_nchw_variant)value)
                            : value == 0 || ry_depthwise_nchw_has_two_strips(query);
        if (is) {
            ry_knob_values_add(values, value);
        }
    }
}

static ry_counts counts_of(const ry_query *query, const ry_conv_geometry *g)
{
    const int64_t width = query->kernel->simd.width;
    const int64_t row =
        2 * g->out[2] <= width && g->in[2] <= width ? width / 2 : ry_round_up(g->out[2], width);
    const int64_t rows = g->batch * g->groups * g->channels_out * g->out[0] * g->out[1];
    return (ry_counts){2.0 * (double)rows * (double)(row * g->taps),
                       ry_problem_bytes(query->problem)};
}

rynd_status ry_depthwise_nchw_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    depthwise_nchw_plan plan;
    if (!ry_depthwise_nchw_plan_choose(query, &plan)) {
        return ry_form_fail(query, error);
    }
    *prepared = (ry_prepared){
        .phases = 1,
        .tasks = {(size_t)ry_cut_tasks(&plan.cut)},
        .state_size = ry_aligned(plan.size),
        .packed = ry_aligned((size_t)(plan.outputs * (plan.geometry.taps + 1)) * sizeof(float)),
        .pack_tasks = (size_t)plan.outputs,
        .work = {{plan.cycles * 2 * query->kernel->simd.width, 0}},
        .counts = counts_of(query, &plan.geometry),
        .form = {{[NCHW_VARIANT] = plan.variant,
                  [NCHW_TWO_STRIPS] = plan.two_strips,
                  [NCHW_ROWS] = plan.rows,
                  [NCHW_CHANNELS] = plan.channels}}};
    return RYND_OK;
}

void ry_depthwise_nchw_packing(const ry_prepared *prepared, ry_text *key)
{
    const depthwise_nchw_plan *plan = prepared->state;
    ry_conv_packing_add(&plan->geometry, NULL, key);
    RY_PACKING_NUMBERS(key, plan->outputs, plan->multiplier);
}
