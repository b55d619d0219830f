/* SPDX-License-Identifier: Apache-2.0 */
/* A matrix product as numbers: y[m][n] = activation(alpha * sum over k of a[m][k] * b[k][n] + beta
 * * c[m][n] + residual[m][n]), for each of `batches` products. Plain data. numpy's rules for
 * vectors and broadcast batches, and the transpositions, are in the strides. */
#ifndef RY_KERNELS_CPU_MATMUL_MATMUL_SHAPE_H
#define RY_KERNELS_CPU_MATMUL_MATMUL_SHAPE_H

#include "kernels/kernel.h"

enum { MATMUL_A, MATMUL_B, MATMUL_C, MATMUL_RESIDUAL, MATMUL_Y, MATMUL_OPERANDS };

typedef struct matmul_operand {
    ry_dtype dtype;      /* RY_NONE: absent */
    int64_t row, column; /* steps: a: m, k; b: k, n; the others: m, n */
    int64_t batch[RY_MAX_RANK];
} matmul_operand;

typedef struct matmul_shape {
    int64_t m, n, k, batches;
    int batch_rank;
    int64_t batch_dim[RY_MAX_RANK];
    matmul_operand of[MATMUL_OPERANDS];
    /* the problem's a is our b and the other way round: y is written along its rows */
    bool swapped;
    float alpha, beta;
} matmul_shape;

/* false: nothing to compute (an empty dimension), or ranks that this does not read. */
bool ry_matmul_shape_of(const ry_problem *problem, matmul_shape *shape);

/* The same, with a and b as the problem gives them, however y is stored. */
bool ry_matmul_shape_as_given(const ry_problem *problem, matmul_shape *shape);

/* Offset of an operand's product number `batch`, in elements. */
int64_t ry_matmul_batch_offset(const matmul_shape *shape, int operand, int64_t batch);

/* An operand's data. */
const void *ry_matmul_input(const matmul_shape *shape, const ry_cpu_launch *launch, int operand);

#endif
