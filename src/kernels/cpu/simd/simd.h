/* SPDX-License-Identifier: Apache-2.0 */
/* The vector vocabulary: the same words for every instruction set, so that a kernel is one source.
 *
 *   RY_W                         floats (or 32-bit integers) in a vector
 *   ry_vf, ry_vi, ry_vm          vectors of float and of int32_t, and a mask of lanes
 *   ry_vm_first(n)               lanes 0..n-1;  ry_vm_bits(b): lanes whose bit is set
 *   *_load / *_store             no alignment is needed;  *_load_m: lanes outside the mask give 0
 *                                and are not read;  *_store_m: are not written
 *   ry_vf_fma(a, b, c)           a * b + c, rounded once where the machine can;  ry_vi_fma: modulo
 *                                2^32
 *   ry_vf_store_first(p, n, v)   lanes 0..n-1;  ry_vf_store_halves(p, q, n, v): the first n of
 *                                each half, to p and to q
 *   ry_vf_max(bound, x), _min    x where either is NaN: a bound lets NaN through
 *   ry_vf_evens(low, high)       elements 0, 2, 4, ... of a row, low being its elements 0.. and
 *                                high its elements RY_W-1..: nothing behind the last
 *                                one needed is read
 *   ry_vf_deinterleave(low, high, e, o)  elements 0, 2, 4, ... and 1, 3, 5, ... of a row of two
 *                                        vectors
 *   ry_vf_interleave(e, o, low, high) the row of two vectors whose elements they are
 *   ry_vf_shift_in(first, v)     lane 0 of `first`, then lanes 0.. of v but its last
 *   ry_vf_permute2(low, high, i, m)  element i (below 2 RY_W) of a row of two vectors in each lane of
 *                                the mask, 0 in others
 *   ry_vf_permute(v, i)          element i of v, modulo RY_W, in each lane
 *   ry_vf_halves(a, b)           a in the first half of the lanes, b in the second
 *   ry_vf_load_f16 / _bf16       RY_W elements, converted
 *   ry_vf_transpose(v)           RY_W vectors as the rows of a square: its columns
 *   RY_GRAIN                     where it is half of RY_W: products of half a vector take half the
 *                                time, and there are ry_vf_fma_half and _load_half
 *   RY_TILE_ROWS                 rows of the largest tile of RY_TILE_VECTORS vectors that fits the
 *                                register file with its operands
 */
#ifndef RY_KERNELS_CPU_SIMD_SIMD_H
#define RY_KERNELS_CPU_SIMD_SIMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define RY_INLINE static inline __attribute__((always_inline, unused))

#if defined(__AVX512F__)
#include "kernels/cpu/simd/simd_avx512.h"
#elif defined(__AVX2__)
#include "kernels/cpu/simd/simd_avx2.h"
#elif defined(RY_NEON)
#include "kernels/cpu/simd/simd_neon.h"
#else
#include "kernels/cpu/simd/simd_generic.h"
#endif

#ifndef RY_GRAIN
#define RY_GRAIN RY_W
#endif

/* The value of ry_kernel.simd for this instruction set. */
#define RY_SIMD                                                                                    \
    {                                                                                              \
        .width = RY_W, .lane_multiple = RY_GRAIN, .rows = RY_TILE_ROWS, .vectors = RY_TILE_VECTORS \
    }

#define RY_TILE_COLUMNS (RY_TILE_VECTORS * RY_W)

#endif
