/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of sums that stay in registers. Compiled so that products and sums are rounded together. */
#include "kernels/cpu/recurrent/recurrent_tile.h"

#include "kernels/cpu/recurrent/recurrent_plan.h"
#include "kernels/cpu/simd/simd.h"

enum {
    ROWS = RECURRENT_TILE_ROWS(RY_TILE_ROWS, RY_TILE_VECTORS),
    HALF = RECURRENT_HALF_ROWS,
    VECTORS = RECURRENT_VECTORS
};

#define RY_TILE(name, type)                                                                     \
    typedef type name __attribute__((vector_size(4 * RY_W), aligned(sizeof(type)), may_alias)); \
    RY_INLINE void name##_rows(const recurrent_tile *t, int64_t row, const int rows)            \
    {                                                                                           \
        enum { LANES = VECTORS * (int)(sizeof(name) / sizeof(type)) };                          \
        const type *h = (const type *)t->h + row * t->h_step, *panel = t->panel;                \
        type *to = (type *)t->sums + row * t->sum_step;                                         \
        name sum[ROWS][VECTORS];                                                                \
        for (int r = 0; r < rows; r++) {                                                        \
            for (int v = 0; v < VECTORS; v++) {                                                 \
                sum[r][v] = (name){0};                                                          \
            }                                                                                   \
        }                                                                                       \
        for (int64_t k = 0; k < t->depth; k++, panel += LANES) {                                \
            for (int v = 0; v < VECTORS; v++) {                                                 \
                const name weights = ((const name *)(const void *)panel)[v];                    \
                for (int r = 0; r < rows; r++) {                                                \
                    sum[r][v] += weights * h[r * t->h_step + k];                                \
                }                                                                               \
            }                                                                                   \
        }                                                                                       \
        for (int r = 0; r < rows; r++) {                                                        \
            for (int v = 0; v < VECTORS; v++) {                                                 \
                ((name *)(void *)(to + r * t->sum_step))[v] = sum[r][v];                        \
            }                                                                                   \
        }                                                                                       \
    }                                                                                           \
    /* One row: two sums a column, so that products wait for no other. */                       \
    static void name##_row(const recurrent_tile *t, int64_t row)                                \
    {                                                                                           \
        enum { LANES = VECTORS * (int)(sizeof(name) / sizeof(type)) };                          \
        const type *h = (const type *)t->h + row * t->h_step, *panel = t->panel;                \
        name *to = (name *)(void *)((type *)t->sums + row * t->sum_step);                       \
        name sum[2][VECTORS];                                                                   \
        for (int v = 0; v < VECTORS; v++) {                                                     \
            sum[0][v] = sum[1][v] = (name){0};                                                  \
        }                                                                                       \
        int64_t k = 0;                                                                          \
        for (; k + 1 < t->depth; k += 2, panel += 2 * LANES) {                                  \
            for (int v = 0; v < VECTORS; v++) {                                                 \
                sum[0][v] += ((const name *)(const void *)panel)[v] * h[k];                     \
                sum[1][v] += ((const name *)(const void *)(panel + LANES))[v] * h[k + 1];       \
            }                                                                                   \
        }                                                                                       \
        for (int v = 0; k < t->depth && v < VECTORS; v++) {                                     \
            sum[0][v] += ((const name *)(const void *)panel)[v] * h[k];                         \
        }                                                                                       \
        for (int v = 0; v < VECTORS; v++) {                                                     \
            to[v] = sum[0][v] + sum[1][v];                                                      \
        }                                                                                       \
    }                                                                                           \
    static void name##_multiply(const recurrent_tile *t)                                        \
    {                                                                                           \
        int64_t row = 0;                                                                        \
        for (; row + ROWS <= t->rows; row += ROWS) {                                            \
            name##_rows(t, row, ROWS);                                                          \
        }                                                                                       \
        for (; ROWS > HALF && row + HALF <= t->rows; row += HALF) {                             \
            name##_rows(t, row, ROWS > HALF ? HALF : ROWS);                                     \
        }                                                                                       \
        for (; row + 2 <= t->rows; row += 2) {                                                  \
            name##_rows(t, row, 2);                                                             \
        }                                                                                       \
        if (row < t->rows) {                                                                    \
            name##_row(t, row);                                                                 \
        }                                                                                       \
    }

RY_TILE(lanes_f32, float)
RY_TILE(lanes_f64, double)

void RY_ISA_SYMBOL(recurrent_multiply)(const recurrent_tile *tile, bool wide)
{
    (wide ? lanes_f64_multiply : lanes_f32_multiply)(tile);
}
