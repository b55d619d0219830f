/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a block: a few neighbouring pixels of one or two rows, for all channels of a task. */
#include "kernels/cpu/common/simd.h"
#include "kernels/cpu/depthwise/depthwise_nhwc.h"

RY_INLINE ry_vf load_x(const float *x, int64_t left)
{
    return left >= RY_W ? ry_vf_load(x) : ry_vf_load_m(x, ry_vm_first(left));
}

/* x of the block is at its addresses plus `at`. Adds one row of it to one or two rows of y (`rows`), of which it is row `row` and row - stride of the window; `first`, `second`: is it in
 * the window of that row? */
RY_INLINE void add_row(const depthwise_block *b, const float *weight, int64_t at, int64_t left, int64_t row,
                       ry_vf sum[NHWC_ROWS][NHWC_PIXELS], const int window, const int stride, const int pixels, const bool first,
                       const bool second)
{
    ry_vf w[NHWC_ROWS][7];
    const float *from = weight + row * window * b->packed_step;
#pragma GCC unroll 8
    for (int s = 0; s < window; s++) {
        if (first) {
            w[0][s] = ry_vf_load(from + s * b->packed_step);
        }
        if (second) {
            w[1][s] = ry_vf_load(from + (s - stride * window) * b->packed_step);
        }
    }
    const int reach = (pixels - 1) * stride + window;
    const float *const *pixel = b->x + row * reach;
#pragma GCC unroll 32
    for (int q = 0; q < reach; q++) {
        const ry_vf x = load_x(pixel[q] + at, left);
#pragma GCC unroll 8
        for (int p = 0; p < pixels; p++) {
            const int s = q - p * stride;
            if (s >= 0 && s < window) {
                if (first) {
                    sum[0][p] = ry_vf_fma(w[0][s], x, sum[0][p]);
                }
                if (second) {
                    sum[1][p] = ry_vf_fma(w[1][s], x, sum[1][p]);
                }
            }
        }
    }
}

/* Taps one by one, each with addresses of its own. */
RY_INLINE void add_taps(const depthwise_block *b, const float *weight, int64_t at, int64_t left, ry_vf sum[NHWC_PIXELS], const int pixels)
{
    const float *const *pixel = b->x;
    for (int64_t t = 0; t < b->taps; t++, pixel += pixels, weight += b->packed_step) {
        const ry_vf w = ry_vf_load(weight);
#pragma GCC unroll 8
        for (int p = 0; p < pixels; p++) {
            sum[p] = ry_vf_fma(w, load_x(pixel[p] + at, left), sum[p]);
        }
    }
}

RY_INLINE void sum_vector(const depthwise_block *b, int64_t c, int64_t left, const int window, const int stride, const int height,
                          const int pixels)
{
    ry_vf sum[NHWC_ROWS][NHWC_PIXELS];
    const ry_vf bias = ry_vf_load(b->bias + c);
#pragma GCC unroll 2
    for (int i = 0; i < height; i++) {
#pragma GCC unroll 8
        for (int p = 0; p < pixels; p++) {
            sum[i][p] = bias;
        }
    }
    const float *weight = b->weight + c;
    for (int64_t d = 0, at = c; d < b->depth; d++, at += b->plane, weight += b->taps * b->packed_step) {
        if (window == 0) {
            add_taps(b, weight, at, left, sum[0], pixels);
        } else if (window == 3) {
#pragma GCC unroll 8
            for (int j = 0; j < 3 + (height - 1) * stride; j++) {
                add_row(b, weight, at, left, j, sum, window, stride, pixels, j<3, height> 1 && j >= stride);
            }
        } else {
            for (int64_t j = 0; j < window; j++) {
                add_row(b, weight, at, left, j, sum, window, stride, pixels, true, false);
            }
        }
    }
    const ry_vf low = ry_vf_set(b->low), high = ry_vf_set(b->high);
#pragma GCC unroll 2
    for (int i = 0; i < height; i++) {
#pragma GCC unroll 8
        for (int p = 0; p < pixels; p++) {
            const ry_vf y = ry_vf_min(high, ry_vf_max(low, sum[i][p]));
            if (left >= RY_W) {
                ry_vf_store(b->to[i * pixels + p] + c, y);
            } else {
                ry_vf_store_first(b->to[i * pixels + p] + c, left, y);
            }
        }
    }
}

RY_INLINE void sum_block(const depthwise_block *b, const int window, const int stride, const int height, const int pixels)
{
    int64_t c = 0;
    for (; c + RY_W <= b->channels; c += RY_W) {
        sum_vector(b, c, RY_W, window, stride, height, pixels);
    }
    if (c < b->channels) {
        sum_vector(b, c, b->channels - c, window, stride, height, pixels);
    }
}

#define BLOCK(window, stride, height, pixels)                                             \
    static void block_##window##_##stride##_##height##_##pixels(const depthwise_block *b) \
    {                                                                                     \
        sum_block(b, window, stride, height, pixels);                                     \
    }
#define BLOCKS(window, stride, height) \
    BLOCK(window, stride, height, 4)   \
    BLOCK(window, stride, height, 5)   \
    BLOCK(window, stride, height, 6)   \
    BLOCK(window, stride, height, 7)
BLOCKS(0, 1, 1)
BLOCKS(3, 1, 1)
BLOCKS(3, 2, 1)
BLOCKS(3, 1, 2)
BLOCKS(3, 2, 2)
BLOCKS(5, 1, 1)
BLOCKS(5, 2, 1)
BLOCKS(7, 1, 1)
BLOCKS(7, 2, 1)

#define ROW(window, stride, height)                                                                                                   \
    {                                                                                                                                 \
        block_##window##_##stride##_##height##_4, block_##window##_##stride##_##height##_5, block_##window##_##stride##_##height##_6, \
            block_##window##_##stride##_##height##_7                                                                                  \
    }

typedef void (*block_function)(const depthwise_block *b);
static const block_function any_window[4] = ROW(0, 1, 1);
static const block_function window_of_3[NHWC_ROWS][2][4] = {{ROW(3, 1, 1), ROW(3, 2, 1)}, {ROW(3, 1, 2), ROW(3, 2, 2)}};
static const block_function windows[2][2][4] = {{ROW(5, 1, 1), ROW(5, 2, 1)}, {ROW(7, 1, 1), ROW(7, 2, 1)}}; /* 5, 7 */

void RY_ISA_SYMBOL(depthwise_nhwc_block)(const depthwise_block *block, int64_t window, int64_t stride, int64_t height, int64_t pixels)
{
    const int64_t p = pixels - NHWC_FEWEST;
    if (window == 0) {
        any_window[p](block);
    } else if (window == 3) {
        window_of_3[height - 1][stride - 1][p](block);
    } else {
        windows[window == 7][stride - 1][p](block);
    }
}
