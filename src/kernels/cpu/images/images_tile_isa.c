/* SPDX-License-Identifier: Apache-2.0 */
/* The tiles of convolutions whose lanes are images. A step loads a vector of x and multiplies it
 * with a weight of each output channel. */
#include "kernels/cpu/images/images_tile.h"

#include "kernels/cpu/simd/simd.h"

enum { MAX_PARTS = 8 };

/* Few sums would wait for each other: each is of several parts, of every so many-th channel. */
#define PARTS(rows) ((rows) == 1 ? 8 : (rows) == 2 ? 4 : (rows) <= 4 ? 2 : 1)

RY_INLINE void add_step(ry_vf *sum, const float *x, const float *w, const int rows)
{
    const ry_vf v = ry_vf_load(x);
#pragma GCC unroll 16
    for (int k = 0; k < rows; k++) {
        sum[k] = ry_vf_fma(ry_vf_set(w[k]), v, sum[k]);
    }
}

/* A tap of all input channels. */
RY_INLINE void add_channels(ry_vf sum[MAX_PARTS][IMAGES_MAX_ROWS], const images_tile *t,
                            const float *x, const float *w, const int rows)
{
    const int parts = PARTS(rows);
    int64_t c = 0;
    for (; c + parts <= t->channels; c += parts) {
#pragma GCC unroll 8
        for (int i = 0; i < parts; i++, x += t->x_channel, w += rows) {
            add_step(sum[i], x, w, rows);
        }
    }
#pragma GCC unroll 8
    for (int i = 0; i < parts - 1; i++, x += t->x_channel, w += rows) {
        if (c + i < t->channels) {
            add_step(sum[i], x, w, rows);
        }
    }
}

RY_INLINE void sum_tile(const images_tile *t, const int rows, const bool several)
{
    const int parts = several ? PARTS(rows) : 1;
    const int64_t w_tap = t->channels * rows;
    for (const images_position *p = t->position; p < t->end; p++) {
        const images_pattern pattern = t->pattern[p->pattern];
        ry_vf sum[MAX_PARTS][IMAGES_MAX_ROWS];
#pragma GCC unroll 16
        for (int k = 0; k < rows; k++) {
            sum[0][k] = ry_vf_set(t->bias[k]);
#pragma GCC unroll 8
            for (int i = 1; i < parts; i++) {
                sum[i][k] = ry_vf_zero();
            }
        }
        for (const images_step *s = t->step + pattern.first; s < t->step + pattern.end; s++) {
            const float *x = t->x + p->x + s->x;
            if (several) {
                add_channels(sum, t, x, t->weights + s->tap * w_tap, rows);
            } else {
                add_step(sum[0], x, t->weights + s->tap * rows, rows);
            }
        }
#pragma GCC unroll 16
        for (int k = 0; k < rows; k++) {
#pragma GCC unroll 8
            for (int i = 1; i < parts; i++) {
                sum[0][k] = ry_vf_add(sum[0][k], sum[i][k]);
            }
            ry_vf_store(t->sums + p->y + k * t->y_channel, sum[0][k]);
        }
    }
}

/* Tiles of more output channels than registers have room for are not made (images_plan.c). */
/* clang-format off */
#if RY_TILE_ROWS * RY_TILE_VECTORS >= 16
#define EACH_ROWS(DO)                                                                     \
    DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11) DO(12) DO(13) DO(14) \
    DO(15) DO(16)
#else
#define EACH_ROWS(DO) \
    DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11) DO(12)
#endif
/* clang-format on */

#define TILES(rows)                                  \
    static void one_##rows(const images_tile *t)     \
    {                                                \
        sum_tile(t, rows, false);                    \
    }                                                \
    static void several_##rows(const images_tile *t) \
    {                                                \
        sum_tile(t, rows, true);                     \
    }
EACH_ROWS(TILES)

#define ONE(rows)     [rows - 1] = one_##rows,
#define SEVERAL(rows) [rows - 1] = several_##rows,
const images_tile_function RY_ISA_SYMBOL(images_tiles)[2][IMAGES_MAX_ROWS] = {{EACH_ROWS(ONE)},
                                                                              {EACH_ROWS(SEVERAL)}};
