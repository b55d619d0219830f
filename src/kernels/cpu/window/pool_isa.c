/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels: max and average pooling of f32, any number of spatial dims (pool_plan.h). */
#include "kernels/cpu/parts/cpu_kernel.h"
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

RY_INLINE float join_all(const float *x, int64_t n, bool maximum)
{
    float lanes[RY_W], all = maximum ? -INFINITY : 0;
    int64_t i = 0;
    if (n >= RY_W) {
        ry_vf v = ry_vf_load(x);
        for (i = RY_W; i + RY_W <= n; i += RY_W) {
            v = maximum ? larger_vector(v, ry_vf_load(x + i)) : ry_vf_add(v, ry_vf_load(x + i));
        }
        ry_vf_store(lanes, v);
        for (int k = 0; k < RY_W; k++) {
            all = join(all, lanes[k], maximum);
        }
    }
    for (; i < n; i++) {
        all = join(all, x[i], maximum);
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

/* An output row of NCHW; the padding of `reduced` is there already. */
static void pool_plane_row(const pool_plan *s, float *y, const float *plane, int64_t row,
                           float *reduced)
{
    const ry_window_axis *w = pool_along(&s->window);
    const pool_row *t = pool_rows(s) + row;
    const int64_t *offset = pool_offsets(s) + t->begin;
    float *inside = reduced + w->pad;
    if (t->count == 0) {
        fill(inside, w->in, s->maximum ? -INFINITY : 0);
    } else if (s->maximum) {
        join_rows(inside, plane, offset, t->count, w->in, true);
    } else {
        join_rows(inside, plane, offset, t->count, w->in, false);
    }
    if (s->maximum) {
        join_steps(y, reduced, w, true);
    } else {
        join_steps(y, reduced, w, false);
        divide_row(s, y, t->divisor);
    }
}

static float pool_full(const pool_plan *s, const float *plane)
{
    float divisor = (float)pool_rows(s)->divisor * pool_divisors(s)[0];
    return s->maximum ? join_all(plane, s->in_size, true)
                      : join_all(plane, s->in_size, false) / divisor;
}

static void run(const ry_cpu_launch *launch, size_t task)
{
    const pool_plan *s = launch->state;
    const ry_window_axis *w = pool_along(&s->window);
    const int64_t out_width = w->out, inside = w->pad + w->in;
    const float *x = launch->in[0];
    float *y = launch->out[0], *reduced = launch->scratch;
    if (s->path == POOL_ROWS) {
        fill(reduced, w->pad, s->maximum ? -INFINITY : 0);
        fill(reduced + inside, s->width - inside, s->maximum ? -INFINITY : 0);
    }
    const ry_cut_range units = ry_cut_part(&s->units, task);
    int64_t plane = units.first / s->rows, row = units.first % s->rows;
    for (int64_t unit = units.first; unit < units.end; unit++) {
        if (s->path == POOL_FULL) {
            y[unit] = pool_full(s, x + unit * s->in_size);
        } else if (s->path == POOL_ROWS) {
            pool_plane_row(s, y + unit * out_width, x + plane * s->in_size, row, reduced);
        } else {
            RY_ISA_SYMBOL(pool_channels)
            (s, x + plane * s->in_size * s->channels, row, reduced,
             y + unit * out_width * s->channels);
        }
        if (++row == s->rows) {
            row = 0;
            plane++;
        }
    }
}

RY_CPU_KERNEL(pool_f32, pool, strict, .simd = RY_SIMD, .applicable = ry_pool_applicable,
              .prepare = ry_pool_prepare, .initialise = ry_pool_initialise, .run = run);
