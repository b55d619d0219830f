/* SPDX-License-Identifier: Apache-2.0 */
/* The largest contrast of each class, and the probes of a tile. */
#include "kernels/cpu/winograd/winograd_plan.h"

#include "base/integer.h"

/* Tiles of 16 times the norm of a window: eight points then leave an error of 1.6e-5 of an output's
 * usual size (root mean square), six points 5e-6. One of 110 tiles of trained networks has more
 * (docs/accuracy.md). 4 times in the class strict: 7e-7 with four points, twice the direct sum's
 * error. One tile of 280 has more. */
#define CONTRAST_NEAR32 (16.0 * 16.0)
#define CONTRAST_STRICT (4.0 * 4.0)

enum { MAX_PROBES = 4 };

double ry_winograd_contrast(ry_accuracy accuracy)
{
    return accuracy == RY_ACCURACY_strict ? CONTRAST_STRICT : CONTRAST_NEAR32;
}

/* Positions of the smallest window of a phase. */
static int64_t least_window(const winograd_axis *axis)
{
    int64_t least = INT64_MAX;
    for (int64_t phase = 0; phase < axis->output_stride; phase++) {
        const winograd_range range = winograd_tap_range(axis, phase);
        least = ry_min(least, ry_max(range.end - range.first, 1));
    }
    return least;
}

bool ry_winograd_is_even(const winograd_axis *h, const winograd_axis *w, int64_t tile,
                         ry_accuracy accuracy)
{
    const int64_t window = least_window(h) * least_window(w), rest = window > 1 ? window - 1 : 1;
    return (double)tile <= ry_winograd_contrast(accuracy) / 2 * (double)rest;
}

/* Taps of a class that every phase has weights for. */
static winograd_range common_taps(const winograd_axis *axis, int64_t class)
{
    winograd_range common = {.first = 0, .end = axis->taps};
    for (int64_t phase = 0; phase < axis->output_stride; phase++) {
        winograd_range range = {.first = axis->taps, .end = 0};
        for (int64_t j = 0; j < axis->taps; j++) {
            const int64_t r = axis->tap + phase + class + j * axis->tap_step;
            if (r >= 0 && r < axis->window) {
                range.first = ry_min(range.first, j);
                range.end = j + 1;
            }
        }
        common.first = ry_max(common.first, range.first);
        common.end = ry_min(common.end, range.end);
    }
    return common;
}

/* In the middle of what a group's windows have in common, far from the padding. */
static void place_probes(winograd_axis *axis, int64_t outputs)
{
    for (int64_t i = 0; i < axis->groups * axis->probes; i++) {
        const winograd_group *g = &axis->group[i / axis->probes];
        const int64_t unused = g->last < outputs ? 0 : g->last - outputs + 1,
                      common = g->end - (g->begin - unused) + 1;
        axis->probe[outputs][i] =
            (int8_t)(g->begin - unused + (common - axis->probes) / 2 + i % axis->probes);
    }
}

void ry_winograd_find_groups(winograd_axis *axis)
{
    winograd_range taps = {0};
    for (int64_t class = 0; class < axis->classes; class ++) {
        const winograd_range common = common_taps(axis, class);
        if (common.end - common.first > taps.end - taps.first) {
            taps = common;
            axis->probe_class = class;
        }
    }
    const int64_t length = taps.end - taps.first, last = axis->outputs - 1;
    axis->groups = 0;
    for (int64_t first = 0; length > 0 && first <= last; first += length) {
        const int64_t end = ry_min(first + length - 1, last);
        axis->group[axis->groups++] = (winograd_group){.first = (int8_t)first,
                                                       .last = (int8_t)end,
                                                       .begin = (int8_t)(end + taps.first),
                                                       .end = (int8_t)(first + taps.end - 1)};
    }
    /* An outlier in one of several groups exceeds the other groups. A lone group needs several
     * probes to show an outlier. */
    const winograd_group *only = &axis->group[0];
    axis->probes = axis->groups == 1 ? ry_min(only->end - only->begin + 1, MAX_PROBES) : 1;
    for (int64_t outputs = 0; outputs <= axis->outputs; outputs++) {
        place_probes(axis, outputs);
    }
}
