/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of groups of few channels straight from rows of x (direct_plan.h, `in_place`): nothing is staged, and y is written once. */
#include "base/whole.h"
#include "kernels/cpu/conv/direct.h"
#include "kernels/cpu/conv/tile_lines.h"

enum { BAND_BYTES = 16 << 10 /* of x and y */ };

typedef struct block {
    const direct_plan *plan;
    const float *x, *residual; /* residual: of the output row's first position; NULL: none */
    float *y;
    const float *weight; /* [channel][tap][out] */
    const float *bias;
    int64_t first, end;       /* tap rows that are inside x */
    int64_t x_ahead, y_ahead; /* floats to the next band */
    bool fetches_x;           /* the row's first output channels: others find x near */
    int64_t lanes;            /* of the last vector that y has */
    float low, high;
    ry_vm mask[DIRECT_WIDTH_MOST]
              [DIRECT_VECTORS_MOST]; /* lanes inside x, by tap column and vector; between the first vector and the last all are */
} block;

/* Asks for the lines of x that the same output row of the next band reads and none before it, and for those of y that it writes: memory's prefetchers do
 * not follow so many planes. */
RY_INLINE void fetch_next(const block *b, const int out, const int vectors)
{
    const direct_plan *plan = b->plan;
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t stride = g->stride[1], step = plan->dilation[0], last = (g->kernel[1] - 1) * step;
    for (int64_t c = 0; c < g->channels_in && b->fetches_x; c++) {
        for (int64_t r = 0; r < stride && r <= last; r += step) {
            const float *x = b->x + b->x_ahead + c * g->x_channel + (last - r) * g->x_step[1];
#pragma GCC unroll 4
            for (int i = 0; i < vectors * RY_W; i += RY_LINE_FLOATS) {
                __builtin_prefetch(x + i, 0, 3);
            }
        }
    }
#pragma GCC unroll 4
    for (int k = 0; k < out; k++) {
        const float *y = b->y + b->y_ahead + k * g->y_channel;
#pragma GCC unroll 4
        for (int i = 0; i < vectors * RY_W; i += RY_LINE_FLOATS) {
            __builtin_prefetch(y + i, 1, 3);
        }
    }
}

/* `half`: the last vector has at most half its lanes. `three`: so many tap columns. */
RY_INLINE void sum_row(const block *b, const int out, const int vectors, const bool half, const bool three)
{
    const direct_plan *plan = b->plan;
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t width = three ? 3 : g->kernel[2], step = plan->dilation[1], r_channel = g->r_channel, y_channel = g->y_channel;
    ry_vf sum[DIRECT_BLOCK_MOST][DIRECT_VECTORS_MOST];
    if (plan->fetches) {
        fetch_next(b, out, vectors);
    }
#pragma GCC unroll 4
    for (int k = 0; k < out; k++) {
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) {
            sum[k][v] = ry_vf_set(b->bias[k]);
        }
    }
    for (int64_t c = 0; c < g->channels_in; c++) {
        for (int64_t r = b->first; r < b->end; r++) {
            const float *from = b->x + c * g->x_channel + r * plan->dilation[0] * g->x_step[1];
            const float *w = b->weight + (c * g->kernel[1] + r) * width * out;
#pragma GCC unroll 3
            for (int64_t s = 0; s < width; s++, from += step, w += out) {
                ry_vf x[DIRECT_VECTORS_MOST];
#pragma GCC unroll 4
                for (int v = 0; v < vectors; v++) {
                    x[v] = v > 0 && v < vectors - 1 ? ry_vf_load(from + v * RY_W) : ry_vf_load_m(from + v * RY_W, b->mask[s][v]);
                }
#pragma GCC unroll 4
                for (int k = 0; k < out; k++) {
                    const ry_vf weight = ry_vf_set(w[k]);
#pragma GCC unroll 4
                    for (int v = 0; v < vectors; v++) {
                        sum[k][v] =
                            half && v == vectors - 1 ? DIRECT_FMA_HALF(weight, x[v], sum[k][v]) : ry_vf_fma(weight, x[v], sum[k][v]);
                    }
                }
            }
        }
    }
    const ry_vf low = ry_vf_set(b->low), high = ry_vf_set(b->high);
    const ry_vm last = ry_vm_first(b->lanes);
#pragma GCC unroll 4
    for (int k = 0; k < out; k++) {
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) {
            ry_vf y = sum[k][v];
            if (b->residual) {
                const float *from = b->residual + k * r_channel + v * RY_W;
                y = ry_vf_add(y, v == vectors - 1 ? ry_vf_load_m(from, last) : ry_vf_load(from));
            }
            y = ry_vf_min(high, ry_vf_max(low, y));
            float *to = b->y + k * y_channel + v * RY_W;
            if (v == vectors - 1) {
                ry_vf_store_first(to, b->lanes, y);
            } else {
                ry_vf_store(to, y);
            }
        }
    }
}

typedef void (*sum_function)(const block *b);

RY_INLINE void sum_row_of(const block *b, const int out, const int vectors, const bool half)
{
    if (out == DIRECT_BLOCK_MOST && b->plan->geometry.kernel[2] == 3) {
        sum_row(b, out, vectors, half, true);
    } else {
        sum_row(b, out, vectors, half, false);
    }
}

#define TEXT(out, vectors)                                \
    static void sum_##out##_##vectors(const block *b)     \
    {                                                     \
        if (DIRECT_HAS_HALF && b->lanes <= RY_W / 2) {    \
            sum_row_of(b, out, vectors, DIRECT_HAS_HALF); \
        } else {                                          \
            sum_row_of(b, out, vectors, false);           \
        }                                                 \
    }
#define TEXTS(out) TEXT(out, 1) TEXT(out, 2) TEXT(out, 3) TEXT(out, 4)
#define NAMES(out)                                                 \
    {                                                              \
        sum_##out##_1, sum_##out##_2, sum_##out##_3, sum_##out##_4 \
    }

TEXTS(1)
TEXTS(2)
TEXTS(3)
TEXTS(4)

static const sum_function sums[DIRECT_BLOCK_MOST][DIRECT_VECTORS_MOST] = {NAMES(1), NAMES(2), NAMES(3), NAMES(4)};

/* Lanes of each vector from column `column` on that a tap column reads inside x. */
static void find_masks(const direct_plan *plan, int64_t column, int64_t vectors, block *b)
{
    const ry_conv_geometry *g = &plan->geometry;
    for (int64_t s = 0; s < g->kernel[2]; s++) {
        for (int64_t v = 0; v < vectors; v++) {
            const int64_t at = column + v * RY_W + s * plan->dilation[1] - plan->before[1];
            const int64_t low = ry_least(ry_most(-at, 0), RY_W), end = ry_most(ry_least(g->in[2] - at, RY_W), low);
            b->mask[s][v] = ry_vm_bits((uint32_t)((1ull << end) - (1ull << low)));
        }
    }
}

/* Tap rows that output row `row` reads inside x. */
static void find_rows(const direct_plan *plan, int64_t row, block *b)
{
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t top = row * g->stride[1] - plan->before[0], step = plan->dilation[0];
    b->first = ry_least(ry_parts(ry_most(-top, 0), step), g->kernel[1]);
    b->end = ry_most(ry_least(ry_parts(ry_most(g->in[1] - top, 0), step), g->kernel[1]), b->first);
}

static void sum_band(const direct_plan *plan, const direct_group *group, int64_t first_row, int64_t rows, const block *start)
{
    const ry_conv_geometry *g = &plan->geometry;
    const ry_conv_phase *p = &plan->phase;
    const int64_t columns = p->grid[2], vectors = ry_parts(columns, RY_W);
    block b = *start;
    for (int64_t first = 0, count; first < vectors; first += count) {
        const int64_t column = first * RY_W;
        count = direct_vectors(plan, RY_W, first);
        b.lanes = ry_least(columns - column - (count - 1) * RY_W, RY_W);
        find_masks(plan, column, count, &b);
        for (int64_t row = first_row; row < first_row + rows; row++) {
            find_rows(plan, row, &b);
            b.x = group->x + (row * g->stride[1] - plan->before[0]) * g->x_step[1] + column - plan->before[1];
            for (int64_t k = 0; k < g->channels_out; k += DIRECT_BLOCK_MOST) {
                b.weight = group->weight + k * g->channels_in * g->taps;
                b.bias = group->bias + k;
                b.fetches_x = k == 0;
                b.y = group->y + k * g->y_channel + row * p->y_step[1] + column;
                b.residual = group->residual ? group->residual + k * g->r_channel + row * p->r_step[1] + column : NULL;
                sums[ry_least(g->channels_out - k, DIRECT_BLOCK_MOST) - 1][count - 1](&b);
            }
        }
    }
}

/* Columns of vectors go down some rows only, so that rows of large planes are read and written nearly in order. Behind the last rows of a plane the next
 * group's first ones come. */
void RY_ISA_SYMBOL(direct_planes)(const direct_plan *plan, const direct_group *group, int64_t first_row, int64_t rows)
{
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t row = (g->channels_in * g->in[2] + g->channels_out * plan->phase.grid[2]) * (int64_t)sizeof(float);
    const int64_t most = ry_most(4, BAND_BYTES / row), x_row = g->stride[1] * g->x_step[1], y_row = plan->phase.y_step[1];
    block b = {.plan = plan, .low = group->low, .high = group->high, .x_ahead = most * x_row, .y_ahead = most * y_row};
    for (int64_t done = 0; done < rows; done += most) {
        if (done + most >= rows && plan->row_blocks == 1) {
            b.x_ahead = g->channels_in * g->x_channel - done * x_row;
            b.y_ahead = g->channels_out * g->y_channel - done * y_row;
        }
        sum_band(plan, group, first_row + done, ry_least(most, rows - done), &b);
    }
}
