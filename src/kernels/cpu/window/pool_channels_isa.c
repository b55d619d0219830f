/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling with vectors along channels. */
#include "kernels/cpu/window/pool_channels.h"

#include "kernels/cpu/window/pool_join.h"

#include <math.h>

/* The taps of an output position: rows `offset` of the row at hand, in floats, and positions of a
 * row. */
typedef struct taps {
    const int64_t *offset;
    int64_t rows, columns;
    int64_t first, apart; /* floats: of the first position, from one to the next */
    float counted;        /* what an average divides by */
} taps;

/* `vectors` vectors of channels; alone, of the lanes of a mask. */
RY_INLINE void pool_vectors(const taps *t, const float *x, float *y, const int vectors,
                            const bool maximum, const bool masked, ry_vm m)
{
    ry_vf sum[POOL_TOGETHER];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++) {
        sum[v] = ry_vf_set(maximum ? -INFINITY : 0);
    }
    for (int64_t k = 0; k < t->rows; k++) {
        const float *from = x + t->offset[k] + t->first;
        for (int64_t j = 0; j < t->columns; j++, from += t->apart) {
#pragma GCC unroll 4
            for (int v = 0; v < vectors; v++) {
                const ry_vf next = masked ? ry_vf_load_m(from, m) : ry_vf_load(from + v * RY_W);
                sum[v] = join_vector(sum[v], next, maximum);
            }
        }
    }
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++) {
        const ry_vf result = maximum ? sum[v] : ry_vf_div(sum[v], ry_vf_set(t->counted));
        if (masked) {
            ry_vf_store_m(y, m, result);
        } else {
            ry_vf_store(y + v * RY_W, result);
        }
    }
}

RY_INLINE void pool_position(const taps *t, const float *x, float *y, int64_t channels,
                             const bool maximum)
{
    const ry_vm all = ry_vm_first(RY_W);
    int64_t c = 0;
    for (; c + POOL_TOGETHER * RY_W <= channels; c += POOL_TOGETHER * RY_W) {
        pool_vectors(t, x + c, y + c, POOL_TOGETHER, maximum, false, all);
    }
    for (; c + RY_W <= channels; c += RY_W) {
        pool_vectors(t, x + c, y + c, 1, maximum, false, all);
    }
    if (c < channels) {
        pool_vectors(t, x + c, y + c, 1, maximum, true, ry_vm_first(channels - c));
    }
}

RY_INLINE void pool_row_of(const pool_plan *plan, const float *image, const int64_t *offset,
                           const pool_row *row, float *y, const bool maximum)
{
    const int64_t channels = plan->channels;
    const ry_window_axis *w = pool_along(&plan->window);
    const pool_column *column = pool_columns(plan);
    const float *divisor = pool_divisors(plan);
    taps t = {.offset = offset, .rows = row->count, .apart = w->dilation * channels};
    for (int64_t o = 0; o < w->out; o++, y += channels) {
        const float counted = (float)row->divisor * divisor[o];
        t.columns = column[o].count;
        t.first = column[o].first * channels;
        t.counted = counted > 0 ? counted : 1; /* a window in the padding alone counts nothing: 0 */
        pool_position(&t, image, y, channels, maximum);
    }
}

RY_INLINE void pool(const pool_plan *plan, const float *image, const pool_row *row, float *reduced,
                    float *y, const bool maximum)
{
    static const int64_t beginning = 0;
    const int64_t *offset = pool_offsets(plan) + row->begin;
    if (!plan->separable || row->count == 0) {
        pool_row_of(plan, image, offset, row, y, maximum);
        return;
    }
    join_rows(reduced, image, offset, row->count, plan->width, maximum);
    pool_row_of(plan, reduced, &beginning, &(pool_row){.count = 1, .divisor = row->divisor}, y,
                maximum);
}

void RY_ISA_SYMBOL(pool_channels)(const pool_plan *plan, const float *image, int64_t row,
                                  float *reduced, float *y)
{
    if (plan->maximum) {
        pool(plan, image, pool_rows(plan) + row, reduced, y, true);
    } else {
        pool(plan, image, pool_rows(plan) + row, reduced, y, false);
    }
}
