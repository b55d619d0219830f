/* SPDX-License-Identifier: Apache-2.0 */
/* The vector vocabulary of simd.h in plain C with the compiler's vector types, for CPUs without a
 * vocabulary of their own. Four floats is what every 64-bit CPU has; RY_GENERIC_WIDTH states
 * another width, so that the texts can be tried at the width of an instruction set that is not
 * there. */
#ifndef RY_KERNELS_CPU_SIMD_SIMD_GENERIC_H
#define RY_KERNELS_CPU_SIMD_SIMD_GENERIC_H

#include "tensor/dtype.h"

#ifdef RY_GENERIC_WIDTH
#define RY_W RY_GENERIC_WIDTH
#else
#define RY_W 4
#endif
#define RY_TILE_ROWS    6
#define RY_TILE_VECTORS 2

typedef float ry_vf __attribute__((vector_size(4 * RY_W)));
typedef int32_t ry_vi __attribute__((vector_size(4 * RY_W)));
typedef uint32_t ry_vu __attribute__((vector_size(4 * RY_W)));
typedef uint32_t ry_vm; /* one bit a lane */

/* Masked moves are loops with a branch a lane: inlined everywhere, they were half to two thirds of
 * the time that the longest texts take to compile. */
#define RY_OUTLINE static __attribute__((noinline, unused))

/* clang-format off */
RY_INLINE ry_vm ry_vm_bits(uint32_t bits) { return bits; }
RY_INLINE ry_vm ry_vm_first(int64_t n)
{
    return n >= RY_W ? (uint32_t)((1ull << RY_W) - 1u) : (1u << n) - 1u;
}
RY_INLINE ry_vf ry_vf_zero(void) { return (ry_vf){0}; }
RY_INLINE ry_vf ry_vf_set(float x) { return x - (ry_vf){0}; }
/* clang-format on */

RY_INLINE ry_vf ry_vf_load(const float *p)
{
    ry_vf v;
    memcpy(&v, p, sizeof v);
    return v;
}

RY_OUTLINE ry_vf ry_vf_load_m(const float *p, ry_vm m)
{
    ry_vf v = {0};
    for (int i = 0; i < RY_W; i++) {
        if (m >> i & 1u) {
            v[i] = p[i];
        }
    }
    return v;
}

RY_INLINE void ry_vf_store(float *p, ry_vf v)
{
    memcpy(p, &v, sizeof v);
}

RY_OUTLINE void ry_vf_store_m(float *p, ry_vm m, ry_vf v)
{
    for (int i = 0; i < RY_W; i++) {
        if (m >> i & 1u) {
            p[i] = v[i];
        }
    }
}

/* clang-format off */
RY_INLINE ry_vf ry_vf_add(ry_vf a, ry_vf b) { return a + b; }
RY_INLINE ry_vf ry_vf_mul(ry_vf a, ry_vf b) { return a * b; }
RY_INLINE ry_vf ry_vf_fma(ry_vf a, ry_vf b, ry_vf c) { return a * b + c; }
/* Lane by lane: a if the mask is all ones, b if it is zero. */
RY_INLINE ry_vf ry_vf_choose(ry_vi mask, ry_vf a, ry_vf b)
{
    return (ry_vf)(((ry_vi)a & mask) | ((ry_vi)b & ~mask));
}
RY_INLINE ry_vf ry_vf_max(ry_vf bound, ry_vf x) { return ry_vf_choose(bound > x, bound, x); }
RY_INLINE ry_vf ry_vf_min(ry_vf bound, ry_vf x) { return ry_vf_choose(bound < x, bound, x); }
/* b where a lane of `a` is below 0, c elsewhere. */
RY_INLINE ry_vf ry_vf_negative_select(ry_vf a, ry_vf b, ry_vf c)
{
    return ry_vf_choose(a < ry_vf_zero(), b, c);
}
/* Where v is larger than *best it becomes that, and *at becomes `mark`: NaN is larger than any
 * number, and the first of equals stays. */
RY_INLINE void ry_vf_keep_largest(ry_vf v, ry_vf mark, ry_vf *best, ry_vf *at)
{
    const ry_vi larger = (v > *best) | ((v != v) & (*best == *best));
    *best = ry_vf_choose(larger, v, *best);
    *at = ry_vf_choose(larger, mark, *at);
}
/* 0 where a lane of `a` is at most b, v elsewhere (where one is NaN, too). */
RY_INLINE ry_vf ry_vf_keep_above(ry_vf v, ry_vf a, ry_vf b)
{
    return ry_vf_choose(a <= b, ry_vf_zero(), v);
}
RY_INLINE ry_vf ry_vf_div(ry_vf a, ry_vf b) { return a / b; }
RY_INLINE ry_vf ry_vf_or(ry_vf a, ry_vf b) { return (ry_vf)((ry_vi)a | (ry_vi)b); }
/* clang-format on */

RY_INLINE ry_vf ry_vf_evens(ry_vf low, ry_vf high)
{
    ry_vf v = {0};
    for (int i = 0; i < RY_W / 2; i++) {
        v[i] = low[2 * i];
        v[RY_W / 2 + i] = high[2 * i + 1];
    }
    return v;
}

RY_INLINE void ry_vf_deinterleave(ry_vf low, ry_vf high, ry_vf *evens, ry_vf *odds)
{
    ry_vf e = {0}, o = {0};
    for (int i = 0; i < RY_W / 2; i++) {
        e[i] = low[2 * i];
        o[i] = low[2 * i + 1];
        e[RY_W / 2 + i] = high[2 * i];
        o[RY_W / 2 + i] = high[2 * i + 1];
    }
    *evens = e;
    *odds = o;
}

RY_INLINE void ry_vf_interleave(ry_vf evens, ry_vf odds, ry_vf *low, ry_vf *high)
{
    ry_vf l = {0}, h = {0};
    for (int i = 0; i < RY_W / 2; i++) {
        l[2 * i] = evens[i];
        l[2 * i + 1] = odds[i];
        h[2 * i] = evens[RY_W / 2 + i];
        h[2 * i + 1] = odds[RY_W / 2 + i];
    }
    *low = l;
    *high = h;
}

RY_INLINE ry_vf ry_vf_shift_in(ry_vf first, ry_vf v)
{
    for (int i = 1; i < RY_W; i++) {
        first[i] = v[i - 1];
    }
    return first;
}

RY_INLINE ry_vf ry_vf_permute2(ry_vf low, ry_vf high, ry_vi index, ry_vm keep)
{
    ry_vf v = {0};
    for (int i = 0; i < RY_W; i++) {
        if (keep >> i & 1u) {
            v[i] = index[i] < RY_W ? low[index[i]] : high[index[i] - RY_W];
        }
    }
    return v;
}

RY_INLINE ry_vf ry_vf_permute(ry_vf v, ry_vi index)
{
    ry_vf y;
    for (int i = 0; i < RY_W; i++) {
        y[i] = v[index[i] & (RY_W - 1)];
    }
    return y;
}

RY_INLINE ry_vf ry_vf_halves(float low, float high)
{
    ry_vf v = {0};
    for (int i = 0; i < RY_W; i++) {
        v[i] = i < RY_W / 2 ? low : high;
    }
    return v;
}

RY_OUTLINE void ry_vf_store_first(float *p, int64_t n, ry_vf v)
{
    for (int i = 0; i < RY_W && i < n; i++) {
        p[i] = v[i];
    }
}

RY_INLINE void ry_vf_store_halves(float *low, float *high, int64_t n, ry_vf v)
{
    for (int i = 0; i < n; i++) {
        low[i] = v[i];
        high[i] = v[RY_W / 2 + i];
    }
}

RY_INLINE float ry_vf_sum(ry_vf v)
{
    float sum = v[0];
    for (int i = 1; i < RY_W; i++) {
        sum += v[i];
    }
    return sum;
}

RY_INLINE ry_vi ry_vi_set(int32_t x)
{
    return x - (ry_vi){0};
}

RY_INLINE ry_vi ry_vi_load(const int32_t *p)
{
    ry_vi v;
    memcpy(&v, p, sizeof v);
    return v;
}

RY_OUTLINE ry_vi ry_vi_load_m(const int32_t *p, ry_vm m)
{
    ry_vi v = {0};
    for (int i = 0; i < RY_W; i++) {
        if (m >> i & 1u) {
            v[i] = p[i];
        }
    }
    return v;
}

RY_INLINE void ry_vi_store(int32_t *p, ry_vi v)
{
    memcpy(p, &v, sizeof v);
}

RY_OUTLINE void ry_vi_store_m(int32_t *p, ry_vm m, ry_vi v)
{
    for (int i = 0; i < RY_W; i++) {
        if (m >> i & 1u) {
            p[i] = v[i];
        }
    }
}

RY_INLINE ry_vi ry_vi_add(ry_vi a, ry_vi b)
{
    return (ry_vi)((ry_vu)a + (ry_vu)b);
}

RY_INLINE ry_vi ry_vi_fma(ry_vi a, ry_vi b, ry_vi c)
{
    return (ry_vi)((ry_vu)a * (ry_vu)b + (ry_vu)c);
}

RY_OUTLINE ry_vf ry_vf_load_f16_m(const uint16_t *p, ry_vm m)
{
    ry_vf v = {0};
    for (int i = 0; i < RY_W; i++) {
        if (m >> i & 1u) {
            v[i] = ry_f16_to_f32(p[i]);
        }
    }
    return v;
}

RY_INLINE ry_vf ry_vf_load_f16(const uint16_t *p)
{
    return ry_vf_load_f16_m(p, ry_vm_first(RY_W));
}

RY_OUTLINE ry_vf ry_vf_load_bf16_m(const uint16_t *p, ry_vm m)
{
    ry_vf v = {0};
    for (int i = 0; i < RY_W; i++) {
        if (m >> i & 1u) {
            v[i] = ry_bf16_to_f32(p[i]);
        }
    }
    return v;
}

RY_INLINE ry_vf ry_vf_load_bf16(const uint16_t *p)
{
    return ry_vf_load_bf16_m(p, ry_vm_first(RY_W));
}

RY_OUTLINE void ry_vf_store_f16_m(uint16_t *p, ry_vm m, ry_vf v)
{
    for (int i = 0; i < RY_W; i++) {
        if (m >> i & 1u) {
            p[i] = ry_f32_to_f16(v[i]);
        }
    }
}

RY_OUTLINE void ry_vf_store_bf16_m(uint16_t *p, ry_vm m, ry_vf v)
{
    for (int i = 0; i < RY_W; i++) {
        if (m >> i & 1u) {
            p[i] = ry_f32_to_bf16(v[i]);
        }
    }
}

RY_INLINE void ry_vf_transpose(ry_vf v[RY_W])
{
    for (int i = 0; i < RY_W; i++) {
        for (int j = 0; j < i; j++) {
            const float t = v[i][j];
            v[i][j] = v[j][i];
            v[j][i] = t;
        }
    }
}

#endif
