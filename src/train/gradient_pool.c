/* SPDX-License-Identifier: Apache-2.0 */
/* The gradient of pooling: one operator, which looks again where the maxima were. */
#include "train/gradient.h"

rynd_status ry_gradient_pool(const ry_gradient_call *call)
{
    ry_emitter e = ry_gradient_emitter(call);
    const ry_node node = ry_gradient_node(call);
    const ry_pool_attrs *pool = &node.attrs.pool;
    const ry_shape x = ry_emit_shape(&e, node.in[0]);
    ry_attrs attrs = ry_attrs_default(RY_OP_pool_grad);
    ry_pool_grad_attrs *grad = &attrs.pool_grad;
    grad->kind = pool->kind;
    grad->image.count = x.rank - 2;
    for (int i = 0; i < x.rank - 2; i++) {
        grad->image.at[i] = x.dim[2 + i];
    }
    grad->kernel = pool->kernel;
    grad->stride = pool->stride;
    grad->dilation = pool->dilation;
    grad->pads = pool->pads;
    grad->ceil_mode = pool->ceil_mode;
    grad->count_include_pad = pool->count_include_pad;
    grad->p = pool->p;
    const ry_value_id in[3] = {call->dy[0],
                               pool->kind != RY_pool_kind_average ? node.in[0] : RY_NO_VALUE,
                               pool->kind == RY_pool_kind_lp ? node.out[0] : RY_NO_VALUE};
    call->dx[0] = ry_emit(&e, RY_OP_pool_grad, &attrs, 3, in);
    return e.status;
}
