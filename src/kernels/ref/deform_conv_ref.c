/* SPDX-License-Identifier: Apache-2.0 */
/* Reference deformable convolution (ONNX DeformConv; Zhu et al., arXiv:1811.11168), any rank. */
#include "kernels/ref/ref_common.h"
#include "problem/window.h"

/* The linear taps at position x of a dimension; what is outside is zero. A position far outside, or
 * NaN, has none. */
static ry_ref_taps linear_taps(double x, int64_t size)
{
    ry_ref_taps taps = {0};
    if (!(x > -1 && x < (double)size)) {
        return taps;
    }
    double low = floor(x);
    for (int j = 0; j < 2; j++) {
        int64_t i = (int64_t)low + j;
        double weight = j ? x - low : 1 - (x - low);
        if (i >= 0 && i < size && weight != 0) {
            taps.index[taps.count] = i;
            taps.weight[taps.count++] = weight;
        }
    }
    return taps;
}

/* Element [n, channel, o] of offset or mask. */
static double per_position(const ry_tensor *t, const void *data, const int64_t *index,
                           int64_t channel)
{
    int64_t at[RY_MAX_RANK];
    memcpy(at, index, sizeof at);
    at[1] = channel;
    return ry_ref_get(ry_ref_dtype(t), data, ry_index_offset(t, at));
}

/* Operands of a sample. */
typedef struct samples {
    const ry_tensor *x, *offset, *mask; /* mask: may be absent */
    const void *x_data, *offset_data, *mask_data;
    int64_t offset_groups, taps;
} samples;

static samples samples_of(const ry_cpu_launch *launch, int offset, int mask, int64_t offset_groups,
                          int64_t taps)
{
    const ry_problem *p = launch->problem;
    const bool masked = ry_problem_has_input(p, mask);
    return (samples){.x = &p->in[0],
                     .offset = &p->in[offset],
                     .mask = masked ? &p->in[mask] : NULL,
                     .x_data = launch->in[0],
                     .offset_data = launch->in[offset],
                     .mask_data = masked ? launch->in[mask] : NULL,
                     .offset_groups = offset_groups,
                     .taps = taps};
}

/* mask * x sampled at the tap's displaced position; `number` is the tap's row-major number. */
static double tap_value(const samples *s, const ry_window *win, const int64_t *index,
                        int64_t channel, const int64_t *tap, int64_t number)
{
    const int64_t group = channel / (s->x->dim[1] / s->offset_groups) * s->taps + number;
    ry_ref_taps around[RY_MAX_RANK];
    for (int i = 0; i < win->rank; i++) {
        double shift = per_position(s->offset, s->offset_data, index, group * win->rank + i);
        around[i] = linear_taps((double)ry_window_at(&win->axis[i], index[i + 2], tap[i]) + shift,
                                win->axis[i].in);
        if (around[i].count == 0) {
            return 0;
        }
    }
    double value = ry_ref_interpolate(ry_ref_dtype(s->x), s->x_data,
                                      index[0] * s->x->stride[0] + channel * s->x->stride[1],
                                      win->rank, around, s->x->stride + 2);
    return s->mask ? value * per_position(s->mask, s->mask_data, index, group) : value;
}

static void element(const ry_cpu_launch *launch, const int64_t *index)
{
    const ry_problem *p = launch->problem;
    const ry_deform_conv_attrs *attrs = &p->attrs.deform_conv;
    const ry_tensor *w = &p->in[1], *y = &p->out[0];
    ry_window win = ry_window_of(p);
    ry_shape kernel = ry_shape_of(win.rank, w->dim + 2);
    int64_t taps = ry_shape_elements(&kernel), group = index[1] / (y->dim[1] / attrs->groups);
    const samples from = samples_of(launch, 2, 4, attrs->offset_groups, taps);
    double sum = 0;
    for (int64_t c = 0; c < w->dim[1] && taps > 0; c++) {
        int64_t channel = group * w->dim[1] + c;
        int64_t at[RY_MAX_RANK] = {index[1], c}, number = 0;
        do {
            double weight = ry_ref_get(ry_ref_dtype(w), launch->in[1], ry_index_offset(w, at));
            sum += weight * tap_value(&from, &win, index, channel, at + 2, number);
            number++;
        } while (ry_index_next(win.rank, kernel.dim, at + 2));
    }
    if (ry_problem_has_input(p, 3)) {
        sum += ry_ref_get(ry_ref_dtype(&p->in[3]), launch->in[3], index[1] * p->in[3].stride[0]);
    }
    ry_set_f64(ry_ref_dtype(y), launch->out[0], ry_index_offset(y, index), sum);
}

static void run(const ry_cpu_launch *launch, size_t task)
{
    ry_ref_each_output(launch, task, element);
}

RY_REF_KERNEL(deform_conv, ry_ref_floats, ry_ref_prepare_elements, .run = run);

/* Channel index[1] of the columns is [group, tap, channel of the group]. */
static void column_element(const ry_cpu_launch *launch, const int64_t *index)
{
    const ry_problem *p = launch->problem;
    const ry_deform_columns_attrs *attrs = &p->attrs.deform_columns;
    const ry_tensor *y = &p->out[0];
    ry_window win = ry_window_of(p);
    const int64_t each = p->in[0].dim[1] / attrs->groups, taps = y->dim[1] / p->in[0].dim[1],
                  number = index[1] / each % taps;
    int64_t tap[RY_MAX_RANK], rest = number;
    for (int i = win.rank - 1; i >= 0; i--) {
        tap[i] = rest % attrs->kernel.at[i];
        rest /= attrs->kernel.at[i];
    }
    const samples from = samples_of(launch, 1, 2, attrs->offset_groups, taps);
    ry_set_f64(ry_ref_dtype(y), launch->out[0], ry_index_offset(y, index),
               tap_value(&from, &win, index, index[1] / (each * taps) * each + index[1] % each, tap,
                         number));
}

static void run_columns(const ry_cpu_launch *launch, size_t task)
{
    ry_ref_each_output(launch, task, column_element);
}

static bool takes_columns(const ry_problem *problem)
{
    return ry_ref_floats(problem) && ry_problem_has_input(problem, 1) &&
           problem->attrs.deform_columns.kernel.count == problem->in[0].rank - 2;
}

RY_REF_KERNEL(deform_columns, takes_columns, ry_ref_prepare_elements, .run = run_columns);
