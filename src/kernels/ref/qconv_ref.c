/* SPDX-License-Identifier: Apache-2.0 */
/* Reference of the quantised convolution: exact sums in integers, scaled in float32. */
#include "kernels/ref/ref_common.h"
#include "problem/window.h"

/* The sum of (x - x_zero) * w over the taps inside x: padding is x_zero. Modulo 2^32. */
static int32_t sum_of(const ry_cpu_launch *launch, const int64_t *index)
{
    const ry_problem *p = launch->problem;
    const ry_qconv_attrs *attrs = &p->attrs.qconv;
    const ry_tensor *tx = &p->in[0], *tw = &p->in[1], *ty = &p->out[0];
    const ry_window win = ry_window_of(p);
    ry_ref_operand x = {.dtype = RY_u8, .data = launch->in[0]},
                   w = {.dtype = RY_i8, .data = launch->in[1]};
    int64_t count[RY_MAX_RANK] = {tw->dim[1]};
    const int64_t group = index[1] / (ty->dim[1] / attrs->groups);
    x.offset = index[0] * tx->stride[0] + group * tw->dim[1] * tx->stride[1];
    x.step[0] = tx->stride[1];
    w.offset = index[1] * tw->stride[0];
    w.step[0] = tw->stride[1];
    for (int i = 0; i < win.rank; i++) {
        const ry_window_axis *axis = &win.axis[i];
        const ry_window_range taps = ry_window_taps(axis, index[i + 2]);
        count[i + 1] = taps.end - taps.begin;
        x.offset += ry_window_at(axis, index[i + 2], taps.begin) * tx->stride[i + 2];
        x.step[i + 1] = axis->dilation * tx->stride[i + 2];
        w.offset += taps.begin * tw->stride[i + 2];
        w.step[i + 1] = tw->stride[i + 2];
    }
    ry_ref_sum sum = {.integer = true}, weights = {.integer = true};
    ry_ref_dot(&sum, win.rank + 1, count, &x, &w);
    ry_ref_dot(&weights, win.rank + 1, count, &w, NULL);
    if (ry_problem_has_input(p, 2)) {
        ry_ref_add(&sum, RY_i32, launch->in[2], index[1] * p->in[2].stride[0]);
    }
    return (int32_t)(uint32_t)(sum.i - (uint64_t)attrs->x_zero * weights.i);
}

/* round(v) + zero, halves to even, within bounds. */
static float quantise(float v, int64_t zero, int64_t low, int64_t high)
{
    const float bounded = fminf(fmaxf(v, (float)(low - zero)), (float)(high - zero));
    return rintf(bounded) + (float)zero;
}

static void element(const ry_cpu_launch *launch, const int64_t *index)
{
    const ry_problem *p = launch->problem;
    const ry_qconv_attrs *a = &p->attrs.qconv;
    const int64_t at = ry_index_offset(&p->out[0], index);
    const int32_t sum = sum_of(launch, index);
    if (!ry_problem_has_input(p, 4)) {
        ((int32_t *)launch->out[0])[at] = sum;
        return;
    }
    float v = (float)sum * ((const float *)launch->in[4])[index[1] * p->in[4].stride[0]];
    if (a->dequantise) {
        ry_set_f64(ry_ref_dtype(&p->out[0]), launch->out[0], at, (double)v);
        return;
    }
    if (ry_problem_has_input(p, 3)) {
        const uint8_t residual =
            ((const uint8_t *)launch->in[3])[ry_index_offset(&p->in[3], index)];
        const float own = (quantise(v, a->sum_zero, a->sum_low, a->sum_high) - (float)a->sum_zero) *
                          (float)a->sum_scale;
        const float other = ((float)residual - (float)a->residual_zero) * (float)a->residual_scale;
        v = own + other;
    }
    ((uint8_t *)launch->out[0])[at] = (uint8_t)quantise(v, a->zero, a->low, a->high);
}

static bool applicable(const ry_problem *p)
{
    return ry_problem_has_input(p, 0) && ry_problem_has_input(p, 1) && ry_problem_has_output(p, 0);
}

RY_REF_ELEMENTS(qconv, applicable, element)
