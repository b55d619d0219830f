/* SPDX-License-Identifier: Apache-2.0 */
/* Reference separable convolution (Sifre, 2014): depthwise, then pointwise; any rank. */
#include "kernels/ref/ref_common.h"
#include "problem/window.h"

static ry_ref_operand operand(const ry_cpu_launch *launch, int i, int64_t offset)
{
    return (ry_ref_operand){
        .dtype = ry_ref_dtype(&launch->problem->in[i]), .data = launch->in[i], .offset = offset};
}

static void add_bias(const ry_cpu_launch *launch, int i, int64_t channel, ry_ref_sum *sum)
{
    const ry_problem *p = launch->problem;
    if (ry_problem_has_input(p, i)) {
        ry_ref_add(sum, ry_ref_dtype(&p->in[i]), launch->in[i], channel * p->in[i].stride[0]);
    }
}

/* The depthwise result of one channel at the position of `index`. */
static double middle(const ry_cpu_launch *launch, const ry_window *win, const int64_t *index,
                     int64_t channel)
{
    const ry_problem *p = launch->problem;
    const ry_separable_conv_attrs *attrs = &p->attrs.separable_conv;
    const ry_tensor *tx = &p->in[0], *tw = &p->in[1];
    ry_ref_operand x = operand(launch, 0, index[0] * tx->stride[0] + channel * tx->stride[1]);
    ry_ref_operand w = operand(launch, 1, channel * tw->stride[0]);
    int64_t count[RY_MAX_RANK];
    for (int i = 0; i < win->rank; i++) {
        const ry_window_axis *axis = &win->axis[i];
        const ry_window_range taps = ry_window_taps(axis, index[i + 2]);
        count[i] = taps.end - taps.begin;
        x.offset += ry_window_at(axis, index[i + 2], taps.begin) * tx->stride[i + 2];
        x.step[i] = axis->dilation * tx->stride[i + 2];
        w.offset += taps.begin * tw->stride[i + 2];
        w.step[i] = tw->stride[i + 2];
    }
    ry_ref_sum sum = {0};
    ry_ref_dot(&sum, win->rank, count, &x, &w);
    add_bias(launch, 2, channel, &sum);
    ry_ref_activate(&sum, attrs->mid_activation, attrs->mid_alpha, attrs->mid_beta);
    return sum.f;
}

/* y[n,k,o] = sum over c of m[n,c,o] * w[k,c] */
static void element(const ry_cpu_launch *launch, const int64_t *index)
{
    const ry_problem *p = launch->problem;
    const ry_separable_conv_attrs *attrs = &p->attrs.separable_conv;
    const ry_tensor *tw = &p->in[3], *ty = &p->out[0];
    const ry_window win = ry_window_of(p);
    ry_ref_sum sum = {0};
    for (int64_t c = 0; c < tw->dim[1]; c++) {
        sum.f += middle(launch, &win, index, c) *
                 ry_ref_get(ry_ref_dtype(tw), launch->in[3],
                            index[1] * tw->stride[0] + c * tw->stride[1]);
    }
    add_bias(launch, 4, index[1], &sum);
    if (ry_problem_has_input(p, 5)) {
        ry_ref_add(&sum, ry_ref_dtype(&p->in[5]), launch->in[5], ry_index_offset(&p->in[5], index));
    }
    ry_ref_activate(&sum, attrs->activation, attrs->act_alpha, attrs->act_beta);
    ry_ref_store(&sum, ry_ref_dtype(ty), launch->out[0], ry_index_offset(ty, index));
}

RY_REF_ELEMENTS(separable_conv, ry_ref_floats, element)
