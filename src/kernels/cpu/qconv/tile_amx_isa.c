/* SPDX-License-Identifier: Apache-2.0 */
/* The micro-kernels of tile.h for quads of bytes in AMX's tiles: sums of 16 rows by two vectors. */
#include "base/integer.h"
#include "kernels/cpu/qconv/qconv.h"
#include "kernels/cpu/qconv/tile_end.h"
#include "kernels/cpu/simd/amx_tile.h"

enum {
    SIDE = RY_AMX_ROWS,   /* rows of a tile, and its 32-bit elements in a row */
    WHOLE = RY_W == SIDE, /* in plain C the vectors are shorter, and one tile holds two of them */
    COLUMNS = WHOLE ? RY_TILE_VECTORS * SIDE : SIDE
};

typedef int32_t square[SIDE][SIDE];

/* The first `count` elements of `rows` rows, which are `step` elements apart; 0 in others. */
static void fill(square to, const void *from, int64_t step, int64_t rows, int64_t count)
{
    memset(to, 0, sizeof(square));
    for (int64_t i = 0; i < rows; i++) {
        memcpy(to[i], (const char *)from + 4 * i * step, (size_t)count * 4);
    }
}

/* Loads the sums that a tile starts from; sums: rows of `columns`, which it may use. */
RY_INLINE void start(const ry_tile *tile, ry_amx *tiles, const int rows, const int vectors,
                     int32_t *sums)
{
    const int64_t columns = (int64_t)vectors * RY_W, real = ry_min(columns, tile->columns);
    const bool of_bias = tile->start != RY_TILE_FROM_C;
    const int32_t *from = WHOLE && of_bias ? tile->bias : sums;
    const int64_t step = WHOLE && of_bias ? 0 : 4 * columns;
    for (int64_t i = 0; from == sums && i < rows; i++) {
        const int32_t *row = of_bias ? tile->bias : (const int32_t *)tile->c + i * tile->c_step;
        memcpy(sums + i * columns, row, (size_t)(of_bias ? columns : real) * 4);
    }
    ry_amx_settle();
    ry_amx_load(tiles, 0, from, step);
    if (WHOLE && vectors > 1) {
        ry_amx_load(tiles, 1, from + SIDE, step);
    }
}

static void store(const ry_tile *tile, int64_t rows, int64_t columns, const int32_t *sums)
{
    const int64_t real = ry_min(columns, tile->columns);
    for (int64_t i = 0; i < rows; i++) {
        memcpy((int32_t *)tile->c + i * tile->c_step, sums + i * columns, (size_t)real * 4);
    }
}

/* The products of at most SIDE steps from step `k` on. */
RY_INLINE void steps(const ry_tile *tile, ry_amx *tiles, int64_t rows, const int vectors, int64_t k,
                     int64_t count)
{
    _Alignas(64) square x, w[RY_TILE_VECTORS];
    const char *a = (const char *)tile->a + 4 * k,
               *b = (const char *)tile->b + 4 * k * tile->b_step;
    if (rows == SIDE && count == SIDE) {
        ry_amx_load(tiles, 4, a, 4 * tile->a_step);
    } else {
        fill(x, a, tile->a_step, rows, count);
        ry_amx_settle();
        ry_amx_load(tiles, 4, x, RY_AMX_ROW_BYTES);
    }
    if (WHOLE && count == SIDE) {
        ry_amx_load(tiles, 6, b, 4 * tile->b_step);
        if (vectors > 1) {
            ry_amx_load(tiles, 7, b + RY_AMX_ROW_BYTES, 4 * tile->b_step);
        }
    } else {
        fill(w[0], b, tile->b_step, count, WHOLE ? SIDE : vectors * RY_W);
        if (WHOLE && vectors > 1) {
            fill(w[1], b + RY_AMX_ROW_BYTES, tile->b_step, count, SIDE);
        }
        ry_amx_settle();
        ry_amx_load(tiles, 6, w[0], RY_AMX_ROW_BYTES);
        if (WHOLE && vectors > 1) {
            ry_amx_load(tiles, 7, w[1], RY_AMX_ROW_BYTES);
        }
    }
    ry_amx_dot_bytes(tiles, 0, 4, 6);
    if (WHOLE && vectors > 1) {
        ry_amx_dot_bytes(tiles, 1, 4, 7);
    }
}

RY_INLINE void multiply(const ry_tile *tile, const int rows, const int vectors)
{
    /* a row of a tile may be longer than one of sums: what it overwrites is stored after it */
    _Alignas(64) int32_t sums[SIDE * COLUMNS + SIDE];
    const int64_t columns = (int64_t)vectors * RY_W;
    ry_amx tiles;
    if (!WHOLE || tile->start == RY_TILE_FROM_C) {
        memset(sums, 0, sizeof sums);
    }
    start(tile, &tiles, rows, vectors, sums);
    for (int64_t k = 0; k < tile->depth; k += SIDE) {
        steps(tile, &tiles, rows, vectors, k, ry_min(SIDE, tile->depth - k));
    }
    ry_amx_store(&tiles, 0, sums, 4 * columns);
    if (WHOLE && vectors > 1) {
        ry_amx_store(&tiles, 1, sums + SIDE, 4 * columns);
    }
    ry_amx_settle();
    if (tile->end) {
        ry_qconv_end_sums(tile, sums, rows, vectors);
    } else {
        store(tile, rows, columns, sums);
    }
}

#define ROWS_LIST(of)                                                                        \
    of(1) of(2) of(3) of(4) of(5) of(6) of(7) of(8) of(9) of(10) of(11) of(12) of(13) of(14) \
        of(15) of(16)
#define TILES_OF(rows)                               \
    static void square_1x##rows(const ry_tile *tile) \
    {                                                \
        multiply(tile, rows, 1);                     \
    }                                                \
    static void square_2x##rows(const ry_tile *tile) \
    {                                                \
        multiply(tile, rows, 2);                     \
    }
ROWS_LIST(TILES_OF)

#define SQUARE_1(rows) square_1x##rows,
#define SQUARE_2(rows) square_2x##rows,

/* Rows of quantised convolutions are always along k. */
const ry_tile_set RY_ISA_SYMBOL(qconv_square_tiles) = {
    {{NULL}, {NULL}}, {{ROWS_LIST(SQUARE_1)}, {ROWS_LIST(SQUARE_2)}}};
