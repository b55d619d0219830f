/* SPDX-License-Identifier: Apache-2.0 */
/* What the depthwise convolution along channels is asked before it runs. */
#include "base/integer.h"
#include "kernels/cpu/depthwise/depthwise_nhwc_plan.h"
#include "kernels/cpu/parts/conv_packing.h"
#include "kernels/knob_values.h"
#include "kernels/packing.h"

const ry_knob ry_depthwise_nhwc_knobs[NHWC_KNOBS] = {
    [NHWC_WINDOW] = {.name = "window", .main = true},
    [NHWC_HEIGHT] = {.name = "height", .main = true},
    [NHWC_BLOCK_PIXELS] = {.name = "pixels"},
    [NHWC_TASK_ROWS] = {.name = "rows"},
    [NHWC_PART] = {.name = "part"},
    [NHWC_CHANNELS] = {.name = "channels"}};

static bool has_two(const ry_query *query)
{
    ry_form form = ry_form_free();
    form.value[NHWC_WINDOW] = ry_depthwise_nhwc_window(query);
    form.value[NHWC_HEIGHT] = NHWC_ROWS;
    depthwise_nhwc_plan plan;
    return ry_depthwise_nhwc_plan_make(
        &(ry_query){query->kernel, query->problem, query->target, &form}, &plan);
}

/* Sizes of parts, and what is chosen where the other knobs are as they are; for settings that do
 * not go together, as if all were free. */
static void add_cuts(const ry_query *query, int knob, ry_knob_values *values)
{
    const ry_form form = ry_form_without(query, knob);
    ry_query with = {query->kernel, query->problem, query->target, &form};
    depthwise_nhwc_plan plan;
    if (!ry_depthwise_nhwc_plan_make(&with, &plan)) {
        with.form = NULL;
        ry_depthwise_nhwc_plan_make(&with, &plan);
    }
    if (knob == NHWC_TASK_ROWS) {
        ry_knob_values_parts(plan.lines, 1, values);
        ry_knob_values_add(values, plan.rows);
        return;
    }
    ry_knob_values_parts(ry_round_up(knob == NHWC_PART ? plan.outputs : plan.part, plan.lanes),
                         plan.lanes, values);
    ry_knob_values_add(values, knob == NHWC_PART ? plan.part : plan.channels);
}

void ry_depthwise_nhwc_values(const ry_query *query, int knob, ry_knob_values *values)
{
    switch (knob) {
    case NHWC_WINDOW:
        ry_knob_values_add(values, 0);
        ry_knob_values_add(values, ry_depthwise_nhwc_window(query));
        break;
    case NHWC_HEIGHT:
        ry_knob_values_add(values, 1);
        ry_knob_values_add(values, has_two(query) ? NHWC_ROWS : 1);
        break;
    case NHWC_BLOCK_PIXELS:
        for (int64_t pixels = NHWC_FEWEST; pixels <= NHWC_PIXELS; pixels++) {
            ry_knob_values_add(values, pixels);
        }
        break;
    default: add_cuts(query, knob, values); break;
    }
}

static ry_counts counts_of(const ry_problem *problem, const depthwise_nhwc_plan *plan)
{
    const ry_conv_geometry *g = &plan->geometry;
    double columns = 0, taps = 1;
    for (int i = 0; i < RY_SPACE; i++) {
        taps *=
            (double)plan->axis[i].taps / (double)(plan->axis[i].same ? 1 : plan->axis[i].classes);
    }
    for (int64_t r = 0; r < plan->axis[2].classes; r++) {
        columns += (double)(ry_ceil_div(depthwise_axis_outputs(&plan->axis[2], r), plan->pixels) *
                            plan->pixels);
    }
    return (ry_counts){2.0 * (double)(g->batch * plan->lines * plan->packed_step * plan->depth) *
                           columns * taps,
                       ry_problem_bytes(problem)};
}

rynd_status ry_depthwise_nhwc_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    depthwise_nhwc_plan plan;
    if (!ry_depthwise_nhwc_plan_make(query, &plan)) {
        return ry_form_fail(query, error);
    }
    *prepared = (ry_prepared){.phases = 1,
                              .tasks = {(size_t)ry_cut_tasks(&plan.cut)},
                              .state_size = ry_aligned(sizeof plan),
                              .packed = ry_aligned((size_t)plan.packed * sizeof(float)),
                              .pack_tasks = (size_t)plan.depth + 1,
                              .scratch = plan.scratch,
                              .work = {{plan.cycles * 2 * query->kernel->simd.width, 0}},
                              .counts = counts_of(query->problem, &plan),
                              .form = {{[NHWC_WINDOW] = plan.window,
                                        [NHWC_HEIGHT] = plan.height,
                                        [NHWC_BLOCK_PIXELS] = plan.pixels,
                                        [NHWC_TASK_ROWS] = plan.rows,
                                        [NHWC_PART] = plan.part,
                                        [NHWC_CHANNELS] = plan.channels}}};
    return RYND_OK;
}

void ry_depthwise_nhwc_initialise(const ry_query *query, void *state)
{
    ry_depthwise_nhwc_plan_make(query, state);
}

void ry_depthwise_nhwc_packing_of(const depthwise_nhwc_plan *plan, ry_text *key)
{
    ry_conv_packing_add(&plan->geometry, NULL, key);
    RY_PACKING_NUMBERS(key, plan->depth, plan->taps, plan->outputs, plan->lanes, plan->packed_step,
                       plan->multiplier);
    for (int i = 0; i < RY_SPACE; i++) {
        const depthwise_axis *axis = &plan->axis[i];
        const int64_t classes = axis->same ? 1 : axis->classes;
        RY_PACKING_NUMBERS(key, classes);
        for (int64_t c = 0; c < classes; c++) {
            const depthwise_class *class = &axis->class[c];
            RY_PACKING_NUMBERS(key, class->taps, class->tap, class->tap_step);
        }
    }
}

void ry_depthwise_nhwc_packing(const ry_prepared *prepared, ry_text *key)
{
    ry_depthwise_nhwc_packing_of(prepared->state, key);
}
