/* SPDX-License-Identifier: Apache-2.0 */
/* The gradient of batch normalisation by the batch's statistics: one operator. */
#include "train/gradient.h"

rynd_status ry_gradient_batch_norm_train(const ry_gradient_call *call)
{
    ry_emitter e = ry_gradient_emitter(call);
    const ry_node node = ry_gradient_node(call);
    const ry_batch_norm_train_attrs *attrs = &node.attrs.batch_norm_train;
    const bool activation = attrs->activation != RY_activation_none;
    for (int i = 1; i < node.outputs; i++) {
        if (node.out[i] != RY_NO_VALUE && call->dy[i] != RY_NO_VALUE) {
            return ry_gradient_refuse(call, "its statistics have no gradient");
        }
    }
    if (call->wanted[3] || call->wanted[4] || node.outputs < 3 || node.out[1] == RY_NO_VALUE ||
        node.out[2] == RY_NO_VALUE) {
        return ry_gradient_refuse(call, "running statistics have no gradient, and those of the "
                                        "batch must be given");
    }
    ry_attrs grad = ry_attrs_default(RY_OP_batch_norm_grad);
    grad.batch_norm_grad.activation = attrs->activation;
    grad.batch_norm_grad.act_alpha = attrs->act_alpha;
    grad.batch_norm_grad.act_beta = attrs->act_beta;
    const ry_value_id in[6] = {call->dy[0], node.in[0],  node.in[1],
                               node.out[1], node.out[2], activation ? node.out[0] : RY_NO_VALUE};
    ry_value_id out[4];
    const bool residual = node.inputs > 5 && node.in[5] != RY_NO_VALUE && call->wanted[5];
    if (!ry_emit_outputs(&e, RY_OP_batch_norm_grad, &grad, activation ? 6 : 5, in, residual ? 4 : 3,
                         NULL, out)) {
        return e.status;
    }
    for (int i = 0; i < 3; i++) {
        call->dx[i] = out[i];
    }
    if (residual) {
        call->dx[5] = out[3];
    }
    return e.status;
}
