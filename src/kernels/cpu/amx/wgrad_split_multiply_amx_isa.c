/* SPDX-License-Identifier: Apache-2.0 */
/* The product over positions: two by two tiles of sums, four tiles of operands. Parts' products are
 * ordered as in split_multiply_amx_isa.c, so that from one to the next one operand changes. */
#include "kernels/cpu/amx/split_tiles.h"
#include "kernels/cpu/amx/wgrad_split.h"

/* Tiles 0 to 3 are sums, 4 and 5 dy, 6 and 7 x. */
#define LOAD_DY(part)                                                          \
    do {                                                                       \
        ry_amx_load(tiles, 4, dy + part_step * (part), row);                   \
        if (rows == 2) {                                                       \
            ry_amx_load(tiles, 5, dy + part_step * (part) + 16 * p->row, row); \
        }                                                                      \
    } while (0)
#define LOAD_X(part)                                                                \
    do {                                                                            \
        ry_amx_load(tiles, 6, x + plane * (part), RY_AMX_ROW_BYTES);                \
        if (columns == 2) {                                                         \
            ry_amx_load(tiles, 7, x + plane * (splits + (part)), RY_AMX_ROW_BYTES); \
        }                                                                           \
    } while (0)
#define MULTIPLY() SPLIT_MULTIPLY(tiles, rows, columns)

static inline __attribute__((always_inline)) void
multiply(const wgrad_split_product *p, int64_t splits, int rows, int columns, ry_amx *tiles)
{
    const int64_t row = p->row * (int64_t)sizeof *p->dy, part_step = p->part_step, plane = p->plane;
    const uint16_t *x = p->x, *dy = p->dy;
    SPLIT_ZERO_SUMS(tiles);
    for (int64_t step = 0; step < p->steps; step++) {
        LOAD_DY(splits - 1);
        LOAD_X(0);
        MULTIPLY();
        if (splits == 3) {
            LOAD_DY(1);
            MULTIPLY();
            LOAD_X(1);
            MULTIPLY();
            LOAD_DY(0);
            MULTIPLY();
            LOAD_X(2);
            MULTIPLY();
            LOAD_X(0);
            MULTIPLY();
        }
        if (splits == 2) {
            LOAD_DY(0);
            MULTIPLY();
            LOAD_X(1);
            MULTIPLY();
        }
        dy += WGRAD_SPLIT_PAIR;
        x += SPLIT_TILE;
    }
    const int64_t sums_row = WGRAD_SPLIT_PAIR * (int64_t)sizeof *p->sums;
    ry_amx_store(tiles, 0, p->sums, sums_row);
    if (columns == 2) {
        ry_amx_store(tiles, 1, p->sums + 16, sums_row);
    }
    if (rows == 2) {
        ry_amx_store(tiles, 2, p->sums + 16 * WGRAD_SPLIT_PAIR, sums_row);
    }
    if (rows == 2 && columns == 2) {
        ry_amx_store(tiles, 3, p->sums + 16 * WGRAD_SPLIT_PAIR + 16, sums_row);
    }
}

typedef void (*multiply_function)(const wgrad_split_product *product, ry_amx *tiles);

#define VARIANT(splits, rows, columns)                                               \
    static void multiply_##splits##_##rows##_##columns(const wgrad_split_product *p, \
                                                       ry_amx *tiles)                \
    {                                                                                \
        multiply(p, splits, rows, columns, tiles);                                   \
    }
#define VARIANTS(splits) \
    VARIANT(splits, 1, 1) VARIANT(splits, 1, 2) VARIANT(splits, 2, 1) VARIANT(splits, 2, 2)
VARIANTS(1)
VARIANTS(2)
VARIANTS(3)

#define ROW(splits)                                          \
    {                                                        \
        {multiply_##splits##_1_1, multiply_##splits##_1_2},  \
        {                                                    \
            multiply_##splits##_2_1, multiply_##splits##_2_2 \
        }                                                    \
    }
static const multiply_function functions[SPLIT_MAX_PARTS][2][2] = {ROW(1), ROW(2), ROW(3)};

void RY_ISA_SYMBOL(wgrad_split_multiply)(const wgrad_split_product *product, int64_t splits,
                                         ry_amx *tiles)
{
    functions[splits - 1][product->two_rows][product->two_columns](product, tiles);
}
