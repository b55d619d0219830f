/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of f32, f16 or bf16 as f32, for *_isa.c sources that compute in f32 whatever the tensors'
 * type. */
#ifndef RY_KERNELS_CPU_SIMD_HALF_ROWS_H
#define RY_KERNELS_CPU_SIMD_HALF_ROWS_H

#include "kernels/cpu/simd/half.h"
#include "kernels/kernel.h"

static inline bool ry_row_dtype(rynd_dtype dtype)
{
    return dtype == RYND_DTYPE_F32 || dtype == RYND_DTYPE_F16 || dtype == RYND_DTYPE_BF16;
}

/* n elements from element `at` on. */
static inline void ry_row_load(rynd_dtype dtype, float *y, const void *x, int64_t at, int64_t n)
{
    if (dtype == RYND_DTYPE_F16) {
        ry_f16_load((size_t)n, y, (const uint16_t *)x + at);
    } else if (dtype == RYND_DTYPE_BF16) {
        ry_bf16_load((size_t)n, y, (const uint16_t *)x + at);
    } else {
        memcpy(y, (const float *)x + at, (size_t)n * sizeof *y);
    }
}

static inline void ry_row_store(rynd_dtype dtype, void *y, int64_t at, const float *x, int64_t n)
{
    if (dtype == RYND_DTYPE_F16) {
        ry_f16_store((size_t)n, (uint16_t *)y + at, x);
    } else if (dtype == RYND_DTYPE_BF16) {
        ry_bf16_store((size_t)n, (uint16_t *)y + at, x);
    } else {
        memcpy((float *)y + at, x, (size_t)n * sizeof *x);
    }
}

#endif
