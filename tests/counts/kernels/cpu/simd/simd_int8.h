/* SPDX-License-Identifier: Apache-2.0 */
/* The instrumented words of bytes, beside those of simd.h in this folder. */
#pragma GCC system_header
#ifndef COUNTED_SIMD_INT8_H
#define COUNTED_SIMD_INT8_H

#include_next "kernels/cpu/simd/simd_int8.h"

/* Stages of a 4x4 transpose of bytes. */
enum { COUNTED_BYTE_STAGES = 2, COUNTED_QUAD = 4 };

/* Words of plain C are made of others, which do not count: `run` is the word. */
#define COUNTED_BYTES(type, word, n, kind, m, other, parameters, run)       \
    static __attribute__((noinline, unused)) type counted_##word parameters \
    {                                                                       \
        count_operations(COUNTED_##kind, n);                                \
        count_operations(COUNTED_##other, m);                               \
        counted_held++;                                                     \
        run;                                                                \
        counted_held--;                                                     \
        COUNTED_RESULT_##type                                               \
    }
#define COUNTED_RESULT_ry_vi return v;
#define COUNTED_RESULT_ry_vf return v;
#define COUNTED_RESULT_void

/* clang-format off */
COUNTED_BYTES(ry_vi, ry_vi_dot_bytes, 1, PRODUCT, 0, ADD, (ry_vi a, ry_vi b, ry_vi c), const ry_vi v = ry_vi_dot_bytes(a, b, c))
COUNTED_BYTES(ry_vi, ry_vi_dot_pairs, 1, PRODUCT, 0, ADD, (ry_vi a, ry_vi b, ry_vi c), const ry_vi v = ry_vi_dot_pairs(a, b, c))
COUNTED_BYTES(ry_vi, ry_vi_even_bytes, 1, ADD, 0, ADD, (ry_vi x), const ry_vi v = ry_vi_even_bytes(x))
COUNTED_BYTES(ry_vi, ry_vi_odd_bytes, 1, ADD, 0, ADD, (ry_vi x), const ry_vi v = ry_vi_odd_bytes(x))
COUNTED_BYTES(ry_vf, ry_vf_from_vi, 1, CONVERT, 0, ADD, (ry_vi x), const ry_vf v = ry_vf_from_vi(x))
COUNTED_BYTES(ry_vi, ry_vi_round, 1, CONVERT, 0, ADD, (ry_vf x), const ry_vi v = ry_vi_round(x))
COUNTED_BYTES(ry_vi, ry_vi_load_u8, 1, LOAD, 1, CONVERT, (const uint8_t *p, int64_t n), const ry_vi v = ry_vi_load_u8(p, n))
COUNTED_BYTES(ry_vf, ry_vf_load_u8, 1, LOAD, 1, CONVERT, (const uint8_t *p, int64_t n), const ry_vf v = ry_vf_load_u8(p, n))
COUNTED_BYTES(void, ry_vi_store_u8, 1, STORE, 1, CONVERT, (uint8_t *p, int64_t n, ry_vi v), ry_vi_store_u8(p, n, v))
COUNTED_BYTES(ry_vi, ry_vi_load_bytes, 1, LOAD, 0, ADD, (const uint8_t *p, int64_t n), const ry_vi v = ry_vi_load_bytes(p, n))
COUNTED_BYTES(void, ry_vi_store_bytes, 1, STORE, 0, ADD, (uint8_t *p, int64_t n, ry_vi v), ry_vi_store_bytes(p, n, v))
COUNTED_BYTES(void, ry_vi_interleave_bytes, COUNTED_BYTE_STAGES *COUNTED_QUAD, PERMUTE, 0, ADD, (ry_vi a, ry_vi b, ry_vi c, ry_vi d, ry_vi q[4]), ry_vi_interleave_bytes(a, b, c, d, q))
COUNTED_BYTES(ry_vi, ry_vi_join_bytes, COUNTED_QUAD - 1, PERMUTE, 0, ADD, (const ry_vi q[4], const ry_byte_pack *b), const ry_vi v = ry_vi_join_bytes(q, b))
COUNTED_BYTES(ry_vi, ry_vi_pack_bytes, COUNTED_QUAD - 1, PERMUTE, 0, ADD, (const ry_vi q[4], const ry_byte_pack *b), const ry_vi v = ry_vi_pack_bytes(q, b))
COUNTED_BYTES(void, ry_vi_store_part, 1, STORE, 0, ADD, (uint8_t *p, ry_vi v, int part, int parts), ry_vi_store_part(p, v, part, parts))

#define ry_vi_dot_bytes counted_ry_vi_dot_bytes
#define ry_vi_dot_pairs counted_ry_vi_dot_pairs
#define ry_vi_even_bytes counted_ry_vi_even_bytes
#define ry_vi_odd_bytes counted_ry_vi_odd_bytes
#define ry_vf_from_vi counted_ry_vf_from_vi
#define ry_vi_round counted_ry_vi_round
#define ry_vi_load_u8 counted_ry_vi_load_u8
#define ry_vf_load_u8 counted_ry_vf_load_u8
#define ry_vi_store_u8 counted_ry_vi_store_u8
#define ry_vi_load_bytes counted_ry_vi_load_bytes
#define ry_vi_store_bytes counted_ry_vi_store_bytes
#define ry_vi_interleave_bytes counted_ry_vi_interleave_bytes
#define ry_vi_join_bytes counted_ry_vi_join_bytes
#define ry_vi_pack_bytes counted_ry_vi_pack_bytes
#define ry_vi_store_part counted_ry_vi_store_part
/* clang-format on */

#endif
