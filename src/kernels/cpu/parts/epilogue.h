/* SPDX-License-Identifier: Apache-2.0 */
/* The end of sums that were not written to y by their tiles: residual, activation, conversion, and
 * y's own order in memory. */
#ifndef RY_KERNELS_CPU_PARTS_EPILOGUE_H
#define RY_KERNELS_CPU_PARTS_EPILOGUE_H

#include "kernels/cpu/parts/activation.h"
#include "kernels/cpu/parts/epilogue_run.h"

typedef struct epilogue {
    int64_t rows, columns;
    float *block; /* [row][column], changed on the way; int32_t where dtype is i32 */
    int64_t block_step;
    /* above 1: a row's columns alternate between so many blocks, which are stored
     * interleaved_step floats apart */
    int64_t interleave, interleaved_step;
    float *interleaved_row;  /* buffer for an interleaved row of all phases */
    const epilogue_run *run; /* the columns of a row in memory */
    int64_t runs;
    void *y;
    int64_t y_row;        /* elements from row to row */
    ry_dtype dtype;       /* f32, f16, bf16, i32 */
    const void *residual; /* NULL: none */
    int64_t r_row;
    ry_dtype r_dtype; /* f32, f16, bf16 */
    ry_activation_of activation;
} epilogue;

void RY_BASE_SYMBOL(epilogue_rows)(const epilogue *epilogue);

/* Sums of floats [pixel][channel] to a y whose pixels are next to each other. */
typedef struct transposed_epilogue {
    int64_t pixels, channels;
    const float *block; /* a pixel's sums end with a full vector */
    int64_t block_step; /* from pixel to pixel */
    float *y;
    int64_t y_row;         /* from channel to channel */
    const float *residual; /* NULL: none */
    int64_t r_row;
    float low, high;
} transposed_epilogue;

void RY_ISA_SYMBOL(epilogue_transposed)(const transposed_epilogue *transposed);

/* to[parts * i + j] = from[j * step + i], i < count; full vectors are read and written. */
void RY_BASE_SYMBOL(interleave)(const float *from, int64_t step, int64_t parts, int64_t count,
                                float *to);

/* to[column][row] = from[row][column]; both have room for full vectors. */
void RY_BASE_SYMBOL(transpose_block)(const float *from, int64_t from_step, int64_t rows,
                                     int64_t columns, float *to, int64_t to_step);

#endif
