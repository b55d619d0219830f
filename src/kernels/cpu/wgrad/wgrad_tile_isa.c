/* SPDX-License-Identifier: Apache-2.0 */
/* The micro-kernels of wgrad_tile.h for every number of rows and vectors. */
#include "kernels/cpu/wgrad/wgrad_tile.h"

#if RY_TILE_ROWS == 14
#define EACH_ROWS(of) \
    of(1) of(2) of(3) of(4) of(5) of(6) of(7) of(8) of(9) of(10) of(11) of(12) of(13) of(14)
#elif RY_TILE_ROWS == 12
#define EACH_ROWS(of) of(1) of(2) of(3) of(4) of(5) of(6) of(7) of(8) of(9) of(10) of(11) of(12)
#else
#define EACH_ROWS(of) of(1) of(2) of(3) of(4) of(5) of(6)
#endif

/* What is known at compile time comes in as a constant, so that the loops over rows and vectors
 * vanish and `sum` is registers. */
RY_INLINE void add_positions(const wgrad_tile *tile, const int rows, const int vectors)
{
    ry_vf sum[RY_TILE_ROWS][RY_TILE_VECTORS];
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++) {
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) {
            sum[i][v] = ry_vf_zero();
        }
    }
    const int64_t a_row = tile->a_row, a_step = tile->a_step[2], b_step = tile->b_step[2];
    for (int64_t outer = 0; outer < tile->count[0]; outer++) {
        for (int64_t line = 0; line < tile->count[1]; line++) {
            const float *a = tile->a + outer * tile->a_step[0] + line * tile->a_step[1],
                        *b = tile->b + outer * tile->b_step[0] + line * tile->b_step[1];
            for (int64_t left = tile->count[2]; left > 0; left--) {
                ry_vf bv[RY_TILE_VECTORS];
#pragma GCC unroll 4
                for (int v = 0; v < vectors; v++) {
                    bv[v] = ry_vf_load(b + v * RY_W);
                }
#pragma GCC unroll 16
                for (int i = 0; i < rows; i++) {
                    const ry_vf x = ry_vf_set(a[i * a_row]);
#pragma GCC unroll 4
                    for (int v = 0; v < vectors; v++) {
                        sum[i][v] = ry_vf_fma(x, bv[v], sum[i][v]);
                    }
                }
                a += a_step;
                b += b_step;
            }
        }
    }
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++) {
        float *c = tile->c + i * tile->c_row;
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) {
            const ry_vf before = tile->first ? ry_vf_zero() : ry_vf_load(c + v * RY_W);
            ry_vf_store(c + v * RY_W, ry_vf_add(before, sum[i][v]));
        }
    }
}

#define TILE_OF(rows)                                 \
    static void tile_1x##rows(const wgrad_tile *tile) \
    {                                                 \
        add_positions(tile, rows, 1);                 \
    }                                                 \
    static void tile_2x##rows(const wgrad_tile *tile) \
    {                                                 \
        add_positions(tile, rows, 2);                 \
    }

EACH_ROWS(TILE_OF)

#define NAME_1(rows) tile_1x##rows,
#define NAME_2(rows) tile_2x##rows,

const wgrad_tile_function RY_ISA_SYMBOL(wgrad_tiles)[RY_TILE_VECTORS][RY_TILE_ROWS] = {
    {EACH_ROWS(NAME_1)}, {EACH_ROWS(NAME_2)}};
