/* SPDX-License-Identifier: Apache-2.0 */
/* From sums of 32 bits to bytes: scaled in float32, rounded to even, bounded. */
#ifndef RY_KERNELS_CPU_QCONV_REQUANTISE_H
#define RY_KERNELS_CPU_QCONV_REQUANTISE_H

#include "kernels/cpu/simd/simd_int8.h"
#include "problem/problem.h"

#include <math.h>

/* round(v) + zero within bounds. Bounds, which are integers, come before rounding. */
typedef struct ry_byte_bounds {
    ry_vf low, high;
    ry_vi zero;
} ry_byte_bounds;

/* How a quantised convolution ends: `own` before a residual is added, `y` behind it. */
typedef struct ry_ends {
    ry_byte_bounds own, y;
    ry_vf own_scale, residual_scale;
    ry_vf residual_zero; /* negative, for ry_vf_load_u8 */

    ry_byte_pack pack; /* y's */
    bool plain; /* ry_add_residual_plain has the same bits as ry_add_residual, within int32 */
} ry_ends;

RY_INLINE ry_byte_bounds ry_byte_bounds_of(int64_t zero, int64_t low, int64_t high)
{
    return (ry_byte_bounds){ry_vf_set(-(float)(zero - low)), ry_vf_set((float)(high - zero)),
                            ry_vi_set((int32_t)zero)};
}

RY_INLINE ry_ends ry_ends_of(const ry_qconv_attrs *a)
{
    return (ry_ends){.own = ry_byte_bounds_of(a->sum_zero, a->sum_low, a->sum_high),
                     .y = ry_byte_bounds_of(a->zero, a->low, a->high),
                     .own_scale = ry_vf_set((float)a->sum_scale),
                     .residual_scale = ry_vf_set((float)a->residual_scale),
                     .residual_zero = ry_vf_set(-(float)a->residual_zero - RY_BYTES_BASE),
                     .pack = ry_byte_pack_of((int32_t)a->zero, (int32_t)a->low, (int32_t)a->high),
                     .plain = a->sum_low <= a->sum_zero && a->sum_zero <= a->sum_high &&
                              fabs(a->sum_scale) < 1e6 && fabs(a->residual_scale) < 1e6};
}

RY_INLINE ry_vi ry_round_within(ry_vf v, const ry_byte_bounds *b)
{
    return ry_vi_round(ry_vf_min(ry_vf_max(v, b->low), b->high));
}

/* A vector of sums as floats, scaled. */
RY_INLINE ry_vf ry_scale_sums(ry_vi sum, ry_vf scale)
{
    return ry_vf_mul(ry_vf_from_vi(sum), scale);
}

RY_INLINE ry_vf ry_add_rounded(const ry_ends *e, ry_vf own, ry_vf residual)
{
    const ry_vf other = ry_vf_add(residual, e->residual_zero);
    return ry_vf_add(ry_vf_mul(ry_vf_round(own), e->own_scale),
                     ry_vf_mul(other, e->residual_scale));
}

/* The same with a residual, by ry_vf_load_u8. */
RY_INLINE ry_vf ry_add_residual(const ry_ends *e, ry_vi sum, ry_vf scale, ry_vf residual)
{
    const ry_byte_bounds *b = &e->own;
    return ry_add_rounded(e, ry_vf_min(ry_vf_max(ry_scale_sums(sum, scale), b->low), b->high),
                          residual);
}

/* The same if `plain`. */
RY_INLINE ry_vf ry_add_residual_plain(const ry_ends *e, ry_vi sum, ry_vf scale, ry_vf residual)
{
    return ry_add_rounded(e, ry_vf_within(ry_scale_sums(sum, scale), e->own.low, e->own.high),
                          residual);
}

/* Rounds y without its zero point. The lower bound is left to ry_vi_pack_bytes, which also turns
 * what is no number into it. */
RY_INLINE ry_vi ry_round_below(ry_vf high, ry_vf v)
{
    return ry_vi_round(ry_vf_min(high, v));
}

/* A vector of sums as bytes, one a lane. */
RY_INLINE ry_vi ry_requantise(const ry_ends *e, ry_vi sum, ry_vf scale)
{
    return ry_vi_add(ry_round_within(ry_scale_sums(sum, scale), &e->y), e->y.zero);
}

/* The same with a residual, by ry_vf_load_u8. */
RY_INLINE ry_vi ry_requantise_residual(const ry_ends *e, ry_vi sum, ry_vf scale, ry_vf residual)
{
    return ry_vi_add(ry_round_within(ry_add_residual(e, sum, scale, residual), &e->y), e->y.zero);
}

#endif
