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

/* mask * w * x sampled at the tap's displaced position; `number` is the tap's row-major number. */
static double tap_value(const ry_cpu_launch *launch, const ry_window *win, const int64_t *index,
                        int64_t offset_group, const int64_t *tap, int64_t number, int64_t taps,
                        int64_t x_base)
{
    const ry_tensor *x = &launch->problem->in[0], *offset = &launch->problem->in[2],
                    *mask = &launch->problem->in[4];
    ry_ref_taps around[RY_MAX_RANK];
    for (int i = 0; i < win->rank; i++) {
        double shift = per_position(offset, launch->in[2], index,
                                    (offset_group * taps + number) * win->rank + i);
        around[i] = linear_taps((double)ry_window_at(&win->axis[i], index[i + 2], tap[i]) + shift,
                                win->axis[i].in);
        if (around[i].count == 0) {
            return 0;
        }
    }
    double value = ry_ref_interpolate(ry_ref_dtype(x), launch->in[0], x_base, win->rank, around,
                                      x->stride + 2);
    if (ry_problem_has_input(launch->problem, 4)) {
        value *= per_position(mask, launch->in[4], index, offset_group * taps + number);
    }
    return value;
}

static void element(const ry_cpu_launch *launch, const int64_t *index)
{
    const ry_problem *p = launch->problem;
    const ry_deform_conv_attrs *attrs = &p->attrs.deform_conv;
    const ry_tensor *x = &p->in[0], *w = &p->in[1], *y = &p->out[0];
    ry_window win = ry_window_of(p);
    ry_shape kernel = ry_shape_of(win.rank, w->dim + 2);
    int64_t taps = ry_shape_elements(&kernel), group = index[1] / (y->dim[1] / attrs->groups);
    double sum = 0;
    for (int64_t c = 0; c < w->dim[1] && taps > 0; c++) {
        int64_t channel = group * w->dim[1] + c;
        int64_t x_base = index[0] * x->stride[0] + channel * x->stride[1];
        int64_t at[RY_MAX_RANK] = {index[1], c}, number = 0;
        do {
            double weight = ry_ref_get(ry_ref_dtype(w), launch->in[1], ry_index_offset(w, at));
            sum += weight * tap_value(launch, &win, index,
                                      channel / (x->dim[1] / attrs->offset_groups), at + 2, number,
                                      taps, x_base);
            number++;
        } while (ry_index_next(win.rank, kernel.dim, at + 2));
    }
    if (ry_problem_has_input(p, 3)) {
        sum += ry_ref_get(ry_ref_dtype(&p->in[3]), launch->in[3], index[1] * p->in[3].stride[0]);
    }
    ry_set_f64(ry_ref_dtype(y), launch->out[0], ry_index_offset(y, index), sum);
}

/* Each tap is interpolated between the corners around its position. */
static rynd_status prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    const ry_problem *p = query->problem;
    const double corners = (double)(INT64_C(1) << (p->in[0].rank - 2));
    RY_TRY(ry_ref_prepare_elements(query, prepared, error));
    prepared->work[0].all = ry_problem_flop(p) * (1 + corners);
    return RYND_OK;
}

RY_REF_COUNTED_ELEMENTS(deform_conv, ry_ref_floats, prepare, element)
