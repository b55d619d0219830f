/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel functions of separable convolutions that run before `run`: applicable, prepare, pack.
 */
#include "base/integer.h"
#include "kernels/cpu/separable/separable_plan.h"
#include "kernels/knob_values.h"
#include "kernels/packing.h"

const ry_knob ry_separable_knobs[SEPARABLE_KNOBS] = {
    [SEPARABLE_ROWS] = {.name = "rows"}, [SEPARABLE_TASK_ROWS] = {.name = "task_rows"}};

void ry_separable_values(const ry_query *query, int knob, ry_knob_values *values)
{
    const ry_form form = ry_form_without(query, knob);
    const ry_query with = {query->kernel, query->problem, query->target, &form};
    separable_plan plan;
    ry_separable_initialise(&with, &plan);
    ry_knob_values_parts(plan.rows_out, 1, values);
    ry_knob_values_add(values, knob == SEPARABLE_ROWS ? plan.rows : plan.task_rows);
}

rynd_status ry_separable_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    (void)error;
    separable_plan plan;
    ry_separable_initialise(query, &plan);
    *prepared = (ry_prepared){
        .phases = 1,
        .tasks = {(size_t)ry_cut_tasks(&plan.tasks)},
        .state_size = ry_aligned(sizeof plan),
        .packed = ry_aligned((size_t)plan.packed * sizeof(float)),
        .pack_tasks = (size_t)(plan.depthwise.depth + 1 + plan.oc_blocks),
        .scratch = plan.scratch,
        .work = {{plan.cycles * 2 * query->kernel->simd.width, 0}},
        .form = {{[SEPARABLE_ROWS] = plan.rows, [SEPARABLE_TASK_ROWS] = plan.task_rows}}};
    return RYND_OK;
}

void ry_separable_packing(const ry_prepared *prepared, ry_text *key)
{
    const separable_plan *plan = prepared->state;
    ry_depthwise_nhwc_packing_of(&plan->depthwise, key);
    RY_PACKING_NUMBERS(key, plan->channels, plan->outputs, plan->width, plan->tile_columns,
                       plan->oc_blocks, plan->pointwise, plan->bias, plan->packed);
}
