/* SPDX-License-Identifier: Apache-2.0 */
/* Rounds operands of products to what matrix units multiply. */
#include "kernels/gpu/gpu_operands.h"

#include "kernels/gpu/gpu_define.h"

static const struct {
    size_t size;
    const char *word, *type;
    ry_dtype stored; /* what is not rounded */
} operands_list[] = {[RY_GPU_F32] = {4, "f32", "float", RY_f32},
                     [RY_GPU_TF32] = {4, "tf32", "uint", RY_DTYPES},
                     [RY_GPU_F16] = {2, "f16", "ushort", RY_f16},
                     [RY_GPU_BF16] = {2, "bf16", "ushort", RY_bf16}};

bool ry_gpu_operands_are_halves(const ry_problem *problem)
{
    const ry_dtype dtype = (ry_dtype)problem->in[0].dtype;
    return (dtype == RY_f16 || dtype == RY_bf16) && dtype == (ry_dtype)problem->in[1].dtype;
}

ry_gpu_operands ry_gpu_operands_of(const ry_query *query)
{
    return !query->kernel->matrix_units                      ? RY_GPU_F32
           : query->kernel->accuracy == RY_ACCURACY_tf32     ? RY_GPU_TF32
           : query->kernel->accuracy == RY_ACCURACY_bf16     ? RY_GPU_BF16
           : (ry_dtype)query->problem->in[0].dtype == RY_f16 ? RY_GPU_F16
                                                             : RY_GPU_BF16;
}

size_t ry_gpu_operand_size(ry_gpu_operands operands)
{
    return operands_list[operands].size;
}

void ry_gpu_operands_define(ry_gpu_operands operands, ry_text *text)
{
    ry_gpu_define(text, "MATRIX_UNITS", operands != RY_GPU_F32);
    ry_text_add(text, "#define STAGED %s\n", operands_list[operands].type);
    if (operands != RY_GPU_F32) {
        ry_gpu_define(text, "PAIR", (int64_t)(sizeof(float) / ry_gpu_operand_size(operands)));
        ry_text_add(text, "#define MULTIPLY_UNITS multiply_%s\n", operands_list[operands].word);
    }
}

void ry_gpu_operands_define_load(const ry_query *query, const char *side, int input, ry_text *text)
{
    const ry_gpu_operands operands = ry_gpu_operands_of(query);
    const bool stored = (ry_dtype)query->problem->in[input].dtype == operands_list[operands].stored;
    ry_text_add(text, "#define LOAD_%s(p, at) ", side);
    if (operands == RY_GPU_F32) {
        ry_text_add(text, "LOAD_%d(p, at)\n", input);
    } else if (stored) {
        ry_text_add(text, "((p)[at])\n");
    } else {
        ry_text_add(text, "%s_of(LOAD_%d(p, at))\n", operands_list[operands].word, input);
    }
}
