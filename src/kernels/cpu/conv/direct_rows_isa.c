/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise sums of several output rows at once: a loaded vector serves every tap of its column. */
#include "kernels/cpu/conv/direct.h"

enum { ROWS_MOST = 4, VECTORS_MOST = 2 };

typedef struct rows {
    const float *x; /* first staged row and column of the block */
    int64_t pitch;
    const int64_t *offset; /* of the taps, ordered [plane row][column][row] */
    const float *weight;
    int64_t height, width; /* of the window */
    int64_t stride;        /* vertical */
    float bias, low, high;
    float *to;
    int64_t to_row;
    int64_t columns; /* that are written */
} rows;

/* All taps of one column and one plane: tap r reads staged rows r, r + 1, ... */
RY_INLINE void add_column(ry_vf sum[ROWS_MOST][VECTORS_MOST], const float *x, int64_t pitch, const float *weight, const int taps,
                          const int height, const int vectors)
{
    ry_vf w[DIRECT_COLUMN_MOST];
#pragma GCC unroll 8
    for (int r = 0; r < taps; r++) {
        w[r] = ry_vf_set(weight[r]);
    }
#pragma GCC unroll 16
    for (int j = 0; j < height + taps - 1; j++) {
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++) {
            const ry_vf xv = ry_vf_load(x + j * pitch + v * RY_W);
#pragma GCC unroll 4
            for (int i = 0; i < height; i++) {
                if (j - i >= 0 && j - i < taps) {
                    sum[i][v] = ry_vf_fma(w[j - i], xv, sum[i][v]);
                }
            }
        }
    }
}

RY_INLINE void sum_rows(const rows *r, int64_t row, int64_t column, const int height, const int vectors)
{
    ry_vf sum[ROWS_MOST][VECTORS_MOST];
#pragma GCC unroll 4
    for (int i = 0; i < height; i++) {
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++) {
            sum[i][v] = ry_vf_set(r->bias);
        }
    }
    const float *x = r->x + row * r->pitch + column, *w = r->weight;
    const int64_t *offset = r->offset;
    for (int64_t plane = 0; plane < r->stride && plane < r->height; plane++) {
        const int64_t taps = (r->height - plane + r->stride - 1) / r->stride;
        for (int64_t s = 0; s < r->width; s++, w += taps, offset += taps) {
            const float *from = x + *offset;
            switch (taps) {
            case 1: add_column(sum, from, r->pitch, w, 1, height, vectors); break;
            case 2: add_column(sum, from, r->pitch, w, 2, height, vectors); break;
            case 3: add_column(sum, from, r->pitch, w, 3, height, vectors); break;
            case 4: add_column(sum, from, r->pitch, w, 4, height, vectors); break;
            case 5: add_column(sum, from, r->pitch, w, 5, height, vectors); break;
            case 6: add_column(sum, from, r->pitch, w, 6, height, vectors); break;
            default: add_column(sum, from, r->pitch, w, 7, height, vectors); break;
            }
        }
    }
    const ry_vf low = ry_vf_set(r->low), high = ry_vf_set(r->high);
    const int64_t left = r->columns - column;
    const ry_vm last = ry_vm_first(left - (vectors - 1) * RY_W);
#pragma GCC unroll 4
    for (int i = 0; i < height; i++) {
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++) {
            float *to = r->to + (row + i) * r->to_row + column + v * RY_W;
            const ry_vf y = ry_vf_min(high, ry_vf_max(low, sum[i][v]));
            if (v == vectors - 1 && left < vectors * RY_W) {
                ry_vf_store_m(to, last, y);
            } else {
                ry_vf_store(to, y);
            }
        }
    }
}

RY_INLINE void sum_row_blocks(const rows *r, int64_t row, const int height)
{
    int64_t column = 0;
    for (; column + RY_W < r->columns; column += 2 * RY_W) {
        sum_rows(r, row, column, height, 2);
    }
    if (column < r->columns) {
        sum_rows(r, row, column, height, 1);
    }
}

void RY_ISA_SYMBOL(direct_rows)(const direct_plan *plan, const float *staged, const float *weight, float bias, int64_t count, float low,
                                float high, float *to, int64_t to_row)
{
    const ry_conv_geometry *g = &plan->geometry;
    const rows r = {.x = staged,
                    .pitch = plan->pitch,
                    .offset = plan->offset,
                    .weight = weight,
                    .height = g->kernel[1],
                    .width = g->kernel[2],
                    .stride = g->stride[1],
                    .bias = bias,
                    .low = low,
                    .high = high,
                    .to = to,
                    .to_row = to_row,
                    .columns = plan->phase.grid[2]};
    int64_t row = 0;
    for (; row + 4 <= count; row += 4) {
        sum_row_blocks(&r, row, 4);
    }
    if (row + 2 <= count) {
        sum_row_blocks(&r, row, 2);
        row += 2;
    }
    if (row < count) {
        sum_row_blocks(&r, row, 1);
    }
}
