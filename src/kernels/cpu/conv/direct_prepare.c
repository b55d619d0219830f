/* SPDX-License-Identifier: Apache-2.0 */
/* What the staged convolution is asked before it runs. */
#include "base/whole.h"
#include "kernels/cpu/conv/direct_plan.h"
#include "kernels/knob_values.h"

static const char *const texts[DIRECT_TEXTS] = {[DIRECT_STAGED] = "staged", [DIRECT_BY_ROWS] = "columns", [DIRECT_IN_PLACE] = "in_place"};

const ry_knob direct_knobs[DIRECT_KNOBS] = {
    [DIRECT_TEXT] = {"text", texts, true}, [DIRECT_ROWS] = {"rows", NULL, false}, [DIRECT_GROUPS] = {"groups", NULL, false}};

static direct_plan *make(const ry_query *query)
{
    direct_plan *plan = ry_allocate(&ry_system_allocator, direct_plan_size(query->problem));
    if (plan) {
        direct_plan_make(query, plan);
    }
    return plan;
}

static void add_cuts(const ry_query *query, int knob, ry_knob_values *values)
{
    const ry_form form = ry_form_without(query, knob);
    const ry_query with = {query->kernel, query->problem, query->target, &form};
    direct_plan *plan = make(&with);
    ry_knob_values_add(values, 1);
    if (plan) {
        ry_knob_values_parts(knob == DIRECT_ROWS ? plan->phase.grid[1] : plan->geometry.groups, 1, values);
        ry_knob_values_add(values, knob == DIRECT_ROWS ? plan->rows : plan->groups_a_task);
    }
    ry_release(&ry_system_allocator, plan);
}

void direct_values(const ry_query *query, int knob, ry_knob_values *values)
{
    if (knob != DIRECT_TEXT) {
        add_cuts(query, knob, values);
        return;
    }
    for (direct_text text = 0; text < DIRECT_TEXTS; text++) {
        if (direct_has(query, text)) {
            ry_knob_values_add(values, text);
        }
    }
}

rynd_status direct_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    direct_plan *plan = make(query);
    if (!plan) {
        return ry_fail_memory(error);
    }
    const ry_conv_geometry *g = &plan->geometry;
    const size_t weights = (size_t)(g->groups * g->channels_out * g->channels_in * g->taps) * sizeof(float);
    const direct_text text = plan->by_rows ? DIRECT_BY_ROWS : plan->in_place ? DIRECT_IN_PLACE : DIRECT_STAGED;
    *prepared = (ry_prepared){.phases = 1,
                              .tasks = {(size_t)plan->tasks},
                              .state_size = plan->size,
                              .packed = ry_aligned(weights),
                              .pack_tasks = (size_t)g->groups,
                              .scratch = plan->scratch,
                              .work = plan->cycles * 2 * query->kernel->simd.width,
                              .form = {{[DIRECT_TEXT] = text, [DIRECT_ROWS] = plan->rows, [DIRECT_GROUPS] = plan->groups_a_task}}};
    ry_release(&ry_system_allocator, plan);
    return RYND_OK;
}

void direct_initialise(const ry_query *query, void *state)
{
    direct_plan_make(query, state);
}
