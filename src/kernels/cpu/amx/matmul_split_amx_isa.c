/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels: matrix products with a constant right operand by tiles of split bfloat16, as
 * convolutions of one tap. */
#include "kernels/cpu/amx/split_conv.h"
#include "kernels/cpu/amx/split_prepare.h"
#include "kernels/cpu/matmul/matmul_as_conv.h"
#include "kernels/cpu/parts/cpu_kernel.h"

MATMUL_AS_CONV(pack, ry_split_pack)
MATMUL_AS_CONV(run, RY_ISA_SYMBOL(split_run))

#define KERNEL(symbol, class)                                                                   \
    RY_CPU_KERNEL(symbol, matmul, class, .knobs = ry_split_knobs, .knob_count = SPLIT_KNOBS,    \
                  .values = ry_matmul_split_values, .applicable = ry_matmul_split_is_possible,  \
                  .prepare = ry_matmul_split_prepare, .initialise = ry_matmul_split_initialise, \
                  .pack = pack, .run = run, .packed_inputs = 1u << 1,                           \
                  .packing = ry_matmul_split_packing,                                           \
                  .kept_inputs = RY_ACCURACY_##class == RY_ACCURACY_bf16 ? 0 : 1u << 1)

KERNEL(matmul_f32_split_strict, strict);
KERNEL(matmul_f32_split, near32);
KERNEL(matmul_bf16_split, bf16);
