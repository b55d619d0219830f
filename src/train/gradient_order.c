/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of linear operators along an axis that are of the same kind: sums from the other end,
 * the same triangle, the same reversal. */
#include "train/gradient.h"

static ry_value_id i64_of(ry_emitter *e, int64_t number)
{
    return e->status == RYND_OK ? ry_emit_i64s(e, 1, &number) : RY_NO_VALUE;
}

rynd_status ry_gradient_cumsum(const ry_gradient_call *call)
{
    ry_emitter e = ry_gradient_emitter(call);
    ry_attrs attrs = ry_gradient_node(call).attrs;
    if (attrs.cumsum.product) {
        return ry_gradient_refuse(call, "running products have no gradient");
    }
    attrs.cumsum.reverse = !attrs.cumsum.reverse;
    call->dx[0] = ry_emit(&e, RY_OP_cumsum, &attrs, 2,
                          (ry_value_id[]){call->dy[0], i64_of(&e, attrs.cumsum.axis)});
    return e.status;
}

rynd_status ry_gradient_trilu(const ry_gradient_call *call)
{
    ry_emitter e = ry_gradient_emitter(call);
    const ry_node node = ry_gradient_node(call);
    call->dx[0] = ry_emit(&e, RY_OP_trilu, &node.attrs, 1, call->dy);
    return e.status;
}

rynd_status ry_gradient_reverse_sequence(const ry_gradient_call *call)
{
    ry_emitter e = ry_gradient_emitter(call);
    const ry_node node = ry_gradient_node(call);
    call->dx[0] = ry_emit(&e, RY_OP_reverse_sequence, &node.attrs, 2,
                          (ry_value_id[]){call->dy[0], node.in[1]});
    return e.status;
}
