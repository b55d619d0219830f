/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels: convolution and transposed convolution by implicit GEMM, with weights packed when the plan is made, or at every run. */
#include "kernels/cpu/conv/igemm.h"

#include "kernels/cpu/common/simd.h"
#include "kernels/cpu/conv/tile.h"

enum { PHASES_MOST = 64 }; /* of a transposed convolution; a larger stride reads next to nothing and is left to the reference */

static bool is_float(const ry_problem *problem, int i)
{
    const ry_dtype dtype = ry_type_of(&problem->in[i]);
    return dtype == RY_f32 || dtype == RY_f16 || dtype == RY_bf16;
}

static bool few_phases(const ry_problem *problem)
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

static bool applicable_float(const ry_problem *problem)
{
    const ry_dtype y = ry_type_of(&problem->out[0]);
    return ry_conv_is_spatial(problem) && few_phases(problem) && is_float(problem, 0) && is_float(problem, 1) &&
           (!ry_problem_has_input(problem, 2) || ry_dtype_is_float(ry_type_of(&problem->in[2]))) &&
           (!ry_problem_has_input(problem, 3) || is_float(problem, 3)) && (y == RY_f32 || y == RY_f16 || y == RY_bf16);
}

static bool applicable_i32(const ry_problem *problem)
{
    return ry_conv_is_spatial(problem) && few_phases(problem) && ry_type_of(&problem->in[0]) == RY_i32 &&
           ry_type_of(&problem->in[1]) == RY_i32 && (!ry_problem_has_input(problem, 2) || ry_type_of(&problem->in[2]) == RY_i32) &&
           !ry_problem_has_input(problem, 3) && ry_type_of(&problem->out[0]) == RY_i32 &&
           ry_conv_activation(problem).kind == RY_activation_none;
}

static size_t up64(size_t size)
{
    return (size + 63) / 64 * 64;
}

static rynd_status prepare(const ry_problem *problem, ry_prepared *prepared, ry_error *error)
{
    const size_t size = igemm_plan_size(problem);
    igemm_plan *plan = ry_allocate(&ry_system_allocator, size);
    if (!plan) {
        return ry_fail_memory(error);
    }
    igemm_plan_make(problem, RY_W, RY_TILE_ROWS, RY_TILE_VECTORS, plan);
    const ry_conv_geometry *g = &plan->geometry;
    *prepared = (ry_prepared){.phases = 1 + plan->shared,
                              .tasks = {(size_t)(plan->shared ? plan->gathers : plan->tasks), (size_t)(plan->shared ? plan->tasks : 0)},
                              .state = up64(size),
                              .packed = up64((size_t)(g->groups * plan->packed_group) * 4),
                              .pack_tasks = (size_t)(g->groups * plan->units),
                              .scratch = up64(plan->scratch),
                              .workspace = plan->shared_size,
                              .knob_count = 4,
                              .knobs = {{"mode", plan->mode},
                                        {"block", plan->phase[0].block},
                                        {"units", plan->phase[0].units_a_task},
                                        {"chunk", plan->phase[0].chunk_channels * plan->phase[0].chunk_taps}}};
    ry_release(&ry_system_allocator, plan);
    return RYND_OK;
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
    igemm_plan_make(problem, RY_W, RY_TILE_ROWS, RY_TILE_VECTORS, state);
}

static void pack(const ry_cpu_launch *launch, size_t task)
{
    RY_ISA_SYMBOL(igemm_pack)(launch->state, launch->problem, launch->in[1], launch->packed_out, (int64_t)task);
}

static void run(const ry_cpu_launch *launch, int phase, size_t task, unsigned worker)
{
    const igemm_plan *plan = launch->state;
    char *scratch = launch->scratch + worker * launch->prepared->scratch;
    if (phase == 0 && plan->shared) {
        RY_ISA_SYMBOL(igemm_share)(plan, launch, launch->workspace, (int64_t)task, scratch);
        return;
    }
    RY_ISA_SYMBOL(igemm_run)(plan, launch, launch->packed, launch->workspace, (int64_t)task, scratch);
}

static void run_packing(const ry_cpu_launch *launch, int phase, size_t task, unsigned worker)
{
    const igemm_plan *plan = launch->state;
    char *scratch = launch->scratch + worker * launch->prepared->scratch;
    float *packed = (float *)launch->workspace + plan->shared_size / sizeof(float);
    if (phase == 1) {
        RY_ISA_SYMBOL(igemm_run)(plan, launch, packed, launch->workspace, (int64_t)task, scratch);
    } else if ((int64_t)task < plan->gathers) {
        RY_ISA_SYMBOL(igemm_share)(plan, launch, launch->workspace, (int64_t)task, scratch);
    } else {
        RY_ISA_SYMBOL(igemm_pack)(plan, launch->problem, launch->in[1], packed, (int64_t)task - plan->gathers);
    }
}

#define KERNELS(symbol, operator, dtype, preference)                                                 \
    const ry_kernel RY_ISA_SYMBOL(symbol) = {.name = #symbol "_" RY_ISA_TEXT,                        \
                                             .op = RY_OP_##operator,                                 \
                                             .device = "cpu",                                        \
                                             .isa = RY_ISA_ID,                                       \
                                             .accuracy = RY_ACCURACY_strict,                         \
                                             .rank = preference + 10 * (int)RY_ISA_ID,               \
                                             .applicable = applicable_##dtype,                       \
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
                                                       .applicable = applicable_##dtype,             \
                                                       .prepare = prepare_packing,                   \
                                                       .initialise = initialise,                     \
                                                       .run = run_packing};

KERNELS(conv_fwd_f32_igemm, conv, float, 105)
KERNELS(conv_fwd_i32_igemm, conv, i32, 105)
KERNELS(convt_fwd_f32_igemm, convt, float, 105)
KERNELS(convt_fwd_i32_igemm, convt, i32, 105)
