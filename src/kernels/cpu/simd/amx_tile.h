/* SPDX-License-Identifier: Apache-2.0 */
/* The tile vocabulary: eight tiles of 16 rows of 64 bytes, each with a literal number, and what
 * Intel's AMX does with them. Without AMX the same words in plain C give the same bits, which is
 * how kernels are tested on machines that have none.
 *
 *   ry_amx tiles;                         a thread's tiles; of no size where they are registers
 *   ry_amx_begin(&tiles)                  configures them for this thread, until
 *   ry_amx_end(&tiles)                    which every task calls, so that nobody saves tiles that
 *                                         nobody uses
 *   ry_amx_zero(&tiles, t)
 *   ry_amx_load(&tiles, t, p, step)       row i from p + i * step bytes
 *   ry_amx_store(&tiles, t, p, step)
 *   ry_amx_dot_bf16(&tiles, c, a, b)      C += A B: C 16 x 16 floats, A 16 rows of 16 pairs of
 *                                         bfloat16, B[k][j] the pair that A[i][k] meets
 *   ry_amx_settle()                       between writing memory and loading it, and between storing
 *                                         tiles and reading them: compilers do not know of either
 *   ry_amx_dot_bytes(&tiles, c, a, b)     the same of 32-bit sums, quads of uint8 and of int8
 *
 * The arithmetic of ry_amx_dot_bf16 (TDPBF16PS in Intel's Software Developer's Manual): the products of
 * the pairs' first elements are summed over k = 0, 1, ... by fused multiply-adds from 0, those of
 * the second elements likewise; the two sums are added, then C. Each step rounds to nearest even,
 * counts subnormal operands as zero and gives zero instead of subnormal results, whatever MXCSR
 * says. */
#ifndef RY_KERNELS_CPU_SIMD_AMX_TILE_H
#define RY_KERNELS_CPU_SIMD_AMX_TILE_H

#include "base/float_bits.h"
#include <stdint.h>
#include <string.h>

enum { RY_AMX_ROWS = 16, RY_AMX_ROW_BYTES = 64, RY_AMX_TILES = 8 };

#if defined(__AMX_BF16__) || defined(__AMXBF16__) /* Clang's name until its version 17 */

#define RY_AMX_REGISTERS 1

#include <immintrin.h>

typedef struct ry_amx {
    _Alignas(64) uint8_t configuration[64];
} ry_amx;

/* GCC's intrinsics do not say what the instructions read and write. */
static inline void ry_amx_settle(void)
{
    __asm__ volatile("" ::: "memory");
}

static inline void ry_amx_begin(ry_amx *tiles)
{
    memset(tiles, 0, sizeof *tiles);
    tiles->configuration[0] = 1; /* the palette of eight tiles */
    for (int i = 0; i < RY_AMX_TILES; i++) {
        tiles->configuration[16 + 2 * i] = RY_AMX_ROW_BYTES;
        tiles->configuration[48 + i] = RY_AMX_ROWS;
    }
    ry_amx_settle();
    _tile_loadconfig(tiles->configuration);
}

static inline void ry_amx_end(ry_amx *tiles)
{
    (void)tiles;
    _tile_release();
}

/* Compilers have the intrinsics as functions or as statements. */
#define RY_AMX_DO(tiles, statement) \
    do {                            \
        (void)(tiles);              \
        statement;                  \
    } while (0)
#define ry_amx_zero(tiles, t)            RY_AMX_DO(tiles, _tile_zero(t))
#define ry_amx_load(tiles, t, p, step)   RY_AMX_DO(tiles, _tile_loadd(t, p, step))
#define ry_amx_store(tiles, t, p, step)  RY_AMX_DO(tiles, _tile_stored(t, p, step))
#define ry_amx_dot_bf16(tiles, c, a, b)  RY_AMX_DO(tiles, _tile_dpbf16ps(c, a, b))
#define ry_amx_dot_bytes(tiles, c, a, b) RY_AMX_DO(tiles, _tile_dpbusd(c, a, b))

#else

#define RY_AMX_REGISTERS 0

#include <float.h>
#include <math.h>
#include <stdbool.h>

typedef struct ry_amx {
    /* 32-bit elements: a float, or a pair with its first element in the low half */
    uint32_t tile[RY_AMX_TILES][RY_AMX_ROWS][RY_AMX_ROWS];
} ry_amx;

static inline void ry_amx_settle(void)
{
}

static inline void ry_amx_begin(ry_amx *tiles)
{
    memset(tiles, 0, sizeof *tiles);
}

static inline void ry_amx_end(ry_amx *tiles)
{
    (void)tiles;
}

static inline void ry_amx_zero(ry_amx *tiles, int t)
{
    memset(tiles->tile[t], 0, sizeof tiles->tile[t]);
}

static inline void ry_amx_load(ry_amx *tiles, int t, const void *p, int64_t step)
{
    for (int i = 0; i < RY_AMX_ROWS; i++) {
        memcpy(tiles->tile[t][i], (const char *)p + i * step, RY_AMX_ROW_BYTES);
    }
}

static inline void ry_amx_store(const ry_amx *tiles, int t, void *p, int64_t step)
{
    for (int i = 0; i < RY_AMX_ROWS; i++) {
        memcpy((char *)p + i * step, tiles->tile[t][i], RY_AMX_ROW_BYTES);
    }
}

/* Every index below is a constant: the sanitizers have nothing to find, and take minutes over it.
 */
#define RY_AMX_UNCHECKED __attribute__((no_sanitize("address", "undefined")))

RY_AMX_UNCHECKED static inline float ry_amx_flush(float x)
{
    return fabsf(x) < FLT_MIN ? 0.0f : x;
}

/* The elements of a tile of pairs as floats, subnormal ones as zero; least and most: of the
 * magnitudes that are not zero, infinite for NaN. */
RY_AMX_UNCHECKED static inline void ry_amx_elements(uint32_t tile[RY_AMX_ROWS][RY_AMX_ROWS],
                                                    float element[2][RY_AMX_ROWS][RY_AMX_ROWS],
                                                    float *min, float *max)
{
    *min = FLT_MAX;
    *max = 0;
    for (int i = 0; i < 2 * RY_AMX_ROWS * RY_AMX_ROWS; i++) {
        const int half = i & 1, row = i / 2 / RY_AMX_ROWS, k = i / 2 % RY_AMX_ROWS;
        const uint32_t bits = half ? tile[row][k] & 0xffff0000u : tile[row][k] << 16;
        const float x = ry_amx_flush(ry_f32_of_bits(bits));
        element[half][row][k] = x;
        const float size = x - x == 0 ? fabsf(x) : INFINITY;
        *max = size > *max ? size : *max;
        *min = size > 0 && size < *min ? size : *min;
    }
}

RY_AMX_UNCHECKED static inline void ry_amx_dot_bf16(ry_amx *tiles, int c, int a, int b)
{
    float left[2][RY_AMX_ROWS][RY_AMX_ROWS], right[2][RY_AMX_ROWS][RY_AMX_ROWS], min[2], max[2];
    ry_amx_elements(tiles->tile[a], left, &min[0], &max[0]);
    ry_amx_elements(tiles->tile[b], right, &min[1], &max[1]);
    /* Two of bfloat16's eight digits give a product of sixteen, which float holds: a multiplication
     * and an addition round as the fused operation does, but where the product leaves the range. */
    const bool exact = (double)min[0] * (double)min[1] >= (double)FLT_MIN &&
                       (double)max[0] * (double)max[1] <= (double)FLT_MAX;
    for (int i = 0; i < RY_AMX_ROWS; i++) {
        float sum[2][RY_AMX_ROWS] = {{0}}, old[RY_AMX_ROWS];
        for (int half = 0; half < 2; half++) {
            for (int k = 0; k < RY_AMX_ROWS; k++) {
                for (int j = 0; exact && j < RY_AMX_ROWS; j++) {
                    const float product = left[half][i][k] * right[half][k][j];
                    sum[half][j] = ry_amx_flush(sum[half][j] + product);
                }
                for (int j = 0; !exact && j < RY_AMX_ROWS; j++) {
                    sum[half][j] =
                        ry_amx_flush(fmaf(left[half][i][k], right[half][k][j], sum[half][j]));
                }
            }
        }
        memcpy(old, tiles->tile[c][i], sizeof old);
        for (int j = 0; j < RY_AMX_ROWS; j++) {
            old[j] = ry_amx_flush(ry_amx_flush(old[j]) + ry_amx_flush(sum[0][j] + sum[1][j]));
        }
        memcpy(tiles->tile[c][i], old, sizeof old);
    }
}

RY_AMX_UNCHECKED static inline void ry_amx_dot_bytes(ry_amx *tiles, int c, int a, int b)
{
    for (int i = 0; i < RY_AMX_ROWS; i++) {
        for (int k = 0; k < RY_AMX_ROWS; k++) {
            const uint32_t left = tiles->tile[a][i][k];
            for (int j = 0; j < RY_AMX_ROWS; j++) {
                const uint32_t right = tiles->tile[b][k][j];
                int32_t sum = 0;
                for (int n = 0; n < 32; n += 8) {
                    sum += (uint8_t)(left >> n) * (int8_t)(right >> n);
                }
                tiles->tile[c][i][j] += (uint32_t)sum;
            }
        }
    }
}

#endif

#endif
