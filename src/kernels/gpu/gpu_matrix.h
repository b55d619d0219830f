/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products as the texts of GPUs are told of them: every operand by steps along rows,
 * columns, terms and batch dims. */
#ifndef RY_KERNELS_GPU_GPU_MATRIX_H
#define RY_KERNELS_GPU_GPU_MATRIX_H

#include "kernels/kernel.h"

/* The operands, inputs in their order. */
enum { RY_GPU_A, RY_GPU_B, RY_GPU_C, RY_GPU_RESIDUAL, RY_GPU_Y, RY_GPU_OPERANDS };

typedef struct ry_gpu_dim {
    int64_t count;
    int64_t step[RY_GPU_OPERANDS]; /* elements; 0 where an operand is broadcast or absent */
} ry_gpu_dim;

typedef struct ry_gpu_matrix {
    ry_gpu_dim row, column, term;
    ry_gpu_dim batch[RY_MAX_RANK]; /* the last one's products are nearest to each other */
    int batch_rank;
    int64_t batches; /* the product of all batch dims */
} ry_gpu_matrix;

/* Is it a product of types that the texts read, nothing empty, whose counts are those of an int? */
bool ry_gpu_matrix_takes(const ry_problem *problem);

/* A batch dim becomes rows if b lacks the dim and the other operands' strides allow it. */
ry_gpu_matrix ry_gpu_matrix_of(const ry_problem *problem);

/* Defines types, `activate`, AT_a(batch) of a = 0, 1, PRODUCT_AT(batch, m, n) of y, PRODUCT_C_AT,
 * PRODUCT_RESIDUAL_AT, and FINISH_PRODUCT(batch, m, n, sum). */
void ry_gpu_matrix_define(const ry_problem *problem, const ry_gpu_matrix *matrix, ry_text *text);

#endif
