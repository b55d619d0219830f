/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of gathers: a scatter that adds, of zeros, in the order of the indices. */
#include "train/gradient.h"

static ry_value_id zeros_like(ry_emitter *e, ry_value_id v)
{
    const ry_shape shape = ry_emit_shape(e, v);
    return ry_emit_filled(e, ry_emit_dtype(e, v), &shape, 0);
}

/* Dims first .. first + count - 1 go to the front; or (back) those at the front go there. */
static ry_value_id move_dims(ry_emitter *e, ry_value_id v, int first, int count, bool back)
{
    const int rank = ry_emit_shape(e, v).rank;
    ry_ints perm = {.count = rank};
    for (int d = 0; d < rank; d++) {
        const int from = d < count ? first + d : d < first + count ? d - count : d;
        perm.at[back ? from : d] = back ? d : from;
    }
    return first == 0 ? v : ry_emit_transpose(e, v, &perm);
}

/* The indices as tuples of one. */
static ry_value_id as_tuples(ry_emitter *e, ry_value_id indices)
{
    ry_shape shape = ry_emit_shape(e, indices);
    shape.dim[shape.rank++] = 1;
    return ry_emit_reshape(e, indices, &shape);
}

rynd_status ry_gradient_gather(const ry_gradient_call *call)
{
    ry_emitter e = ry_gradient_emitter(call);
    const ry_node node = ry_gradient_node(call);
    const int axis = (int)node.attrs.gather.axis;
    ry_shape x = ry_emit_shape(&e, node.in[0]);
    const ry_shape indices = ry_emit_shape(&e, node.in[1]);
    if (indices.rank == RY_MAX_RANK) {
        return ry_gradient_refuse(call, "indices of rank %d have no gradient", RY_MAX_RANK);
    }
    ry_attrs attrs = ry_attrs_default(RY_OP_scatter_nd);
    attrs.scatter_nd.reduction = RY_scatter_reduction_add;
    const int64_t gathered = x.dim[axis];
    for (int d = axis; d > 0; d--) {
        x.dim[d] = x.dim[d - 1];
    }
    x.dim[0] = gathered;
    ry_value_id in[3];
    in[0] = ry_emit_filled(&e, ry_emit_dtype(&e, node.in[0]), &x, 0);
    in[1] = as_tuples(&e, node.in[1]);
    in[2] = move_dims(&e, call->dy[0], axis, indices.rank, false);
    call->dx[0] = move_dims(&e, ry_emit(&e, RY_OP_scatter_nd, &attrs, 3, in), axis, 1, true);
    return e.status;
}

rynd_status ry_gradient_gather_elements(const ry_gradient_call *call)
{
    ry_emitter e = ry_gradient_emitter(call);
    const ry_node node = ry_gradient_node(call);
    ry_attrs attrs = ry_attrs_default(RY_OP_scatter_elements);
    attrs.scatter_elements.axis = node.attrs.gather_elements.axis;
    attrs.scatter_elements.reduction = RY_scatter_reduction_add;
    const ry_value_id zeros = zeros_like(&e, node.in[0]);
    call->dx[0] = ry_emit(&e, RY_OP_scatter_elements, &attrs, 3,
                          (ry_value_id[]){zeros, node.in[1], call->dy[0]});
    return e.status;
}

rynd_status ry_gradient_gather_nd(const ry_gradient_call *call)
{
    ry_emitter e = ry_gradient_emitter(call);
    const ry_node node = ry_gradient_node(call);
    if (node.attrs.gather_nd.batch_dims != 0) {
        return ry_gradient_refuse(call, "batch_dims other than 0 have no gradient");
    }
    ry_attrs attrs = ry_attrs_default(RY_OP_scatter_nd);
    attrs.scatter_nd.reduction = RY_scatter_reduction_add;
    const ry_value_id zeros = zeros_like(&e, node.in[0]);
    call->dx[0] =
        ry_emit(&e, RY_OP_scatter_nd, &attrs, 3, (ry_value_id[]){zeros, node.in[1], call->dy[0]});
    return e.status;
}
