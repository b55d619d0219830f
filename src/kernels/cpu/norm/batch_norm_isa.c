/* SPDX-License-Identifier: Apache-2.0 */
/* Batch normalisation for inference, f32: a factor and an offset a channel, over rows of one
 * channel (NCHW) or of all channels (NHWC). */
#include "kernels/cpu/norm/batch_norm_plan.h"

#include "kernels/cpu/norm/row_moments.h"
#include "kernels/cpu/parts/cpu_kernel.h"

#include <math.h>

static void run(const ry_cpu_launch *launch, size_t task)
{
    const batch_norm_plan *s = launch->state;
    const float *scale = launch->in[1], *bias = launch->in[2], *mean = launch->in[3],
                *variance = launch->in[4];
    const double epsilon = launch->problem->attrs.batch_norm.epsilon;
    const int64_t channels = s->lanes.length, inner = s->lanes.inner;
    const ry_cut_range rows = ry_cut_part(&s->rows, task);
    if (inner > 1) {
        for (int64_t row = rows.first; row < rows.end; row++) {
            int64_t c = row % channels;
            float factor = (float)((double)scale[c] / sqrt((double)variance[c] + epsilon));
            ry_row_apply((float *)launch->out[0] + row * inner,
                         (const float *)launch->in[0] + row * inner, inner, mean[c], 0, factor,
                         bias[c]);
        }
        return;
    }
    float *restrict factor = launch->scratch;
    for (int64_t c = 0; c < channels; c++) {
        factor[c] = (float)((double)scale[c] / sqrt((double)variance[c] + epsilon));
    }
    for (int64_t row = rows.first; row < rows.end; row++) {
        float *restrict y = (float *)launch->out[0] + row * channels;
        const float *restrict x = (const float *)launch->in[0] + row * channels;
        for (int64_t c = 0; c < channels; c++) {
            y[c] = (x[c] - mean[c]) * factor[c] + bias[c];
        }
    }
}

RY_CPU_KERNEL(batch_norm_f32, batch_norm, strict, .simd = RY_SIMD,
              .applicable = ry_batch_norm_applicable, .prepare = ry_batch_norm_prepare,
              .initialise = ry_batch_norm_initialise, .run = run);
