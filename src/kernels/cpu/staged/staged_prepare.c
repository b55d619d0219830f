/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel functions of staged convolutions that run before `run`: applicable, prepare, pack. */
#include "base/integer.h"
#include "kernels/common/work.h"
#include "kernels/cpu/parts/conv_packing.h"
#include "kernels/cpu/staged/staged_plan.h"
#include "kernels/knob_values.h"
#include "kernels/packing.h"

static const char *const tiles[STAGED_FORMS] = {[STAGED_RUNS] = "runs",
                                                [STAGED_ROWS] = "rows",
                                                [STAGED_CHANNELS] = "channels",
                                                [STAGED_PLACE] = "place"};

const ry_knob ry_staged_knobs[STAGED_KNOBS] = {
    [STAGED_TILE] = {"tile", tiles, true, true}, [STAGED_COLUMNS] = {.name = "columns"},
    [STAGED_IMAGES] = {.name = "images"},        [STAGED_TASK_ROWS] = {.name = "rows"},
    [STAGED_GROUPS] = {.name = "groups"},        [STAGED_K_BLOCK] = {.name = "k_block"}};

static ry_form form_of(const staged_plan *plan)
{
    return (ry_form){{[STAGED_TILE] = plan->form,
                      [STAGED_COLUMNS] = plan->columns,
                      [STAGED_IMAGES] = plan->images,
                      [STAGED_TASK_ROWS] = plan->rows,
                      [STAGED_GROUPS] = plan->groups,
                      [STAGED_K_BLOCK] = plan->k_block}};
}

/* Runs alone cut more than rows and groups: parts of rows where these have one phase. */
static void add_values(const staged_plan *plan, int knob, ry_knob_values *values)
{
    const ry_conv_geometry *g = &plan->geometry;
    const bool runs = plan->form == STAGED_RUNS;
    const int64_t extent[STAGED_KNOBS] = {[STAGED_COLUMNS] = plan->grid[1],
                                          [STAGED_IMAGES] = runs ? g->batch : 1,
                                          [STAGED_TASK_ROWS] = plan->grid[0],
                                          [STAGED_GROUPS] = g->groups,
                                          [STAGED_K_BLOCK] = g->channels_in};
    const int64_t lane_multiple[STAGED_KNOBS] = {
        [STAGED_COLUMNS] = runs && g->phases == 1 ? plan->width : extent[knob],
        [STAGED_IMAGES] = 1,
        [STAGED_TASK_ROWS] = 1,
        [STAGED_GROUPS] = 1,
        [STAGED_K_BLOCK] = runs ? 1 : extent[knob]};
    ry_knob_values_parts(extent[knob], lane_multiple[knob], values);
    ry_knob_values_add(values, form_of(plan).value[knob]);
}

void ry_staged_values(const ry_query *query, int knob, ry_knob_values *values)
{
    if (knob == STAGED_TILE) {
        ry_staged_list_forms(query, values);
        return;
    }
    const ry_form form = ry_form_without(query, knob);
    const ry_query with = {query->kernel, query->problem, query->target, &form};
    staged_plan *plan = ry_allocate(&ry_system_allocator, ry_staged_plan_size(query->problem));
    if (plan && ry_staged_plan_make(&with, plan)) {
        add_values(plan, knob, values);
    } else {
        ry_knob_values_add(values, 1);
    }
    ry_release(&ry_system_allocator, plan);
}

rynd_status ry_staged_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    staged_plan *plan = ry_allocate(&ry_system_allocator, ry_staged_plan_size(query->problem));
    if (!plan) {
        return ry_fail_memory(error);
    }
    const bool is = ry_staged_plan_make(query, plan);
    if (is) {
        *prepared =
            (ry_prepared){.phases = 1,
                          .tasks = {(size_t)plan->tasks},
                          .state_size = ry_aligned(plan->size),
                          .packed = ry_aligned(
                              (size_t)(plan->packed_group * plan->geometry.groups) * sizeof(float)),
                          .pack_tasks = (size_t)plan->geometry.groups,
                          .scratch = plan->scratch,
                          .work = {ry_work_of_cycles(plan->work, plan->width)},
                          .form = form_of(plan)};
    }
    ry_release(&ry_system_allocator, plan);
    return is ? RYND_OK : ry_form_fail(query, error);
}

void ry_staged_initialise(const ry_query *query, void *state)
{
    ry_staged_plan_make(query, state);
}

void ry_staged_packing(const ry_prepared *prepared, ry_text *key)
{
    const staged_plan *plan = prepared->state;
    const ry_conv_geometry *g = &plan->geometry;
    ry_conv_packing_add(g, staged_taps(plan), key);
    RY_PACKING_NUMBERS(key, plan->form == STAGED_CHANNELS, plan->width, plan->oc_blocks,
                       plan->max_oc_block, plan->packed_group, plan->depths);
    for (int64_t i = 0; i < g->phases * plan->depths; i++) {
        const staged_phase *phase = &plan->phase[i / plan->depths];
        const staged_slice *slice = &phase->slice[i % plan->depths];
        RY_PACKING_NUMBERS(key, phase->packed, phase->at.first_tap, slice->first, slice->count);
    }
}
