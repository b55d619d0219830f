/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a depthwise convolution into a block of scratch: vectors lie along channels, a few neighbouring pixels share the loads of x and of the weights. */
#include "kernels/cpu/separable/separable_depthwise.h"

#include "kernels/cpu/common/simd.h"

enum { PIXELS = SEPARABLE_PIXELS, COLUMNS_MOST = (PIXELS - 1) * SEPARABLE_STRIDE_MOST + SEPARABLE_WINDOW_MOST };

/* Where a block of pixels reads and writes: pixels outside x are zeros, those behind the end of the row go where nobody reads. */
typedef struct addresses {
    const float *from[SEPARABLE_WINDOW_MOST][COLUMNS_MOST];
    float *to[PIXELS];
} addresses;

static void find_addresses(const separable_middle *m, int64_t row, int64_t pixel, float *to, addresses *a)
{
    const separable_plan *p = m->plan;
    const int64_t top = row * p->stride[0] - p->before[0], left = pixel * p->stride[1] - p->before[1];
    const int64_t columns = (PIXELS - 1) * p->stride[1] + p->window[1];
    for (int64_t r = 0; r < p->window[0]; r++) {
        const bool inside = top + r >= 0 && top + r < p->in[0];
        for (int64_t c = 0; c < columns; c++) {
            const bool there = inside && left + c >= 0 && left + c < p->in[1];
            a->from[r][c] = there ? m->x + (top + r) * p->x_row + (left + c) * p->x_pixel : m->zeros;
        }
    }
    for (int64_t i = 0; i < PIXELS; i++) {
        a->to[i] = pixel + i < p->out[1] ? to + (pixel + i) * p->m_step : m->nobody;
    }
}

/* One vector of channels of a block. Window and stride are constants in the texts of their own. */
RY_INLINE void one_vector(const separable_middle *m, const addresses *a, int64_t channel, int64_t rows, int64_t columns, int64_t stride,
                          bool whole)
{
    const separable_plan *p = m->plan;
    const ry_vm some = ry_vm_first(whole ? RY_W : p->channels - channel);
    const float *w = m->packed + channel;
    ry_vf sum[PIXELS];
#pragma GCC unroll 4
    for (int i = 0; i < PIXELS; i++) {
        sum[i] = ry_vf_load(m->packed + p->dw_bias + channel);
    }
#pragma GCC unroll 8
    for (int64_t r = 0; r < rows; r++) {
        const float *const *from = a->from[r];
#pragma GCC unroll 8
        for (int64_t c = 0; c < columns; c++, w += p->whole) {
            const ry_vf weight = ry_vf_load(w);
#pragma GCC unroll 4
            for (int i = 0; i < PIXELS; i++) {
                const float *x = from[i * stride + c] + channel;
                sum[i] = ry_vf_fma(whole ? ry_vf_load(x) : ry_vf_load_m(x, some), weight, sum[i]);
            }
        }
    }
    const ry_vf low = ry_vf_set(m->low), high = ry_vf_set(m->high);
#pragma GCC unroll 4
    for (int i = 0; i < PIXELS; i++) {
        ry_vf_store(a->to[i] + channel, ry_vf_min(high, ry_vf_max(low, sum[i])));
    }
}

RY_INLINE void block(const separable_middle *m, const addresses *a, int64_t rows, int64_t columns, int64_t stride)
{
    int64_t channel = 0;
    for (; channel + RY_W <= m->plan->channels; channel += RY_W) {
        one_vector(m, a, channel, rows, columns, stride, true);
    }
    if (channel < m->plan->channels) {
        one_vector(m, a, channel, rows, columns, stride, false);
    }
}

void RY_ISA_SYMBOL(separable_depthwise_row)(const separable_middle *m, int64_t row, float *to)
{
    const separable_plan *p = m->plan;
    const bool three = p->window[0] == 3 && p->window[1] == 3, five = p->window[0] == 5 && p->window[1] == 5;
    addresses a;
    for (int64_t pixel = 0; pixel < p->out[1]; pixel += PIXELS) {
        find_addresses(m, row, pixel, to, &a);
        if (three && p->stride[1] == 1) {
            block(m, &a, 3, 3, 1);
        } else if (three) {
            block(m, &a, 3, 3, 2);
        } else if (five && p->stride[1] == 1) {
            block(m, &a, 5, 5, 1);
        } else {
            block(m, &a, p->window[0], p->window[1], p->stride[1]);
        }
    }
}
