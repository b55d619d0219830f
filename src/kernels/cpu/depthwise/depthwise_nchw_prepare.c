/* SPDX-License-Identifier: Apache-2.0 */
/* What the depthwise convolution along rows is asked before it runs. */
#include "base/whole.h"
#include "kernels/cpu/depthwise/depthwise_nchw_plan.h"
#include "kernels/knob_values.h"

static const char *const texts[NCHW_TEXTS] = {
    [NCHW_STRIP] = "strip", [NCHW_WINDOW] = "window", [NCHW_PAIR] = "pair", [NCHW_ROLL] = "roll", [NCHW_SEVEN] = "seven"};

const ry_knob depthwise_nchw_knobs[NCHW_KNOBS] = {[NCHW_TEXT] = {"text", texts, true},
                                                  [NCHW_HALVES] = {"halves", NULL, true},
                                                  [NCHW_ROWS] = {"rows", NULL, false},
                                                  [NCHW_CHANNELS] = {"channels", NULL, false}};

static void add_cuts(const ry_query *query, int knob, ry_knob_values *values)
{
    const ry_form form = ry_form_without(query, knob);
    const ry_query with = {query->kernel, query->problem, query->target, &form};
    depthwise_nchw_plan plan;
    const bool is_plan = depthwise_nchw_plan_choose(&with, &plan);
    ry_knob_values_parts(knob == NCHW_ROWS ? plan.geometry.out[1] : plan.outputs, 1, values);
    if (is_plan) {
        ry_knob_values_add(values, knob == NCHW_ROWS ? plan.rows : plan.channels);
    }
}

void depthwise_nchw_values(const ry_query *query, int knob, ry_knob_values *values)
{
    if (knob == NCHW_ROWS || knob == NCHW_CHANNELS) {
        add_cuts(query, knob, values);
        return;
    }
    for (int64_t value = 0; value < (knob == NCHW_TEXT ? NCHW_TEXTS : 2); value++) {
        const bool is =
            knob == NCHW_TEXT ? depthwise_nchw_has(query, (depthwise_nchw_text)value) : value == 0 || depthwise_nchw_has_halves(query);
        if (is) {
            ry_knob_values_add(values, value);
        }
    }
}

static ry_counts counts_of(const ry_query *query, const ry_conv_geometry *g)
{
    const int64_t width = query->kernel->simd.width;
    const int64_t row = 2 * g->out[2] <= width && g->in[2] <= width ? width / 2 : ry_whole(g->out[2], width);
    const int64_t rows = g->batch * g->groups * g->channels_out * g->out[0] * g->out[1];
    return (ry_counts){2.0 * (double)rows * (double)(row * g->taps), ry_problem_bytes(query->problem)};
}

rynd_status depthwise_nchw_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    depthwise_nchw_plan plan;
    if (!depthwise_nchw_plan_choose(query, &plan)) {
        return ry_form_fail(query, error);
    }
    *prepared = (ry_prepared){
        .phases = 1,
        .tasks = {(size_t)plan.tasks},
        .state_size = ry_aligned(plan.size),
        .packed = ry_aligned((size_t)(plan.outputs * (plan.geometry.taps + 1)) * sizeof(float)),
        .pack_tasks = (size_t)plan.outputs,
        .work = {{plan.cycles * 2 * query->kernel->simd.width, 0}},
        .counts = counts_of(query, &plan.geometry),
        .form = {{[NCHW_TEXT] = plan.text, [NCHW_HALVES] = plan.halves, [NCHW_ROWS] = plan.rows, [NCHW_CHANNELS] = plan.channels}}};
    return RYND_OK;
}
