/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels: convolution and transposed convolution by implicit GEMM, with packed weights. */
#include "kernels/cpu/conv/igemm.h"

#include "kernels/cpu/common/simd.h"
#include "kernels/cpu/conv/igemm_prepare.h"

void RY_ISA_SYMBOL(conv_igemm_pack)(const ry_cpu_launch *launch, size_t task)
{
    RY_ISA_SYMBOL(igemm_pack)(launch->state, launch->problem, launch->in[1], launch->packed_out, (int64_t)task);
}

void RY_ISA_SYMBOL(conv_igemm_run)(const ry_cpu_launch *launch, int phase, size_t task, unsigned worker)
{
    const igemm_plan *plan = launch->state;
    char *scratch = launch->scratch + worker * launch->prepared->scratch;
    if (phase == 0 && igemm_has_gathering(plan)) {
        RY_ISA_SYMBOL(igemm_share)(plan, launch, NULL, launch->workspace, (int64_t)task, scratch);
        return;
    }
    RY_ISA_SYMBOL(igemm_run)(plan, launch, NULL, launch->packed, launch->workspace, (int64_t)task, scratch);
}

#define KERNEL(symbol, operator, takes)                                              \
    const ry_kernel RY_ISA_SYMBOL(symbol) = {.name = #symbol "_" RY_ISA_TEXT,        \
                                             .family = #symbol,                      \
                                             .op = RY_OP_##operator,                 \
                                             .device = RY_DEVICE_cpu,                \
                                             .isa = RY_ISA_ID,                       \
                                             .accuracy = RY_ACCURACY_strict,         \
                                             .simd = RY_SIMD,                        \
                                             .knobs = igemm_knobs,                   \
                                             .knob_count = IGEMM_KNOBS,              \
                                             .applicable = takes,                    \
                                             .values = igemm_values,                 \
                                             .prepare = igemm_prepare,               \
                                             .initialise = igemm_initialise,         \
                                             .pack = RY_ISA_SYMBOL(conv_igemm_pack), \
                                             .run = RY_ISA_SYMBOL(conv_igemm_run),   \
                                             .packed_inputs = 1u << 1}

KERNEL(conv_fwd_f32_igemm, conv, igemm_takes_floats);
KERNEL(conv_fwd_i32_igemm, conv, igemm_takes_i32);
KERNEL(convt_fwd_f32_igemm, convt, igemm_takes_floats);
KERNEL(convt_fwd_i32_igemm, convt, igemm_takes_i32);
