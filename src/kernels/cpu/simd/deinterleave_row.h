/* SPDX-License-Identifier: Apache-2.0 */
/* Parts a row of pixels into rows of each residue of the position modulo the stride, with zeros
 * around it. */
#ifndef RY_KERNELS_CPU_SIMD_DEINTERLEAVE_ROW_H
#define RY_KERNELS_CPU_SIMD_DEINTERLEAVE_ROW_H

#include "kernels/cpu/simd/lanes.h"

enum { RY_MAX_DEINTERLEAVE = 4 }; /* the largest stride */

/* Elements j, j + 3, j + 6, ... of three vectors. */
RY_INLINE ry_vf ry_every_third(const ry_vf v[3], int j)
{
    int32_t low[RY_W], high[RY_W];
    uint32_t from_low = 0;
    for (int i = 0; i < RY_W; i++) {
        const int at = 3 * i + j;
        low[i] = at < 2 * RY_W ? at : 0;
        high[i] = at < 2 * RY_W ? 0 : at - RY_W;
        from_low |= at < 2 * RY_W ? 1u << i : 0u;
    }
    return ry_vf_or(
        ry_vf_permute2(v[0], v[1], ry_vi_load(low), ry_vm_bits(from_low)),
        ry_vf_permute2(v[1], v[2], ry_vi_load(high), ry_vm_bits(~from_low & RY_EVERY_LANE)));
}

/* A row of one channel of x, whose elements are next to each other, as its line would be: zeros, x
 * from `first` to `end`, zeros. */
typedef struct ry_row_of_x {
    const char *column; /* start of the line in x */
    int64_t first, end;
} ry_row_of_x;

/* Vector number `at / RY_W` of the line. */
RY_INLINE ry_vf ry_load_line(const ry_dtype dtype, const ry_row_of_x *x, int64_t at)
{
    const int64_t size = dtype == RY_f16 || dtype == RY_bf16 ? 2 : 4, first = x->first - at,
                  end = x->end - at;
    if (first <= 0 && end >= RY_W) {
        return ry_load_full(dtype, x->column + at * size);
    }
    if (first >= RY_W || end <= 0) {
        return ry_vf_zero();
    }
    const uint32_t below = end >= RY_W ? RY_EVERY_LANE : (1u << end) - 1u;
    return ry_load_masked(dtype, x->column + at * size,
                          ry_vm_bits(first <= 0 ? below : below >> first << first));
}

/* One vector of every plane's row. */
RY_INLINE void ry_part_vector(const ry_dtype dtype, const int stride, const ry_row_of_x *x,
                              float *const to[RY_MAX_DEINTERLEAVE], int64_t at)
{
    ry_vf v[RY_MAX_DEINTERLEAVE], part[RY_MAX_DEINTERLEAVE];
#pragma GCC unroll 4
    for (int i = 0; i < stride; i++) {
        v[i] = ry_load_line(dtype, x, at * stride + i * RY_W);
    }
    if (stride == 1) {
        part[0] = v[0];
    } else if (stride == 2) {
        ry_vf_deinterleave(v[0], v[1], &part[0], &part[1]);
    } else if (stride == 4) {
        ry_vf even[2], odd[2];
        ry_vf_deinterleave(v[0], v[1], &even[0], &odd[0]);
        ry_vf_deinterleave(v[2], v[3], &even[1], &odd[1]);
        ry_vf_deinterleave(even[0], even[1], &part[0], &part[2]);
        ry_vf_deinterleave(odd[0], odd[1], &part[1], &part[3]);
    } else {
#pragma GCC unroll 3
        for (int j = 0; j < 3; j++) {
            part[j] = ry_every_third(v, j);
        }
    }
#pragma GCC unroll 4
    for (int i = 0; i < stride; i++) {
        if (to[i]) {
            ry_vf_store(to[i] + at, part[i]);
        }
    }
}

/* The rows of planes that a row of x holds; a full vector behind each is written. */
RY_INLINE void ry_deinterleave_row(const ry_dtype dtype, const int stride, const ry_row_of_x *x,
                                   int64_t pitch, float *const to[RY_MAX_DEINTERLEAVE])
{
    /* copies, which what is stored cannot change */
    const ry_row_of_x row = *x;
    float *plane[RY_MAX_DEINTERLEAVE];
#pragma GCC unroll 4
    for (int i = 0; i < stride; i++) {
        plane[i] = to[i];
    }
    for (int64_t i = 0; i < pitch; i += RY_W) {
        ry_part_vector(dtype, stride, &row, plane, i);
    }
}

#endif
