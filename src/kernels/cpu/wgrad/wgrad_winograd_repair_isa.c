/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of a weight gradient that are not finite, from positions alone: infinities and NaNs count
 * where a tap meets them. Sums that only overflowed on the way become finite. */
#include "base/integer.h"
#include "kernels/cpu/simd/simd.h"
#include "kernels/cpu/wgrad/wgrad_winograd.h"

#include <float.h>
#include <math.h>

/* The output channels [0, columns) of a position. */
RY_INLINE ry_vf load_channels(const float *dy, int64_t step, int64_t columns)
{
    if (step == 1) {
        return ry_vf_load_m(dy, ry_vm_first(columns));
    }
    float lanes[RY_W] = {0};
    for (int64_t k = 0; k < ry_min(columns, RY_W); k++) {
        lanes[k] = dy[k * step];
    }
    return ry_vf_load(lanes);
}

/* Positions whose windows lie inside the image. x: the first tap of the first window. */
static void add_inside(const wgrad_shape *s, const float *x, const float *dy, int64_t count,
                       int64_t columns, ry_vf total[WGRAD_WINDOW])
{
    const int64_t row = s->x.step[1], next = s->x.step[2];
    ry_vf sum[WGRAD_WINDOW];
    for (int tap = 0; tap < WGRAD_WINDOW; tap++) {
        sum[tap] = total[tap];
    }
    for (int64_t at = 0; at < count; at++) {
        const ry_vf d = load_channels(dy + at * s->dy.step[2], s->dy.channel, columns);
        const float *from = x + at * next;
        for (int tap = 0; tap < WGRAD_WINDOW; tap++) {
            const int64_t position = tap / WGRAD_TAPS * row + tap % WGRAD_TAPS * next;
            sum[tap] = ry_vf_fma(ry_vf_set(from[position]), d, sum[tap]);
        }
    }
    for (int tap = 0; tap < WGRAD_WINDOW; tap++) {
        total[tap] = sum[tap];
    }
}

/* Positions from `at` on whose windows lie inside; 0: the window at `at` does not. Windows move by
 * one position, and their taps are neighbours. */
static int64_t count_inside(const wgrad_shape *s, int64_t line, int64_t at)
{
    const ry_window_axis *along = &s->axis[2];
    const ry_window_range rows = ry_window_taps(&s->axis[1], line),
                          taps = ry_window_taps(along, at);
    const bool inside = rows.end - rows.begin == WGRAD_TAPS && taps.end - taps.begin == WGRAD_TAPS;
    const int64_t room = along->in - ry_window_at(along, at, 0) - (WGRAD_TAPS - 1);
    return inside ? ry_min(room, along->out - at) : 0;
}

/* A line of positions of an image. */
static void add_line(const wgrad_shape *s, const float *x, const float *dy, int64_t line,
                     int64_t columns, ry_vf total[WGRAD_WINDOW])
{
    const ry_window_axis *down = &s->axis[1], *along = &s->axis[2];
    ry_vf sum[WGRAD_WINDOW];
    for (int tap = 0; tap < WGRAD_WINDOW; tap++) {
        sum[tap] = ry_vf_zero();
    }
    for (int64_t at = 0; at < along->out; at++) {
        const float *dy_at = dy + line * s->dy.step[1] + at * s->dy.step[2];
        const int64_t inside = count_inside(s, line, at);
        if (inside > 0) {
            const float *first = x + ry_window_at(down, line, 0) * s->x.step[1] +
                                 ry_window_at(along, at, 0) * s->x.step[2];
            add_inside(s, first, dy_at, inside, columns, sum);
            at += inside - 1;
            continue;
        }
        const ry_vf d = load_channels(dy_at, s->dy.channel, columns);
        const ry_window_range rows = ry_window_taps(down, line), taps = ry_window_taps(along, at);
        for (int64_t i = rows.begin; i < rows.end; i++) {
            for (int64_t j = taps.begin; j < taps.end; j++) {
                const float *from = x + ry_window_at(down, line, i) * s->x.step[1] +
                                    ry_window_at(along, at, j) * s->x.step[2];
                ry_vf *to = &sum[i * WGRAD_TAPS + j];
                *to = ry_vf_fma(ry_vf_set(*from), d, *to);
            }
        }
    }
    for (int tap = 0; tap < WGRAD_WINDOW; tap++) {
        total[tap] = ry_vf_add(total[tap], sum[tap]);
    }
}

static void sum_again(const wgrad_shape *s, const float *x, const float *dy, int64_t columns,
                      float *sums, int64_t pitch)
{
    ry_vf total[WGRAD_WINDOW];
    for (int tap = 0; tap < WGRAD_WINDOW; tap++) {
        total[tap] = ry_vf_zero();
    }
    for (int64_t image = 0; image < s->images; image++) {
        for (int64_t line = 0; line < s->axis[1].out; line++) {
            add_line(s, x + image * s->x.image, dy + image * s->dy.image, line, columns, total);
        }
    }
    for (int tap = 0; tap < WGRAD_WINDOW; tap++) {
        ry_vf_store(sums + tap * pitch, total[tap]);
    }
}

static bool are_finite(const float *sums, int64_t pitch)
{
    bool finite = true;
    for (int tap = 0; tap < WGRAD_WINDOW; tap++) {
        for (int i = 0; i < RY_W; i++) {
            finite &= fabsf(sums[tap * pitch + i]) <= FLT_MAX;
        }
    }
    return finite;
}

/* A channel whose probes are all 0 has nothing to compare with. */
static bool is_uneven(const float *squares, int64_t channel)
{
    const float *at = squares + channel / RY_W * (WGRAD_SQUARES * RY_W) + channel % RY_W;
    const float rest = fminf(at[WGRAD_PROBE_A * RY_W], at[WGRAD_PROBE_B * RY_W]);
    return rest > 0 && !(at[WGRAD_LARGEST * RY_W] <= WGRAD_CONTRAST * rest);
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

void RY_ISA_SYMBOL(wgrad_winograd_poison)(const float *x, int64_t channels, const float *dy,
                                          int64_t columns, float *sums, int64_t pitch)
{
    for (int64_t c = 0; c < channels; c++) {
        poison(is_uneven(x, c), columns, sums + c * WGRAD_WINDOW * pitch, pitch);
    }
    for (int64_t k = 0; k < columns; k++) {
        poison(is_uneven(dy, k) ? channels : 0, 1, sums + k, pitch);
    }
}

void RY_ISA_SYMBOL(wgrad_winograd_repair)(const wgrad_shape *s, const float *x, const float *dy,
                                          int64_t channels, int64_t columns, float *sums,
                                          int64_t pitch)
{
    for (int64_t c = 0; c < channels; c++) {
        for (int64_t k = 0; k < columns; k += RY_W) {
            float *at = sums + c * WGRAD_WINDOW * pitch + k;
            if (!are_finite(at, pitch)) {
                sum_again(s, x + c * s->x.channel, dy + k * s->dy.channel, columns - k, at, pitch);
            }
        }
    }
}
