/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels of the implicit GEMM have in common: which problems they take, and what they need. */
#include "base/whole.h"
#include "kernels/cpu/conv/igemm_plan.h"

enum { PHASES_MOST = 64 }; /* of a transposed convolution; a larger stride reads next to nothing and is left to the reference */

static bool is_float(const ry_problem *problem, int i)
{
    const ry_dtype dtype = ry_type_of(&problem->in[i]);
    return dtype == RY_f32 || dtype == RY_f16 || dtype == RY_bf16;
}

bool igemm_few_phases(const ry_problem *problem)
{
    if (problem->op != RY_OP_convt) {
        return true;
    }
    int64_t phases = 1;
    for (int i = 0; i < problem->in[0].rank - 2; i++) {
        const int64_t stride = ry_ints_get(&problem->attrs.convt.stride, i, 1);
        phases *= stride < PHASES_MOST + 1 ? stride : PHASES_MOST + 1;
    }
    return phases <= PHASES_MOST;
}

bool igemm_takes_floats(const ry_problem *problem)
{
    const ry_dtype y = ry_type_of(&problem->out[0]);
    return ry_conv_is_spatial(problem) && igemm_few_phases(problem) && is_float(problem, 0) && is_float(problem, 1) &&
           (!ry_problem_has_input(problem, 2) || ry_dtype_is_float(ry_type_of(&problem->in[2]))) &&
           (!ry_problem_has_input(problem, 3) || is_float(problem, 3)) && (y == RY_f32 || y == RY_f16 || y == RY_bf16);
}

static const char *const modes[] = {[IGEMM_PIXELS] = "pixels", [IGEMM_GATHERED] = "gathered", [IGEMM_ROWS] = "rows"};

const ry_knob igemm_knobs[IGEMM_KNOBS] = {
    {"mode", modes, false}, {"copied", NULL, false}, {"gathered", NULL, false},
    {"block", NULL, false}, {"units", NULL, false},  {"chunk", NULL, false},
};

static igemm_tile tile_of(const ry_kernel *kernel)
{
    const ry_simd *simd = &kernel->simd;
    return (igemm_tile){simd->width, simd->grain, simd->rows, simd->vectors, kernel->accuracy == RY_ACCURACY_bf16, false};
}

void igemm_initialise(const ry_query *query, const ry_prepared *prepared, void *state)
{
    const igemm_tile tile = tile_of(query->kernel);
    (void)prepared;
    igemm_plan_make(query->problem, &tile, state);
}

rynd_status igemm_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    const ry_problem *problem = query->problem;
    const igemm_tile tile = tile_of(query->kernel);
    const size_t size = igemm_plan_size(problem);
    igemm_plan *plan = ry_allocate(&ry_system_allocator, size);
    if (!plan) {
        return ry_fail_memory(error);
    }
    igemm_plan_make(problem, &tile, plan);
    const ry_conv_geometry *g = &plan->geometry;
    const bool gathering = igemm_has_gathering(plan);
    *prepared = (ry_prepared){.phases = 1 + gathering,
                              .tasks = {(size_t)(gathering ? plan->gathers : plan->tasks), (size_t)(gathering ? plan->tasks : 0)},
                              .state_size = ry_aligned(size),
                              .packed = ry_aligned((size_t)(g->groups * plan->packed_group) * 4),
                              .pack_tasks = (size_t)(g->groups * plan->units),
                              .scratch = ry_aligned(plan->scratch),
                              .workspace = plan->shared_size,
                              .work = plan->cycles * 2 * (double)tile.width,
                              .form = {{plan->mode, plan->copied, plan->gathered, plan->phase[0].block, plan->phase[0].units_a_task,
                                        plan->phase[0].chunk_channels * plan->phase[0].chunk_taps}}};
    ry_release(&ry_system_allocator, plan);
    return RYND_OK;
}
