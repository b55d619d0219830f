/* SPDX-License-Identifier: Apache-2.0 */
/* The gradient of max and average pooling, f32, NCHW (pool_grad_plan.h; NHWC:
 * pool_grad_channels_isa.c). */
#include "kernels/cpu/parts/cpu_kernel.h"
#include "kernels/cpu/simd/simd.h"
#include "kernels/cpu/window/pool_grad_channels.h"

#include <math.h>
#include <string.h>

/* What no position of an image is from its window's begin. */
enum { NOWHERE = INT32_MIN };

/* Of each output of a row, so many numbers: `first` is the element that its first tap inside meets,
 * less its own; best and where: the maximum so far, and where it is, likewise. */
typedef struct row_search {
    int32_t *first, *where;
    float *best;
} row_search;

static void find_first(const ry_window_axis *w, int32_t *first)
{
    for (int64_t o = 0; o < w->out; o++) {
        const ry_window_range taps = ry_window_taps(w, o);
        first[o] =
            taps.begin < taps.end ? (int32_t)(taps.begin * w->dilation - w->pad) : (int32_t)NOWHERE;
    }
}

/* One tap of every output: NaN is larger than any number, and the first of equals stays. */
RY_INLINE void search_tap(float *restrict best, int32_t *restrict where, const float *restrict x,
                          int64_t n, int64_t stride, int32_t from)
{
    for (int64_t o = 0; o < n; o++) {
        const float v = x[o * stride], b = best[o];
        const int larger = (v > b) | ((v != v) & (b == b));
        best[o] = larger ? v : b;
        where[o] = larger ? from : where[o];
    }
}

static void search_row(const ry_window_axis *w, const pool_grad_row *rows, int64_t count,
                       const float *x, const row_search *s)
{
    for (int64_t o = 0; o < w->out; o++) {
        s->best[o] = -INFINITY;
        s->where[o] = s->first[o] == NOWHERE ? (int32_t)NOWHERE : s->first[o] + (int32_t)rows[0].at;
    }
    for (int64_t r = 0; r < count; r++) {
        for (int64_t tap = 0; tap < w->taps; tap++) {
            const int64_t from = rows[r].at + tap * w->dilation - w->pad;
            const ry_window_range o =
                ry_window_inside(w->in, tap * w->dilation - w->pad, w->stride, w->out);
            const float *at = x + from + o.begin * w->stride;
            float *best = s->best + o.begin;
            int32_t *where = s->where + o.begin;
            switch (w->stride) {
            case 1: search_tap(best, where, at, o.end - o.begin, 1, (int32_t)from); break;
            case 2: search_tap(best, where, at, o.end - o.begin, 2, (int32_t)from); break;
            default: search_tap(best, where, at, o.end - o.begin, w->stride, (int32_t)from); break;
            }
        }
    }
}

static void maximum_plane(const pool_grad_plan *s, const float *dy, const float *x, float *dx,
                          pool_grad_row *rows, const row_search *search)
{
    const ry_window_axis *w = pool_grad_along(s);
    memset(dx, 0, (size_t)s->in_size * sizeof *dx);
    for (int64_t row = 0; row < s->out_rows; row++, dy += w->out) {
        const int64_t count = ry_pool_grad_taps(s, row, rows);
        if (count == 0) {
            continue;
        }
        search_row(w, rows, count, x, search);
        for (int64_t o = 0; o < w->out; o++) {
            if (search->where[o] != NOWHERE) {
                dx[search->where[o] + o * w->stride] += dy[o];
            }
        }
    }
}

static void add_scaled(float *restrict sum, const float *restrict row, int64_t n, float share)
{
    for (int64_t o = 0; o < n; o++) {
        sum[o] += row[o] * share;
    }
}

RY_INLINE void give(float *restrict dx, const float *restrict sum, int64_t n, int64_t stride)
{
    for (int64_t o = 0; o < n; o++) {
        dx[o * stride] += sum[o];
    }
}

/* An input row: the sum of its output rows, each element of which goes to the elements of its
 * window. */
static void average_row(const pool_grad_plan *s, const float *dy, int64_t row, float *dx,
                        pool_grad_row *rows, float *sum, const float *share)
{
    const ry_window_axis *w = pool_grad_along(s);
    const int64_t count = ry_pool_grad_readers(s, row, rows);
    memset(dx, 0, (size_t)w->in * sizeof *dx);
    if (count == 0) {
        return;
    }
    memset(sum, 0, (size_t)w->out * sizeof *sum);
    for (int64_t r = 0; r < count; r++) {
        add_scaled(sum, dy + rows[r].at, w->out, (float)rows[r].share);
    }
    for (int64_t o = 0; o < w->out; o++) {
        sum[o] *= share[o];
    }
    for (int64_t tap = 0; tap < w->taps; tap++) {
        const int64_t from = tap * w->dilation - w->pad;
        const ry_window_range o = ry_window_inside(w->in, from, w->stride, w->out);
        float *to = dx + from + o.begin * w->stride;
        if (w->stride == 1) {
            give(to, sum + o.begin, o.end - o.begin, 1);
        } else {
            give(to, sum + o.begin, o.end - o.begin, w->stride);
        }
    }
}

/* Nothing is divided by 0: what is in no window is not read. */
static void find_shares(const pool_grad_plan *s, float *share)
{
    const ry_window_axis *w = pool_grad_along(s);
    for (int64_t o = 0; o < w->out; o++) {
        const int64_t counted = ry_pool_grad_counted(s, w, o);
        share[o] = counted > 0 ? 1 / (float)counted : 0;
    }
}

static void run_planes(const ry_cpu_launch *launch, const pool_grad_plan *s, int64_t first,
                       int64_t end)
{
    const ry_window_axis *w = pool_grad_along(s);
    pool_grad_row *rows = launch->scratch;
    float *numbers =
        (float *)((char *)launch->scratch + ((size_t)s->row_taps * sizeof *rows + 63) / 64 * 64);
    int32_t *places = (int32_t *)(void *)(numbers + w->out);
    const row_search search = {places, places + w->out, numbers};
    float *share = numbers + w->out;
    if (s->maximum) {
        find_first(w, search.first);
    } else {
        find_shares(s, share);
    }
    for (int64_t plane = first; plane < end; plane++) {
        const float *dy = (const float *)launch->in[0] + plane * s->out_size;
        float *dx = (float *)launch->out[0] + plane * s->in_size;
        if (s->maximum) {
            maximum_plane(s, dy, (const float *)launch->in[1] + plane * s->in_size, dx, rows,
                          &search);
            continue;
        }
        for (int64_t row = 0; row < s->in_rows; row++) {
            average_row(s, dy, row, dx + row * w->in, rows, numbers, share);
        }
    }
}

static void run(const ry_cpu_launch *launch, size_t task)
{
    const pool_grad_plan *s = launch->state;
    const int64_t first = (int64_t)task * s->units_per_task,
                  end = ry_min(first + s->units_per_task, s->units);
    if (s->last) {
        RY_ISA_SYMBOL(pool_grad_channels)(launch, s, first, end);
    } else {
        run_planes(launch, s, first, end);
    }
}

RY_CPU_KERNEL(pool_grad_f32, pool_grad, strict, .simd = RY_SIMD,
              .applicable = ry_pool_grad_applicable, .prepare = ry_pool_grad_prepare,
              .initialise = ry_pool_grad_initialise, .run = run);
