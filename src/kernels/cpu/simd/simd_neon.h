/* SPDX-License-Identifier: Apache-2.0 */
/* The vector vocabulary of simd.h for Advanced SIMD (NEON) of 64-bit Arm. */
#ifndef RY_KERNELS_CPU_SIMD_SIMD_NEON_H
#define RY_KERNELS_CPU_SIMD_SIMD_NEON_H

#include <arm_neon.h>

/* 32 registers: 24 hold sums, two hold a row of B. */
#define RY_W            4
#define RY_TILE_ROWS    12
#define RY_TILE_VECTORS 2

typedef float32x4_t ry_vf;
typedef int32x4_t ry_vi;
typedef uint32x4_t ry_vm; /* all bits of a lane, or none */

/* clang-format off */
RY_INLINE ry_vm ry_vm_bits(uint32_t bits)
{
    return vtstq_u32(vdupq_n_u32(bits), (ry_vm){1, 2, 4, 8});
}
RY_INLINE ry_vm ry_vm_first(int64_t n)
{
    return vcgtq_s32(vdupq_n_s32((int32_t)n), (ry_vi){0, 1, 2, 3});
}
RY_INLINE ry_vf ry_vf_zero(void) { return vdupq_n_f32(0); }
RY_INLINE ry_vf ry_vf_set(float x) { return vdupq_n_f32(x); }
RY_INLINE ry_vf ry_vf_load(const float *p) { return vld1q_f32(p); }
/* clang-format on */

/* There are no masked loads and stores: lane by lane. */
RY_INLINE ry_vf ry_vf_load_m(const float *p, ry_vm m)
{
    ry_vf v = vdupq_n_f32(0);
    v = m[0] ? vld1q_lane_f32(p, v, 0) : v;
    v = m[1] ? vld1q_lane_f32(p + 1, v, 1) : v;
    v = m[2] ? vld1q_lane_f32(p + 2, v, 2) : v;
    return m[3] ? vld1q_lane_f32(p + 3, v, 3) : v;
}

RY_INLINE void ry_vf_store(float *p, ry_vf v)
{
    vst1q_f32(p, v);
}

RY_INLINE void ry_vf_store_m(float *p, ry_vm m, ry_vf v)
{
#pragma GCC unroll 4
    for (int i = 0; i < RY_W; i++) {
        if (m[i]) {
            p[i] = v[i];
        }
    }
}

/* clang-format off */
RY_INLINE ry_vf ry_vf_add(ry_vf a, ry_vf b) { return vaddq_f32(a, b); }
RY_INLINE ry_vf ry_vf_mul(ry_vf a, ry_vf b) { return vmulq_f32(a, b); }
RY_INLINE ry_vf ry_vf_fma(ry_vf a, ry_vf b, ry_vf c) { return vfmaq_f32(c, a, b); }
/* FMAX and FMIN give NaN where the bound is NaN, too: compare and select. */
RY_INLINE ry_vf ry_vf_max(ry_vf bound, ry_vf x) { return vbslq_f32(vcgtq_f32(bound, x), bound, x); }
RY_INLINE ry_vf ry_vf_min(ry_vf bound, ry_vf x) { return vbslq_f32(vcltq_f32(bound, x), bound, x); }
/* b where a lane of `a` is below 0, c elsewhere. */
RY_INLINE ry_vf ry_vf_negative_select(ry_vf a, ry_vf b, ry_vf c)
{
    return vbslq_f32(vcltzq_f32(a), b, c);
}
/* Where v is larger than *best it becomes that, and *at becomes `mark`: NaN is larger than any
 * number, and the first of equals stays. */
RY_INLINE void ry_vf_keep_largest(ry_vf v, ry_vf mark, ry_vf *best, ry_vf *at)
{
    const uint32x4_t larger = vbicq_u32(vceqq_f32(*best, *best), vcleq_f32(v, *best));
    *best = vbslq_f32(larger, v, *best);
    *at = vbslq_f32(larger, mark, *at);
}
/* 0 where a lane of `a` is at most b, v elsewhere (where one is NaN, too). */
RY_INLINE ry_vf ry_vf_keep_above(ry_vf v, ry_vf a, ry_vf b)
{
    return vreinterpretq_f32_u32(vbicq_u32(vreinterpretq_u32_f32(v), vcleq_f32(a, b)));
}
RY_INLINE ry_vf ry_vf_div(ry_vf a, ry_vf b) { return vdivq_f32(a, b); }
RY_INLINE ry_vf ry_vf_or(ry_vf a, ry_vf b)
{
    return vreinterpretq_f32_u32(vorrq_u32(vreinterpretq_u32_f32(a), vreinterpretq_u32_f32(b)));
}
RY_INLINE ry_vf ry_vf_evens(ry_vf low, ry_vf high)
{
    return vuzp1q_f32(low, vextq_f32(high, high, 1));
}
/* clang-format on */

RY_INLINE void ry_vf_deinterleave(ry_vf low, ry_vf high, ry_vf *evens, ry_vf *odds)
{
    *evens = vuzp1q_f32(low, high);
    *odds = vuzp2q_f32(low, high);
}

RY_INLINE void ry_vf_interleave(ry_vf evens, ry_vf odds, ry_vf *low, ry_vf *high)
{
    *low = vzip1q_f32(evens, odds);
    *high = vzip2q_f32(evens, odds);
}

RY_INLINE ry_vf ry_vf_shift_in(ry_vf first, ry_vf v)
{
    return vextq_f32(vdupq_laneq_f32(first, 0), v, 3);
}

/* A table of 32 bytes; an index beyond it gives 0. */
RY_INLINE ry_vf ry_vf_permute2(ry_vf low, ry_vf high, ry_vi index, ry_vm keep)
{
    const uint8x16x2_t row = {{vreinterpretq_u8_f32(low), vreinterpretq_u8_f32(high)}};
    const uint32x4_t bytes =
        vmlaq_u32(vdupq_n_u32(0x03020100), vreinterpretq_u32_s32(index), vdupq_n_u32(0x04040404));
    return vreinterpretq_f32_u8(vqtbl2q_u8(row, vreinterpretq_u8_u32(vornq_u32(bytes, keep))));
}

RY_INLINE ry_vf ry_vf_permute(ry_vf v, ry_vi index)
{
    const uint32x4_t lane = vandq_u32(vreinterpretq_u32_s32(index), vdupq_n_u32(3));
    const uint32x4_t bytes = vmlaq_u32(vdupq_n_u32(0x03020100), lane, vdupq_n_u32(0x04040404));
    return vreinterpretq_f32_u8(vqtbl1q_u8(vreinterpretq_u8_f32(v), vreinterpretq_u8_u32(bytes)));
}

RY_INLINE ry_vf ry_vf_halves(float low, float high)
{
    return vcombine_f32(vdup_n_f32(low), vdup_n_f32(high));
}

RY_INLINE void ry_v2_store_first(float *p, int64_t n, float32x2_t v)
{
    if (n >= 2) {
        vst1_f32(p, v);
    } else if (n == 1) {
        vst1_lane_f32(p, v, 0);
    }
}

RY_INLINE void ry_vf_store_first(float *p, int64_t n, ry_vf v)
{
    if (n >= RY_W) {
        vst1q_f32(p, v);
    } else if (n >= 2) {
        vst1_f32(p, vget_low_f32(v));
        ry_v2_store_first(p + 2, n - 2, vget_high_f32(v));
    } else {
        ry_v2_store_first(p, n, vget_low_f32(v));
    }
}

RY_INLINE void ry_vf_store_halves(float *low, float *high, int64_t n, ry_vf v)
{
    ry_v2_store_first(low, n, vget_low_f32(v));
    ry_v2_store_first(high, n, vget_high_f32(v));
}

/* clang-format off */
RY_INLINE float ry_vf_sum(ry_vf v) { return vaddvq_f32(v); }
RY_INLINE ry_vi ry_vi_set(int32_t x) { return vdupq_n_s32(x); }
RY_INLINE ry_vi ry_vi_load(const int32_t *p) { return vld1q_s32(p); }
/* clang-format on */

RY_INLINE ry_vi ry_vi_load_m(const int32_t *p, ry_vm m)
{
    ry_vi v = vdupq_n_s32(0);
    v = m[0] ? vld1q_lane_s32(p, v, 0) : v;
    v = m[1] ? vld1q_lane_s32(p + 1, v, 1) : v;
    v = m[2] ? vld1q_lane_s32(p + 2, v, 2) : v;
    return m[3] ? vld1q_lane_s32(p + 3, v, 3) : v;
}

RY_INLINE void ry_vi_store(int32_t *p, ry_vi v)
{
    vst1q_s32(p, v);
}

RY_INLINE void ry_vi_store_m(int32_t *p, ry_vm m, ry_vi v)
{
#pragma GCC unroll 4
    for (int i = 0; i < RY_W; i++) {
        if (m[i]) {
            p[i] = v[i];
        }
    }
}

RY_INLINE ry_vi ry_vi_add(ry_vi a, ry_vi b)
{
    return vaddq_s32(a, b);
}

RY_INLINE ry_vi ry_vi_fma(ry_vi a, ry_vi b, ry_vi c)
{
    return vmlaq_s32(c, a, b);
}

RY_INLINE uint16x4_t ry_v16_load_m(const uint16_t *p, ry_vm m)
{
    uint16x4_t v = vdup_n_u16(0);
    v = m[0] ? vld1_lane_u16(p, v, 0) : v;
    v = m[1] ? vld1_lane_u16(p + 1, v, 1) : v;
    v = m[2] ? vld1_lane_u16(p + 2, v, 2) : v;
    return m[3] ? vld1_lane_u16(p + 3, v, 3) : v;
}

RY_INLINE void ry_v16_store_m(uint16_t *p, ry_vm m, uint16x4_t v)
{
#pragma GCC unroll 4
    for (int i = 0; i < RY_W; i++) {
        if (m[i]) {
            p[i] = v[i];
        }
    }
}

/* clang-format off */
RY_INLINE ry_vf ry_vf_from_f16(uint16x4_t v) { return vcvt_f32_f16(vreinterpret_f16_u16(v)); }
RY_INLINE ry_vf ry_vf_from_bf16(uint16x4_t v) { return vreinterpretq_f32_u32(vshll_n_u16(v, 16)); }
RY_INLINE ry_vf ry_vf_load_f16(const uint16_t *p) { return ry_vf_from_f16(vld1_u16(p)); }
RY_INLINE ry_vf ry_vf_load_f16_m(const uint16_t *p, ry_vm m)
{
    return ry_vf_from_f16(ry_v16_load_m(p, m));
}
RY_INLINE ry_vf ry_vf_load_bf16(const uint16_t *p) { return ry_vf_from_bf16(vld1_u16(p)); }
RY_INLINE ry_vf ry_vf_load_bf16_m(const uint16_t *p, ry_vm m)
{
    return ry_vf_from_bf16(ry_v16_load_m(p, m));
}
RY_INLINE void ry_vf_store_f16_m(uint16_t *p, ry_vm m, ry_vf v)
{
    ry_v16_store_m(p, m, vreinterpret_u16_f16(vcvt_f16_f32(v)));
}
/* clang-format on */

RY_INLINE void ry_vf_store_bf16_m(uint16_t *p, ry_vm m, ry_vf v)
{
    const uint32x4_t bits = vreinterpretq_u32_f32(v),
                     odd = vandq_u32(vshrq_n_u32(bits, 16), vdupq_n_u32(1));
    const uint32x4_t rounded = vaddq_u32(vaddq_u32(bits, vdupq_n_u32(0x7fff)), odd),
                     quiet = vorrq_u32(bits, vdupq_n_u32(0x400000));
    ry_v16_store_m(p, m, vshrn_n_u32(vbslq_u32(vceqq_f32(v, v), rounded, quiet), 16));
}

RY_INLINE void ry_vf_transpose(ry_vf v[RY_W])
{
    const ry_vf a = vtrn1q_f32(v[0], v[1]), b = vtrn2q_f32(v[0], v[1]), c = vtrn1q_f32(v[2], v[3]),
                d = vtrn2q_f32(v[2], v[3]);
    v[0] = vcombine_f32(vget_low_f32(a), vget_low_f32(c));
    v[1] = vcombine_f32(vget_low_f32(b), vget_low_f32(d));
    v[2] = vcombine_f32(vget_high_f32(a), vget_high_f32(c));
    v[3] = vcombine_f32(vget_high_f32(b), vget_high_f32(d));
}

#endif
