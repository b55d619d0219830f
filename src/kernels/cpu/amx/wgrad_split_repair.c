/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of a weight gradient that its parts in bfloat16 could not hold, again, in float64. */
#include "base/integer.h"
#include "kernels/cpu/amx/wgrad_split_plan.h"

#include <float.h>
#include <math.h>

/* The weight of a tap, from its input channel of x and its output channel of dy. A NaN stays one
 * whatever is added. */
static double sum_again(const wgrad_shape *s, const float *x, const float *dy, int64_t tap)
{
    int64_t at[WGRAD_SPACE];
    ry_window_range range[WGRAD_SPACE];
    wgrad_tap_at(s, tap, at);
    for (int i = 0; i < WGRAD_SPACE; i++) {
        range[i] = wgrad_valid_range(&s->axis[i], at[i]);
    }
    double sum = 0;
    for (int64_t image = 0; image < s->images; image++) {
        for (int64_t d = range[0].begin; d < range[0].end; d++) {
            for (int64_t h = range[1].begin; h < range[1].end && !isnan(sum); h++) {
                const float *from = x + image * s->x.image +
                                    ry_window_at(&s->axis[0], d, at[0]) * s->x.step[0] +
                                    ry_window_at(&s->axis[1], h, at[1]) * s->x.step[1],
                            *with =
                                dy + image * s->dy.image + d * s->dy.step[0] + h * s->dy.step[1];
                for (int64_t w = range[2].begin; w < range[2].end; w++) {
                    sum += (double)from[ry_window_at(&s->axis[2], w, at[2]) * s->x.step[2]] *
                           (double)with[w * s->dy.step[2]];
                }
            }
        }
    }
    return sum;
}

static bool are_finite(const float *sums, int64_t count)
{
    bool finite = true;
    for (int64_t i = 0; i < count; i++) {
        finite &= fabsf(sums[i]) <= FLT_MAX;
    }
    return finite;
}

void ry_wgrad_split_repair(const wgrad_split_plan *plan, const float *x, const float *dy,
                           int64_t tap, const wgrad_split_ranges *ranges, int64_t channels,
                           float *sums)
{
    const wgrad_shape *s = &plan->shape;
    const int64_t splits = plan->splits;
    const double terms = (double)s->images * (double)s->positions;
    const bool finite = are_finite(sums, channels),
               small = splits > 1 &&
                       ry_split_guard_of_sums(splits, terms, ranges->any_x, *ranges->dy).min > 0;
    for (int64_t c = 0; (!finite || small) && c < channels; c++) {
        const float size = fabsf(sums[c]),
                    min = small
                              ? ry_split_guard_of_sums(splits, terms, ranges->x[c], *ranges->dy).min
                              : 0;
        if (!(size <= FLT_MAX) || size < min) {
            sums[c] = (float)sum_again(s, x + c * s->x.channel, dy, tap);
        }
    }
}
