/* SPDX-License-Identifier: Apache-2.0 */
/* Fills strips with rows of x, transposed or copied. */
#include "kernels/cpu/winograd/winograd_strip.h"

#include <string.h>

RY_INLINE void store_transposed(ry_vf v[RY_W], float *to)
{
    ry_vf_transpose(v);
#pragma GCC unroll 16
    for (int i = 0; i < RY_W; i++) {
        ry_vf_store(to + i * RY_W, v[i]);
    }
}

/* A vector of positions of each of `channels` channels, transposed: to[position][lane]. Those that
 * are not among `bits` are 0. */
static void transpose_part(const float *x, int64_t channel_step, int64_t channels, uint32_t bits,
                           float *to)
{
    const ry_vm inside = ry_vm_bits(bits);
    ry_vf v[RY_W];
    if (channels == RY_W) {
#pragma GCC unroll 16
        for (int i = 0; i < RY_W; i++) {
            v[i] = ry_vf_load_m(x + i * channel_step, inside);
        }
    } else {
#pragma GCC unroll 16
        for (int i = 0; i < RY_W; i++) {
            v[i] = i < channels ? ry_vf_load_m(x + i * channel_step, inside) : ry_vf_zero();
        }
    }
    store_transposed(v, to);
}

/* One vector of channels of a row of inputs, from position `start` on, transposed:
 * to[position][lane]. In long rows vectors of positions begin with lines of the cache, so that none
 * is read twice: up to a vector of them before `to` and behind the row is written, too. */
static void transpose_row(const float *x, int64_t channel_step, int64_t channels, int64_t start,
                          int64_t positions, int64_t extent, float *to)
{
    const int64_t output_offset =
        positions < WINOGRAD_ALIGNED ? 0 : (int64_t)((uintptr_t)(x + start) / sizeof *x % RY_W);
    for (int64_t p = -output_offset; p < positions; p += RY_W) {
        const float *from = x + start + p;
        const int64_t low = start + p < 0 ? -(start + p) : 0, high = extent - (start + p);
        if (low == 0 && high >= RY_W && channels == RY_W) {
            ry_vf v[RY_W];
#pragma GCC unroll 16
            for (int i = 0; i < RY_W; i++) {
                v[i] = ry_vf_load(from + i * channel_step);
            }
            store_transposed(v, to + p * RY_W);
        } else if (low >= RY_W || high <= 0) {
            memset(to + p * RY_W, 0, RY_W * RY_W * sizeof *to);
        } else {
            const uint32_t first = (uint32_t)((1ull << ry_min(high, RY_W)) - 1u);
            transpose_part(from, channel_step, channels, first >> low << low, to + p * RY_W);
        }
    }
}

/* The same where channels are next to each other, `step` floats from position to position. */
static void copy_row(const float *x, int64_t step, int64_t channels, int64_t start,
                     int64_t positions, int64_t extent, float *to)
{
    const ry_vm lanes = ry_vm_first(channels);
    const int64_t first = ry_min(ry_max(-start, 0), positions),
                  end = ry_max(ry_min(extent - start, positions), first);
    memset(to, 0, (size_t)(first * RY_W) * sizeof *to);
    for (int64_t p = first; p < end; p++) {
        ry_vf_store(to + p * RY_W, ry_vf_load_m(x + (start + p) * step, lanes));
    }
    memset(to + end * RY_W, 0, (size_t)((positions - end) * RY_W) * sizeof *to);
}

static void keep_finite(float *x, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        x[i] = x[i] - x[i] == 0 ? x[i] : 0;
    }
}

void RY_ISA_SYMBOL(winograd_fill_strip)(const winograd_plan *plan, const winograd_strip *strip,
                                        const float *x, int64_t channels)
{
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t step = winograd_strip_step(strip);
    for (int64_t i = 0; i < plan->axis[0].points; i++) {
        const int64_t row = strip->top + i * plan->axis[0].step;
        float *to = strip->to + i * step;
        if ((strip->rows_inside >> i & 1u) && plan->x_channels_last) {
            copy_row(x + row * g->x_step[1], g->x_step[2], channels, strip->left, strip->span,
                     g->in[2], to);
        } else if (strip->rows_inside >> i & 1u) {
            transpose_row(x + row * g->x_step[1], g->x_channel, channels, strip->left, strip->span,
                          g->in[2], to);
        } else {
            memset(to, 0, (size_t)step * sizeof *to);
        }
        if (strip->finite) {
            keep_finite(to, strip->span * RY_W);
        }
    }
}
