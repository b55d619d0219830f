/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of a deformable convolution: each tap's samples of all channels, times the mask. */
#include "kernels/cpu/sample/sample_plan.h"

#include "kernels/cpu/parts/cpu_kernel.h"
#include "kernels/cpu/sample/points.h"
#include "kernels/cpu/simd/simd.h"
#include "problem/window.h"

#include <math.h>

/* Numbers of one channel of offsets or mask along a line. */
static void read_line(const ry_tensor *t, const void *data, int64_t image, int64_t channel,
                      const ry_points_line *line, double *restrict value)
{
    int64_t at = image * t->stride[0] + channel * t->stride[1];
    const int64_t step = t->stride[t->rank - 1];
    for (int a = 0; a < t->rank - 2; a++) {
        at += line->index[a] * t->stride[a + 2];
    }
    if (t->dtype == RYND_DTYPE_F32) {
        const float *from = (const float *)data + at;
        for (int64_t i = 0; i < line->count; i++) {
            value[i] = (double)from[i * step];
        }
        return;
    }
    for (int64_t i = 0; i < line->count; i++) {
        value[i] = ry_get_f64((ry_dtype)t->dtype, data, at + i * step);
    }
}

/* The two taps at x[i]; none where x is a pixel or more outside, and none of weight 0. */
static void locate(const ry_points_axis *axis, int64_t pitch, int64_t to, int64_t count,
                   int64_t size, const double *restrict x)
{
    void *index = axis->index;
    const bool far = axis->far;
    double *restrict weight = axis->weight + to;
    for (int64_t i = 0; i < count; i++) {
        const bool near = x[i] > -1 && x[i] < (double)size;
        const double inside = near ? x[i] : -1, low = floor(inside), part = inside - low;
        ry_points_set_double(index, far, to + i, low >= 0 ? low : -1);
        weight[i] = 1 - part;
        ry_points_set_double(index, far, pitch + to + i,
                             part > 0 && low + 1 < (double)size ? low + 1 : -1);
        weight[pitch + i] = part;
    }
}

/* A tap of an offset group: its place in the window and its number there. */
typedef struct tap_of {
    int64_t image, group, number, position[RY_MAX_RANK];
} tap_of;

/* The mask becomes part of the first axis's weights. */
static void locate_line(const ry_cpu_launch *launch, const ry_window *window, const tap_of *tap,
                        const ry_points_line *line, ry_points_axis *axis)
{
    const ry_points_plan *s = launch->state;
    const ry_problem *p = launch->problem;
    double x[RY_POINTS_BLOCK];
    for (int a = 0; a < s->rank; a++) {
        const ry_window_axis *w = &window->axis[a];
        const int64_t step = a == s->rank - 1 ? w->stride : 0;
        const int64_t at = ry_window_at(w, line->index[a], tap->position[a]);
        read_line(&p->in[1], launch->in[1], tap->image, tap->number * s->rank + a, line, x);
        for (int64_t i = 0; i < line->count; i++) {
            x[i] = (double)(at + i * step) + x[i];
        }
        locate(&axis[a], s->axis_length, line->to, line->count, s->size[a], x);
    }
    if (ry_problem_has_input(p, 2)) {
        double *weight = axis[0].weight + line->to;
        read_line(&p->in[2], launch->in[2], tap->image, tap->number, line, x);
        for (int64_t i = 0; i < line->count; i++) {
            weight[i] *= x[i];
            weight[s->axis_length + i] *= x[i];
        }
    }
}

/* All channels of the tap's offset group, in runs that are beside each other in the result. */
static void read_channels(const ry_cpu_launch *launch, const tap_of *tap, int64_t taps,
                          int64_t first, int64_t count, const ry_points_axis *axis)
{
    const ry_points_plan *s = launch->state;
    const ry_deform_columns_attrs *attrs = &launch->problem->attrs.deform_columns;
    const int64_t each = s->channels / attrs->groups,
                  size = (int64_t)ry_dtype_size((ry_dtype)s->dtype);
    const int64_t end = s->channels / attrs->offset_groups * (tap->group + 1);
    for (int64_t c = s->channels / attrs->offset_groups * tap->group; c < end;) {
        const int64_t left = each - c % each, run = left < end - c ? left : end - c;
        const int64_t column = (c / each * taps + tap->number % taps) * each + c % each,
                      columns = s->channels * taps;
        ry_points_memory m =
            ry_points_memory_of(s, launch->in[0], tap->image, launch->out[0], 0, 0);
        m.y_position = s->last ? columns : 1;
        m.x = (const char *)m.x + c * m.x_channel * size;
        m.y = (char *)m.y +
              (tap->image * columns * s->positions + column * m.y_channel + first * m.y_position) *
                  size;
        m.channels = run;
        RY_ISA_SYMBOL(points_run)(s, axis, count, &m, launch->scratch);
        c += run;
    }
}

static void run(const ry_cpu_launch *launch, size_t task)
{
    const ry_points_plan *s = launch->state;
    const ry_problem *p = launch->problem;
    const ry_window window = ry_window_of(p);
    const int64_t taps = p->out[0].dim[1] / s->channels;
    ry_cut_range range[RY_CUT_AXES];
    ry_cut_task(&s->cut, task, range);
    ry_points_axis axis[RY_MAX_RANK];
    for (int a = 0; a < s->rank; a++) {
        axis[a] = ry_points_axis_of(s, launch->scratch, a);
    }
    for (int64_t n = 0; n < taps * p->attrs.deform_columns.offset_groups; n++) {
        tap_of tap = {.image = range[0].first, .group = n / taps, .number = n};
        int64_t rest = n % taps;
        for (int a = s->rank - 1; a >= 0; a--) {
            tap.position[a] = rest % window.axis[a].taps;
            rest /= window.axis[a].taps;
        }
        ry_points_line line = {.count = 0};
        while (ry_points_next(s, p->out[0].dim + 2, range[1].first, range[1].end, &line)) {
            locate_line(launch, &window, &tap, &line, axis);
        }
        read_channels(launch, &tap, taps, range[1].first, range[1].count, axis);
    }
}

RY_CPU_KERNEL(deform_columns, deform_columns, strict, .simd = RY_SIMD,
              .applicable = ry_deform_columns_applicable, .prepare = ry_deform_columns_prepare,
              .initialise = ry_deform_columns_initialise, .run = run);
