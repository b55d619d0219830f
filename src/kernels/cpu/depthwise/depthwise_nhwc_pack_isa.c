/* SPDX-License-Identifier: Apache-2.0 */
/* Packs the weights of depthwise_nhwc kernels. */
#include "kernels/cpu/depthwise/depthwise_nhwc.h"
#include "kernels/cpu/depthwise/depthwise_problem.h"
#include "kernels/cpu/simd/simd.h"

#include <string.h>

/* The weights of tap (t, r, s) of channel i of every group. */
static void pack_tap(const ry_cpu_launch *launch, int64_t i, int64_t t, int64_t r, int64_t s,
                     float *to)
{
    const depthwise_nhwc_plan *plan = launch->state;
    for (int64_t k = 0; k < plan->outputs; k++) {
        to[k / plan->lanes * RY_W + k % plan->lanes] =
            ry_depthwise_weight(launch, &plan->geometry, k, i, t, r, s);
    }
}

/* A task packs the weights of one input channel of every group, [class of slices][of rows][of
 * columns][tap][output channel]; a last one the bias. */
void RY_ISA_SYMBOL(depthwise_nhwc_pack)(const ry_cpu_launch *launch, size_t task)
{
    const depthwise_nhwc_plan *plan = launch->state;
    const depthwise_axis *axis = plan->axis;
    const int64_t i = (int64_t)task, taps = i < plan->depth ? plan->taps : 1;
    int64_t classes[RY_SPACE];
    float *to = (float *)launch->packed_out + i * plan->taps * plan->packed_step;
    memset(to, 0, (size_t)(taps * plan->packed_step) * sizeof *to);
    if (i == plan->depth) {
        for (int64_t k = 0; k < plan->outputs; k++) {
            to[k / plan->lanes * RY_W + k % plan->lanes] = ry_depthwise_bias(launch, k);
        }
        return;
    }
    for (int j = 0; j < RY_SPACE; j++) {
        classes[j] = axis[j].same ? 1 : axis[j].classes;
    }
    for (int64_t n = 0; n < classes[0] * classes[1] * classes[2]; n++) {
        const depthwise_class *slices = &axis[0].class[n / classes[2] / classes[1]],
                              *rows = &axis[1].class[n / classes[2] % classes[1]];
        const depthwise_class *columns = &axis[2].class[n % classes[2]];
        for (int64_t tap = 0; tap < slices->taps * rows->taps * columns->taps;
             tap++, to += plan->packed_step) {
            const int64_t t = tap / columns->taps / rows->taps,
                          r = tap / columns->taps % rows->taps, s = tap % columns->taps;
            pack_tap(launch, i, slices->tap + t * slices->tap_step, rows->tap + r * rows->tap_step,
                     columns->tap + s * columns->tap_step, to);
        }
    }
}
