/* SPDX-License-Identifier: Apache-2.0 */
/* The instrumented words for rows of pixels: in plain C they go through memory, of which nothing
 * counts, but what they are on AVX-512. */
#pragma GCC system_header
#ifndef COUNTED_SIMD_ROWS_H
#define COUNTED_SIMD_ROWS_H

#include "kernels/cpu/simd/simd.h"

#include_next "kernels/cpu/simd/simd_rows.h"

#define COUNTED_ROW_WORD(word, n, kind, parameters, ...)                     \
    static __attribute__((noinline, unused)) ry_vf counted_##word parameters \
    {                                                                        \
        count_operations(COUNTED_##kind, n);                                 \
        counted_held++;                                                      \
        const ry_vf v_ = word(__VA_ARGS__);                                  \
        counted_held--;                                                      \
        return v_;                                                           \
    }

/* clang-format off */
COUNTED_ROW_WORD(ry_vf_tidy, 1, PERMUTE, (ry_vf v), v)
COUNTED_ROW_WORD(ry_vf_shift_loose, 1, PERMUTE, (const float *p, bool there, ry_vf v), p, there, v)
COUNTED_ROW_WORD(ry_vf_shift_loose_halves, 1, PERMUTE, (const float *p, const float *q, bool there, ry_vf v), p, q, there, v)
COUNTED_ROW_WORD(ry_vf_before, 1, PERMUTE, (ry_vf v, ry_vm m), v, m)
COUNTED_ROW_WORD(ry_vf_behind, 1, PERMUTE, (ry_vf v, ry_vm m), v, m)
COUNTED_ROW_WORD(ry_vf_load_halves, 2, LOAD, (const float *p, const float *q, ry_vm m), p, q, m)

#define ry_vf_tidy               counted_ry_vf_tidy
#define ry_vf_shift_loose        counted_ry_vf_shift_loose
#define ry_vf_shift_loose_halves counted_ry_vf_shift_loose_halves
#define ry_vf_before             counted_ry_vf_before
#define ry_vf_behind             counted_ry_vf_behind
#define ry_vf_load_halves        counted_ry_vf_load_halves
/* clang-format on */

#endif
