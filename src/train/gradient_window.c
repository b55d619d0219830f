/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of pooling and of resizing: a node each. */
#include "train/gradient.h"

/* Maxima are found again in x, which what made it keeps in most networks. */
rynd_status ry_gradient_pool(const ry_gradient_call *call)
{
    ry_emitter e = ry_gradient_emitter(call);
    const ry_node node = ry_gradient_node(call);
    const ry_pool_attrs *forward = &node.attrs.pool;
    const ry_shape x = ry_emit_shape(&e, node.in[0]);
    if (call->dy[0] == RY_NO_VALUE) {
        return RYND_OK; /* indices have no gradient */
    }
    ry_attrs attrs = ry_attrs_default(RY_OP_pool_grad);
    attrs.pool_grad = (ry_pool_grad_attrs){.kind = forward->kind,
                                           .image = {.count = x.rank - 2},
                                           .kernel = forward->kernel,
                                           .stride = forward->stride,
                                           .dilation = forward->dilation,
                                           .pads = forward->pads,
                                           .ceil_mode = forward->ceil_mode,
                                           .count_include_pad = forward->count_include_pad,
                                           .p = forward->p,
                                           .adaptive = forward->output.count > 0};
    for (int i = 0; i < x.rank - 2; i++) {
        attrs.pool_grad.image.at[i] = x.dim[i + 2];
    }
    static const int inputs[RY_pool_kind_count] = {
        [RY_pool_kind_average] = 1, [RY_pool_kind_max] = 2, [RY_pool_kind_lp] = 3};
    const ry_value_id in[] = {call->dy[0], node.in[0], node.out[0]};
    call->dx[0] = ry_emit(&e, RY_OP_pool_grad, &attrs, inputs[forward->kind], in);
    return e.status;
}

rynd_status ry_gradient_resize(const ry_gradient_call *call)
{
    ry_emitter e = ry_gradient_emitter(call);
    const ry_node node = ry_gradient_node(call);
    const ry_resize_attrs *forward = &node.attrs.resize;
    const ry_shape x = ry_emit_shape(&e, node.in[0]);
    ry_attrs attrs = ry_attrs_default(RY_OP_resize_grad);
    attrs.resize_grad = (ry_resize_grad_attrs){.mode = forward->mode,
                                               .coordinates = forward->coordinates,
                                               .nearest = forward->nearest,
                                               .cubic_a = forward->cubic_a,
                                               .exclude_outside = forward->exclude_outside,
                                               .antialias = forward->antialias,
                                               .image = {.count = x.rank},
                                               .scales = forward->scales,
                                               .roi = forward->roi};
    for (int d = 0; d < x.rank; d++) {
        attrs.resize_grad.image.at[d] = x.dim[d];
    }
    call->dx[0] = ry_emit(&e, RY_OP_resize_grad, &attrs, 1, call->dy);
    return e.status;
}
