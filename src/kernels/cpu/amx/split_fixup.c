/* SPDX-License-Identifier: Apache-2.0 */
/* Where parts or products of parts leave the range of normal floats: which outputs that may
 * concern, and their sums in float32. */
#include "kernels/cpu/amx/split_plan.h"

#include <math.h>

split_range ry_split_rows_read(const split_plan *plan, const split_task *t,
                               const split_range *ranges)
{
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t first = t->row + t->first / plan->plane[2],
                  last = t->row + (t->first + t->count - 1) / plan->plane[2];
    const int64_t depth = t->depth * g->stride[0], from = first * g->stride[1];
    const int64_t end = last * g->stride[1] + (g->kernel[1] - 1) * plan->dilation[1] + 1;
    const split_range *of = ranges + (t->image * g->groups + t->group) * plan->rows;
    split_range range = {UINT32_MAX, 0};
    for (int64_t r = 0; r < g->kernel[0]; r++) {
        for (int64_t h = from; h < end; h++) {
            const split_range row = of[(depth + r * plan->dilation[0]) * plan->extent[1] + h];
            range.low = row.low < range.low ? row.low : range.low;
            range.high = row.high > range.high ? row.high : range.high;
        }
    }
    return range;
}

/* If e is the least magnitude, all parts are multiples of 2^-23 e. Products are multiples of the
 * product of both least magnitudes times 2^-30 (two parts) or 2^-46 (three parts). If these units
 * are normal numbers, no sum and no part is subnormal. Otherwise each operation, and each part that
 * counts as zero, has an error of at most 2^-126. Outputs 2^26 times larger than the sum of these
 * errors are right. */
split_guard ry_split_guard_of_sums(int64_t parts, double terms, split_range x, split_range w)
{
    split_guard guard = {0};
    if (x.high == 0 || w.high == 0) {
        return guard; /* every product is zero */
    }
    /* 2^127: what rounds beyond the largest number is larger */
    const bool finite = x.high < 0x7f000000u && w.high < 0x7f000000u;
    const double x_high = finite ? (double)ry_f32_of_bits(x.high) : 0x1p127,
                 w_high = finite ? (double)ry_f32_of_bits(w.high) : 0x1p127;
    guard.overflow = !finite || x_high * w_high * terms > 0x1p120;
    const double x_low = (double)ry_f32_of_bits(x.low + 1),
                 w_low = (double)ry_f32_of_bits(w.low + 1), unit = parts == 2 ? 0x1p-30 : 0x1p-46;
    const bool normal = x_low >= 0x1p-102 && w_low >= 0x1p-102 && x_low * w_low * unit >= 0x1p-126;
    if (!normal) {
        const double limit = 0x1p-100 * terms * (16.0 + 3.0 * (x_high + w_high));
        guard.min = limit < 0x1p126 ? (float)limit : 0x1p126f;
    }
    return guard;
}

split_guard ry_split_guard_of(const split_plan *plan, split_range x, split_range w)
{
    const double terms = (double)(plan->geometry.channels_in * plan->geometry.taps);
    return ry_split_guard_of_sums(plan->parts, terms, x, w);
}

/* The first channel that a tap reads for position q; NULL: padding. */
static const float *read_tap(const split_plan *plan, const ry_conv_tap *tap,
                             const int64_t q[RY_SPACE], const float *x)
{
    const ry_conv_geometry *g = &plan->geometry;
    for (int i = 0; i < RY_SPACE; i++) {
        if (q[i] < tap->first[i] || q[i] >= tap->end[i]) {
            return NULL;
        }
        x += q[i] * g->stride[i] * g->x_step[i];
    }
    return x + tap->offset;
}

/* Does the window hold a NaN? Then outputs of all channels are NaN. */
static bool reads_nan(const split_plan *plan, const int64_t q[RY_SPACE], const float *x)
{
    const ry_conv_geometry *g = &plan->geometry;
    for (int64_t t = 0; t < g->taps; t++) {
        const float *from = read_tap(plan, &split_taps(plan)[t], q, x);
        for (int64_t c = 0; from && c < g->channels_in; c++) {
            if (isnan(from[c * g->x_channel])) {
                return true;
            }
        }
    }
    return false;
}

/* One output at position q, over taps, then channels. A NaN stays one whatever is added. */
static float sum_taps(const split_plan *plan, const int64_t q[RY_SPACE], const float *x,
                      const float *w)
{
    const ry_conv_geometry *g = &plan->geometry;
    float sum = 0;
    for (int64_t t = 0; t < g->taps && !isnan(sum); t++) {
        const ry_conv_tap *tap = &split_taps(plan)[t];
        const float *from = read_tap(plan, tap, q, x);
        for (int64_t c = 0; from && c < g->channels_in && !isnan(sum); c++) {
            sum += from[c * g->x_channel] * w[tap->weight + c * g->w_in];
        }
    }
    return sum;
}

void ry_split_fixup(const split_plan *plan, const split_task *t, const float *x, const float *w,
                    split_guard guard, int64_t channels, float *sums)
{
    for (int64_t i = 0; i < t->count; i++) {
        const int64_t f = t->first + i, column = f % plan->plane[2];
        const int64_t q[RY_SPACE] = {t->depth, t->row + f / plan->plane[2], column};
        bool looked = false, nan = false; /* looked up once for all channels, on the first need */
        for (int64_t m = 0; column < plan->geometry.out[2] && m < channels; m++) {
            float *sum = &sums[i * SPLIT_OC_BLOCK + m];
            const bool beyond = guard.overflow && !isfinite(*sum);
            if (beyond && !looked) {
                nan = reads_nan(plan, q, x);
                looked = true;
            }
            if (beyond || fabsf(*sum) < guard.min) {
                *sum = nan ? NAN : sum_taps(plan, q, x, w + m * plan->geometry.w_out);
            }
        }
    }
}
