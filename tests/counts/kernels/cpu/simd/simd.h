/* SPDX-License-Identifier: Apache-2.0 */
/* The instrumented vocabulary: the generic words at the width of AVX-512, each of which counts what
 * it does (counted.h). It stands in front of the library's header of this name, for tests alone.
 * Words are calls, or the kernels would take minutes to compile. */
#pragma GCC system_header
#ifndef COUNTED_SIMD_H
#define COUNTED_SIMD_H

#include_next "kernels/cpu/simd/simd.h"

#include "counted.h"

/* The tile and the grain of AVX-512. */
#undef RY_TILE_ROWS
#define RY_TILE_ROWS 14
#undef RY_GRAIN
#define RY_GRAIN 8

RY_INLINE ry_vf ry_vf_load_half(const float *p)
{
    return ry_vf_load_m(p, ry_vm_first(RY_W / 2));
}

RY_INLINE ry_vf ry_vf_fma_half(ry_vf a, ry_vf b, ry_vf c)
{
    return ry_vf_fma(a, b, c);
}

/* Stages of a transpose, and of a sum of all lanes. */
enum { COUNTED_STAGES = 4 };

/* A word that counts n operations of one kind, and m of another. */
#define COUNTED_WORD(type, word, n, kind, m, other, parameters, ...)        \
    static __attribute__((noinline, unused)) type counted_##word parameters \
    {                                                                       \
        count_operations(COUNTED_##kind, n);                                \
        count_operations(COUNTED_##other, m);                               \
        return word(__VA_ARGS__);                                           \
    }

/* clang-format off */
COUNTED_WORD(ry_vf, ry_vf_set, 1, SPREAD, 0, ADD, (float x), x)
COUNTED_WORD(ry_vf, ry_vf_load, 1, LOAD, 0, ADD, (const float *p), p)
COUNTED_WORD(ry_vf, ry_vf_load_m, 1, LOAD, 0, ADD, (const float *p, ry_vm m), p, m)
COUNTED_WORD(ry_vf, ry_vf_load_half, 1, LOAD, 0, ADD, (const float *p), p)
COUNTED_WORD(ry_vi, ry_vi_load, 1, LOAD, 0, ADD, (const int32_t *p), p)
COUNTED_WORD(ry_vi, ry_vi_load_m, 1, LOAD, 0, ADD, (const int32_t *p, ry_vm m), p, m)
COUNTED_WORD(void, ry_vf_store, 1, STORE, 0, ADD, (float *p, ry_vf v), p, v)
COUNTED_WORD(void, ry_vf_store_m, 1, STORE, 0, ADD, (float *p, ry_vm m, ry_vf v), p, m, v)
COUNTED_WORD(void, ry_vf_store_first, 1, STORE, 0, ADD, (float *p, int64_t n, ry_vf v), p, n, v)
COUNTED_WORD(void, ry_vf_store_halves, 2, STORE, 0, ADD, (float *p, float *q, int64_t n, ry_vf v), p, q, n, v)
COUNTED_WORD(void, ry_vi_store, 1, STORE, 0, ADD, (int32_t *p, ry_vi v), p, v)
COUNTED_WORD(void, ry_vi_store_m, 1, STORE, 0, ADD, (int32_t *p, ry_vm m, ry_vi v), p, m, v)
COUNTED_WORD(ry_vf, ry_vf_load_f16, 1, LOAD, 1, CONVERT, (const uint16_t *p), p)
COUNTED_WORD(ry_vf, ry_vf_load_f16_m, 1, LOAD, 1, CONVERT, (const uint16_t *p, ry_vm m), p, m)
COUNTED_WORD(ry_vf, ry_vf_load_bf16, 1, LOAD, 1, CONVERT, (const uint16_t *p), p)
COUNTED_WORD(ry_vf, ry_vf_load_bf16_m, 1, LOAD, 1, CONVERT, (const uint16_t *p, ry_vm m), p, m)
COUNTED_WORD(void, ry_vf_store_f16_m, 1, STORE, 1, CONVERT, (uint16_t *p, ry_vm m, ry_vf v), p, m, v)
COUNTED_WORD(void, ry_vf_store_bf16_m, 1, STORE, 1, CONVERT, (uint16_t *p, ry_vm m, ry_vf v), p, m, v)
COUNTED_WORD(ry_vf, ry_vf_fma, 1, PRODUCT, 0, ADD, (ry_vf a, ry_vf b, ry_vf c), a, b, c)
COUNTED_WORD(ry_vf, ry_vf_fma_half, 0.5, PRODUCT, 0, ADD, (ry_vf a, ry_vf b, ry_vf c), a, b, c)
COUNTED_WORD(ry_vi, ry_vi_fma, 1, PRODUCT, 0, ADD, (ry_vi a, ry_vi b, ry_vi c), a, b, c)
COUNTED_WORD(ry_vf, ry_vf_add, 1, ADD, 0, ADD, (ry_vf a, ry_vf b), a, b)
COUNTED_WORD(ry_vi, ry_vi_add, 1, ADD, 0, ADD, (ry_vi a, ry_vi b), a, b)
COUNTED_WORD(ry_vf, ry_vf_mul, 1, ADD, 0, ADD, (ry_vf a, ry_vf b), a, b)
COUNTED_WORD(ry_vf, ry_vf_max, 1, ADD, 0, ADD, (ry_vf a, ry_vf b), a, b)
COUNTED_WORD(ry_vf, ry_vf_min, 1, ADD, 0, ADD, (ry_vf a, ry_vf b), a, b)
COUNTED_WORD(ry_vf, ry_vf_div, 1, DIVIDE, 0, ADD, (ry_vf a, ry_vf b), a, b)
COUNTED_WORD(ry_vf, ry_vf_evens, 1, PERMUTE, 0, ADD, (ry_vf a, ry_vf b), a, b)
COUNTED_WORD(void, ry_vf_deinterleave, 2, PERMUTE, 0, ADD, (ry_vf a, ry_vf b, ry_vf *c, ry_vf *d), a, b, c, d)
COUNTED_WORD(void, ry_vf_interleave, 2, PERMUTE, 0, ADD, (ry_vf a, ry_vf b, ry_vf *c, ry_vf *d), a, b, c, d)
COUNTED_WORD(ry_vf, ry_vf_shift_in, 1, PERMUTE, 0, ADD, (ry_vf a, ry_vf b), a, b)
COUNTED_WORD(ry_vf, ry_vf_permute2, 1, PERMUTE, 0, ADD, (ry_vf a, ry_vf b, ry_vi i, ry_vm m), a, b, i, m)
COUNTED_WORD(ry_vf, ry_vf_permute, 1, PERMUTE, 0, ADD, (ry_vf a, ry_vi i), a, i)
COUNTED_WORD(void, ry_vf_transpose, COUNTED_STAGES *RY_W, PERMUTE, 0, ADD, (ry_vf *v), v)
COUNTED_WORD(float, ry_vf_sum, COUNTED_STAGES, PERMUTE, COUNTED_STAGES, ADD, (ry_vf v), v)

#define ry_vf_set counted_ry_vf_set
#define ry_vf_load counted_ry_vf_load
#define ry_vf_load_m counted_ry_vf_load_m
#define ry_vf_load_half counted_ry_vf_load_half
#define ry_vi_load counted_ry_vi_load
#define ry_vi_load_m counted_ry_vi_load_m
#define ry_vf_store counted_ry_vf_store
#define ry_vf_store_m counted_ry_vf_store_m
#define ry_vf_store_first counted_ry_vf_store_first
#define ry_vf_store_halves counted_ry_vf_store_halves
#define ry_vi_store counted_ry_vi_store
#define ry_vi_store_m counted_ry_vi_store_m
#define ry_vf_load_f16 counted_ry_vf_load_f16
#define ry_vf_load_f16_m counted_ry_vf_load_f16_m
#define ry_vf_load_bf16 counted_ry_vf_load_bf16
#define ry_vf_load_bf16_m counted_ry_vf_load_bf16_m
#define ry_vf_store_f16_m counted_ry_vf_store_f16_m
#define ry_vf_store_bf16_m counted_ry_vf_store_bf16_m
#define ry_vf_fma counted_ry_vf_fma
#define ry_vf_fma_half counted_ry_vf_fma_half
#define ry_vi_fma counted_ry_vi_fma
#define ry_vf_add counted_ry_vf_add
#define ry_vi_add counted_ry_vi_add
#define ry_vf_mul counted_ry_vf_mul
#define ry_vf_max counted_ry_vf_max
#define ry_vf_min counted_ry_vf_min
#define ry_vf_div counted_ry_vf_div
#define ry_vf_evens counted_ry_vf_evens
#define ry_vf_deinterleave counted_ry_vf_deinterleave
#define ry_vf_interleave counted_ry_vf_interleave
#define ry_vf_shift_in counted_ry_vf_shift_in
#define ry_vf_permute2 counted_ry_vf_permute2
#define ry_vf_permute counted_ry_vf_permute
#define ry_vf_transpose counted_ry_vf_transpose
#define ry_vf_sum counted_ry_vf_sum
/* clang-format on */

#endif
