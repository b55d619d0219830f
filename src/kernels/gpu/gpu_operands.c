/* SPDX-License-Identifier: Apache-2.0 */
/* Rounds operands of products to what matrix units multiply. */
#include "kernels/gpu/gpu_operands.h"

#include "kernels/gpu/gpu_define.h"

#include <string.h>

static const struct {
    size_t size;
    const char *word, *rounding, *type, *sum;
    ry_dtype stored; /* what is not rounded */
    bool units;
    int64_t lanes, products;
} operands_list[] = {
    [RY_GPU_F32] = {4, "f32", "", "float", "float", RY_f32, false, 1, 1},
    [RY_GPU_TF32] = {4, "tf32", "tf32_of", "uint", "float", RY_DTYPES, true, 1, 1},
    [RY_GPU_THREE_TF32] = {4, "tf32", "f32_bits", "uint", "float", RY_DTYPES, true, 1, 3},
    [RY_GPU_F16] = {2, "f16", "f16_of", "ushort", "float", RY_f16, true, 1, 1},
    [RY_GPU_BF16] = {2, "bf16", "bf16_of", "ushort", "float", RY_bf16, true, 1, 1},
    [RY_GPU_BYTES] = {4, "f32", "", "float", "int", RY_DTYPES, false, 1, 1},
    [RY_GPU_QUADS] = {4, "s8_s8", "", "uint", "int", RY_DTYPES, false, 4, 1},
    [RY_GPU_QUAD_UNITS] = {4, "s8_s8", "", "uint", "int", RY_DTYPES, true, 4, 1}};

bool ry_gpu_operands_are_halves(const ry_problem *problem)
{
    const ry_dtype dtype = (ry_dtype)problem->in[0].dtype;
    return (dtype == RY_f16 || dtype == RY_bf16) && dtype == (ry_dtype)problem->in[1].dtype;
}

static ry_gpu_operands quantised_operands(const ry_kernel *kernel)
{
    return kernel->matrix_units                       ? RY_GPU_QUAD_UNITS
           : kernel->simd.lane == RY_LANE_SIGNED_QUAD ? RY_GPU_QUADS
                                                      : RY_GPU_BYTES;
}

ry_gpu_operands ry_gpu_operands_of(const ry_query *query)
{
    if (query->problem->op == RY_OP_qconv) {
        return quantised_operands(query->kernel);
    }
    return !query->kernel->matrix_units                      ? RY_GPU_F32
           : query->kernel->accuracy == RY_ACCURACY_tf32     ? RY_GPU_TF32
           : query->kernel->accuracy == RY_ACCURACY_bf16     ? RY_GPU_BF16
           : !ry_gpu_operands_are_halves(query->problem)     ? RY_GPU_THREE_TF32
           : (ry_dtype)query->problem->in[0].dtype == RY_f16 ? RY_GPU_F16
                                                             : RY_GPU_BF16;
}

size_t ry_gpu_operand_size(ry_gpu_operands operands)
{
    return operands_list[operands].size;
}

int64_t ry_gpu_operand_lanes(ry_gpu_operands operands)
{
    return operands_list[operands].lanes;
}

int64_t ry_gpu_operand_products(ry_gpu_operands operands)
{
    return operands_list[operands].products;
}

bool ry_gpu_operands_are_units(ry_gpu_operands operands)
{
    return operands_list[operands].units;
}

void ry_gpu_operands_define(ry_gpu_operands operands, ry_text *text)
{
    const bool units = operands_list[operands].units;
    ry_gpu_define(text, "MATRIX_UNITS", units);
    ry_gpu_define(text, "QUANTISED", operands >= RY_GPU_BYTES);
    ry_gpu_define(text, "QUADS", operands_list[operands].lanes > 1);
    ry_text_add(text, "#define STAGED %s\n#define SUM %s\n", operands_list[operands].type,
                operands_list[operands].sum);
    if (units) {
        ry_gpu_define(text, "PAIR", (int64_t)(sizeof(float) / ry_gpu_operand_size(operands)));
        ry_text_add(text, "#define MULTIPLY_UNITS multiply_%s\n", operands_list[operands].word);
        ry_text_add(text, "#define WIDE_PRODUCTS(columns) WIDE_PRODUCTS_OF(%s, columns)\n",
                    operands_list[operands].word);
    }
}

void ry_gpu_operands_define_load(const ry_query *query, const char *side, int input, ry_text *text)
{
    const ry_gpu_operands operands = ry_gpu_operands_of(query);
    const ry_dtype dtype = (ry_dtype)query->problem->in[input].dtype;
    const char *rounding = operands_list[operands].rounding;
    /* columns of a product take the place of x */
    const char *place = strcmp(side, "B") == 0 ? "X" : side;
    ry_text_add(
        text, "#define FETCHED_%s TYPE_%d\n#define FOUR_%s %s\n#define LOAD_%s(p, at) ((p)[at])\n",
        place, input, place, dtype == RY_f32 ? "float4" : "ushort4", side);
    if (dtype == operands_list[operands].stored) {
        ry_text_add(text, "#define STAGE_%s(v) (v)\n", place);
    } else if (dtype == RY_f32) {
        ry_text_add(text, "#define STAGE_%s(v) %s(v)\n", place, rounding);
    } else {
        ry_text_add(text, "#define STAGE_%s(v) %s(float_of_%s(v))\n", place, rounding,
                    ry_dtype_name(dtype));
    }
}
