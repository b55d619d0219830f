/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels by tiles of split bfloat16 are asked before they run. */
#include "kernels/cpu/amx/split_prepare.h"

#include "base/integer.h"
#include "kernels/cpu/amx/split_cost.h"
#include "kernels/cpu/matmul/matmul_as_conv.h"
#include "kernels/cpu/parts/conv_packing.h"
#include "kernels/packing.h"

const ry_knob ry_split_knobs[SPLIT_KNOBS] = {[SPLIT_FLAT] = {.name = "flat", .main = true},
                                             [SPLIT_BLOCK] = {.name = "block"},
                                             [SPLIT_OC_BLOCKS] = {.name = "oc_blocks"}};

rynd_status ry_split_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    (void)error;
    split_plan plan;
    ry_split_plan_choose(query, &plan);
    *prepared = (ry_prepared){.phases = 2,
                              .tasks = {(size_t)plan.row_tasks, (size_t)ry_cut_tasks(&plan.tasks)},
                              .state_size = ry_aligned(plan.size),
                              .packed = plan.packed,
                              .pack_tasks = (size_t)(plan.geometry.groups * plan.oc_blocks),
                              .scratch = ry_aligned(plan.scratch),
                              .workspace = plan.workspace,
                              .pack_work = ry_split_pack_work(&plan, query->target->machine),
                              .form = {{plan.flat, plan.block, plan.oc_blocks_per_task}}};
    ry_split_count(&plan, query->target->machine, prepared->work);
    /* the copies go from core to core: what writing and reading takes beside x, which is read once
     */
    prepared->counts = (ry_counts){ry_problem_flop(query->problem),
                                   ry_problem_bytes(query->problem) + (double)plan.workspace};
    return RYND_OK;
}

bool ry_matmul_split_is_possible(const ry_problem *problem)
{
    return ry_matmul_as_conv_takes(problem, ry_split_is_possible);
}

void ry_matmul_split_values(const ry_query *query, int knob, ry_knob_values *values)
{
    ry_matmul_as_conv_values(query, knob, values, ry_split_values);
}

rynd_status ry_matmul_split_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    return ry_matmul_as_conv_prepare(query, prepared, error, ry_split_prepare);
}

void ry_matmul_split_initialise(const ry_query *query, void *state)
{
    ry_matmul_as_conv_initialise(query, state, ry_split_initialise);
}

static void packing_of(const split_plan *plan, ry_text *key)
{
    ry_conv_packing_add(&plan->geometry, split_taps(plan), key);
    RY_PACKING_NUMBERS(key, plan->parts, plan->steps, plan->oc_blocks, plan->oc_block_packed,
                       (int64_t)plan->weights);
}

void ry_split_packing(const ry_prepared *prepared, ry_text *key)
{
    packing_of(prepared->state, key);
}

void ry_matmul_split_packing(const ry_prepared *prepared, ry_text *key)
{
    packing_of(ry_matmul_as_conv_state(prepared->state), key);
}
