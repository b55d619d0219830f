/* SPDX-License-Identifier: Apache-2.0 */
/* Brings a block of a matrix into the form that the micro-kernel reads, whatever its steps and type
 * are. */
#ifndef RY_KERNELS_CPU_PARTS_PACK_ROWS_H
#define RY_KERNELS_CPU_PARTS_PACK_ROWS_H

#include "kernels/cpu/simd/isa.h"
#include "tensor/dtype.h"

/* The types that are read: f32 and i32 (bits as they are), f16 and bf16 (converted to f32). */

/* to[k * width + j] = from[k * row + j * column] for k < depth, j < count; zeros for count <= j <
 * width. width is count, or that in full vectors. */
void RY_ISA_SYMBOL(pack_micropanel)(ry_dtype dtype, const void *from, int64_t row, int64_t column,
                                    int64_t depth, int64_t count, int64_t width, float *to);

/* to[i * to_row + k] = from[i * row + k * column]; rows have room for a full vector behind their
 * end. */
void RY_ISA_SYMBOL(pack_rows)(ry_dtype dtype, const void *from, int64_t row, int64_t column,
                              int64_t rows, int64_t depth, float *to, int64_t to_row);

void RY_ISA_SYMBOL(scale_row)(float *row, int64_t n, float by);

#endif
