/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels: convolution and transposed convolution by implicit GEMM, with packed weights. */
#include "kernels/cpu/igemm/igemm.h"
#include "kernels/cpu/igemm/igemm_prepare.h"
#include "kernels/cpu/parts/conv_kernel.h"

void RY_ISA_SYMBOL(conv_igemm_pack)(const ry_cpu_launch *launch, size_t task)
{
    RY_ISA_SYMBOL(igemm_pack)
    (launch->state, launch->problem, launch->in[1], launch->packed_out, (int64_t)task);
}

void RY_ISA_SYMBOL(conv_igemm_run_pairs)(const ry_cpu_launch *launch, const ry_tile_pairs *pairs,
                                         size_t task)
{
    const igemm_plan *plan = launch->state;
    if (launch->phase == 0 && igemm_has_gathering(plan)) {
        RY_ISA_SYMBOL(igemm_share)
        (plan, launch, pairs, launch->workspace, (int64_t)task, launch->scratch);
    } else {
        RY_ISA_SYMBOL(igemm_run)
        (plan, launch, pairs, launch->packed, launch->workspace, (int64_t)task, launch->scratch);
    }
}

void RY_ISA_SYMBOL(conv_igemm_run)(const ry_cpu_launch *launch, size_t task)
{
    RY_ISA_SYMBOL(conv_igemm_run_pairs)(launch, NULL, task);
}

#define KERNELS(name, takes)                                                                      \
    RY_CONV_KERNELS_OF(name, strict, .simd = RY_SIMD, .knobs = ry_igemm_knobs,                    \
                       .knob_count = IGEMM_KNOBS, .applicable = takes, .values = ry_igemm_values, \
                       .prepare = ry_igemm_prepare, .initialise = ry_igemm_initialise,            \
                       .pack = RY_ISA_SYMBOL(conv_igemm_pack),                                    \
                       .run = RY_ISA_SYMBOL(conv_igemm_run), .packed_inputs = 1u << 1,            \
                       .packing = ry_igemm_packing)

KERNELS(f32_igemm, ry_conv_takes_floats);
KERNELS(i32_igemm, ry_conv_takes_i32);
