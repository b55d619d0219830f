/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a block of matrix products: alpha, beta * c, residual, activation, conversion and y's
 * steps. */
#ifndef RY_KERNELS_CPU_MATMUL_MATMUL_EPILOGUE_H
#define RY_KERNELS_CPU_MATMUL_MATMUL_EPILOGUE_H

#include "kernels/cpu/matmul/matmul_shape.h"
#include "kernels/cpu/simd/isa.h"

/* block[row][column] of product `batch`, its first element being (row, column) of y; block is
 * changed on the way. alpha: what is left to multiply with. */
void RY_ISA_SYMBOL(matmul_epilogue)(const matmul_shape *shape, const ry_cpu_launch *launch,
                                    int64_t batch, int64_t row, int64_t rows, int64_t column,
                                    int64_t columns, float *block, int64_t block_step, float alpha);

#endif
