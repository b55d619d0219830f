/* SPDX-License-Identifier: Apache-2.0 */
/* The end of sums that were not written to y by their tiles: residual, activation, conversion, and y's own order in memory. */
#ifndef RY_KERNELS_CPU_CONV_FINISH_H
#define RY_KERNELS_CPU_CONV_FINISH_H

#include "kernels/cpu/conv/activation.h"
#include "kernels/cpu/conv/igemm_plan.h"

typedef struct igemm_finish {
    int64_t rows, columns;
    float *block; /* [row][column], changed on the way; int32_t where dtype is i32 */
    int64_t block_step;
    int64_t woven, woven_step; /* above 1: a row's columns alternate between so many blocks, which lie woven_step floats apart */
    float *woven_row;          /* room for a row of them all, where they are woven */
    const igemm_run *run;      /* the columns of a row in memory */
    int64_t runs;
    void *y;
    int64_t y_row;        /* elements from row to row */
    ry_dtype dtype;       /* f32, f16, bf16, i32 */
    const void *residual; /* NULL: none */
    int64_t r_row;
    ry_dtype r_dtype; /* f32, f16, bf16 */
    ry_activation_of activation;
} igemm_finish;

void RY_BASE_SYMBOL(igemm_finish_rows)(const igemm_finish *finish);

/* Sums of floats [pixel][channel] to a y whose pixels lie next to each other. */
typedef struct igemm_turned {
    int64_t pixels, channels;
    const float *block; /* a pixel's sums end with a whole vector */
    int64_t block_step; /* from pixel to pixel */
    float *y;
    int64_t y_row;         /* from channel to channel */
    const float *residual; /* NULL: none */
    int64_t r_row;
    float low, high;
} igemm_turned;

void RY_ISA_SYMBOL(igemm_finish_turned)(const igemm_turned *turned);

/* to[parts * i + j] = from[j * step + i], i < count; whole vectors are read and written. */
void RY_BASE_SYMBOL(ry_weave)(const float *from, int64_t step, int64_t parts, int64_t count, float *to);

/* to[column][row] = from[row][column]; both have room for whole vectors. */
void RY_BASE_SYMBOL(igemm_turn)(const float *from, int64_t from_step, int64_t rows, int64_t columns, float *to, int64_t to_step);

#endif
