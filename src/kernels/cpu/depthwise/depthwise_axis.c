/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts the axes of depthwise convolutions into classes of outputs. */
#include "kernels/cpu/depthwise/depthwise_axis.h"

#include "base/whole.h"

#include <string.h>

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static void find_extent(depthwise_axis *axis)
{
    bool any = false;
    axis->low = axis->high = 0;
    for (int64_t r = 0; r < axis->classes; r++) {
        const depthwise_class *c = &axis->class[r];
        if (c->taps == 0) {
            continue;
        }
        const int64_t end = c->at + (c->taps - 1) * axis->apart;
        axis->low = any ? ry_least(axis->low, c->at) : c->at;
        axis->high = any ? ry_most(axis->high, end) : end;
        any = true;
    }
}

/* The taps that reach outputs of a residue, from the last one on. */
static depthwise_class transposed_class(const ry_conv_geometry *g, int i, int64_t residue, int64_t step)
{
    depthwise_class c = {.tap_step = -step};
    for (int64_t r = g->kernel[i] - 1; r >= 0; r--) {
        const int64_t from = residue + g->before[i] - r * g->dilation[i];
        if (from % g->spread[i] == 0) {
            c.tap = c.taps == 0 ? r : c.tap;
            c.at = c.taps == 0 ? from / g->spread[i] : c.at;
            c.taps++;
        }
    }
    return c;
}

bool depthwise_axis_make(const ry_conv_geometry *g, int i, depthwise_axis *axis)
{
    memset(axis, 0, sizeof *axis);
    axis->in = g->in[i];
    axis->out = g->out[i];
    axis->classes = 1;
    axis->move = g->stride[i];
    axis->apart = g->dilation[i];
    axis->taps = g->kernel[i];
    axis->same = g->forward;
    axis->class[0] = (depthwise_class){.taps = g->kernel[i], .at = -g->before[i], .tap_step = 1};
    if (!axis->same) {
        const int64_t step = g->spread[i] / common_divisor(g->spread[i], g->dilation[i]);
        axis->classes = ry_least(g->spread[i], g->out[i]);
        axis->apart = step * g->dilation[i] / g->spread[i];
        axis->taps = 0;
        if (axis->classes > DEPTHWISE_CLASSES) {
            return false;
        }
        for (int64_t r = 0; r < axis->classes; r++) {
            axis->class[r] = transposed_class(g, i, r, step);
            axis->class[r].packed = axis->taps;
            axis->taps += axis->class[r].taps;
        }
    }
    find_extent(axis);
    return true;
}

bool depthwise_axis_part(depthwise_axis *axis)
{
    const int64_t classes = axis->apart / common_divisor(axis->move, axis->apart);
    if (classes > DEPTHWISE_CLASSES || classes > axis->out) {
        return false;
    }
    for (int64_t r = classes - 1; r >= 0; r--) {
        axis->class[r] = axis->class[0];
        axis->class[r].at += r * axis->move;
    }
    axis->classes = classes;
    axis->move *= classes;
    find_extent(axis);
    return true;
}

depthwise_inside depthwise_axis_inside(const depthwise_axis *axis, int64_t output)
{
    const depthwise_class *c = &axis->class[output % axis->classes];
    const int64_t at = c->at + output / axis->classes * axis->move, step = axis->apart;
    const int64_t first = at < 0 ? ry_least(ry_parts(-at, step), c->taps) : 0;
    const int64_t end = axis->in > at ? ry_least(ry_parts(axis->in - at, step), c->taps) : 0;
    return (depthwise_inside){c, at, first, ry_most(0, end - first)};
}

double depthwise_axis_mean(const depthwise_axis *axis)
{
    int64_t all = 0;
    for (int64_t r = 0; r < axis->classes; r++) {
        const depthwise_class *c = &axis->class[r];
        for (int64_t j = 0; j < c->taps; j++) {
            const int64_t at = c->at + j * axis->apart, first = at < 0 ? ry_parts(-at, axis->move) : 0;
            const int64_t end = axis->in > at ? ry_parts(axis->in - at, axis->move) : 0;
            all += ry_most(0, ry_least(end, depthwise_axis_outputs(axis, r)) - first);
        }
    }
    return (double)all / (double)axis->out;
}
