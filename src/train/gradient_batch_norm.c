/* SPDX-License-Identifier: Apache-2.0 */
/* The gradient of batch normalisation by the statistics of the batch, with its activation and
 * residual: one node. */
#include "train/gradient.h"

rynd_status ry_gradient_batch_norm_train(const ry_gradient_call *call)
{
    ry_emitter e = ry_gradient_emitter(call);
    const ry_node node = ry_gradient_node(call);
    const ry_batch_norm_train_attrs *forward = &node.attrs.batch_norm_train;
    const bool active = forward->activation != RY_activation_none;
    for (int i = 1; i < node.outputs; i++) {
        if (call->dy[i] != RY_NO_VALUE) {
            return ry_gradient_refuse(call, "its statistics have no gradient");
        }
    }
    if (node.outputs < 3 || node.out[1] == RY_NO_VALUE || node.out[2] == RY_NO_VALUE) {
        return ry_gradient_refuse(call, "the mean and deviation of its batch are no outputs");
    }
    ry_attrs attrs = ry_attrs_default(RY_OP_batch_norm_grad);
    attrs.batch_norm_grad.activation = forward->activation;
    attrs.batch_norm_grad.act_alpha = forward->act_alpha;
    attrs.batch_norm_grad.act_beta = forward->act_beta;
    const bool residual = node.inputs > 5 && call->wanted[5];
    const ry_value_id in[] = {call->dy[0], node.in[0],  node.in[1],
                              node.out[1], node.out[2], node.out[0]};
    ry_value_id out[4] = {RY_NO_VALUE, RY_NO_VALUE, RY_NO_VALUE, call->dy[0]};
    ry_emit_outputs(&e, RY_OP_batch_norm_grad, &attrs, active ? 6 : 5, in,
                    active && residual ? 4 : 3, NULL, out);
    for (int i = 0; i < 3; i++) {
        call->dx[i] = call->wanted[i] ? out[i] : RY_NO_VALUE;
    }
    if (residual) {
        call->dx[5] = out[3];
    }
    return e.status;
}
