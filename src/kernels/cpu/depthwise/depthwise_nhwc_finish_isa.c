/* SPDX-License-Identifier: Apache-2.0 */
/* Ends sums along channels that cannot be written where they belong: residual, activation,
 * conversion, planes. */
#include "kernels/cpu/depthwise/depthwise_nhwc.h"
#include "kernels/cpu/parts/activation.h"
#include "kernels/cpu/simd/lanes.h"

static int64_t size_of(const ry_tensor *tensor)
{
    return (int64_t)ry_dtype_size(ry_type_of(tensor));
}

/* Elements of y (or, with its steps, of the residual) before a line's first pixel. */
static int64_t line_at(const depthwise_work *w, const int64_t step[RY_SPACE], int64_t line)
{
    const int64_t rows = w->plan->geometry.out[1];
    return line / rows * step[0] + line % rows * step[1];
}

void RY_ISA_SYMBOL(depthwise_nhwc_activate)(const depthwise_work *w, int64_t line, int64_t lines)
{
    const ry_conv_geometry *g = &w->plan->geometry;
    const int64_t *step = w->plan->phase.y_step;
    for (int64_t i = 0; i < lines; i++, line += w->plan->line_interleave) {
        float *y = (float *)w->launch->out[0] + w->image * g->y_batch + line_at(w, step, line) +
                   w->channel;
        RY_ISA_SYMBOL(activate_rows)(w->activation, y, step[2], g->out[2], w->channels);
    }
}

void RY_ISA_SYMBOL(depthwise_nhwc_finish_pixel)(const depthwise_work *w, int64_t line,
                                                int64_t column, float *sum)
{
    const ry_problem *problem = w->launch->problem;
    const ry_conv_geometry *g = &w->plan->geometry;
    const ry_conv_phase *at = &w->plan->phase;
    if (ry_problem_has_input(problem, 3)) {
        const ry_dtype dtype = ry_type_of(&problem->in[3]);
        const int64_t size = size_of(&problem->in[3]);
        const char *r =
            (const char *)w->launch->in[3] + (w->image * g->r_batch + line_at(w, at->r_step, line) +
                                              column * at->r_step[2] + w->channel) *
                                                 size;
        for (int64_t i = 0; i < w->channels; i += RY_W) {
            const ry_vf x = ry_load_masked(dtype, r + i * size, ry_vm_first(w->channels - i));
            ry_vf_store(sum + i, ry_vf_add(ry_vf_load(sum + i), x));
        }
    }
    RY_ISA_SYMBOL(activate)(w->activation, sum, w->channels);
    const ry_dtype dtype = ry_type_of(&problem->out[0]);
    const int64_t y =
        w->image * g->y_batch + line_at(w, at->y_step, line) + column * at->y_step[2] + w->channel;
    char *to = (char *)w->launch->out[0] + y * size_of(&problem->out[0]);
    for (int64_t i = 0; i < w->channels; i += RY_W) {
        ry_store_masked(dtype, to + i * size_of(&problem->out[0]), ry_vm_first(w->channels - i),
                        ry_vf_load(sum + i));
    }
}

/* A square of sums as vectors of pixels. */
RY_INLINE void load_square(const float *sum, int64_t step, ry_vf v[RY_W])
{
#pragma GCC unroll 16
    for (int i = 0; i < RY_W; i++) {
        v[i] = ry_vf_load(sum + i * step);
    }
    ry_vf_transpose(v);
}

/* Up to a vector of pixels of up to a vector of channels: `r`, `to`: where the first channel's
 * first pixel is. */
static void finish_square(const depthwise_work *w, const float *sum, int64_t pixels,
                          int64_t channels, const char *r, char *to)
{
    const ry_problem *problem = w->launch->problem;
    const ry_conv_geometry *g = &w->plan->geometry;
    float square[RY_W * RY_W];
    ry_vf v[RY_W];
    load_square(sum, w->plan->sum_step, v);
#pragma GCC unroll 16
    for (int i = 0; i < RY_W; i++) {
        ry_vf_store(square + i * RY_W, v[i]);
    }
    for (int64_t i = 0; r && i < channels; i++) {
        const ry_vf x =
            ry_load_masked(ry_type_of(&problem->in[3]),
                           r + i * g->r_channel * size_of(&problem->in[3]), ry_vm_first(pixels));
        ry_vf_store(square + i * RY_W, ry_vf_add(ry_vf_load(square + i * RY_W), x));
    }
    RY_ISA_SYMBOL(activate)(w->activation, square, channels * RY_W);
    for (int64_t i = 0; i < channels; i++) {
        ry_store_masked(ry_type_of(&problem->out[0]),
                        to + i * g->y_channel * size_of(&problem->out[0]), ry_vm_first(pixels),
                        ry_vf_load(square + i * RY_W));
    }
}

/* The same if the epilogue is only bounds, which the block has applied. */
static void write_square(const depthwise_work *w, const float *sum, int64_t pixels,
                         int64_t channels, float *to)
{
    const int64_t step = w->plan->geometry.y_channel;
    ry_vf v[RY_W];
    load_square(sum, w->plan->sum_step, v);
#pragma GCC unroll 16
    for (int i = 0; i < RY_W; i++) {
        if (i < channels) {
            ry_vf_store_first(to + i * step, pixels, v[i]);
        }
    }
}

static void finish_run(const depthwise_work *w, const float *sums, int64_t pixels, int64_t y,
                       int64_t residual, bool plain)
{
    const ry_problem *problem = w->launch->problem;
    const ry_conv_geometry *g = &w->plan->geometry;
    const int64_t size = size_of(&problem->out[0]);
    char *to = (char *)w->launch->out[0] + y * size;
    const char *r = ry_problem_has_input(problem, 3) ? w->launch->in[3] : NULL;
    const int64_t r_size = r ? size_of(&problem->in[3]) : 0;
    for (int64_t c = 0; c < w->channels; c += RY_W) {
        const int64_t channels = w->channels - c < RY_W ? w->channels - c : RY_W;
        for (int64_t p = 0; p < pixels; p += RY_W) {
            const float *sum = sums + p * w->plan->sum_step + c;
            const int64_t count = pixels - p < RY_W ? pixels - p : RY_W;
            char *position = to + (c * g->y_channel + p) * size;
            if (plain) {
                write_square(w, sum, count, channels, (float *)(void *)position);
            } else {
                finish_square(w, sum, count, channels,
                              r ? r + (residual + c * g->r_channel + p) * r_size : NULL, position);
            }
        }
    }
}

void RY_ISA_SYMBOL(depthwise_nhwc_finish_planes)(const depthwise_work *w, int64_t line,
                                                 int64_t lines)
{
    const ry_problem *problem = w->launch->problem;
    const depthwise_nhwc_plan *plan = w->plan;
    const ry_conv_geometry *g = &plan->geometry;
    float low, high;
    const bool residual = ry_problem_has_input(problem, 3);
    const bool plain = ry_type_of(&problem->out[0]) == RY_f32 && !residual &&
                       ry_activation_bounds(w->activation, &low, &high);
    const int64_t each = plan->dense_out ? lines : 1;
    const float *sums = w->sums;
    for (int64_t i = 0; i < lines; i += each, sums += each * g->out[2] * plan->sum_step) {
        const int64_t y = w->image * g->y_batch + w->channel * g->y_channel +
                          line_at(w, plan->phase.y_step, line + i);
        const int64_t r = w->image * g->r_batch + w->channel * g->r_channel +
                          line_at(w, plan->phase.r_step, line + i);
        finish_run(w, sums, each * g->out[2], y, r, plain);
    }
}
