/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels: matrix products with a constant right operand by tiles of split bfloat16, as convolutions of one tap. */
#include "kernels/cpu/amx/split_conv.h"
#include "kernels/cpu/amx/split_prepare.h"
#include "kernels/cpu/matmul/matmul_as_conv.h"

static void pack(const ry_cpu_launch *launch, size_t task)
{
    split_pack(launch->state, launch->in[1], launch->packed_out, (int64_t)task);
}

static void run(const ry_cpu_launch *launch, int phase, size_t task, unsigned worker)
{
    matmul_as_conv conv;
    if (matmul_as_conv_of(launch->problem, &conv)) {
        ry_cpu_launch as_conv = *launch;
        as_conv.problem = &conv.problem;
        RY_ISA_SYMBOL(split_run)(&as_conv, phase, task, worker);
    }
}

#define KERNEL(symbol, class)                                                        \
    const ry_kernel RY_ISA_SYMBOL(symbol) = {.name = #symbol "_" RY_ISA_TEXT,        \
                                             .family = #symbol,                      \
                                             .op = RY_OP_matmul,                     \
                                             .device = RY_DEVICE_cpu,                \
                                             .isa = RY_ISA_ID,                       \
                                             .accuracy = RY_ACCURACY_##class,        \
                                             .knobs = split_knobs,                   \
                                             .knob_count = SPLIT_KNOBS,              \
                                             .values = matmul_split_values,          \
                                             .applicable = matmul_split_is_possible, \
                                             .prepare = matmul_split_prepare,        \
                                             .initialise = matmul_split_initialise,  \
                                             .pack = pack,                           \
                                             .run = run,                             \
                                             .packed_inputs = 1u << 1,               \
                                             .kept_inputs = RY_ACCURACY_##class == RY_ACCURACY_bf16 ? 0 : 1u << 1}

KERNEL(matmul_f32_split_strict, strict);
KERNEL(matmul_f32_split, near32);
KERNEL(matmul_bf16_split, bf16);
