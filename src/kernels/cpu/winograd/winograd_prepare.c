/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels of Winograd's form are asked before they run. */
#include "kernels/cpu/winograd/winograd_prepare.h"

#include "base/integer.h"
#include "kernels/common/work.h"
#include "kernels/cpu/parts/conv_packing.h"
#include "kernels/cpu/winograd/winograd_cost.h"
#include "kernels/form.h"
#include "kernels/packing.h"

const ry_knob ry_winograd_knobs[WINOGRAD_KNOBS] = {
    [WINOGRAD_POINTS_H] = {"points_h", NULL, true, true},
    [WINOGRAD_POINTS_W] = {"points_w", NULL, true, true},
    [WINOGRAD_SHARED] = {.name = "shared", .main = true},
    [WINOGRAD_TILES] = {.name = "tiles"},
    [WINOGRAD_OC_BLOCKS] = {.name = "oc_blocks"},
};

bool ry_winograd_takes_near32(const ry_problem *problem)
{
    return ry_winograd_is_possible(problem, RY_ACCURACY_near32);
}

bool ry_winograd_takes_strict(const ry_problem *problem)
{
    return ry_winograd_is_possible(problem, RY_ACCURACY_strict);
}

rynd_status ry_winograd_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    winograd_plan plan;
    if (!ry_winograd_plan_choose(query, &plan)) {
        return ry_form_fail(query, error);
    }
    ry_work work[2] = {{0, 0}};
    ry_winograd_count(&plan, work);
    const size_t tasks = (size_t)ry_cut_tasks(&plan.tasks),
                 transforms = (size_t)ry_cut_tasks(&plan.transforms);
    *prepared = (ry_prepared){
        .phases = 1 + plan.shared,
        .tasks = {plan.shared ? transforms : tasks, plan.shared ? tasks : 0},
        .state_size = ry_aligned(plan.size),
        .packed = ry_aligned((size_t)(plan.geometry.groups * plan.packed_group) * sizeof(float)),
        .pack_tasks = (size_t)ry_cut_tasks(&plan.packs),
        .scratch = ry_aligned(plan.scratch),
        .work = {ry_work_of_cycles(work[0], plan.width), ry_work_of_cycles(work[1], plan.width)},
        .pack_work = ry_winograd_pack_cost(&plan) * 2 * (double)plan.width,
        .workspace = plan.shared ? ry_aligned(winograd_find_flags(&plan) +
                                              transforms * (size_t)winograd_part_flags(&plan))
                                 : 0,
        .counts = {ry_winograd_flop(&plan), ry_problem_bytes(query->problem)},
        .form = {{plan.axis[0].points, plan.axis[1].points, plan.shared, plan.block,
                  plan.oc_blocks_per_task}}};
    return RYND_OK;
}

void ry_winograd_packing(const ry_prepared *prepared, ry_text *key)
{
    const winograd_plan *plan = prepared->state;
    ry_conv_packing_add(&plan->geometry, NULL, key);
    RY_PACKING_NUMBERS(key, plan->phases, plan->classes, plan->width, plan->tile_columns,
                       plan->channel_step, plan->depth, plan->oc_blocks, plan->packed_oc_block,
                       plan->packed_group, plan->fold.channels, plan->fold.row, plan->fold.room);
    for (int i = 0; i < 2; i++) {
        const winograd_axis *axis = &plan->axis[i];
        RY_PACKING_NUMBERS(key, axis->points, axis->taps, axis->tap, axis->tap_step, axis->window,
                           axis->output_stride, axis->classes);
    }
}
