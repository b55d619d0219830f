/* SPDX-License-Identifier: Apache-2.0 */
/* The gradient of pooling with vectors along channels. */
#include "kernels/cpu/window/pool_grad_channels.h"

#include "base/integer.h"
#include "kernels/cpu/simd/simd.h"

#include <string.h>

/* An image of some channels. */
typedef struct block_image {
    const float *dy, *x;
    float *dx;
    int64_t channels, width; /* from one position to the next; of the channels */
} block_image;

static void clear(const block_image *b, int64_t first, int64_t end)
{
    for (int64_t i = first; i < end; i++) {
        memset(b->dx + i * b->channels, 0, (size_t)b->width * sizeof *b->dx);
    }
}

/* One tap, as number `tap` of a window's: NaN is larger than any number, and the first of equals
 * stays. */
RY_INLINE void search_tap(float *restrict best, int32_t *restrict where, const float *restrict x,
                          int64_t n, int32_t tap)
{
    for (int64_t c = 0; c < n; c++) {
        const float v = x[c], b = best[c];
        const int larger = (v > b) | ((v != v) & (b == b));
        best[c] = larger ? v : b;
        where[c] = larger ? tap : where[c];
    }
}

RY_INLINE void give_tap(float *restrict dx, const float *restrict dy, const int32_t *restrict where,
                        int64_t n, int32_t tap)
{
    for (int64_t c = 0; c < n; c++) {
        dx[c] += where[c] == tap ? dy[c] : 0;
    }
}

/* An output position whose window meets `columns` positions from `first` on, `apart` from each
 * other, in each of `count` rows. Inlined with the block's width as a constant. */
RY_INLINE void maximum_position(const block_image *b, const float *dy, const pool_grad_row *rows,
                                int64_t count, int64_t first, int64_t columns, int64_t apart,
                                const int64_t width)
{
    float best[POOL_GRAD_BLOCK];
    int32_t where[POOL_GRAD_BLOCK];
    for (int64_t c = 0; c < width; c++) {
        best[c] = b->x[(rows[0].at + first) * b->channels + c];
        where[c] = 0;
    }
    for (int64_t r = 0; r < count; r++) {
        for (int64_t k = r == 0 ? 1 : 0; k < columns; k++) {
            search_tap(best, where, b->x + (rows[r].at + first + k * apart) * b->channels, width,
                       (int32_t)(r * columns + k));
        }
    }
    for (int64_t r = 0; r < count; r++) {
        for (int64_t k = 0; k < columns; k++) {
            give_tap(b->dx + (rows[r].at + first + k * apart) * b->channels, dy, where, width,
                     (int32_t)(r * columns + k));
        }
    }
}

static void maximum_row(const pool_grad_plan *s, const block_image *b, const float *dy,
                        const pool_grad_row *rows, int64_t count)
{
    const ry_window_axis *w = pool_grad_along(s);
    for (int64_t o = 0; o < w->out; o++, dy += b->channels) {
        const ry_window_range taps = ry_window_taps(w, o);
        const int64_t first = ry_window_at(w, o, taps.begin), columns = taps.end - taps.begin;
        if (columns == 0) {
            continue;
        }
        for (int64_t c = 0; c < b->width; c += POOL_GRAD_BLOCK) {
            const block_image one = {b->dy, b->x + c, b->dx + c, b->channels, 0};
            if (c + POOL_GRAD_BLOCK <= b->width) {
                maximum_position(&one, dy + c, rows, count, first, columns, w->dilation,
                                 POOL_GRAD_BLOCK);
            } else {
                maximum_position(&one, dy + c, rows, count, first, columns, w->dilation,
                                 b->width - c);
            }
        }
    }
}

/* The image is cleared as windows get to it, slice by slice of its first dim: what a window adds
 * to is in the cache. */
static void maximum_image(const pool_grad_plan *s, const block_image *b, pool_grad_row *rows)
{
    const ry_window_axis *outer = &s->window.axis[0], *w = pool_grad_along(s);
    const int64_t slice = s->in_size / outer->in, out_slice = s->out_size / outer->out;
    int64_t cleared = 0;
    for (int64_t row = 0; row < s->out_rows; row++) {
        const int64_t o = row * w->out / out_slice;
        const int64_t last =
            s->window.rank == 1 ? outer->in : ry_window_at(outer, o, outer->taps - 1) + 1;
        const int64_t reached = ry_clamp(last, cleared, outer->in);
        clear(b, cleared * slice, reached * slice);
        cleared = reached;
        const int64_t count = ry_pool_grad_taps(s, row, rows);
        if (count > 0) {
            maximum_row(s, b, b->dy + row * w->out * b->channels, rows, count);
        }
    }
    clear(b, cleared * slice, s->in_size);
}

/* dx = or += dy * share */
RY_INLINE void add_position(float *restrict dx, const float *restrict dy, int64_t n, float share,
                            bool first)
{
    if (first) {
        for (int64_t c = 0; c < n; c++) {
            dx[c] = dy[c] * share;
        }
        return;
    }
    for (int64_t c = 0; c < n; c++) {
        dx[c] += dy[c] * share;
    }
}

static void average_row(const pool_grad_plan *s, const float *dy, int64_t row, float *dx,
                        pool_grad_row *rows)
{
    const ry_window_axis *w = pool_grad_along(s);
    const int64_t count = ry_pool_grad_readers(s, row, rows);
    for (int64_t i = 0; i < w->in; i++, dx += s->channels) {
        const ry_window_readers across = ry_window_readers_of(w, i);
        if (count == 0 || across.count == 0) {
            memset(dx, 0, (size_t)s->channels * sizeof *dx);
        }
        for (int64_t r = 0; r < count; r++) {
            for (int64_t k = 0; k < across.count; k++) {
                const int64_t o = across.out + k * across.out_step;
                const float share = (float)(rows[r].share / (double)ry_pool_grad_counted(s, w, o));
                add_position(dx, dy + (rows[r].at + o) * s->channels, s->channels, share,
                             r == 0 && k == 0);
            }
        }
    }
}

void RY_ISA_SYMBOL(pool_grad_channels)(const ry_cpu_launch *launch, const pool_grad_plan *s,
                                       int64_t first, int64_t end)
{
    pool_grad_row *rows = launch->scratch;
    const int64_t units = s->maximum ? s->groups : s->in_rows;
    for (int64_t unit = first; unit < end; unit++) {
        const int64_t image = unit / units, at = unit % units;
        const float *dy = (const float *)launch->in[0] + image * s->out_size * s->channels;
        const int64_t in = image * s->in_size * s->channels, c = at * s->width;
        if (s->maximum) {
            const block_image b = {dy + c, (const float *)launch->in[1] + in + c,
                                   (float *)launch->out[0] + in + c, s->channels,
                                   ry_min(s->channels - c, s->width)};
            maximum_image(s, &b, rows);
        } else {
            const int64_t line = pool_grad_along(s)->in * s->channels;
            average_row(s, dy, at, (float *)launch->out[0] + in + at * line, rows);
        }
    }
}
