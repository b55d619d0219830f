/* SPDX-License-Identifier: Apache-2.0 */
/* What the operands of products are rounded to before they are multiplied: nothing by work-items,
 * the types that matrix units have (tensor cores) by those. THREE_TF32: floats that matrix units
 * multiply in two parts of tf32 each, by three products. Quantised ones are bytes as floats, or
 * quads: four channels' signed bytes in 32 bits. */
#ifndef RY_KERNELS_GPU_GPU_OPERANDS_H
#define RY_KERNELS_GPU_GPU_OPERANDS_H

#include "kernels/kernel.h"

typedef enum ry_gpu_operands {
    RY_GPU_F32,
    RY_GPU_TF32,
    RY_GPU_THREE_TF32,
    RY_GPU_F16,
    RY_GPU_BF16,
    RY_GPU_BYTES,
    RY_GPU_QUADS,
    RY_GPU_QUAD_UNITS
} ry_gpu_operands;

/* The operand type of a kernel's products. Kernels for matrix units take the type of their accuracy
 * class, or the inputs' 16-bit type, which needs no rounding. */
ry_gpu_operands ry_gpu_operands_of(const ry_query *query);

/* Are inputs 0 and 1 both f16, or both bf16? Matrix units then round neither. */
bool ry_gpu_operands_are_halves(const ry_problem *problem);

/* Bytes of an operand as it is multiplied, and the channels that it holds. */
size_t ry_gpu_operand_size(ry_gpu_operands operands);
int64_t ry_gpu_operand_lanes(ry_gpu_operands operands);

/* Products of matrix units for one of operands. */
int64_t ry_gpu_operand_products(ry_gpu_operands operands);

/* Do matrix units multiply them? */
bool ry_gpu_operands_are_units(ry_gpu_operands operands);

/* Defines MATRIX_UNITS, QUANTISED, QUADS, the types of an operand (STAGED) and of a sum (SUM), and
 * where matrix units multiply PAIR, how many operands a word of four bytes has, and MULTIPLY_UNITS,
 * the dialect's product. */
void ry_gpu_operands_define(ry_gpu_operands operands, ry_text *text);

/* Defines LOAD_side(p, at): element `at` of input `input`, of type FETCHED_side (four: FOUR_side); and
 * STAGE_side(v): such an element as it is multiplied. B is LOAD_B, FETCHED_X, FOUR_X and STAGE_X.
 * Elements are fetched as they are stored: a conversion at the load would wait for memory. */
void ry_gpu_operands_define_load(const ry_query *query, const char *side, int input, ry_text *text);

#endif
