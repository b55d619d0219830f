/* SPDX-License-Identifier: Apache-2.0 */
/* Copies lines of x, with zeros where there is padding. */
#include "kernels/cpu/wgrad/wgrad_copy.h"

#include "base/integer.h"

#include <string.h>

static void put_zeros(float *to, int64_t count)
{
    memset(to, 0, (size_t)count * sizeof *to);
}

/* A line of one channel: places [inside.begin, inside.end) from `from` on. */
static void put_row(const float *from, int64_t step, ry_window_range inside, int64_t positions,
                    float *to)
{
    const int64_t count = inside.end - inside.begin;
    put_zeros(to, inside.begin);
    if (step == 1) {
        memcpy(to + inside.begin, from, (size_t)count * sizeof *to);
    } else {
        for (int64_t i = 0; i < count; i++) {
            to[inside.begin + i] = from[i * step];
        }
    }
    put_zeros(to + inside.end, positions - inside.end);
}

/* The same of all channels, which are beside each other. */
static void put_pixels(const float *from, int64_t step, ry_window_range inside, int64_t positions,
                       int64_t channels, int64_t pixel, float *to)
{
    put_zeros(to, inside.begin * pixel);
    for (int64_t i = inside.begin; i < inside.end; i++, from += step) {
        memcpy(to + i * pixel, from, (size_t)channels * sizeof *to);
    }
    put_zeros(to + inside.end * pixel, (positions - inside.end) * pixel);
}

static void put_line(const wgrad_plan *plan, const float *from, ry_window_range inside,
                     int64_t channels, float *to)
{
    const wgrad_operand *x = &plan->shape.x, *copy = &plan->copy;
    from += inside.begin == inside.end ? 0 : (inside.begin - plan->shape.axis[2].pad) * x->step[2];
    if (x->channel == 1) {
        put_pixels(from, x->step[2], inside, plan->region[2], channels, copy->step[2], to);
        return;
    }
    for (int64_t c = 0; c < channels; c++) {
        put_row(from + c * x->channel, x->step[2], inside, plan->region[2], to + c * copy->channel);
    }
}

void ry_wgrad_copy(const wgrad_plan *plan, const wgrad_block *block, int64_t channels,
                   const float *x, float *to)
{
    const wgrad_shape *s = &plan->shape;
    const wgrad_operand *from = &s->x, *copy = &plan->copy;
    const ry_window_axis *axis = s->axis;
    const int64_t images = plan->outer_is_d ? 1 : block->outer,
                  planes = ((plan->outer_is_d ? block->outer : 1) - 1) * axis[0].stride +
                           ry_window_field(&axis[0]),
                  lines = (block->lines - 1) * axis[1].stride + ry_window_field(&axis[1]);
    const ry_window_range along = ry_window_inside(axis[2].in, -axis[2].pad, 1, plan->region[2]);
    for (int64_t i = 0; i < images * planes * lines; i++) {
        const int64_t image = i / lines / planes, plane = i / lines % planes, line = i % lines;
        const int64_t d = block->d * axis[0].stride + plane - axis[0].pad,
                      h = block->line * axis[1].stride + line - axis[1].pad;
        const bool there = d >= 0 && d < axis[0].in && h >= 0 && h < axis[1].in;
        put_line(plan,
                 there ? x + (block->image + image) * from->image + d * from->step[0] +
                             h * from->step[1]
                       : x,
                 there ? along : (ry_window_range){0, 0}, channels,
                 to + image * copy->image + plane * copy->step[0] + line * copy->step[1]);
    }
}
