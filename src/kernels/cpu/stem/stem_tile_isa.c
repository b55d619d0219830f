/* SPDX-License-Identifier: Apache-2.0 */
/* The micro-kernels of stem_tile.h for every number of rows and vectors. */
#include "kernels/cpu/stem/stem_tile.h"

#include "kernels/cpu/conv/tile.h"

/* Everything that is known at compile time comes in as a constant, so that the loops over rows and vectors vanish and `sum` is registers. */
RY_INLINE void stem_text(const stem_tile *tile, const bool pixels, const int vectors, const int rows)
{
    ry_vf sum[RY_TILE_ROWS][RY_TILE_VECTORS], b[RY_TILE_VECTORS];
    const float *weights = tile->weights;
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++) {
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) {
            sum[i][v] = pixels ? ry_vf_set(tile->bias[i]) : ry_vf_load(tile->bias + v * RY_W);
        }
    }
    for (int64_t n = 0; n < tile->taps; n++) {
        const float *staged = tile->staged + n * tile->tap_step;
#pragma GCC unroll RY_TILE_STEPS
        for (int64_t k = 0; k < tile->depth; k++) {
            const float *vector = pixels ? staged + tile->offset[k] : weights;
            /* the lines of y, a row of the tile with each of the first steps; with narrower vectors the machine fetches early enough */
            if (!pixels && RY_W >= 16 && n == 0 && k < rows) {
#pragma GCC unroll 4
                for (int v = 0; v < vectors; v++) {
                    __builtin_prefetch(tile->c + k * tile->c_step + v * RY_W, 1);
                }
            }
#pragma GCC unroll 4
            for (int v = 0; v < vectors; v++) {
                b[v] = ry_vf_load(vector + v * RY_W);
            }
#pragma GCC unroll 16
            for (int i = 0; i < rows; i++) {
                const ry_vf a = ry_vf_set(pixels ? weights[i] : staged[i * tile->pixel_step]);
#pragma GCC unroll 4
                for (int v = 0; v < vectors; v++) {
                    sum[i][v] = ry_vf_fma(a, b[v], sum[i][v]);
                }
            }
            weights += pixels ? rows : vectors * RY_W;
            staged += pixels ? 0 : 1;
        }
    }
    const ry_vf low = ry_vf_set(tile->low), high = ry_vf_set(tile->high);
    const ry_vm last = ry_vm_first(tile->columns - (vectors - 1) * RY_W);
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++) {
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) {
            const ry_vf y = ry_vf_min(high, ry_vf_max(low, sum[i][v]));
            float *to = tile->c + i * tile->c_step + v * RY_W;
            if (v == vectors - 1) {
                ry_vf_store_m(to, last, y);
            } else {
                ry_vf_store(to, y);
            }
        }
    }
}

#define TILES_OF(rows)                                   \
    static void pixels_1x##rows(const stem_tile *tile)   \
    {                                                    \
        stem_text(tile, true, 1, rows);                  \
    }                                                    \
    static void pixels_2x##rows(const stem_tile *tile)   \
    {                                                    \
        stem_text(tile, true, 2, rows);                  \
    }                                                    \
    static void channels_1x##rows(const stem_tile *tile) \
    {                                                    \
        stem_text(tile, false, 1, rows);                 \
    }                                                    \
    static void channels_2x##rows(const stem_tile *tile) \
    {                                                    \
        stem_text(tile, false, 2, rows);                 \
    }

#if RY_TILE_ROWS == 14
#define TILE_ROWS_LIST(of) of(1) of(2) of(3) of(4) of(5) of(6) of(7) of(8) of(9) of(10) of(11) of(12) of(13) of(14)
#elif RY_TILE_ROWS == 12
#define TILE_ROWS_LIST(of) of(1) of(2) of(3) of(4) of(5) of(6) of(7) of(8) of(9) of(10) of(11) of(12)
#else
#define TILE_ROWS_LIST(of) of(1) of(2) of(3) of(4) of(5) of(6)
#endif

TILE_ROWS_LIST(TILES_OF)

#define PIXELS_1(rows)   pixels_1x##rows,
#define PIXELS_2(rows)   pixels_2x##rows,
#define CHANNELS_1(rows) channels_1x##rows,
#define CHANNELS_2(rows) channels_2x##rows,

const stem_tile_function RY_ISA_SYMBOL(stem_tiles)[2][RY_TILE_VECTORS][RY_TILE_ROWS] = {
    {{TILE_ROWS_LIST(CHANNELS_1)}, {TILE_ROWS_LIST(CHANNELS_2)}}, {{TILE_ROWS_LIST(PIXELS_1)}, {TILE_ROWS_LIST(PIXELS_2)}}};
