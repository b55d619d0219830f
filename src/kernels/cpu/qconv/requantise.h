/* SPDX-License-Identifier: Apache-2.0 */
/* From sums of 32 bits to bytes: scaled in float32, rounded to even, bounded. */
#ifndef RY_KERNELS_CPU_QCONV_REQUANTISE_H
#define RY_KERNELS_CPU_QCONV_REQUANTISE_H

#include "kernels/cpu/simd/simd_int8.h"
#include "problem/problem.h"

/* round(v) + zero within bounds. Bounds, which are integers, come before rounding. */
typedef struct ry_byte_bounds {
    ry_vf low, high;
    ry_vi zero;
} ry_byte_bounds;

/* How a quantised convolution ends: `own` before a residual is added, `y` behind it. */
typedef struct ry_ends {
    ry_byte_bounds own, y;
    ry_vf own_scale, residual_scale;
    ry_vi residual_zero; /* negative */
} ry_ends;

RY_INLINE ry_byte_bounds ry_byte_bounds_of(int64_t zero, int64_t low, int64_t high)
{
    return (ry_byte_bounds){ry_vf_set((float)(low - zero)), ry_vf_set((float)(high - zero)),
                            ry_vi_set((int32_t)zero)};
}

RY_INLINE ry_ends ry_ends_of(const ry_qconv_attrs *a)
{
    return (ry_ends){ry_byte_bounds_of(a->sum_zero, a->sum_low, a->sum_high),
                     ry_byte_bounds_of(a->zero, a->low, a->high), ry_vf_set((float)a->sum_scale),
                     ry_vf_set((float)a->residual_scale), ry_vi_set(-(int32_t)a->residual_zero)};
}

RY_INLINE ry_vi ry_round_within(ry_vf v, const ry_byte_bounds *b)
{
    return ry_vi_round(ry_vf_min(b->high, ry_vf_max(b->low, v)));
}

/* A vector of sums as bytes, one a lane. */
RY_INLINE ry_vi ry_requantise(const ry_ends *e, ry_vi sum, ry_vf scale)
{
    return ry_vi_add(ry_round_within(ry_vf_mul(ry_vf_from_vi(sum), scale), &e->y), e->y.zero);
}

/* The same with a residual, one byte a lane. */
RY_INLINE ry_vi ry_requantise_residual(const ry_ends *e, ry_vi sum, ry_vf scale, ry_vi residual)
{
    const ry_vi own = ry_round_within(ry_vf_mul(ry_vf_from_vi(sum), scale), &e->own);
    const ry_vf other = ry_vf_from_vi(ry_vi_add(residual, e->residual_zero));
    const ry_vf v =
        ry_vf_add(ry_vf_mul(ry_vf_from_vi(own), e->own_scale), ry_vf_mul(other, e->residual_scale));
    return ry_vi_add(ry_round_within(v, &e->y), e->y.zero);
}

#endif
