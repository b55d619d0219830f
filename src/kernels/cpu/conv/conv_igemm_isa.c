/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels: convolution and transposed convolution by implicit GEMM, with weights packed when the plan is made, or at every run. */
#include "kernels/cpu/conv/igemm.h"

#include "kernels/cpu/common/simd.h"
#include "kernels/cpu/conv/tile.h"

static bool takes_i32(const ry_problem *problem)
{
    return ry_conv_is_spatial(problem) && igemm_few_phases(problem) && ry_type_of(&problem->in[0]) == RY_i32 &&
           ry_type_of(&problem->in[1]) == RY_i32 && (!ry_problem_has_input(problem, 2) || ry_type_of(&problem->in[2]) == RY_i32) &&
           !ry_problem_has_input(problem, 3) && ry_type_of(&problem->out[0]) == RY_i32 &&
           ry_conv_activation(problem).kind == RY_activation_none;
}

static const igemm_tile tile = {RY_W, RY_GRAIN, RY_TILE_ROWS, RY_TILE_VECTORS, false, false};

static rynd_status prepare(const ry_problem *problem, ry_prepared *prepared, ry_error *error)
{
    return igemm_prepare(problem, &tile, prepared, error);
}

/* Weights that are not constant: packed by a first phase into the workspace, behind the shared panels; it gathers those, too. */
static rynd_status prepare_packing(const ry_problem *problem, ry_prepared *prepared, ry_error *error)
{
    RY_TRY(prepare(problem, prepared, error));
    if (prepared->phases == 1) {
        prepared->phases = 2;
        prepared->tasks[1] = prepared->tasks[0];
        prepared->tasks[0] = 0;
    }
    prepared->tasks[0] += prepared->pack_tasks;
    prepared->workspace += prepared->packed;
    prepared->packed = 0;
    prepared->pack_tasks = 0;
    return RYND_OK;
}

static void initialise(const ry_problem *problem, const ry_prepared *prepared, void *state)
{
    (void)prepared;
    igemm_plan_make(problem, &tile, state);
}

static void pack(const ry_cpu_launch *launch, size_t task)
{
    RY_ISA_SYMBOL(igemm_pack)(launch->state, launch->problem, launch->in[1], launch->packed_out, (int64_t)task);
}

static void run(const ry_cpu_launch *launch, int phase, size_t task, unsigned worker)
{
    const igemm_plan *plan = launch->state;
    char *scratch = launch->scratch + worker * launch->prepared->scratch;
    if (phase == 0 && igemm_has_gathering(plan)) {
        RY_ISA_SYMBOL(igemm_share)(plan, launch, NULL, launch->workspace, (int64_t)task, scratch);
        return;
    }
    RY_ISA_SYMBOL(igemm_run)(plan, launch, NULL, launch->packed, launch->workspace, (int64_t)task, scratch);
}

static void run_packing(const ry_cpu_launch *launch, int phase, size_t task, unsigned worker)
{
    const igemm_plan *plan = launch->state;
    char *scratch = launch->scratch + worker * launch->prepared->scratch;
    float *packed = (float *)launch->workspace + plan->shared_size / sizeof(float);
    if (phase == 1) {
        RY_ISA_SYMBOL(igemm_run)(plan, launch, NULL, packed, launch->workspace, (int64_t)task, scratch);
    } else if ((int64_t)task < plan->gathers) {
        RY_ISA_SYMBOL(igemm_share)(plan, launch, NULL, launch->workspace, (int64_t)task, scratch);
    } else {
        RY_ISA_SYMBOL(igemm_pack)(plan, launch->problem, launch->in[1], packed, (int64_t)task - plan->gathers);
    }
}

#define KERNELS(symbol, operator, takes, preference)                                                 \
    const ry_kernel RY_ISA_SYMBOL(symbol) = {.name = #symbol "_" RY_ISA_TEXT,                        \
                                             .op = RY_OP_##operator,                                 \
                                             .device = "cpu",                                        \
                                             .isa = RY_ISA_ID,                                       \
                                             .accuracy = RY_ACCURACY_strict,                         \
                                             .rank = preference + 10 * (int)RY_ISA_ID,               \
                                             .applicable = takes,                                    \
                                             .prepare = prepare,                                     \
                                             .initialise = initialise,                               \
                                             .pack = pack,                                           \
                                             .run = run,                                             \
                                             .constant_inputs = 1u << 1};                            \
    const ry_kernel RY_ISA_SYMBOL(symbol##_packing) = {.name = #symbol "_packing_" RY_ISA_TEXT,      \
                                                       .op = RY_OP_##operator,                       \
                                                       .device = "cpu",                              \
                                                       .isa = RY_ISA_ID,                             \
                                                       .accuracy = RY_ACCURACY_strict,               \
                                                       .rank = preference - 1 + 10 * (int)RY_ISA_ID, \
                                                       .applicable = takes,                          \
                                                       .prepare = prepare_packing,                   \
                                                       .initialise = initialise,                     \
                                                       .run = run_packing};

KERNELS(conv_fwd_f32_igemm, conv, igemm_takes_floats, 105)
KERNELS(conv_fwd_i32_igemm, conv, takes_i32, 105)
KERNELS(convt_fwd_f32_igemm, convt, igemm_takes_floats, 105)
KERNELS(convt_fwd_i32_igemm, convt, takes_i32, 105)
