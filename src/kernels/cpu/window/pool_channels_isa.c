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

/* The types of x and of y: f32, f16 or bf16. */
typedef struct types {
    ry_dtype x, y;
} types;

/* `vectors` vectors of channels; alone, of the lanes of a mask. */
RY_INLINE void pool_vectors(const taps *t, const types type, const char *x, char *y,
                            const int vectors, const bool maximum, const bool masked, ry_vm m)
{
    const int64_t size = float_bytes(type.x);
    ry_vf sum[POOL_TOGETHER];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++) {
        sum[v] = ry_vf_set(maximum ? -INFINITY : 0);
    }
    for (int64_t k = 0; k < t->rows; k++) {
        const char *from = x + (t->offset[k] + t->first) * size;
        for (int64_t j = 0; j < t->columns; j++, from += t->apart * size) {
#pragma GCC unroll 4
            for (int v = 0; v < vectors; v++) {
                const ry_vf next = masked ? ry_load_masked(type.x, from, m)
                                          : ry_load_full(type.x, from + v * RY_W * size);
                sum[v] = join_vector(sum[v], next, maximum);
            }
        }
    }
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++) {
        const ry_vf result = maximum ? sum[v] : ry_vf_div(sum[v], ry_vf_set(t->counted));
        if (masked || type.y != RY_f32) {
            ry_store_masked(type.y, y + v * RY_W * float_bytes(type.y), m, result);
        } else {
            ry_vf_store((float *)(void *)y + v * RY_W, result);
        }
    }
}

RY_INLINE void pool_position(const taps *t, const types type, const char *x, char *y,
                             int64_t channels, const bool maximum)
{
    const int64_t from = float_bytes(type.x), to = float_bytes(type.y);
    const ry_vm all = ry_vm_first(RY_W);
    int64_t c = 0;
    for (; c + POOL_TOGETHER * RY_W <= channels; c += POOL_TOGETHER * RY_W) {
        pool_vectors(t, type, x + c * from, y + c * to, POOL_TOGETHER, maximum, false, all);
    }
    for (; c + RY_W <= channels; c += RY_W) {
        pool_vectors(t, type, x + c * from, y + c * to, 1, maximum, false, all);
    }
    if (c < channels) {
        pool_vectors(t, type, x + c * from, y + c * to, 1, maximum, true,
                     ry_vm_first(channels - c));
    }
}

RY_INLINE void pool_row_of(const pool_plan *plan, const types type, const char *image,
                           const int64_t *offset, const pool_row *row, char *y, const bool maximum)
{
    const int64_t channels = plan->channels;
    const ry_window_axis *w = pool_along(&plan->window);
    const pool_column *column = pool_columns(plan);
    const float *divisor = pool_divisors(plan);
    taps t = {.offset = offset, .rows = row->count, .apart = w->dilation * channels};
    for (int64_t o = 0; o < w->out; o++, y += channels * float_bytes(type.y)) {
        const float counted = (float)row->divisor * divisor[o];
        t.columns = column[o].count;
        t.first = column[o].first * channels;
        t.counted = counted > 0 ? counted : 1; /* a window in the padding alone counts nothing: 0 */
        pool_position(&t, type, image, y, channels, maximum);
    }
}

RY_INLINE void pool(const pool_plan *plan, const ry_dtype dtype, const char *image,
                    const pool_row *row, float *reduced, char *y, const bool maximum)
{
    static const int64_t beginning = 0;
    const int64_t *offset = pool_offsets(plan) + row->begin;
    if (!plan->separable || row->count == 0) {
        pool_row_of(plan, (types){dtype, dtype}, image, offset, row, y, maximum);
        return;
    }
    join_rows(reduced, (pool_window_rows){dtype, offset, row->count}, image, plan->width, maximum);
    pool_row_of(plan, (types){RY_f32, dtype}, (const char *)reduced, &beginning,
                &(pool_row){.count = 1, .divisor = row->divisor}, y, maximum);
}

RY_INLINE void pool_of(const pool_plan *plan, const ry_dtype dtype, const char *image,
                       const pool_row *row, float *reduced, char *y)
{
    if (plan->maximum) {
        pool(plan, dtype, image, row, reduced, y, true);
    } else {
        pool(plan, dtype, image, row, reduced, y, false);
    }
}

void RY_ISA_SYMBOL(pool_channels)(const pool_plan *plan, ry_dtype dtype, const void *image,
                                  int64_t row, float *reduced, void *y)
{
    const pool_row *t = pool_rows(plan) + row;
    switch (dtype) {
    case RY_f16: pool_of(plan, RY_f16, image, t, reduced, y); break;
    case RY_bf16: pool_of(plan, RY_bf16, image, t, reduced, y); break;
    default: pool_of(plan, RY_f32, image, t, reduced, y); break;
    }
}
