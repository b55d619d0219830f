/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts the axes of depthwise convolutions into classes of outputs. */
#include "kernels/cpu/depthwise/depthwise_axis.h"

#include "base/integer.h"

#include <string.h>

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
        axis->low = any ? ry_min(axis->low, c->at) : c->at;
        axis->high = any ? ry_max(axis->high, end) : end;
        any = true;
    }
}

bool ry_depthwise_axis_make(const ry_conv_geometry *g, int i, depthwise_axis *axis)
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
        const ry_window_axis window = {.taps = g->kernel[i],
                                       .stride = g->output_stride[i],
                                       .dilation = g->dilation[i],
                                       .pad = g->before[i]};
        axis->classes = ry_min(g->output_stride[i], g->out[i]);
        axis->taps = 0;
        if (axis->classes > DEPTHWISE_CLASSES) {
            return false;
        }
        for (int64_t r = 0; r < axis->classes; r++) {
            const ry_window_readers phase = ry_window_phase(&window, r);
            const int64_t last = ry_max(phase.count - 1, 0); /* the taps from there on */
            axis->apart = -phase.out_step;
            axis->class[r] = (depthwise_class){.taps = phase.count,
                                               .at = phase.out + last * phase.out_step,
                                               .tap = phase.tap + last * phase.tap_step,
                                               .tap_step = -phase.tap_step,
                                               .packed = axis->taps};
            axis->taps += phase.count;
        }
    }
    find_extent(axis);
    return true;
}

bool ry_depthwise_axis_part(depthwise_axis *axis)
{
    const int64_t classes = axis->apart / ry_common_divisor(axis->move, axis->apart);
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

depthwise_inside ry_depthwise_axis_inside(const depthwise_axis *axis, int64_t output)
{
    const depthwise_class *c = &axis->class[output % axis->classes];
    const int64_t at = c->at + output / axis->classes * axis->move;
    const ry_window_range taps = ry_window_inside(axis->in, at, axis->apart, c->taps);
    return (depthwise_inside){c, at, taps.begin, taps.end - taps.begin};
}

double ry_depthwise_axis_mean(const depthwise_axis *axis)
{
    int64_t all = 0;
    for (int64_t r = 0; r < axis->classes; r++) {
        const depthwise_class *c = &axis->class[r];
        for (int64_t j = 0; j < c->taps; j++) {
            const int64_t at = c->at + j * axis->apart;
            const ry_window_range outputs =
                ry_window_inside(axis->in, at, axis->move, depthwise_axis_outputs(axis, r));
            all += outputs.end - outputs.begin;
        }
    }
    return (double)all / (double)axis->out;
}
