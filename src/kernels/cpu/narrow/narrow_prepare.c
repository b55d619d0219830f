/* SPDX-License-Identifier: Apache-2.0 */
/* What convolutions to few output channels are asked before they run. */
#include "base/whole.h"
#include "kernels/cpu/narrow/narrow_plan.h"
#include "kernels/knob_values.h"

const ry_knob narrow_knobs[NARROW_KNOBS] = {[NARROW_COLUMNS] = {"columns", NULL, false},
                                            [NARROW_IMAGES] = {"images", NULL, false},
                                            [NARROW_TASK_ROWS] = {"rows", NULL, false},
                                            [NARROW_CHUNK] = {"chunk", NULL, false}};

/* Parts of rows are made where rows have one phase. */
static void add_values(const narrow_plan *plan, int width, int knob, ry_knob_values *values)
{
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t extent[NARROW_KNOBS] = {
        [NARROW_COLUMNS] = plan->grid[1], [NARROW_IMAGES] = g->batch, [NARROW_TASK_ROWS] = plan->grid[0], [NARROW_CHUNK] = g->channels_in};
    const int64_t chosen[NARROW_KNOBS] = {
        [NARROW_COLUMNS] = plan->columns, [NARROW_IMAGES] = plan->images, [NARROW_TASK_ROWS] = plan->rows, [NARROW_CHUNK] = plan->chunk};
    const int64_t grain = knob != NARROW_COLUMNS ? 1 : g->phases == 1 ? width : extent[knob];
    ry_knob_values_parts(extent[knob], grain, values);
    ry_knob_values_add(values, chosen[knob]);
}

void narrow_values(const ry_query *query, int knob, ry_knob_values *values)
{
    const ry_form form = ry_form_without(query, knob);
    const ry_query with = {query->kernel, query->problem, query->target, &form};
    narrow_plan *plan = ry_allocate(&ry_system_allocator, narrow_plan_size(query->problem));
    if (plan) {
        narrow_plan_make(&with, plan);
        add_values(plan, query->kernel->simd.width, knob, values);
    } else {
        ry_knob_values_add(values, 1);
    }
    ry_release(&ry_system_allocator, plan);
}

static ry_prepared prepared_of(const ry_query *query, const narrow_plan *plan)
{
    return (ry_prepared){.phases = 1,
                         .tasks = {(size_t)plan->tasks},
                         .state_size = ry_aligned(plan->size),
                         .packed = ry_aligned((size_t)(plan->packed_group * plan->geometry.groups) * sizeof(float)),
                         .pack_tasks = (size_t)plan->geometry.groups,
                         .scratch = plan->scratch,
                         .work = plan->cycles * 2 * query->kernel->simd.width,
                         .form = {{[NARROW_COLUMNS] = plan->columns,
                                   [NARROW_IMAGES] = plan->images,
                                   [NARROW_TASK_ROWS] = plan->rows,
                                   [NARROW_CHUNK] = plan->chunk}}};
}

rynd_status narrow_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    narrow_plan *plan = ry_allocate(&ry_system_allocator, narrow_plan_size(query->problem));
    if (!plan) {
        return ry_fail_memory(error);
    }
    const bool is = narrow_plan_make(query, plan);
    if (is) {
        *prepared = prepared_of(query, plan);
    }
    ry_release(&ry_system_allocator, plan);
    return is ? RYND_OK : ry_form_fail(query, error);
}

void narrow_initialise(const ry_query *query, void *state)
{
    narrow_plan_make(query, state);
}
