/* SPDX-License-Identifier: Apache-2.0 */
/* The sum over taps where Winograd's form would spread infinities and NaNs. */
#include "kernels/cpu/conv/activation.h"
#include "kernels/cpu/winograd/winograd.h"

#include <math.h>

typedef struct context {
    const winograd_plan *plan;
    const float *x, *w; /* of the image, and of the output channel */
} context;

/* One row of one channel's taps at output q of phase p. */
static float sum_taps(const context *c, const int64_t q[RY_SPACE], const int64_t p[RY_SPACE])
{
    const winograd_plan *plan = c->plan;
    const ry_conv_geometry *g = &plan->geometry;
    const winograd_axis depth = {.step = g->dilation[0],
                                 .pad = g->before[0],
                                 .tap_step = 1,
                                 .taps = g->kernel[0],
                                 .window = g->kernel[0],
                                 .stride = g->stride[0],
                                 .classes = 1};
    const winograd_axis *axis[RY_SPACE] = {&depth, &plan->axis[0], &plan->axis[1]};
    const int64_t rows = axis[1]->taps * axis[1]->classes, columns = axis[2]->taps * axis[2]->classes;
    float sum = 0;
    for (int64_t tap = 0; tap < g->kernel[0] * rows * columns; tap++) {
        const int64_t j[RY_SPACE] = {tap / (rows * columns), tap / columns % rows, tap % columns};
        const float *x = c->x, *w = c->w;
        bool inside = true;
        for (int i = 0; i < RY_SPACE; i++) {
            const int64_t class = j[i] % axis[i]->classes, next = j[i] / axis[i]->classes;
            const int64_t at = q[i] * axis[i]->stride + class + next * axis[i]->step - axis[i]->pad;
            const int64_t r = axis[i]->tap + p[i] + class + next * axis[i]->tap_step;
            inside = inside && at >= 0 && at < g->in[i] && r >= 0 && r < axis[i]->window;
            x += at * g->x_step[i];
            w += r * g->w_step[i];
        }
        for (int64_t k = 0; inside && k < g->channels_in; k++) {
            sum += x[k * g->x_channel] * w[k * g->w_in];
        }
    }
    return sum;
}

/* Output q of phase p. */
static void mend_output(const context *c, int64_t image, const int64_t q[RY_SPACE], const int64_t p[RY_SPACE], int64_t channel,
                        const winograd_epilogue *end)
{
    const winograd_plan *plan = c->plan;
    const ry_conv_geometry *g = &plan->geometry;
    const winograd_axis *h = &plan->axis[0], *w = &plan->axis[1];
    const int64_t at[RY_SPACE] = {q[0], q[1] * h->spread + p[1] - h->lead, q[2] * w->spread + p[2] - w->lead};
    int64_t y = image * g->y_batch + channel * g->y_channel, r = image * g->r_batch + channel * g->r_channel;
    for (int i = 0; i < RY_SPACE; i++) {
        y += at[i] * plan->steps.y_step[i];
        r += at[i] * plan->steps.r_step[i];
    }
    float sum = sum_taps(c, q, p) + end->bias[channel] + (end->residual ? end->residual[r] : 0);
    RY_ISA_SYMBOL(ry_activate)(end->activation, &sum, 1);
    end->y[y] = sum;
}

static void mend_tile(const context *c, const winograd_run *run, int64_t index, int64_t phase, int64_t channel,
                      const winograd_epilogue *end)
{
    const winograd_plan *plan = c->plan;
    const winograd_axis *h = &plan->axis[0], *w = &plan->axis[1];
    const winograd_tile *row = winograd_tiles(plan, 0) + run->row, *column = winograd_tiles(plan, 1) + run->column + index;
    const int64_t p[RY_SPACE] = {0, phase / w->spread, phase % w->spread};
    const winograd_range down = winograd_inside(plan, 0, row, p[1]), along = winograd_inside(plan, 1, column, p[2]);
    for (int64_t i = down.first; i < down.end; i++) {
        for (int64_t j = along.first; j < along.end; j++) {
            const int64_t q[RY_SPACE] = {run->depth, row->origin + i * h->dilation, column->origin + j * w->dilation};
            mend_output(c, run->image, q, p, channel, end);
        }
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
            for (int64_t j = 0; j < plan->phases * channels; j++) {
                const int64_t phase = j / channels, k = j % channels;
                if (!is_finite(plan, m + (done + i) * plan->m_row + phase * plan->m_phase + k)) {
                    c.w = w + k * plan->geometry.w_out;
                    mend_tile(&c, &run, i, phase, k, end);
                }
            }
        }
    }
}
