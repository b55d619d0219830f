/* SPDX-License-Identifier: Apache-2.0 */
/* The sum over taps where Winograd's form would spread infinities and NaNs. */
#include "kernels/cpu/conv/activation.h"
#include "kernels/cpu/winograd/winograd.h"

#include <math.h>

typedef struct context {
    const winograd_plan *plan;
    const float *x, *w; /* of the image, and of the output channel */
} context;

/* One row of one channel's taps at output position q. */
static float sum_taps(const context *c, const int64_t q[RY_SPACE])
{
    const winograd_plan *plan = c->plan;
    const ry_conv_geometry *g = &plan->geometry;
    float sum = 0;
    for (int64_t tap = 0; tap < g->kernel[0] * g->kernel[1] * g->kernel[2]; tap++) {
        const int64_t r[RY_SPACE] = {tap / (g->kernel[1] * g->kernel[2]), tap / g->kernel[2] % g->kernel[1], tap % g->kernel[2]};
        const float *x = c->x, *w = c->w;
        bool inside = true;
        for (int i = 0; i < RY_SPACE; i++) {
            const int64_t at = q[i] * g->stride[i] + r[i] * g->dilation[i] - g->before[i];
            inside = inside && at >= 0 && at < g->in[i];
            x += at * g->x_step[i];
            w += r[i] * g->w_step[i];
        }
        for (int64_t k = 0; inside && k < g->channels_in; k++) {
            sum += x[k * g->x_channel] * w[k * g->w_in];
        }
    }
    return sum;
}

static void mend_tile(context *c, const winograd_run *run, int64_t index, int64_t channel, const winograd_epilogue *end)
{
    const winograd_plan *plan = c->plan;
    const ry_conv_geometry *g = &plan->geometry;
    const winograd_tile row = winograd_tiles(plan, 0)[run->row], column = winograd_tiles(plan, 1)[run->column + index];
    for (int64_t i = 0; i < (int64_t)row.outputs * column.outputs; i++) {
        const int64_t q[RY_SPACE] = {run->depth, row.origin + i / column.outputs * plan->axis[0].dilation,
                                     column.origin + i % column.outputs * plan->axis[1].dilation};
        int64_t y = run->image * g->y_batch + channel * g->y_channel, r = run->image * g->r_batch + channel * g->r_channel;
        for (int j = 0; j < RY_SPACE; j++) {
            y += q[j] * plan->steps.y_step[j];
            r += q[j] * plan->steps.r_step[j];
        }
        float sum = sum_taps(c, q) + end->bias[channel] + (end->residual ? end->residual[r] : 0);
        RY_ISA_SYMBOL(ry_activate)(end->activation, &sum, 1);
        end->y[y] = sum;
    }
}

static bool is_finite(const winograd_plan *plan, const float *m)
{
    for (int64_t p = 0; p < plan->points; p++) {
        if (!isfinite(m[p * plan->m_point])) {
            return false;
        }
    }
    return true;
}

void RY_ISA_SYMBOL(winograd_mend)(const winograd_plan *plan, const float *x, const float *w, const float *m, int64_t first, int64_t count,
                                  int64_t channels, const winograd_epilogue *end)
{
    context c = {.plan = plan};
    winograd_run run;
    for (int64_t done = 0; done < count; done += run.count) {
        run = winograd_find_run(plan, first + done, count - done, 1, INT64_MAX);
        c.x = x + run.image * plan->geometry.x_batch;
        for (int64_t i = 0; i < run.count; i++) {
            for (int64_t k = 0; k < channels; k++) {
                if (!is_finite(plan, m + (done + i) * plan->m_row + k)) {
                    c.w = w + k * plan->geometry.w_out;
                    mend_tile(&c, &run, i, k, end);
                }
            }
        }
    }
}
