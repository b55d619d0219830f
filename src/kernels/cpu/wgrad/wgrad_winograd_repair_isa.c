/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of a weight gradient that are not finite, from positions alone: infinities and NaNs count
 * where a tap meets them. Sums that only overflowed on the way become finite. */
#include "base/integer.h"
#include "kernels/cpu/parts/pack_rows.h"
#include "kernels/cpu/simd/simd.h"
#include "kernels/cpu/wgrad/wgrad_winograd.h"

#include <float.h>
#include <math.h>

/* A part of a line: positions [begin, end), and dy there, a vector of output channels at a time. */
typedef struct span {
    int64_t line, begin, end;
    const float *dy; /* at the first position */
    int64_t step;    /* floats from position to position */
    ry_vm columns;
} span;

/* Positions of the span whose tap j meets an element of x. */
static ry_window_range meeting(const wgrad_shape *s, const span *of, int64_t j)
{
    const ry_window_range all = wgrad_valid_range(&s->axis[2], j);
    return (ry_window_range){ry_max(all.begin, of->begin), ry_min(all.end, of->end)};
}

/* Positions of which all taps of `rows` rows meet elements of x: `x` is the first tap's. */
RY_INLINE void add_inside(const wgrad_shape *s, const span *of, ry_window_range at, const float *x,
                          const int rows, ry_vf *total)
{
    const int64_t row = s->x.step[1], next = s->x.step[2];
    ry_vf sum[WGRAD_WINDOW];
#pragma GCC unroll 16
    for (int tap = 0; tap < rows * WGRAD_TAPS; tap++) {
        sum[tap] = ry_vf_zero();
    }
    for (int64_t i = at.begin; i < at.end; i++, x += next) {
        const ry_vf d = ry_vf_load_m(of->dy + (i - of->begin) * of->step, of->columns);
#pragma GCC unroll 16
        for (int tap = 0; tap < rows * WGRAD_TAPS; tap++) {
            sum[tap] = ry_vf_fma(ry_vf_set(x[tap / WGRAD_TAPS * row + tap % WGRAD_TAPS * next]), d,
                                 sum[tap]);
        }
    }
#pragma GCC unroll 16
    for (int tap = 0; tap < rows * WGRAD_TAPS; tap++) {
        total[tap] = ry_vf_add(total[tap], sum[tap]);
    }
}

/* A span of positions of an image, a vector of output channels at a time. */
static void add_channels(const wgrad_shape *s, const float *x, const span *of,
                         ry_vf total[WGRAD_WINDOW])
{
    const ry_window_axis *down = &s->axis[1], *along = &s->axis[2];
    const ry_window_range rows = ry_window_taps(down, of->line);
    ry_window_range tap[WGRAD_TAPS], inside = {of->begin, of->end};
    for (int64_t j = 0; j < WGRAD_TAPS; j++) {
        tap[j] = meeting(s, of, j);
        inside.begin = ry_max(inside.begin, tap[j].begin);
        inside.end = ry_min(inside.end, tap[j].end);
    }
    inside.end = ry_max(inside.begin, inside.end);
    const float *first = x + ry_window_at(along, inside.begin, 0) * s->x.step[2];
    if (rows.begin == 0 && rows.end == WGRAD_TAPS) {
        add_inside(s, of, inside, first + ry_window_at(down, of->line, 0) * s->x.step[1],
                   WGRAD_TAPS, total);
    } else {
        for (int64_t i = rows.begin; i < rows.end; i++) {
            add_inside(s, of, inside, first + ry_window_at(down, of->line, i) * s->x.step[1], 1,
                       total + i * WGRAD_TAPS);
        }
    }
    for (int64_t j = 0; j < WGRAD_TAPS; j++) {
        for (int64_t at = tap[j].begin; at < tap[j].end; at++) {
            if (at == inside.begin && inside.end > at) {
                at = inside.end - 1;
                continue;
            }
            const ry_vf d = ry_vf_load_m(of->dy + (at - of->begin) * of->step, of->columns);
            for (int64_t i = rows.begin; i < rows.end; i++) {
                const float *from = x + ry_window_at(down, of->line, i) * s->x.step[1] +
                                    ry_window_at(along, at, j) * s->x.step[2];
                ry_vf *to = &total[i * WGRAD_TAPS + j];
                *to = ry_vf_fma(ry_vf_set(*from), d, *to);
            }
        }
    }
}

/* A line of positions that are neighbours in memory, a vector of them at a time. */
static void add_neighbours(const wgrad_shape *s, const float *x, const float *dy, int64_t line,
                           ry_vf total[WGRAD_WINDOW])
{
    const ry_window_axis *down = &s->axis[1], *along = &s->axis[2];
    const ry_window_range rows = ry_window_taps(down, line);
    for (int64_t i = rows.begin; i < rows.end; i++) {
        const float *x_line = x + ry_window_at(down, line, i) * s->x.step[1];
        for (int64_t j = 0; j < WGRAD_TAPS; j++) {
            const ry_window_range valid = wgrad_valid_range(along, j);
            ry_vf sum = ry_vf_zero();
            for (int64_t at = valid.begin; at < valid.end; at += RY_W) {
                const ry_vm lanes = ry_vm_first(valid.end - at);
                sum = ry_vf_fma(ry_vf_load_m(x_line + ry_window_at(along, at, j), lanes),
                                ry_vf_load_m(dy + at, lanes), sum);
            }
            ry_vf *to = &total[i * WGRAD_TAPS + j];
            *to = ry_vf_add(*to, sum);
        }
    }
}

/* A line, a vector of output channels at a time. Strided channels are copied, a span at a time. */
static void add_line(const wgrad_shape *s, const float *x, const float *dy, int64_t line,
                     int64_t columns, ry_vf total[WGRAD_WINDOW])
{
    enum { COPIED = 64 };
    float copy[COPIED * RY_W];
    const int64_t out = s->axis[2].out, length = s->dy.channel == 1 ? out : COPIED;
    for (int64_t begin = 0; begin < out; begin += length) {
        span part = {line,
                     begin,
                     ry_min(begin + length, out),
                     dy + begin * s->dy.step[2],
                     s->dy.step[2],
                     ry_vm_first(columns)};
        if (s->dy.channel != 1) {
            RY_ISA_SYMBOL(pack_micropanel)
            (RY_f32, part.dy, s->dy.step[2], s->dy.channel, part.end - begin, ry_min(columns, RY_W),
             RY_W, copy);
            part.dy = copy;
            part.step = RY_W;
        }
        add_channels(s, x, &part, total);
    }
}

/* Sums that are computed again: those of an input channel and the output channels of a vector, or
 * one of them. */
typedef struct pair {
    const float *x, *dy; /* first elements */
    int64_t columns;     /* output channels */
    float *sums;
    bool neighbours; /* one output channel, whose positions are neighbours in memory */
} pair;

/* Pairs whose lines are read one after another while they are in the cache. */
typedef struct batch {
    const wgrad_shape *shape;
    int64_t pitch;
    int count;
    pair pair[32];
} batch;

static void sum_again(batch *b)
{
    enum { MOST = sizeof b->pair / sizeof *b->pair };
    const wgrad_shape *s = b->shape;
    const int64_t lines = s->axis[1].out;
    ry_vf total[MOST][WGRAD_WINDOW];
    for (int i = 0; i < b->count * WGRAD_WINDOW; i++) {
        total[i / WGRAD_WINDOW][i % WGRAD_WINDOW] = ry_vf_zero();
    }
    for (int64_t at = 0; at < s->images * lines; at++) {
        const int64_t image = at / lines, line = at % lines;
        for (int i = 0; i < b->count; i++) {
            const pair *p = &b->pair[i];
            const float *x = p->x + image * s->x.image,
                        *dy = p->dy + image * s->dy.image + line * s->dy.step[1];
            if (p->neighbours) {
                add_neighbours(s, x, dy, line, total[i]);
            } else {
                add_line(s, x, dy, line, p->columns, total[i]);
            }
        }
    }
    for (int i = 0; i < b->count; i++) {
        for (int tap = 0; tap < WGRAD_WINDOW; tap++) {
            float *to = b->pair[i].sums + tap * b->pitch;
            if (b->pair[i].neighbours) {
                *to = ry_vf_sum(total[i][tap]);
            } else {
                ry_vf_store(to, total[i][tap]);
            }
        }
    }
    b->count = 0;
}

static void add_pair(batch *b, const pair *p)
{
    b->pair[b->count++] = *p;
    if (b->count == sizeof b->pair / sizeof *b->pair) {
        sum_again(b);
    }
}

/* Bits of the output channels of a vector whose sums are not all finite. */
static unsigned find_not_finite(const float *sums, int64_t pitch)
{
    unsigned found = 0;
    for (int tap = 0; tap < WGRAD_WINDOW; tap++) {
        for (int i = 0; i < RY_W; i++) {
            found |= (unsigned)!(fabsf(sums[tap * pitch + i]) <= FLT_MAX) << i;
        }
    }
    return found;
}

/* Which channels of a vector are uneven? A channel whose probes are all 0 has nothing to compare
 * with. */
static void find_uneven(const wgrad_squares *s, int64_t vector, bool uneven[RY_W])
{
    const float *at = s->at + vector * WGRAD_SQUARES * RY_W;
    ry_vf largest = ry_vf_zero(), a = ry_vf_zero(), b = ry_vf_zero();
    for (int64_t part = 0; part < s->parts; part++, at += s->part_floats) {
        largest = ry_vf_max(largest, ry_vf_load(at + WGRAD_LARGEST * RY_W));
        a = ry_vf_add(a, ry_vf_load(at + WGRAD_PROBE_A * RY_W));
        b = ry_vf_add(b, ry_vf_load(at + WGRAD_PROBE_B * RY_W));
    }
    float most[RY_W], probe[2][RY_W];
    ry_vf_store(most, largest);
    ry_vf_store(probe[0], a);
    ry_vf_store(probe[1], b);
    for (int i = 0; i < RY_W; i++) {
        const float rest = fminf(probe[0][i], probe[1][i]);
        uneven[i] = rest > 0 && !(most[i] <= WGRAD_CONTRAST * rest);
    }
}

/* Sums of `channels` by `columns`. */
static void poison(int64_t channels, int64_t columns, float *sums, int64_t pitch)
{
    for (int64_t row = 0; row < channels * WGRAD_WINDOW; row++) {
        for (int64_t k = 0; k < columns; k++) {
            sums[row * pitch + k] = NAN;
        }
    }
}

void RY_ISA_SYMBOL(wgrad_winograd_poison)(const wgrad_squares *x, int64_t channel, int64_t channels,
                                          const wgrad_squares *dy, int64_t columns, float *sums,
                                          int64_t pitch)
{
    bool uneven[RY_W];
    for (int64_t c = channel; c < channel + channels; c++) {
        if (c == channel || c % RY_W == 0) {
            find_uneven(x, c / RY_W, uneven);
        }
        poison(uneven[c % RY_W], columns, sums + (c - channel) * WGRAD_WINDOW * pitch, pitch);
    }
    for (int64_t k = 0; k < columns; k++) {
        if (k % RY_W == 0) {
            find_uneven(dy, k / RY_W, uneven);
        }
        poison(uneven[k % RY_W] ? channels : 0, 1, sums + k, pitch);
    }
}

/* The pairs of an input channel and a vector of output channels, `bad` of which are not finite. */
static void add_pairs(batch *b, pair all, unsigned bad)
{
    enum { FEW = RY_W / 4 }; /* with more, copies of a whole vector's lines are faster */
    const wgrad_shape *s = b->shape;
    if (s->x.step[2] != 1 || s->dy.step[2] != 1 || __builtin_popcount(bad) > FEW) {
        add_pair(b, &all);
        return;
    }
    all.neighbours = true;
    for (; bad; bad >>= 1, all.dy += s->dy.channel, all.sums++) {
        if (bad & 1) {
            add_pair(b, &all);
        }
    }
}

void RY_ISA_SYMBOL(wgrad_winograd_repair)(const wgrad_shape *s, const float *x, const float *dy,
                                          int64_t channels, int64_t columns, float *sums,
                                          int64_t pitch)
{
    batch b = {.shape = s, .pitch = pitch};
    const int64_t vectors = ry_ceil_div(columns, RY_W);
    for (int64_t i = 0; i < channels * vectors; i++) {
        const int64_t c = i / vectors, k = i % vectors * RY_W;
        const pair all = {x + c * s->x.channel, dy + k * s->dy.channel, columns - k,
                          sums + c * WGRAD_WINDOW * pitch + k, false};
        const unsigned bad = find_not_finite(all.sums, pitch);
        if (bad) {
            add_pairs(&b, all, bad);
        }
    }
    sum_again(&b);
}
