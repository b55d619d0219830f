/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of operators that keep the elements and their order: dy under x's shape. */
#include "train/gradient.h"

rynd_status ry_gradient_view(const ry_gradient_call *call)
{
    ry_emitter e = ry_gradient_emitter(call);
    const ry_node node = ry_gradient_node(call);
    const ry_shape x = ry_emit_shape(&e, node.in[0]);
    call->dx[0] = ry_emit_reshape(&e, call->dy[0], &x);
    return e.status;
}
