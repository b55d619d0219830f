/* SPDX-License-Identifier: Apache-2.0 */
/* Makes cases of shapes. */
#include "window_shape.h"

window_shape window_shape_3x3(int64_t channels, int64_t size)
{
    return (window_shape){.batch = 1,
                          .channels = channels,
                          .out = channels,
                          .groups = 1,
                          .size = {0, size, size},
                          .kernel = {0, 3, 3},
                          .dilation = {0, 1, 1},
                          .before = {0, 1, 1},
                          .after = {0, 1, 1}};
}

/* Axis i of `space`: extents, pads, strides. False if nothing fits. */
static bool set_axis(product_case *c, const window_shape *s, int space, int i, int64_t *x,
                     int64_t *w, int64_t *y)
{
    ry_conv_attrs *conv = &c->problem.attrs.conv;
    ry_convt_attrs *convt = &c->problem.attrs.convt;
    ry_ints *dilation = s->transposed ? &convt->dilation : &conv->dilation,
            *pads = s->transposed ? &convt->pads : &conv->pads;
    const int at = 3 - space + i;
    *x = s->size[at];
    *w = s->kernel[at];
    /* padding of a transposed convolution removes the window's overhang */
    const int64_t reach = s->dilation[at] * (s->kernel[at] - 1), sum = s->before[at] + s->after[at];
    const int64_t stride = s->stride[at] > 1 ? s->stride[at] : 1;
    *y = (s->size[at] - 1) * stride + 1 + sum - reach;
    dilation->at[i] = s->dilation[at];
    pads->at[i] = s->transposed ? reach - s->before[at] : s->before[at];
    pads->at[i + space] = s->transposed ? reach - s->after[at] : s->after[at];
    if (!s->transposed && stride > 1) {
        *y = (s->size[at] + sum - reach - 1) / stride + 1;
        if (s->size[at] + sum - reach < 1) {
            return false;
        }
        conv->stride.count = space;
    }
    if (!s->transposed) {
        conv->stride.at[i] = stride;
    }
    if (s->transposed) {
        convt->stride.count = convt->output_padding.count = space;
        convt->stride.at[i] = stride;
        convt->output_padding.at[i] =
            stride > 1 && pads->at[i + space] < 0 ? -pads->at[i + space] : 0;
        pads->at[i + space] += convt->output_padding.at[i];
    }
    if (pads->at[i] < 0 || pads->at[i + space] < 0) {
        return false;
    }
    if (*y < 1) {
        return false;
    }
    return true;
}

bool window_shape_case(product_case *c, const window_shape *s, int space, case_layout x_layout,
                       case_layout y_layout)
{
    const ry_op op = s->transposed ? RY_OP_convt : RY_OP_conv;
    *c = (product_case){.problem = {.op = op, .inputs = 4}};
    c->problem.attrs = ry_attrs_default(op);
    ry_conv_attrs *conv = &c->problem.attrs.conv;
    ry_convt_attrs *convt = &c->problem.attrs.convt;
    ry_ints *dilation = s->transposed ? &convt->dilation : &conv->dilation,
            *pads = s->transposed ? &convt->pads : &conv->pads;
    int64_t x[5] = {s->batch, s->channels * s->groups}, w[5] = {s->out * s->groups, s->channels},
            y[5] = {s->batch, s->out * s->groups};
    if (s->transposed) {
        w[0] = x[1];
        w[1] = s->out;
    }
    *(s->transposed ? &convt->groups : &conv->groups) = s->groups;
    dilation->count = space;
    pads->count = 2 * space;
    for (int i = 0; i < space; i++) {
        if (!set_axis(c, s, space, i, &x[i + 2], &w[i + 2], &y[i + 2])) {
            return false;
        }
    }
    c->in[0] = case_tensor(RY_f32, space + 2, x, x_layout);
    c->in[1] =
        case_tensor(RY_f32, space + 2, w, case_between(0, 3) ? CASE_ROW_MAJOR : CASE_STRIDED);
    c->out[0] = case_tensor(RY_f32, space + 2, y, y_layout);
    if (case_between(0, 1)) {
        const ry_ints *stride = &convt->stride;
        const int64_t bias[4] = {y[1], stride->at[0], stride->at[1], stride->at[2]};
        const bool phases = s->transposed && case_between(0, 1);
        c->in[2] = case_tensor(RY_f32, phases ? 1 + space : 1, bias,
                               case_between(0, 3) ? CASE_ROW_MAJOR : CASE_STRIDED);
    }
    if (case_between(0, 2) == 0) {
        c->in[3] = c->out[0];
    }
    *(s->transposed ? &convt->activation : &conv->activation) =
        (ry_activation)(case_between(0, 1) ? 0 : case_between(0, RY_activation_count - 1));
    *(s->transposed ? &convt->act_alpha : &conv->act_alpha) = 0.25;
    *(s->transposed ? &convt->act_beta : &conv->act_beta) = 0.5;
    c->terms = (double)(s->channels * w[2] * (space > 1 ? w[3] : 1) * (space > 2 ? w[4] : 1));
    return true;
}
