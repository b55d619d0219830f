/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of operators that write or read elements at indices: gather them from the same
 * positions. If several updates hit one position, each gets the whole gradient of that position, as
 * in PyTorch. */
#include "train/gradient.h"

static ry_value_id zeros_like(ry_emitter *e, ry_value_id v)
{
    const ry_shape shape = ry_emit_shape(e, v);
    return ry_emit_filled(e, ry_emit_dtype(e, v), &shape, 0);
}

/* dy with zeros where updates were written, or dy itself where they were added. */
static rynd_status scattered(const ry_gradient_call *call, ry_emitter *e,
                             ry_scatter_reduction reduction, ry_op gather, const ry_attrs *attrs)
{
    const ry_node node = ry_gradient_node(call);
    const ry_value_id dy = call->dy[0], indices = node.in[1];
    if (reduction != RY_scatter_reduction_none && reduction != RY_scatter_reduction_add) {
        return ry_gradient_refuse(call, "only plain writing and adding have a gradient");
    }
    if (call->wanted[2]) {
        call->dx[2] = ry_emit(e, gather, attrs, 2, (ry_value_id[]){dy, indices});
    }
    if (call->wanted[0] && reduction == RY_scatter_reduction_add) {
        call->dx[0] = dy;
    } else if (call->wanted[0]) {
        const ry_value_id zeros = zeros_like(e, node.in[2]);
        call->dx[0] = ry_emit(e, node.op, &node.attrs, 3, (ry_value_id[]){dy, indices, zeros});
    }
    return e->status;
}

rynd_status ry_gradient_scatter_elements(const ry_gradient_call *call)
{
    ry_emitter e = ry_gradient_emitter(call);
    const ry_scatter_elements_attrs scatter = ry_gradient_node(call).attrs.scatter_elements;
    ry_attrs attrs = ry_attrs_default(RY_OP_gather_elements);
    attrs.gather_elements.axis = scatter.axis;
    return scattered(call, &e, scatter.reduction, RY_OP_gather_elements, &attrs);
}

rynd_status ry_gradient_scatter_nd(const ry_gradient_call *call)
{
    ry_emitter e = ry_gradient_emitter(call);
    const ry_scatter_nd_attrs scatter = ry_gradient_node(call).attrs.scatter_nd;
    const ry_attrs attrs = ry_attrs_default(RY_OP_gather_nd);
    return scattered(call, &e, scatter.reduction, RY_OP_gather_nd, &attrs);
}

/* Indices are places in all of y, unless the caller says another shape. */
rynd_status ry_gradient_max_unpool(const ry_gradient_call *call)
{
    ry_emitter e = ry_gradient_emitter(call);
    const ry_node node = ry_gradient_node(call);
    const ry_shape y = ry_emit_shape(&e, node.out[0]),
                   flat = {.rank = 1, .dim = {ry_shape_elements(&y)}};
    if (node.inputs > 2 && node.in[2] != RY_NO_VALUE) {
        return ry_gradient_refuse(call, "with an output_shape it has no gradient");
    }
    call->dx[0] = ry_emit(&e, RY_OP_gather, NULL, 2,
                          (ry_value_id[]){ry_emit_reshape(&e, call->dy[0], &flat), node.in[1]});
    return e.status;
}

rynd_status ry_gradient_topk(const ry_gradient_call *call)
{
    ry_emitter e = ry_gradient_emitter(call);
    const ry_node node = ry_gradient_node(call);
    ry_attrs attrs = ry_attrs_default(RY_OP_scatter_elements);
    if (node.outputs < 2 || node.out[1] == RY_NO_VALUE || call->dy[0] == RY_NO_VALUE) {
        return ry_gradient_refuse(call, "without its indices as an output it has no gradient");
    }
    attrs.scatter_elements.axis = node.attrs.topk.axis;
    const ry_value_id zeros = zeros_like(&e, node.in[0]);
    call->dx[0] = ry_emit(&e, RY_OP_scatter_elements, &attrs, 3,
                          (ry_value_id[]){zeros, node.out[1], call->dy[0]});
    return e.status;
}
