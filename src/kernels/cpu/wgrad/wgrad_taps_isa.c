/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of wgrad_taps.h for every piece of a window whose sums registers hold. */
#include "kernels/cpu/wgrad/wgrad_taps.h"

#include "kernels/cpu/simd/simd.h"

enum { LINE = 16 }; /* floats of a cache line */

RY_INLINE ry_vf load(const float *from, const bool tail, ry_vm lanes)
{
    return tail ? ry_vf_load_m(from, lanes) : ry_vf_load(from);
}

/* So many floats of what is read next. */
RY_INLINE void fetch(const float **next, int64_t floats)
{
    for (int64_t i = 0; i < floats; i += LINE) {
        __builtin_prefetch(*next + i, 0, 2);
    }
    *next += floats;
}

/* A position of which some taps meet padding. */
RY_INLINE void add_edge(const wgrad_taps *t, const float *x, ry_vf dy, int64_t position,
                        const int rows, const int columns, const bool tail, ry_vm lanes,
                        ry_vf sum[WGRAD_PIECE_ROWS][WGRAD_PIECE_COLUMNS])
{
    const int64_t element = t->element + position * t->stride;
#pragma GCC unroll 8
    for (int j = 0; j < columns; j++) {
        if (element + j * t->apart < 0 || element + j * t->apart >= t->elements) {
            continue;
        }
#pragma GCC unroll 8
        for (int i = 0; i < rows; i++) {
            sum[i][j] =
                ry_vf_fma(dy, load(x + i * t->x_row + j * t->x_column, tail, lanes), sum[i][j]);
        }
    }
}

/* What is known at compile time comes in as a constant, so that the loops over rows and columns
 * vanish and `sum` is registers. Sums begin at zero: none is longer than a block. */
RY_INLINE void add_taps(const wgrad_taps *t, const int rows, const int columns, const bool tail)
{
    const ry_vm lanes = ry_vm_first(t->lanes);
    ry_vf sum[WGRAD_PIECE_ROWS][WGRAD_PIECE_COLUMNS];
#pragma GCC unroll 8
    for (int i = 0; i < rows; i++) {
#pragma GCC unroll 8
        for (int j = 0; j < columns; j++) {
            sum[i][j] = ry_vf_zero();
        }
    }
    const int64_t x_step = t->x_step, dy_step = t->dy_step, row = t->x_row, column = t->x_column;
    const float *x_next = t->x_next, *dy_next = t->dy_next;
    for (int64_t line = 0; line < t->lines; line++) {
        const float *x = t->x + line * t->x_line + t->positions.begin * x_step,
                    *dy = t->dy + line * t->dy_line + t->positions.begin * dy_step;
        for (int64_t at = t->positions.begin; at < t->positions.end; at++) {
            for (; at >= t->inside.begin && at < t->inside.end; at++) {
                const ry_vf d = load(dy, tail, lanes);
                fetch(&x_next, t->x_fetched);
                fetch(&dy_next, t->dy_fetched);
#pragma GCC unroll 8
                for (int i = 0; i < rows; i++) {
#pragma GCC unroll 8
                    for (int j = 0; j < columns; j++) {
                        sum[i][j] =
                            ry_vf_fma(d, load(x + i * row + j * column, tail, lanes), sum[i][j]);
                    }
                }
                x += x_step;
                dy += dy_step;
            }
            if (at < t->positions.end) {
                add_edge(t, x, load(dy, tail, lanes), at, rows, columns, tail, lanes, sum);
                x += x_step;
                dy += dy_step;
            }
        }
    }
#pragma GCC unroll 8
    for (int i = 0; i < rows; i++) {
#pragma GCC unroll 8
        for (int j = 0; j < columns; j++) {
            float *to = t->sums + i * t->sums_row + j * RY_W;
            ry_vf_store(to, ry_vf_add(ry_vf_load(to), sum[i][j]));
        }
    }
}

#define ROWS_1(of, columns) of(1, columns)
#define ROWS_2(of, columns) ROWS_1(of, columns) of(2, columns)
#define ROWS_3(of, columns) ROWS_2(of, columns) of(3, columns)
#define ROWS_4(of, columns) ROWS_3(of, columns) of(4, columns)
#define ROWS_5(of, columns) ROWS_4(of, columns) of(5, columns)

/* As many sums as the largest tile has (wgrad_depthwise_plan.c cuts windows so). */
/* clang-format off */
#if RY_TILE_ROWS * RY_TILE_VECTORS == 28
#define EACH_PIECE(of)                                                        \
    ROWS_5(of, 1) ROWS_5(of, 2) ROWS_5(of, 3) ROWS_5(of, 4) ROWS_5(of, 5)     \
    ROWS_4(of, 6) ROWS_4(of, 7)
#elif RY_TILE_ROWS * RY_TILE_VECTORS == 24
#define EACH_PIECE(of)                                                        \
    ROWS_5(of, 1) ROWS_5(of, 2) ROWS_5(of, 3) ROWS_5(of, 4)                   \
    ROWS_4(of, 5) ROWS_4(of, 6) ROWS_3(of, 7)
#else
#define EACH_PIECE(of)                                                        \
    ROWS_5(of, 1) ROWS_5(of, 2) ROWS_4(of, 3) ROWS_3(of, 4)                   \
    ROWS_2(of, 5) ROWS_2(of, 6) ROWS_1(of, 7)
#endif
/* clang-format on */

#define OF_PIECE(rows, columns)                              \
    static void full_##rows##x##columns(const wgrad_taps *t) \
    {                                                        \
        add_taps(t, rows, columns, false);                   \
    }                                                        \
    static void tail_##rows##x##columns(const wgrad_taps *t) \
    {                                                        \
        add_taps(t, rows, columns, true);                    \
    }
EACH_PIECE(OF_PIECE)

typedef void (*taps_function)(const wgrad_taps *t);
#define NAMES_OF(rows, columns) \
    [rows - 1][columns - 1] = {full_##rows##x##columns, tail_##rows##x##columns},
static const taps_function functions[WGRAD_PIECE_ROWS][WGRAD_PIECE_COLUMNS][2] = {
    EACH_PIECE(NAMES_OF)};

void RY_ISA_SYMBOL(wgrad_add_taps)(const wgrad_taps *t, int64_t rows, int64_t columns)
{
    functions[rows - 1][columns - 1][t->lanes < RY_W](t);
}

void RY_ISA_SYMBOL(wgrad_add_dy)(const wgrad_taps *t)
{
    enum { APART = 4 }; /* additions that do not wait for each other */
    const ry_vm lanes = ry_vm_first(t->lanes);
    ry_vf sum[APART];
#pragma GCC unroll 4
    for (int i = 0; i < APART; i++) {
        sum[i] = ry_vf_zero();
    }
    for (int64_t line = 0; line < t->lines; line++) {
        const float *dy = t->dy + line * t->dy_line;
        int64_t at = t->positions.begin;
        for (; at + APART <= t->positions.end; at += APART) {
#pragma GCC unroll 4
            for (int i = 0; i < APART; i++) {
                sum[i] = ry_vf_add(sum[i], ry_vf_load_m(dy + (at + i) * t->dy_step, lanes));
            }
        }
        for (; at < t->positions.end; at++) {
            sum[0] = ry_vf_add(sum[0], ry_vf_load_m(dy + at * t->dy_step, lanes));
        }
    }
    const ry_vf all = ry_vf_add(ry_vf_add(sum[0], sum[1]), ry_vf_add(sum[2], sum[3]));
    ry_vf_store(t->sums, ry_vf_add(ry_vf_load(t->sums), all));
}
