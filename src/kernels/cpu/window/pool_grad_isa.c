/* SPDX-License-Identifier: Apache-2.0 */
/* The gradient of max and average pooling, f32, NCHW (pool_grad_plan.h; NHWC:
 * pool_grad_channels_isa.c). */
#include "kernels/cpu/parts/cpu_kernel.h"
#include "kernels/cpu/simd/simd.h"
#include "kernels/cpu/window/pool_grad_channels.h"

#include <math.h>
#include <string.h>

/* What a search through the rows of x needs, in scratch (pool_grad_plan.h). */
typedef struct row_search {
    int64_t *shift;    /* start of each row tap's elements in a copied row */
    int32_t *elements; /* element under each tap, relative to the output's first */
    int32_t *where;    /* tap number of each output's maximum; -1: none */
    float *first;      /* each output's first row tap inside x; -1: none */
    float *copies;     /* input rows, elements grouped by index modulo the stride */
} row_search;

static row_search search_in(const pool_grad_plan *s, void *memory)
{
    const int64_t wide = pool_grad_wide(s);
    row_search to = {.shift = memory};
    to.elements = (int32_t *)(void *)(to.shift + pool_grad_along(s)->taps);
    to.where = to.elements + s->row_taps * pool_grad_along(s)->taps;
    to.first = (float *)(void *)(to.where + wide);
    to.copies = to.first + wide;
    return to;
}

/* What does not depend on the plane. Beside the copies of rows is what loses against anything. */
static void begin_search(const pool_grad_plan *s, const row_search *to)
{
    const ry_window_axis *w = pool_grad_along(s);
    for (int64_t tap = 0; tap < w->taps; tap++) {
        const int64_t from = tap * w->dilation;
        to->shift[tap] = from % w->stride * s->pitch + from / w->stride;
    }
    for (int64_t o = 0; o < pool_grad_wide(s); o++) {
        const ry_window_range taps = ry_window_taps(w, o);
        to->first[o] = o < w->out && taps.begin < taps.end ? (float)taps.begin : -1;
    }
    for (int64_t i = 0; i < s->row_taps * w->stride * s->pitch; i++) {
        to->copies[i] = -INFINITY;
    }
}

RY_INLINE void copy_steps(float *restrict to, const float *restrict x, int64_t n, int64_t stride)
{
    for (int64_t i = 0; i < n; i++) {
        to[i] = x[i * stride];
    }
}

static void copy_row(const pool_grad_plan *s, float *to, const float *x)
{
    const ry_window_axis *w = pool_grad_along(s);
    for (int64_t first = 0; first < ry_min(w->stride, w->in); first++) {
        const int64_t at = w->pad + first, n = ry_ceil_div(w->in - first, w->stride);
        float *row = to + at % w->stride * s->pitch + at / w->stride;
        if (w->stride == 1) {
            copy_steps(row, x + first, n, 1);
        } else if (w->stride == 2) {
            copy_steps(row, x + first, n, 2);
        } else {
            copy_steps(row, x + first, n, w->stride);
        }
    }
}

/* The taps of `vectors` vectors of outputs from `o` on. */
RY_INLINE void search_vectors(const pool_grad_plan *s, const row_search *to, int64_t count,
                              int64_t o, const int vectors)
{
    const ry_window_axis *w = pool_grad_along(s);
    ry_vf best[2], at[2];
    for (int v = 0; v < vectors; v++) {
        best[v] = ry_vf_set(-INFINITY);
        at[v] = ry_vf_load(to->first + o + v * RY_W);
    }
    for (int64_t r = 0; r < count; r++) {
        const float *row = to->copies + r * w->stride * s->pitch + o;
        for (int64_t tap = 0; tap < w->taps; tap++) {
            const ry_vf mark = ry_vf_set((float)(r * w->taps + tap));
            for (int v = 0; v < vectors; v++) {
                ry_vf_keep_largest(ry_vf_load(row + to->shift[tap] + v * RY_W), mark, &best[v],
                                   &at[v]);
            }
        }
    }
    float marks[2 * RY_W];
    for (int v = 0; v < vectors; v++) {
        ry_vf_store(marks + v * RY_W, at[v]);
    }
    for (int i = 0; i < vectors * RY_W; i++) {
        to->where[o + i] = (int32_t)marks[i];
    }
}

static void maximum_plane(const pool_grad_plan *s, const float *dy, const float *x, float *dx,
                          pool_grad_row *rows, const row_search *search)
{
    const ry_window_axis *w = pool_grad_along(s);
    memset(dx, 0, (size_t)s->in_size * sizeof *dx);
    for (int64_t row = 0; row < s->out_rows; row++, dy += w->out) {
        const int64_t count = ry_pool_grad_taps(s, row, rows);
        for (int64_t r = 0; r < count; r++) {
            copy_row(s, search->copies + r * w->stride * s->pitch, x + rows[r].at);
            for (int64_t tap = 0; tap < w->taps; tap++) {
                search->elements[r * w->taps + tap] =
                    (int32_t)(rows[r].at + tap * w->dilation - w->pad);
            }
        }
        for (int64_t o = 0; o < w->out; o += 2 * RY_W) {
            if (w->out - o > RY_W) {
                search_vectors(s, search, count, o, 2);
            } else {
                search_vectors(s, search, count, o, 1);
            }
        }
        for (int64_t o = 0; count > 0 && o < w->out; o++) {
            if (search->where[o] >= 0) {
                dx[search->elements[search->where[o]] + o * w->stride] += dy[o];
            }
        }
    }
}

/* The first maximum of one output of an adaptive pool: NaN is larger than any number. */
static int64_t find_maximum(const float *x, const pool_grad_row *rows, int64_t count, int64_t first,
                            int64_t columns)
{
    int64_t best = rows[0].at + first;
    for (int64_t r = 0; r < count; r++) {
        for (int64_t i = rows[r].at + first; i < rows[r].at + first + columns; i++) {
            const bool larger = x[i] > x[best] || (isnan(x[i]) && !isnan(x[best]));
            best = larger ? i : best;
        }
    }
    return best;
}

static void adaptive_plane(const pool_grad_plan *s, const float *dy, const float *x, float *dx,
                           pool_grad_row *rows)
{
    const ry_window_axis *w = pool_grad_along(s);
    memset(dx, 0, (size_t)s->in_size * sizeof *dx);
    for (int64_t row = 0; row < s->out_rows; row++, dy += w->out) {
        const int64_t count = ry_pool_grad_taps(s, row, rows);
        for (int64_t o = 0; o < w->out; o++) {
            dx[find_maximum(x, rows, count, ry_window_at(w, o, 0), ry_window_taps(w, o).end)] +=
                dy[o];
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
    for (int64_t o = 0; w->adaptive && o < w->out; o++) {
        const int64_t first = ry_window_at(w, o, 0), end = first + ry_window_taps(w, o).end;
        for (int64_t i = first; i < end; i++) {
            dx[i] += sum[o];
        }
    }
    for (int64_t tap = 0; tap < w->taps && !w->adaptive; tap++) {
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

/* A window that is the image. */
static void fill_plane(float *dx, int64_t n, float value)
{
    for (int64_t i = 0; i < n; i++) {
        dx[i] = value;
    }
}

static void run_planes(const ry_cpu_launch *launch, const pool_grad_plan *s, int64_t first,
                       int64_t end)
{
    const ry_window_axis *w = pool_grad_along(s);
    pool_grad_row *rows = launch->scratch;
    void *memory = (char *)launch->scratch + pool_grad_rows_size(s);
    const row_search search = search_in(s, memory);
    float *sum = memory, *share = sum + w->out;
    if (s->maximum) {
        begin_search(s, &search);
    } else {
        find_shares(s, share);
    }
    for (int64_t plane = first; plane < end; plane++) {
        const float *dy = (const float *)launch->in[0] + plane * s->out_size;
        float *dx = (float *)launch->out[0] + plane * s->in_size;
        if (s->maximum && w->adaptive) {
            adaptive_plane(s, dy, (const float *)launch->in[1] + plane * s->in_size, dx, rows);
        } else if (s->maximum) {
            maximum_plane(s, dy, (const float *)launch->in[1] + plane * s->in_size, dx, rows,
                          &search);
        } else if (s->whole) {
            fill_plane(dx, s->in_size, dy[0] / (float)s->in_size);
        } else {
            for (int64_t row = 0; row < s->in_rows; row++) {
                average_row(s, dy, row, dx + row * w->in, rows, sum, share);
            }
        }
    }
}

static void run(const ry_cpu_launch *launch, size_t task)
{
    const pool_grad_plan *s = launch->state;
    const ry_cut_range units = ry_cut_part(&s->units, task);
    if (s->last) {
        RY_ISA_SYMBOL(pool_grad_channels)(launch, s, units.first, units.end);
    } else {
        run_planes(launch, s, units.first, units.end);
    }
}

RY_CPU_KERNEL(pool_grad_f32, pool_grad, strict, .simd = RY_SIMD,
              .applicable = ry_pool_grad_applicable, .prepare = ry_pool_grad_prepare,
              .initialise = ry_pool_grad_initialise, .run = run);
