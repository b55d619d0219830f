/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels: max and average pooling of f32, f16 and bf16, computed in f32; any number of spatial dims
 * (pool_plan.h). */
#include "kernels/cpu/parts/cpu_kernel.h"
#include "kernels/cpu/simd/half_rows.h"
#include "kernels/cpu/simd/lane_rows.h"
#include "kernels/cpu/window/pool_channels.h"
#include "kernels/cpu/window/pool_join.h"

#include <math.h>

/* The loops below are inlined with `maximum` (and the step) as constants. */
/* Two or three neighbours, two steps on from one output to the next: a row of two vectors parts
 * into them. */
RY_INLINE void join_halves(float *y, const float *x, int64_t n, const int64_t taps,
                           const bool maximum)
{
    for (int64_t i = 0; i < n; i += RY_W) {
        const float *from = x + 2 * i;
        ry_vf even, odd;
        ry_vf_deinterleave(ry_vf_load(from), ry_vf_load(from + RY_W), &even, &odd);
        ry_vf sum = join_vector(even, odd, maximum);
        if (taps == 3) {
            ry_vf_deinterleave(ry_vf_load(from + 2), ry_vf_load(from + 2 + RY_W), &even, &odd);
            sum = join_vector(sum, even, maximum);
        }
        if (n - i >= RY_W) {
            ry_vf_store(y + i, sum);
        } else {
            ry_vf_store_first(y + i, n - i, sum);
        }
    }
}

RY_INLINE void join_columns(float *restrict y, const float *restrict x, int64_t n, int64_t taps,
                            int64_t apart, int64_t step, bool maximum)
{
    for (int64_t i = 0; i < n; i++) {
        y[i] = x[i * step];
    }
    for (int64_t k = 1; k < taps; k++) {
        const float *restrict from = x + k * apart;
        for (int64_t i = 0; i < n; i++) {
            y[i] = join(y[i], from[i * step], maximum);
        }
    }
}

RY_INLINE void join_steps(float *y, const float *x, const ry_window_axis *w, bool maximum)
{
    const int64_t n = w->out, taps = w->taps, apart = w->dilation;
    if (w->stride == 2 && apart == 1 && taps == 2) {
        join_halves(y, x, n, 2, maximum);
        return;
    }
    if (w->stride == 2 && apart == 1 && taps == 3) {
        join_halves(y, x, n, 3, maximum);
        return;
    }
    switch (w->stride) {
    case 1: join_columns(y, x, n, taps, apart, 1, maximum); break;
    case 2: join_columns(y, x, n, taps, apart, 2, maximum); break;
    default: join_columns(y, x, n, taps, apart, w->stride, maximum); break;
    }
}

RY_INLINE float join_all(const ry_dtype dtype, const char *x, int64_t n, bool maximum)
{
    const int64_t size = float_bytes(dtype);
    float lanes[RY_W], all = maximum ? -INFINITY : 0;
    int64_t i = 0;
    if (n >= RY_W) {
        ry_vf v = ry_load_full(dtype, x);
        for (i = RY_W; i + RY_W <= n; i += RY_W) {
            v = join_vector(v, ry_load_full(dtype, x + i * size), maximum);
        }
        ry_vf_store(lanes, v);
        for (int k = 0; k < RY_W; k++) {
            all = join(all, lanes[k], maximum);
        }
    }
    for (; i < n; i++) {
        all = join(all, ry_load_one(dtype, x + i * size), maximum);
    }
    return all;
}

static void fill(float *y, int64_t n, float value)
{
    for (int64_t i = 0; i < n; i++) {
        y[i] = value;
    }
}

/* Windows that are in padding alone count nothing: 0. */
static void divide_row(const pool_plan *s, float *restrict y, int64_t outer)
{
    const float *restrict divisor = pool_divisors(s);
    const float rows = (float)outer;
    for (int64_t o = 0; o < pool_along(&s->window)->out; o++) {
        float d = rows * divisor[o];
        y[o] = y[o] / (d > 0 ? d : 1);
    }
}

/* The window's rows of a plane, joined. */
RY_INLINE void join_window(const pool_plan *s, const ry_dtype dtype, const char *plane,
                           const pool_row *t, float *inside)
{
    const ry_window_axis *w = pool_along(&s->window);
    const pool_window_rows rows = {dtype, pool_offsets(s) + t->begin, t->count};
    if (s->maximum) {
        join_rows(inside, rows, plane, w->in, true);
    } else {
        join_rows(inside, rows, plane, w->in, false);
    }
}

/* An output row of NCHW, in f32; the padding of `reduced` is there already. */
static void pool_plane_row(const pool_plan *s, ry_dtype dtype, float *y, const char *plane,
                           int64_t row, float *reduced)
{
    const ry_window_axis *w = pool_along(&s->window);
    const pool_row *t = pool_rows(s) + row;
    float *inside = reduced + w->pad;
    if (t->count == 0) {
        fill(inside, w->in, s->maximum ? -INFINITY : 0);
    } else if (dtype == RY_f16) {
        join_window(s, RY_f16, plane, t, inside);
    } else if (dtype == RY_bf16) {
        join_window(s, RY_bf16, plane, t, inside);
    } else {
        join_window(s, RY_f32, plane, t, inside);
    }
    if (s->maximum) {
        join_steps(y, reduced, w, true);
    } else {
        join_steps(y, reduced, w, false);
        divide_row(s, y, t->divisor);
    }
}

RY_INLINE float pool_full_of(const pool_plan *s, const ry_dtype dtype, const char *plane)
{
    float divisor = (float)pool_rows(s)->divisor * pool_divisors(s)[0];
    return s->maximum ? join_all(dtype, plane, s->in_size, true)
                      : join_all(dtype, plane, s->in_size, false) / divisor;
}

static float pool_full(const pool_plan *s, ry_dtype dtype, const char *plane)
{
    return dtype == RY_f16    ? pool_full_of(s, RY_f16, plane)
           : dtype == RY_bf16 ? pool_full_of(s, RY_bf16, plane)
                              : pool_full_of(s, RY_f32, plane);
}

/* PLANES: block number `block`, of plan->channels planes or the last ones. */
static void pool_block(const pool_plan *s, const ry_cpu_launch *launch, int64_t block)
{
    const ry_dtype dtype = (ry_dtype)launch->problem->in[0].dtype;
    const int64_t size = float_bytes(dtype), first = block * s->channels,
                  planes = ry_min(s->channels, s->planes - first);
    const int64_t row = pool_along(&s->window)->out * s->channels,
                  elements = s->rows * pool_along(&s->window)->out;
    const int64_t in_step = s->in_size * size, out_step = elements * size;
    float *x = (float *)launch->scratch + s->width, *y = x + pool_block_in(s, RY_W);
    for (int64_t i = 0; i < planes; i += RY_W) {
        const ry_lane_rows from = {(char *)launch->in[0] + (first + i) * in_step, in_step,
                                   ry_min(planes - i, RY_W), dtype};
        ry_lane_rows_read(&from, s->in_size, x + i, s->channels);
    }
    for (int64_t i = 0; i < s->rows; i++) {
        RY_ISA_SYMBOL(pool_channels)(s, RY_f32, x, i, launch->scratch, y + i * row);
    }
    for (int64_t i = 0; i < planes; i += RY_W) {
        const ry_lane_rows to = {(char *)launch->out[0] + (first + i) * out_step, out_step,
                                 ry_min(planes - i, RY_W), dtype};
        ry_lane_rows_write(&to, elements, y + i, s->channels);
    }
}

static void run(const ry_cpu_launch *launch, size_t task)
{
    const pool_plan *s = launch->state;
    const ry_window_axis *w = pool_along(&s->window);
    const ry_dtype dtype = (ry_dtype)launch->problem->in[0].dtype;
    const int64_t out_width = w->out, inside = w->pad + w->in, size = float_bytes(dtype);
    const char *x = launch->in[0];
    float *reduced = launch->scratch, *row_of_y = reduced + s->width;
    if (s->path == POOL_ROWS) {
        fill(reduced, w->pad, s->maximum ? -INFINITY : 0);
        fill(reduced + inside, s->width - inside, s->maximum ? -INFINITY : 0);
    }
    const ry_cut_range units = ry_cut_part(&s->units, task);
    for (int64_t block = units.first; s->path == POOL_PLANES && block < units.end; block++) {
        pool_block(s, launch, block);
    }
    if (s->path == POOL_PLANES) {
        return;
    }
    int64_t plane = units.first / s->rows, row = units.first % s->rows;
    for (int64_t unit = units.first; unit < units.end; unit++) {
        const int64_t channels = s->path == POOL_CHANNELS ? s->channels : 1;
        const char *from = x + plane * s->in_size * channels * size;
        char *y = (char *)launch->out[0] + unit * out_width * channels * size;
        if (s->path == POOL_FULL) {
            const float all = pool_full(s, dtype, from);
            ry_row_store((rynd_dtype)dtype, y, 0, &all, 1);
        } else if (s->path == POOL_ROWS) {
            float *to = dtype == RY_f32 ? (float *)(void *)y : row_of_y;
            pool_plane_row(s, dtype, to, from, row, reduced);
            if (dtype != RY_f32) {
                ry_row_store((rynd_dtype)dtype, y, 0, to, out_width);
            }
        } else {
            RY_ISA_SYMBOL(pool_channels)(s, dtype, from, row, reduced, y);
        }
        if (++row == s->rows) {
            row = 0;
            plane++;
        }
    }
}

RY_CPU_KERNEL(pool_f32, pool, strict, .simd = RY_SIMD, .applicable = ry_pool_applicable,
              .prepare = ry_pool_prepare, .initialise = ry_pool_initialise, .run = run);
