/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors from elements that are a step apart, in f32 (and i32, as bits), f16 or bf16 (converted),
 * with lanes left out. */
#ifndef RY_KERNELS_CPU_SIMD_LANES_H
#define RY_KERNELS_CPU_SIMD_LANES_H

#include "kernels/cpu/simd/simd.h"
#include "tensor/dtype.h"

enum {
    RY_UNIT_STRIDE,
    RY_EVERY_SECOND,
    RY_EVERY_FOURTH,
    RY_APART,
    RY_LANE_STEPS
}; /* how the elements of neighbouring lanes are stored */

RY_INLINE int ry_lane_steps(int64_t step)
{
    return step == 1   ? RY_UNIT_STRIDE
           : step == 2 ? RY_EVERY_SECOND
           : step == 4 ? RY_EVERY_FOURTH
                       : RY_APART;
}

#define RY_EVERY_LANE ((uint32_t)((1ull << RY_W) - 1u))

/* Bit i of a mask to bit 2 i. */
RY_INLINE uint32_t ry_spread(uint32_t m)
{
    m = (m | m << 8) & 0x00ff00ffu;
    m = (m | m << 4) & 0x0f0f0f0fu;
    m = (m | m << 2) & 0x33333333u;
    return (m | m << 1) & 0x55555555u;
}

RY_INLINE ry_vf ry_load_full(const ry_dtype dtype, const void *p)
{
    return dtype == RY_f16    ? ry_vf_load_f16(p)
           : dtype == RY_bf16 ? ry_vf_load_bf16(p)
                              : ry_vf_load(p);
}

RY_INLINE ry_vf ry_load_masked(const ry_dtype dtype, const void *p, ry_vm m)
{
    return dtype == RY_f16    ? ry_vf_load_f16_m(p, m)
           : dtype == RY_bf16 ? ry_vf_load_bf16_m(p, m)
                              : ry_vf_load_m(p, m);
}

RY_INLINE void ry_store_masked(const ry_dtype dtype, void *p, ry_vm m, ry_vf v)
{
    if (dtype == RY_f16) {
        ry_vf_store_f16_m(p, m, v);
    } else if (dtype == RY_bf16) {
        ry_vf_store_bf16_m(p, m, v);
    } else {
        ry_vf_store_m(p, m, v);
    }
}

RY_INLINE float ry_load_one(const ry_dtype dtype, const char *p)
{
    if (dtype == RY_f16 || dtype == RY_bf16) {
        uint16_t bits;
        memcpy(&bits, p, sizeof bits);
        return dtype == RY_f16 ? ry_f16_to_f32(bits) : ry_bf16_to_f32(bits);
    }
    float x;
    memcpy(&x, p, sizeof x);
    return x;
}

/* Elements 0, 2, 4, ... from p on, of lanes whose bit 2 i is set. */
RY_INLINE ry_vf ry_load_seconds(const ry_dtype dtype, const char *p, uint32_t bits)
{
    const int64_t size = dtype == RY_f16 || dtype == RY_bf16 ? 2 : 4;
    return ry_vf_evens(ry_load_masked(dtype, p, ry_vm_bits(bits & RY_EVERY_LANE)),
                       ry_load_masked(dtype, p + (RY_W - 1) * size,
                                      ry_vm_bits((bits >> (RY_W - 1)) & RY_EVERY_LANE)));
}

RY_INLINE ry_vf ry_load_lanes(const ry_dtype dtype, const int near, const char *p, int64_t step,
                              uint32_t mask)
{
    const int64_t size = dtype == RY_f16 || dtype == RY_bf16 ? 2 : 4;
    if (near == RY_UNIT_STRIDE) {
        return mask == RY_EVERY_LANE ? ry_load_full(dtype, p)
                                     : ry_load_masked(dtype, p, ry_vm_bits(mask));
    }
    if (near == RY_EVERY_SECOND) {
        const char *high = p + (RY_W - 1) * size;
        if (mask == RY_EVERY_LANE) {
            return ry_vf_evens(ry_load_full(dtype, p), ry_load_full(dtype, high));
        }
        return ry_load_seconds(dtype, p, ry_spread(mask));
    }
    if (near == RY_EVERY_FOURTH) {
        /* every second of every second; the second half begins at element 2 (RY_W - 1) */
        const uint64_t bits = (uint64_t)ry_spread(ry_spread(mask & 0xffu)) |
                              (uint64_t)ry_spread(ry_spread(mask >> 8)) << 32;
        return ry_vf_evens(
            ry_load_seconds(dtype, p, (uint32_t)(bits & ((1ull << (2 * RY_W - 1)) - 1))),
            ry_load_seconds(dtype, p + 2 * (RY_W - 1) * size,
                            (uint32_t)(bits >> (2 * (RY_W - 1)))));
    }
    if (size == 2) {
        uint16_t halves[RY_W]; /* converted together */
        for (int64_t i = 0; i < RY_W; i++) {
            halves[i] = 0;
            if (mask >> i & 1u) {
                memcpy(&halves[i], p + i * step * size, sizeof *halves);
            }
        }
        return ry_load_full(dtype, halves);
    }
    float lanes[RY_W];
    for (int64_t i = 0; i < RY_W; i++) {
        lanes[i] = mask >> i & 1u ? ry_load_one(dtype, p + i * step * size) : 0.0f;
    }
    return ry_vf_load(lanes);
}

#endif
