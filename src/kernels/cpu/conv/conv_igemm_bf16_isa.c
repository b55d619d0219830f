/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels: convolution and transposed convolution by implicit GEMM with products of bfloat16 and sums in f32. */
#include "kernels/cpu/common/simd.h"
#include "kernels/cpu/conv/igemm.h"
#include "kernels/cpu/conv/igemm_bf16.h"
#include "kernels/cpu/conv/igemm_prepare.h"

void RY_ISA_SYMBOL(conv_igemm_pack_bf16)(const ry_cpu_launch *launch, size_t task)
{
    igemm_pack_bf16(launch->state, launch->problem, launch->in[1], launch->packed_out, (int64_t)task);
}

void RY_ISA_SYMBOL(conv_igemm_run_bf16)(const ry_cpu_launch *launch, int phase, size_t task, unsigned worker)
{
    const igemm_plan *plan = launch->state;
    const ry_tile_pairs *pairs = &RY_ISA_SYMBOL(ry_bf16_pairs);
    char *scratch = launch->scratch + worker * launch->prepared->scratch;
    if (phase == 0 && igemm_has_gathering(plan)) {
        RY_BASE_SYMBOL(igemm_share)(plan, launch, pairs, launch->workspace, (int64_t)task, scratch);
        return;
    }
    RY_BASE_SYMBOL(igemm_run)(plan, launch, pairs, launch->packed, launch->workspace, (int64_t)task, scratch);
}

#define KERNEL(symbol, operator)                                                                  \
    const ry_kernel RY_ISA_SYMBOL(symbol) = {.name = #symbol "_" RY_ISA_TEXT,                     \
                                             .family = #symbol,                                   \
                                             .op = RY_OP_##operator,                              \
                                             .device = RY_DEVICE_cpu,                             \
                                             .isa = RY_ISA_ID,                                    \
                                             .accuracy = RY_ACCURACY_bf16,                        \
                                             .simd = {RY_W, RY_W, RY_TILE_ROWS, RY_TILE_VECTORS}, \
                                             .knobs = igemm_knobs,                                \
                                             .knob_count = IGEMM_KNOBS,                           \
                                             .applicable = igemm_takes_floats,                    \
                                             .values = igemm_values,                              \
                                             .prepare = igemm_prepare,                            \
                                             .initialise = igemm_initialise,                      \
                                             .pack = RY_ISA_SYMBOL(conv_igemm_pack_bf16),         \
                                             .run = RY_ISA_SYMBOL(conv_igemm_run_bf16),           \
                                             .packed_inputs = 1u << 1};

KERNEL(conv_fwd_bf16_igemm, conv)
KERNEL(convt_fwd_bf16_igemm, convt)
