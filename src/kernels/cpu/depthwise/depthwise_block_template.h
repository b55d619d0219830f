/* SPDX-License-Identifier: Apache-2.0 */
/* The variant of a block: a few neighbouring pixels of one or two lines, for all channels of a
 * task. Included by the sources that make functions of it. */
#ifndef RY_KERNELS_CPU_DEPTHWISE_DEPTHWISE_BLOCK_TEMPLATE_H
#define RY_KERNELS_CPU_DEPTHWISE_DEPTHWISE_BLOCK_TEMPLATE_H

#include "kernels/cpu/depthwise/depthwise_nhwc.h"
#include "kernels/cpu/parts/tile_lines.h"
#include "kernels/cpu/simd/simd.h"

/* Where and how a vector reads from each address. */
typedef struct from {
    int64_t at, left;
    ry_vi lanes;
    ry_vm low, high; /* readable lanes of the one or two vectors */
} from;

RY_INLINE ry_vf load_x(const float *x, const from *f, const int sources)
{
    if (sources == 2) {
        return ry_vf_permute2(ry_vf_load_m(x + f->at, f->low),
                              ry_vf_load_m(x + f->at + RY_W, f->high), f->lanes, ry_vm_first(RY_W));
    }
    if (sources == 1) {
        return ry_vf_permute(ry_vf_load_m(x + f->at, f->low), f->lanes);
    }
    return f->left >= RY_W ? ry_vf_load(x + f->at) : ry_vf_load_m(x + f->at, f->low);
}

RY_INLINE void load_taps(const float *weight, int64_t step, ry_vf *w, const int window)
{
#pragma GCC unroll 16
    for (int s = 0; s < window; s++) {
        w[s] = ry_vf_load(weight + s * step);
    }
}

/* Adds pixel `q` of a row to one line's sums. */
RY_INLINE void add_pixel(ry_vf *sum, const ry_vf *w, ry_vf x, const int q, const int window,
                         const int stride, const int pixels)
{
#pragma GCC unroll 8
    for (int p = 0; p < pixels; p++) {
        const int s = q - p * stride;
        if (s >= 0 && s < window) {
            sum[p] = ry_vf_fma(w[s], x, sum[p]);
        }
    }
}

/* Adds row `first` of x to line 0 and row `second` to line 1, whose window begins `stride` rows
 * later: the same row is loaded once. Two lines' sums in turns give a sum that has been added to
 * the time that it takes. */
RY_INLINE void add_rows(const depthwise_block *b, const float *const *pixel, const float *weight,
                        const from *f, const int first, const int second,
                        ry_vf sum[NHWC_ROWS][NHWC_PIXELS], const int window, const int stride,
                        const int pixels, const int sources)
{
    ry_vf w[NHWC_ROWS][MAX_NHWC_WINDOW];
    const int field = (pixels - 1) * stride + window;
    load_taps(weight + first * window * b->packed_step, b->packed_step, w[0], window);
    load_taps(weight + (second - stride) * window * b->packed_step, b->packed_step, w[1], window);
#pragma GCC unroll 32
    for (int q = 0; q < field; q++) {
        const ry_vf x = load_x(pixel[first * field + q], f, sources);
        add_pixel(sum[0], w[0], x, q, window, stride, pixels);
        add_pixel(sum[1], w[1], second == first ? x : load_x(pixel[second * field + q], f, sources),
                  q, window, stride, pixels);
    }
}

/* One row of x of a block of one line. */
RY_INLINE void add_row(const depthwise_block *b, const float *const *pixel, const float *weight,
                       const from *f, int64_t row, ry_vf *sum, const int window, const int stride,
                       const int pixels, const int sources)
{
    ry_vf w[MAX_NHWC_WINDOW];
    const int field = (pixels - 1) * stride + window;
    load_taps(weight + row * window * b->packed_step, b->packed_step, w, window);
    pixel += row * field;
#pragma GCC unroll 32
    for (int q = 0; q < field; q++) {
        add_pixel(sum, w, load_x(pixel[q], f, sources), q, window, stride, pixels);
    }
}

/* One row of x, the table's first, that both lines of a block read: line 0 with the taps at
 * `weight`, line 1 with those `stride` rows before. */
RY_INLINE void add_shared(const depthwise_block *b, const float *const *pixel, const float *weight,
                          const from *f, ry_vf sum[NHWC_ROWS][NHWC_PIXELS], const int window,
                          const int stride, const int pixels, const int sources)
{
    ry_vf w[NHWC_ROWS][MAX_NHWC_WINDOW];
    const int field = (pixels - 1) * stride + window;
    load_taps(weight, b->packed_step, w[0], window);
    load_taps(weight - stride * window * b->packed_step, b->packed_step, w[1], window);
#pragma GCC unroll 32
    for (int q = 0; q < field; q++) {
        const ry_vf x = load_x(pixel[q], f, sources);
        add_pixel(sum[0], w[0], x, q, window, stride, pixels);
        add_pixel(sum[1], w[1], x, q, window, stride, pixels);
    }
}

/* A row of any window, tap by tap. */
RY_INLINE void add_taps(const depthwise_block *b, const float *const *pixel, const float *weight,
                        const from *f, ry_vf sum[NHWC_PIXELS], const int pixels, const int sources)
{
    for (int64_t s = 0; s < b->columns; s++, pixel += b->tap_step, weight += b->packed_step) {
        const ry_vf w = ry_vf_load(weight);
#pragma GCC unroll 8
        for (int p = 0; p < pixels; p++) {
            sum[p] = ry_vf_fma(w, load_x(pixel[p * b->pixel_step], f, sources), sum[p]);
        }
    }
}

/* The group's channels of a row one after the other: they are in the same lines of the cache, which
 * the next row may take away. */
#define FOR_DEPTH            \
    const float *w = weight; \
    from f = *start;         \
    for (int64_t d = 0; d < (sources ? b->depth : 1); d++, f.at++, w += b->taps * b->packed_step)

/* The rows of two lines with a window of 5 or more: those of line 0 alone, of both, of line 1
 * alone, as far as they are inside x. */
RY_INLINE void add_pair(const depthwise_block *b, const float *const *pixel, const float *weight,
                        const from *start, ry_vf sum[NHWC_ROWS][NHWC_PIXELS], const int window,
                        const int stride, const int pixels, const int sources)
{
    const int64_t field = (pixels - 1) * stride + window, row = window * b->packed_step,
                  end = b->first_row + b->rows;
    int64_t j = b->first_row;
    weight += j * row;
    for (; j < stride && j < end; j++, pixel += field, weight += row) {
        FOR_DEPTH
        {
            add_row(b, pixel, w, &f, 0, sum[0], window, stride, pixels, sources);
        }
    }
    for (; j < b->line_rows && j < end; j++, pixel += field, weight += row) {
        FOR_DEPTH
        {
            add_shared(b, pixel, w, &f, sum, window, stride, pixels, sources);
        }
    }
    for (weight -= stride * row; j < end; j++, pixel += field, weight += row) {
        FOR_DEPTH
        {
            add_row(b, pixel, w, &f, 0, sum[1], window, stride, pixels, sources);
        }
    }
}

RY_INLINE void add_slice(const depthwise_block *b, const float *const *pixel, const float *weight,
                         const from *start, ry_vf sum[NHWC_ROWS][NHWC_PIXELS], const int window,
                         const int stride, const int height, const int pixels, const int sources)
{
    if (height == 2 && window > 3) {
        add_pair(b, pixel, weight, start, sum, window, stride, pixels, sources);
        return;
    }
    if (height == 2) {
#pragma GCC unroll 4
        for (int j = 0; j < 3; j++) {
            FOR_DEPTH
            {
                add_rows(b, pixel, w, &f, j, j < stride ? j + 3 : j, sum, window, stride, pixels,
                         sources);
            }
        }
        return;
    }
    for (int64_t j = 0; j < b->rows; j++) {
        FOR_DEPTH
        {
            if (window == 0) {
                add_taps(b, pixel + j * b->row_step, w + j * b->columns * b->packed_step, &f,
                         sum[0], pixels, sources);
            } else {
                add_row(b, pixel, w, &f, j, sum[0], window, stride, pixels, sources);
            }
        }
    }
}

RY_INLINE void end_block(const depthwise_block *b, int64_t c, int64_t left, int64_t lanes,
                         ry_vf sum[NHWC_ROWS][NHWC_PIXELS], const int height, const int pixels)
{
    const ry_vf low = ry_vf_set(b->low), high = ry_vf_set(b->high);
    const int64_t at = c + b->to_shift;
#pragma GCC unroll 2
    for (int i = 0; i < height; i++) {
#pragma GCC unroll 8
        for (int p = 0; p < pixels; p++) {
            const ry_vf y = ry_vf_min(high, ry_vf_max(low, sum[i][p]));
            if (left >= RY_W) {
                /* lanes that are none are written again by the next vector */
                ry_vf_store(b->to[i * pixels + p] + at, y);
            } else {
                ry_vf_store_first(b->to[i * pixels + p] + at, lanes, y);
            }
        }
    }
}

/* Asks for lines of a block to come: of x, at `at`, its fresh rows, and of y. A vector's at a time:
 * memory's prefetchers do not follow from pixel to pixel, and all of a block's at once gained
 * nothing. */
RY_INLINE void prefetch(const depthwise_block *b, int64_t at, int64_t c, const int window,
                        const int stride, const int height, const int pixels)
{
    const int field = (pixels - 1) * stride + window, fresh = pixels * stride;
    const float *const *end = b->x + (b->slices - 1) * b->slice_step + b->rows * field;
    for (int64_t i = 0; i < b->fresh; i++, end -= field) {
#pragma GCC unroll 16
        for (int q = 1; q <= fresh; q++) {
            __builtin_prefetch(end[-q] + b->prefetch_x + at, 0, 3);
        }
    }
#pragma GCC unroll 16
    for (int i = 0; i < height * pixels; i++) {
        __builtin_prefetch(b->to[i] + b->to_shift + b->prefetch_y + c, 1, 3);
    }
}

/* Vector `packed` / RY_W, whose outputs begin with channel c: `left` channels are left. */
RY_INLINE void sum_vector(const depthwise_block *b, int64_t packed, int64_t c, int64_t left,
                          const from *f, const int window, const int stride, const int height,
                          const int pixels, const int sources)
{
    ry_vf sum[NHWC_ROWS][NHWC_PIXELS];
    const ry_vf bias = ry_vf_load(b->bias + packed);
#pragma GCC unroll 2
    for (int i = 0; i < height; i++) {
#pragma GCC unroll 8
        for (int p = 0; p < pixels; p++) {
            sum[i][p] = bias;
        }
    }
    const float *const *pixel = b->x;
    const float *weight = b->weight + packed;
    for (int64_t z = 0; z < b->slices;
         z++, pixel += b->slice_step, weight += b->slice_taps * b->packed_step) {
        add_slice(b, pixel, weight, f, sum, window, stride, height, pixels, sources);
    }
    end_block(b, c, left, left < b->lanes ? left : b->lanes, sum, height, pixels);
}

RY_INLINE void sum_block(const depthwise_block *b, const int window, const int stride,
                         const int height, const int pixels)
{
    from f = {.left = RY_W};
    int64_t c = 0;
    for (; c + RY_W <= b->channels; c += RY_W) {
        f.at = c + b->shift;
        if (window > 0 && b->fresh > 0 && c % RY_LINE_FLOATS == 0) {
            prefetch(b, f.at, c, window, stride, height, pixels);
        }
        sum_vector(b, c, c, RY_W, &f, window, stride, height, pixels, 0);
    }
    if (c < b->channels) {
        f.at = c + b->shift;
        f.left = b->channels - c;
        f.low = ry_vm_first(f.left);
        sum_vector(b, c, c, f.left, &f, window, stride, height, pixels, 0);
    }
}

RY_INLINE void sum_permuted(const depthwise_block *b, const int window, const int stride,
                            const int height, const int pixels, const int sources)
{
    const depthwise_reading *reading = b->reading;
    for (int64_t c = 0, packed = 0; c < b->channels; c += b->lanes, packed += RY_W, reading++) {
        from f = {.at = reading->at + b->shift,
                  .lanes = ry_vi_load(reading->lane),
                  .low = ry_vm_first(reading->last + 1),
                  .high = ry_vm_first(reading->last >= RY_W ? reading->last + 1 - RY_W : 0)};
        if (window > 0 && b->fresh > 0) {
            prefetch(b, f.at, c, window, stride, height, pixels);
        }
        sum_vector(b, packed, c, b->channels - c, &f, window, stride, height, pixels, sources);
    }
}

typedef void (*block_function)(const depthwise_block *b);

#endif
