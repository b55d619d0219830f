/* SPDX-License-Identifier: Apache-2.0 */
/* Draws ranks, sizes, strides, dilations, groups, pads, layouts, epilogues. */
#include "random_conv.h"

static void list_add(ry_ints *list, int64_t x)
{
    list->at[list->count++] = x;
}

static const int64_t primes[] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 31, 37, 61, 67};

/* Output size of one dimension; 0 if the window does not fit. */
static int64_t out_size(bool transposed, int64_t in, int64_t k, int64_t stride, int64_t dilation,
                        int64_t before, int64_t after, int64_t more)
{
    const int64_t reach = dilation * (k - 1) + 1;
    if (transposed) {
        const int64_t out = (in - 1) * stride - before - after + reach + more;
        return out > 0 ? out : 0;
    }
    return in + before + after < reach ? 0 : (in + before + after - reach) / stride + 1;
}

/* x and w to y as x and dy to dw. */
static void to_weights(product_case *c)
{
    const ry_tensor w = c->in[1];
    ry_conv_attrs *conv = &c->problem.attrs.conv;
    conv->dir = RY_direction_bwd_weights;
    conv->activation = RY_activation_none;
    conv->act_alpha = conv->act_beta = 0;
    c->problem.inputs = 2;
    c->in[1] = c->out[0];
    c->in[2] = c->in[3] = (ry_tensor){0};
    c->out[0] = w;
    c->terms = (double)ry_tensor_count(&c->in[1]) / (double)w.dim[0];
}

/* Extents, window, strides and pads of each dimension; false if the window does not fit. */
static bool draw_axes(product_case *c, const conv_limits *l, int space, int64_t *x_dim,
                      int64_t *w_dim, int64_t *y_dim)
{
    ry_conv_attrs *conv = &c->problem.attrs.conv;
    ry_convt_attrs *convt = &c->problem.attrs.convt;
    const int64_t size = space == 3 ? (l->size + 2) / 3 : l->size,
                  kernel = space == 3 && l->kernel > 3 ? 3 : l->kernel;
    ry_ints *stride = l->transposed ? &convt->stride : &conv->stride,
            *dilation = l->transposed ? &convt->dilation : &conv->dilation;
    ry_ints *pads = l->transposed ? &convt->pads : &conv->pads;
    int64_t after[3];
    const bool plain_window = case_between(0, 2) == 0;
    for (int i = 0; i < space; i++) {
        const int64_t k = case_between(1, kernel);
        x_dim[i + 2] = case_between(1, size);
        w_dim[i + 2] = k;
        list_add(stride, l->stride ? case_between(1, l->stride)
                         : plain_window || l->pointwise || case_between(0, 1) ? 1
                                                                              : case_between(1, 4));
        list_add(dilation, plain_window || case_between(0, 1) ? 1 : case_between(1, 3));
        list_add(pads, l->pointwise || case_between(0, 1) ? k / 2 : case_between(0, k + 1));
        after[i] = case_between(0, 1) ? pads->at[i] : case_between(0, k + 1);
        const int64_t more =
            l->transposed && stride->at[i] > 1 ? case_between(0, stride->at[i] - 1) : 0;
        if (l->transposed) {
            list_add(&convt->output_padding, more);
        }
        y_dim[i + 2] = out_size(l->transposed, x_dim[i + 2], k, stride->at[i], dilation->at[i],
                                pads->at[i], after[i], more);
        if (y_dim[i + 2] == 0) {
            return false;
        }
    }
    for (int i = 0; i < space; i++) {
        list_add(pads, after[i]);
    }
    return true;
}

/* Residual and activation. */
static void draw_ends(product_case *c, const conv_limits *l, int space, const int64_t *y_dim,
                      case_layout y_layout)
{
    ry_conv_attrs *conv = &c->problem.attrs.conv;
    ry_convt_attrs *convt = &c->problem.attrs.convt;
    if (case_between(0, 2) == 0) {
        c->in[3] = case_between(0, 1) ? c->out[0]
                                      : case_tensor(case_between(0, 1) ? RY_f32 : l->dtype,
                                                    space + 2, y_dim, y_layout);
    }
    *(l->transposed ? &convt->activation : &conv->activation) =
        (ry_activation)(case_between(0, 1) ? 0 : case_between(0, RY_activation_count - 1));
    *(l->transposed ? &convt->act_alpha : &conv->act_alpha) = 0.25;
    *(l->transposed ? &convt->act_beta : &conv->act_beta) = 0.5;
}

bool random_conv(product_case *c, const conv_limits *l)
{
    *c = (product_case){.problem = {.accuracy = RY_ACCURACY_bf16,
                                    .op = l->transposed ? RY_OP_convt : RY_OP_conv,
                                    .inputs = 4}};
    c->problem.attrs = ry_attrs_default(c->problem.op);
    ry_conv_attrs *conv = &c->problem.attrs.conv;
    ry_convt_attrs *convt = &c->problem.attrs.convt;
    const int space = (int)case_between(1, 3);
    const int64_t groups = l->groups            ? case_between(1, l->groups)
                           : case_between(0, 3) ? 1
                                                : case_between(1, 4),
                  batch = case_between(0, 2) ? 1 : case_between(1, 4);
    const int64_t most = l->channels / groups > 0 ? l->channels / groups : 1;
    int64_t in = case_between(1, most), out = case_between(1, most);
    if (case_between(0, 4) == 0 && primes[12] <= most) {
        in = primes[case_random(13)];
        out = primes[case_random(13)];
    }
    int64_t x_dim[5] = {batch, in * groups}, w_dim[5] = {out * groups, in},
            y_dim[5] = {batch, out * groups};
    if (l->transposed) {
        w_dim[0] = in * groups;
        w_dim[1] = out;
    }
    const ry_ints *stride = l->transposed ? &convt->stride : &conv->stride;
    if (!draw_axes(c, l, space, x_dim, w_dim, y_dim)) {
        return false;
    }
    *(l->transposed ? &convt->groups : &conv->groups) = groups;
    const bool is_float = ry_dtype_is_float(l->dtype);
    const int64_t layouts = l->pointwise ? CASE_STRIDED : CASE_LAYOUTS;
    const case_layout x_layout = (case_layout)case_between(0, layouts - 1),
                      y_layout = (case_layout)case_between(0, layouts - 1);
    c->in[0] = case_tensor(l->dtype, space + 2, x_dim, l->plain ? CASE_ROW_MAJOR : x_layout);
    c->in[1] =
        case_tensor(l->dtype, space + 2, w_dim, case_between(0, 3) ? CASE_ROW_MAJOR : CASE_STRIDED);
    c->out[0] = case_tensor(l->dtype, space + 2, y_dim,
                            l->plain             ? CASE_ROW_MAJOR
                            : case_between(0, 1) ? x_layout
                                                 : y_layout);
    if (case_between(0, 1)) {
        const int64_t bias[4] = {y_dim[1], stride->at[0], stride->at[1], stride->at[2]};
        c->in[2] = case_tensor(l->dtype, l->phases ? 1 + space : 1, bias,
                               case_between(0, 3) ? CASE_ROW_MAJOR : CASE_STRIDED);
    }
    if (is_float && !l->plain) {
        draw_ends(c, l, space, y_dim, y_layout);
    }
    c->terms = (double)(in * w_dim[2] * (space > 1 ? w_dim[3] : 1) * (space > 2 ? w_dim[4] : 1));
    if (l->weights) {
        to_weights(c);
    }
    return true;
}
