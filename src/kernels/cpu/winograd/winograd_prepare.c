/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels of Winograd's form are asked before they run. */
#include "kernels/cpu/winograd/winograd_prepare.h"

#include "base/whole.h"
#include "kernels/cpu/winograd/winograd_cost.h"

const ry_knob winograd_knobs[WINOGRAD_KNOBS] = {
    {"points_h", NULL, false}, {"points_w", NULL, false}, {"tiles", NULL, false}, {"units", NULL, false}, {"shared", NULL, false},
};

bool winograd_takes_near32(const ry_problem *problem)
{
    return winograd_is_possible(problem, RY_ACCURACY_near32);
}

bool winograd_takes_strict(const ry_problem *problem)
{
    return winograd_is_possible(problem, RY_ACCURACY_strict);
}

static winograd_limits limits_of(const ry_kernel *kernel)
{
    return (winograd_limits){kernel->simd.width, kernel->simd.rows, kernel->simd.vectors, kernel->accuracy};
}

rynd_status winograd_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    (void)error;
    winograd_plan plan;
    const winograd_limits limits = limits_of(query->kernel);
    winograd_plan_choose(query->problem, &limits, &plan);
    const int64_t blocks = plan.geometry.groups * plan.blocks;
    const size_t tasks = (size_t)(plan.shared ? blocks * plan.unit_blocks : blocks);
    *prepared = (ry_prepared){.phases = 1 + plan.shared,
                              .tasks = {plan.shared ? (size_t)(blocks * plan.channel_parts) : tasks, plan.shared ? tasks : 0},
                              .state_size = ry_aligned(plan.size),
                              .packed = ry_aligned((size_t)(plan.geometry.groups * plan.packed_group) * sizeof(float)),
                              .pack_tasks = (size_t)(plan.geometry.groups * plan.units),
                              .scratch = ry_aligned(plan.scratch),
                              .work = plan.cycles * 2 * (double)plan.width,
                              .workspace = plan.shared ? ry_aligned(winograd_find_flags(&plan) + (size_t)(blocks * plan.channel_parts)) : 0,
                              .counts = {winograd_flop(&plan), ry_problem_bytes(query->problem)},
                              .form = {{plan.axis[0].points, plan.axis[1].points, plan.block, plan.units_a_task, plan.shared}}};
    return RYND_OK;
}

void winograd_initialise(const ry_query *query, const ry_prepared *prepared, void *state)
{
    const winograd_limits limits = limits_of(query->kernel);
    (void)prepared;
    winograd_plan_make(query->problem, &limits, state);
}
