/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels by tiles of split bfloat16 are asked before they run. */
#include "kernels/cpu/amx/split_prepare.h"

#include "base/whole.h"
#include "kernels/cpu/matmul/matmul_as_conv.h"
#include "kernels/cpu/amx/split_plan.h"

const ry_knob split_knobs[SPLIT_KNOBS] = {{"parts", NULL, false}, {"block", NULL, false}, {"units", NULL, false}, {"flat", NULL, false}};

/* Summands of bfloat16 that an operand is split into. */
static int64_t parts_of(ry_accuracy accuracy)
{
    return accuracy == RY_ACCURACY_strict ? 3 : accuracy == RY_ACCURACY_near32 ? 2 : 1;
}

static void prepare(const ry_kernel *kernel, const ry_problem *problem, ry_prepared *prepared)
{
    split_plan plan;
    const int64_t parts = parts_of(kernel->accuracy);
    split_plan_choose(problem, parts, &plan);
    *prepared = (ry_prepared){.phases = 2,
                              .tasks = {(size_t)plan.row_tasks, (size_t)plan.tasks},
                              .state_size = ry_aligned(plan.size),
                              .packed = plan.packed,
                              .pack_tasks = (size_t)(plan.geometry.groups * plan.units),
                              .scratch = ry_aligned(plan.scratch),
                              .workspace = plan.workspace,
                              .work = plan.cycles * 2 * SPLIT_LANES,
                              .form = {{parts, plan.block, plan.units_a_task, plan.flat}}};
}

rynd_status split_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    (void)error;
    prepare(query->kernel, query->problem, prepared);
    return RYND_OK;
}

void split_initialise(const ry_query *query, const ry_prepared *prepared, void *state)
{
    (void)prepared;
    split_plan_make(query->problem, parts_of(query->kernel->accuracy), state);
}

bool matmul_split_is_possible(const ry_problem *problem)
{
    matmul_as_conv conv;
    return matmul_as_conv_of(problem, &conv) && split_is_possible(&conv.problem);
}

rynd_status matmul_split_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    matmul_as_conv conv;
    if (!matmul_as_conv_of(query->problem, &conv)) {
        return ry_fail(error, RYND_ERROR_SHAPE, "matmul: not a product of two matrices");
    }
    prepare(query->kernel, &conv.problem, prepared);
    return RYND_OK;
}

void matmul_split_initialise(const ry_query *query, const ry_prepared *prepared, void *state)
{
    matmul_as_conv conv;
    (void)prepared;
    if (matmul_as_conv_of(query->problem, &conv)) {
        split_plan_make(&conv.problem, parts_of(query->kernel->accuracy), state);
    }
}
