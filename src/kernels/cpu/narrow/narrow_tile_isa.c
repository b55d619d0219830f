/* SPDX-License-Identifier: Apache-2.0 */
/* The micro-kernels of narrow_tile.h for every number of rows and vectors. */
#include "kernels/cpu/narrow/narrow_tile.h"

#include "kernels/cpu/conv/tile.h"

/* Everything that is known at compile time comes in as a constant, so that the loops over rows and vectors vanish and `sum` is registers. */
RY_INLINE void narrow_text(const narrow_tile *tile, const int rows, const int vectors)
{
    ry_vf sum[NARROW_ROWS][NARROW_VECTORS], x[NARROW_VECTORS];
    const float *weights = tile->weights, *staged = tile->staged;
    const int32_t *offset = tile->offset;
    const int64_t taps = tile->taps;
#pragma GCC unroll 8
    for (int i = 0; i < rows; i++) {
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) {
            sum[i][v] = tile->bias ? ry_vf_set(tile->bias[i]) : ry_vf_load(tile->sums + i * tile->step + v * RY_W);
        }
    }
    for (int64_t c = 0; c < tile->channels; c++, staged += tile->channel_step) {
#pragma GCC unroll RY_TILE_STEPS
        for (int64_t t = 0; t < taps; t++, weights += rows) {
            const float *from = staged + offset[t];
#pragma GCC unroll 4
            for (int v = 0; v < vectors; v++) {
                x[v] = ry_vf_load(from + v * RY_W);
            }
#pragma GCC unroll 8
            for (int i = 0; i < rows; i++) {
                const ry_vf w = ry_vf_set(weights[i]);
#pragma GCC unroll 4
                for (int v = 0; v < vectors; v++) {
                    sum[i][v] = ry_vf_fma(w, x[v], sum[i][v]);
                }
            }
        }
    }
#pragma GCC unroll 8
    for (int i = 0; i < rows; i++) {
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) {
            ry_vf_store(tile->sums + i * tile->step + v * RY_W, sum[i][v]);
        }
    }
}

#define TILE(rows, vectors)                                        \
    static void narrow_##rows##x##vectors(const narrow_tile *tile) \
    {                                                              \
        narrow_text(tile, rows, vectors);                          \
    }
#define TILES_1(of)         of(1, 1) of(2, 1) of(3, 1) of(4, 1) of(5, 1) of(6, 1)
#define TILES_2(of)         of(1, 2) of(2, 2) of(3, 2) of(4, 2) of(5, 2) of(6, 2)
#define TILES_3(of)         of(1, 3) of(2, 3) of(3, 3)
#define TILES_4(of)         of(1, 4) of(2, 4)
#define NAME(rows, vectors) narrow_##rows##x##vectors,

TILES_1(TILE)
TILES_2(TILE)
TILES_3(TILE)
TILES_4(TILE)
#if RY_TILE_ROWS == 14
TILE(7, 1)
TILE(8, 1)
TILE(7, 2)
TILE(8, 2)
TILE(4, 3)
TILE(5, 3)
TILE(6, 3)
TILE(7, 3)
TILE(8, 3)
TILE(3, 4)
TILE(4, 4)
TILE(5, 4)
TILE(6, 4)
#define MORE_1 NAME(7, 1) NAME(8, 1)
#define MORE_2 NAME(7, 2) NAME(8, 2)
#define MORE_3 NAME(4, 3) NAME(5, 3) NAME(6, 3) NAME(7, 3) NAME(8, 3)
#define MORE_4 NAME(3, 4) NAME(4, 4) NAME(5, 4) NAME(6, 4)
#else
#define MORE_1
#define MORE_2
#define MORE_3
#define MORE_4
#endif

const narrow_tile_function RY_ISA_SYMBOL(narrow_tiles)[NARROW_VECTORS][NARROW_ROWS] = {
    {TILES_1(NAME) MORE_1}, {TILES_2(NAME) MORE_2}, {TILES_3(NAME) MORE_3}, {TILES_4(NAME) MORE_4}};
