/* SPDX-License-Identifier: Apache-2.0 */
/* What convolutions of few input channels are asked before they run. */
#include "base/whole.h"
#include "kernels/cpu/stem/stem_plan.h"
#include "kernels/knob_values.h"

static const char *const modes[STEM_MODES] = {[STEM_CHANNELS] = "channels", [STEM_PIXELS] = "pixels", [STEM_TURNED] = "turned"};

const ry_knob stem_knobs[STEM_KNOBS] = {[STEM_MODE] = {"mode", modes, true}, [STEM_ROWS] = {"rows", NULL, false}};

void stem_values(const ry_query *query, int knob, ry_knob_values *values)
{
    if (knob == STEM_MODE) {
        for (stem_mode mode = 0; mode < STEM_MODES; mode++) {
            if (stem_has(query->problem, mode)) {
                ry_knob_values_add(values, mode);
            }
        }
        return;
    }
    const ry_form form = ry_form_without(query, knob);
    const ry_query with = {query->kernel, query->problem, query->target, &form};
    stem_plan plan;
    stem_plan_choose(&with, &plan);
    ry_knob_values_parts(plan.geometry.out[1], 1, values);
    ry_knob_values_add(values, plan.rows_a_task);
}

rynd_status stem_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    (void)error;
    stem_plan plan;
    stem_plan_choose(query, &plan);
    int64_t packed = 0;
    for (int64_t unit = 0; unit < plan.units; unit++) {
        packed += plan.depth * stem_unit_packed(&plan, unit);
    }
    const stem_mode mode = plan.pixels ? STEM_PIXELS : plan.turned ? STEM_TURNED : STEM_CHANNELS;
    *prepared = (ry_prepared){.phases = 1,
                              .tasks = {(size_t)(plan.geometry.batch * plan.blocks)},
                              .state_size = plan.size,
                              .packed = ry_aligned((size_t)packed * sizeof(float)),
                              .pack_tasks = 1,
                              .scratch = plan.scratch,
                              .work = plan.cycles * 2 * query->kernel->simd.width,
                              .form = {{[STEM_MODE] = mode, [STEM_ROWS] = plan.rows_a_task}}};
    return RYND_OK;
}

void stem_initialise(const ry_query *query, void *state)
{
    stem_plan_make(query, state);
}
