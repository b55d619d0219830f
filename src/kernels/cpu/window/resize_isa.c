/* SPDX-License-Identifier: Apache-2.0 */
/* Resize of one or two spatial dims, f32: nearest, linear and cubic in every coordinate mode but
 * tf_crop_and_resize, with or without antialiasing.
 *
 * Separable: input rows are resized horizontally, then an output row is a weighted sum of those.
 * The few rows that a window of rows shares with the next are kept in a ring (row i in slot i %
 * taps). Memory is seen as [outer][height][width][inner]: inner is 1 for NCHW and the channels for
 * NHWC. A tap of weight 0 counts as a product: an infinity beside it gives NaN. */
#include "kernels/cpu/window/resize_plan.h"

#include "kernels/cpu/parts/cpu_kernel.h"
#include "kernels/cpu/simd/simd.h"

#include <string.h>

static void repeat_row(float *restrict y, const float *restrict x, int64_t n, int64_t times)
{
    if (times == 1) {
        memcpy(y, x, (size_t)n * sizeof *y);
        return;
    }
    if (times == 2) {
        for (int64_t i = 0; i < n; i++) {
            y[2 * i] = x[i];
            y[2 * i + 1] = x[i];
        }
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = 0; k < times; k++) {
            y[i * times + k] = x[i];
        }
    }
}

/* Outputs [begin, end) by the table: gathers, which compilers vectorise where the machine can. */
static void resize_part(const resize_plan *s, float *restrict y, const float *restrict x,
                        int64_t begin, int64_t end)
{
    const resize_axis *t = &s->width;
    const int64_t n = t->out;
    const int32_t *restrict first = resize_firsts(s, t);
    const float *restrict w = resize_weights(s, t);
    if (t->taps == 2) {
        for (int64_t o = begin; o < end; o++) {
            y[o] = w[o] * x[first[o]] + w[n + o] * x[first[o] + 1];
        }
        return;
    }
    for (int64_t o = begin; o < end; o++) {
        y[o] = w[o] * x[first[o]];
    }
    for (int64_t j = 1; j < t->taps; j++) {
        for (int64_t o = begin; o < end; o++) {
            y[o] += w[j * n + o] * x[first[o] + j];
        }
    }
}

/* The repeating outputs: loads side by side and interleaved stores. Inlined with constant taps and
 * period. */
RY_INLINE void resize_period(const resize_plan *s, float *restrict y, const float *restrict x,
                             int taps, int period)
{
    const resize_axis *t = &s->width;
    const int32_t *first = resize_firsts(s, t) + t->begin;
    const float *from[RESIZE_PERIOD];
    float w[RESIZE_PERIOD][RESIZE_RING];
    for (int p = 0; p < period; p++) {
        from[p] = x + first[p];
        for (int j = 0; j < taps; j++) {
            w[p][j] = resize_weights(s, t)[j * t->out + t->begin + p];
        }
    }
    y += t->begin;
    const int64_t count = (t->end - t->begin) / period;
    for (int64_t i = 0; i < count; i++) {
#pragma GCC unroll 4
        for (int p = 0; p < period; p++) {
            float sum = w[p][0] * from[p][i];
#pragma GCC unroll 4
            for (int j = 1; j < taps; j++) {
                sum += w[p][j] * from[p][i + j];
            }
            y[i * period + p] = sum;
        }
    }
}

/* A row of single floats. */
static void resize_row(const resize_plan *s, float *restrict y, const float *restrict x)
{
    const resize_axis *t = &s->width;
    if (t->repeat > 0) {
        repeat_row(y, x, t->in, t->repeat);
        return;
    }
    if (t->plain) {
        const int32_t *restrict first = resize_firsts(s, t);
        for (int64_t o = 0; o < t->out; o++) {
            y[o] = x[first[o]];
        }
        return;
    }
    switch (t->period * (t->taps == 2 || t->taps == 4 ? 10 : 0) + t->taps) {
    case 22: resize_period(s, y, x, 2, 2); break;
    case 32: resize_period(s, y, x, 2, 3); break;
    case 42: resize_period(s, y, x, 2, 4); break;
    case 24: resize_period(s, y, x, 4, 2); break;
    case 34: resize_period(s, y, x, 4, 3); break;
    case 44: resize_period(s, y, x, 4, 4); break;
    default: resize_part(s, y, x, 0, t->out); return;
    }
    resize_part(s, y, x, 0, t->begin);
    resize_part(s, y, x, t->end, t->out);
}

static void scale_into(float *restrict y, const float *restrict x, int64_t n, float w)
{
    for (int64_t i = 0; i < n; i++) {
        y[i] = w * x[i];
    }
}

static void add_scaled(float *restrict y, const float *restrict x, int64_t n, float w)
{
    for (int64_t i = 0; i < n; i++) {
        y[i] += w * x[i];
    }
}

static void blend(float *restrict y, const float *restrict a, const float *restrict b, int64_t n,
                  float v, float w)
{
    for (int64_t i = 0; i < n; i++) {
        y[i] = v * a[i] + w * b[i];
    }
}

static void blend_four(float *restrict y, const float *const *x, int64_t n, const float *w)
{
    const float *restrict a = x[0], *restrict b = x[1], *restrict c = x[2], *restrict d = x[3];
    const float u = w[0], v = w[1], s = w[2], t = w[3];
    for (int64_t i = 0; i < n; i++) {
        y[i] = u * a[i] + v * b[i] + (s * c[i] + t * d[i]);
    }
}

/* A row of pixels of `inner` floats. */
static void resize_pixels(const resize_plan *s, float *y, const float *x)
{
    const resize_axis *t = &s->width;
    const int64_t n = s->inner;
    for (int64_t o = 0; o < t->out; o++) {
        const float *from = x + resize_firsts(s, t)[o] * n, *w = resize_weights(s, t) + o * t->taps;
        float *to = y + o * n;
        if (t->plain) {
            memcpy(to, from, (size_t)n * sizeof *to);
        } else if (t->taps == 2) {
            blend(to, from, from + n, n, w[0], w[1]);
        } else if (t->taps == 4) {
            blend_four(to, (const float *[]){from, from + n, from + 2 * n, from + 3 * n}, n, w);
        } else {
            scale_into(to, from, n, w[0]);
            for (int64_t j = 1; j < t->taps; j++) {
                add_scaled(to, from + j * n, n, w[j]);
            }
        }
    }
}

static void resize_width(const resize_plan *s, float *y, const float *x)
{
    if (s->inner == 1) {
        resize_row(s, y, x);
    } else {
        resize_pixels(s, y, x);
    }
}

/* The weighted sum of resized rows, each made when it is needed. */
static void output_row(const resize_plan *s, const float *plane, int64_t o, float *y, float *ring,
                       int64_t *held)
{
    const resize_axis *t = &s->height;
    const int64_t n = s->width.out * s->inner, line = s->width.in * s->inner,
                  pitch = (n + 15) / 16 * 16;
    const int64_t first = resize_firsts(s, t)[o], slots = t->taps <= RESIZE_RING ? t->taps : 1;
    const float *w = resize_weights(s, t) + o * t->taps,
                *row[RESIZE_RING] = {plane, plane, plane, plane};
    for (int64_t j = 0; j < t->taps; j++) {
        int64_t i = first + j, slot = i % slots;
        const float *resized = s->width.repeat == 1 ? plane + i * line : ring + slot * pitch;
        if (s->width.repeat != 1 && held[slot] != i) {
            resize_width(s, ring + slot * pitch, plane + i * line);
            held[slot] = i;
        }
        if (t->taps > RESIZE_RING) {
            (j == 0 ? scale_into : add_scaled)(y, resized, n, w[j]);
        } else {
            row[j] = resized;
        }
    }
    if (t->taps == 1) {
        scale_into(y, row[0], n, w[0]);
    } else if (t->taps == 4) {
        blend_four(y, row, n, w);
    } else if (t->taps <= RESIZE_RING) {
        blend(y, row[0], row[1], n, w[0], w[1]);
        for (int64_t j = 2; j < t->taps; j++) {
            add_scaled(y, row[j], n, w[j]);
        }
    }
}

static void run(const ry_cpu_launch *launch, size_t task)
{
    const resize_plan *s = launch->state;
    const int64_t n = s->width.out * s->inner, line = s->width.in * s->inner;
    int64_t plane = (int64_t)task / s->tasks_per_plane,
            first = (int64_t)task % s->tasks_per_plane * s->rows_per_task;
    int64_t end =
        first + s->rows_per_task < s->height.out ? first + s->rows_per_task : s->height.out;
    const float *x = (const float *)launch->in[0] + plane * s->height.in * line;
    float *y = (float *)launch->out[0] + plane * s->height.out * n;
    float *ring = launch->scratch;
    int64_t held[RESIZE_RING] = {-1, -1, -1, -1};
    const int32_t *from = resize_firsts(s, &s->height);
    for (int64_t o = first; o < end; o++) {
        if (!s->height.plain) {
            output_row(s, x, o, y + o * n, ring, held);
        } else if (o > first && from[o] == from[o - 1]) {
            memcpy(y + o * n, y + (o - 1) * n, (size_t)n * sizeof *y);
        } else {
            resize_width(s, y + o * n, x + from[o] * line);
        }
    }
}

RY_CPU_KERNEL(resize_f32, resize, strict, .simd = RY_SIMD, .applicable = ry_resize_applicable,
              .prepare = ry_resize_prepare, .initialise = ry_resize_initialise, .run = run);
