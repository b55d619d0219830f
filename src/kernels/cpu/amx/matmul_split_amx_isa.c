/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels: matrix products with a constant right operand by tiles of split bfloat16, as convolutions of one tap. */
#include "kernels/cpu/amx/matmul_as_conv.h"
#include "kernels/cpu/amx/split_conv.h"

static bool applicable(const ry_problem *problem)
{
    matmul_as_conv conv;
    return matmul_as_conv_of(problem, &conv) && split_is_possible(&conv.problem);
}

static rynd_status prepare(const ry_problem *problem, int64_t parts, ry_prepared *prepared, ry_error *error)
{
    matmul_as_conv conv;
    if (!matmul_as_conv_of(problem, &conv)) {
        return ry_fail(error, RYND_ERROR_SHAPE, "matmul: not a product of two matrices");
    }
    return RY_ISA_SYMBOL(split_prepare)(&conv.problem, parts, prepared);
}

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

#define KERNEL(symbol, class, parts, preference)                                                          \
    static rynd_status prepare_##class(const ry_problem *problem, ry_prepared *prepared, ry_error *error) \
    {                                                                                                     \
        return prepare(problem, parts, prepared, error);                                                  \
    }                                                                                                     \
    static void initialise_##class(const ry_problem *problem, const ry_prepared *prepared, void *state)   \
    {                                                                                                     \
        matmul_as_conv conv;                                                                              \
        (void)prepared;                                                                                   \
        if (matmul_as_conv_of(problem, &conv)) {                                                          \
            split_plan_make(&conv.problem, parts, state);                                                 \
        }                                                                                                 \
    }                                                                                                     \
    const ry_kernel RY_ISA_SYMBOL(symbol) = {.name = #symbol "_" RY_ISA_TEXT,                             \
                                             .op = RY_OP_matmul,                                          \
                                             .device = "cpu",                                             \
                                             .isa = RY_ISA_ID,                                            \
                                             .accuracy = RY_ACCURACY_##class,                             \
                                             .rank = preference + 10 * (int)RY_ISA_ID,                    \
                                             .applicable = applicable,                                    \
                                             .prepare = prepare_##class,                                  \
                                             .initialise = initialise_##class,                            \
                                             .pack = pack,                                                \
                                             .run = run,                                                  \
                                             .constant_inputs = 1u << 1,                                  \
                                             .kept_inputs = parts > 1 ? 1u << 1 : 0}

KERNEL(matmul_f32_split_strict, strict, 3, 91);
KERNEL(matmul_f32_split, near32, 2, 92);
KERNEL(matmul_bf16_split, bf16, 1, 93);
