/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of convolution and transposed convolution: each one's data gradient is the other with
 * the same weights, and both have convolution's weight gradient, with data and result in exchanged
 * roles for the transposed one. */
#include "problem/window.h"
#include "train/gradient.h"

static void set_list(ry_ints *list, int at, int64_t number)
{
    list->at[at] = number;
    list->count = at >= list->count ? at + 1 : list->count;
}

/* The transposed convolution that a window is. */
static ry_attrs convt_attrs(const ry_window *w, int64_t groups)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_convt);
    attrs.convt.groups = groups;
    attrs.convt.pads.count = 2 * w->rank;
    for (int i = 0; i < w->rank; i++) {
        const ry_window_axis *axis = &w->axis[i];
        set_list(&attrs.convt.stride, i, axis->stride);
        set_list(&attrs.convt.dilation, i, axis->dilation);
        set_list(&attrs.convt.output_padding, i, axis->output_padding);
        attrs.convt.pads.at[i] = axis->pad;
        attrs.convt.pads.at[w->rank + i] = axis->pad_end;
    }
    return attrs;
}

/* dy summed over all dims but the channels. */
static ry_value_id channel_sums(ry_emitter *e, ry_value_id dy)
{
    const ry_shape shape = ry_emit_shape(e, dy);
    ry_ints axes = {1, {0}};
    for (int d = 2; d < shape.rank; d++) {
        axes.at[axes.count++] = d;
    }
    return ry_emit_reduce(e, "sum(x0)", &axes, false, 1, &dy);
}

/* in: data and result of a convolution, whose weights have the shape; the bias' gradient comes in
 * the same pass. */
static void weight_gradient(ry_emitter *e, const ry_conv_attrs *conv, const ry_value_id in[2],
                            const ry_shape *weights, bool bias, ry_value_id out[2])
{
    ry_attrs attrs = ry_attrs_default(RY_OP_conv);
    attrs.conv = *conv;
    attrs.conv.dir = RY_direction_bwd_weights;
    const ry_shape vector = {.rank = 1, .dim = {weights->dim[0]}};
    ry_emit_outputs(e, RY_OP_conv, &attrs, 2, in, bias ? 2 : 1,
                    (const ry_shape *[]){weights, &vector}, out);
}

static bool wants(const ry_gradient_call *call, const ry_node *node, int i)
{
    return i < node->inputs && node->in[i] != RY_NO_VALUE && call->wanted[i];
}

static rynd_status check_plain(const ry_gradient_call *call, const ry_node *node,
                               ry_activation activation)
{
    if (activation != RY_activation_none || wants(call, node, 3)) {
        return ry_gradient_refuse(call, "it has an activation or a residual, and no gradient with "
                                        "them: differentiate the graph before it is rewritten");
    }
    return RYND_OK;
}

rynd_status ry_gradient_conv(const ry_gradient_call *call)
{
    ry_emitter e = ry_gradient_emitter(call);
    const ry_node node = ry_gradient_node(call);
    const ry_conv_attrs *conv = &node.attrs.conv;
    const ry_shape x = ry_emit_shape(&e, node.in[0]), w = ry_emit_shape(&e, node.in[1]),
                   y = ry_emit_shape(&e, node.out[0]);
    const ry_value_id dy = call->dy[0];
    RY_TRY(check_plain(call, &node, conv->activation));
    if (conv->dir != RY_direction_fwd) {
        return ry_gradient_refuse(call, "a gradient has no gradient");
    }
    if (wants(call, &node, 1)) {
        ry_value_id out[2];
        const bool bias = wants(call, &node, 2);
        weight_gradient(&e, conv, (ry_value_id[]){node.in[0], dy}, &w, bias, out);
        call->dx[1] = out[0];
        if (bias) {
            call->dx[2] = out[1];
        }
    } else if (wants(call, &node, 2)) {
        call->dx[2] = channel_sums(&e, dy);
    }
    if (wants(call, &node, 0)) {
        const ry_window forward = ry_window_of_attrs(RY_OP_conv, &node.attrs, x.rank - 2, x.dim + 2,
                                                     y.dim + 2, w.dim + 2),
                        data = ry_window_data_gradient(&forward);
        const ry_attrs attrs = convt_attrs(&data, conv->groups);
        call->dx[0] = ry_emit(&e, RY_OP_convt, &attrs, 2, (ry_value_id[]){dy, node.in[1]});
    }
    return e.status;
}

/* The convolution whose data gradient a transposed one is. */
static ry_attrs conv_attrs(const ry_convt_attrs *convt)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_conv);
    attrs.conv.stride = convt->stride;
    attrs.conv.dilation = convt->dilation;
    attrs.conv.pads = convt->pads;
    attrs.conv.groups = convt->groups;
    return attrs;
}

/* Without the elements behind the last position's last tap where they would make another position
 * of the convolution: nothing but the bias comes to them. */
static ry_value_id without_padding(ry_emitter *e, const ry_convt_attrs *convt, ry_value_id dy)
{
    ry_attrs pad = ry_attrs_default(RY_OP_pad);
    const ry_shape shape = ry_emit_shape(e, dy);
    bool cropped = false;
    pad.pad.pads.count = 2 * shape.rank;
    for (int i = 0; i < convt->output_padding.count; i++) {
        if (convt->output_padding.at[i] >= ry_ints_get(&convt->stride, i, 1)) {
            pad.pad.pads.at[shape.rank + 2 + i] = -convt->output_padding.at[i];
            cropped = true;
        }
    }
    return cropped ? ry_emit(e, RY_OP_pad, &pad, 1, &dy) : dy;
}

rynd_status ry_gradient_convt(const ry_gradient_call *call)
{
    ry_emitter e = ry_gradient_emitter(call);
    const ry_node node = ry_gradient_node(call);
    const ry_convt_attrs *convt = &node.attrs.convt;
    const ry_attrs attrs = conv_attrs(convt);
    const ry_shape w = ry_emit_shape(&e, node.in[1]);
    RY_TRY(check_plain(call, &node, convt->activation));
    if (wants(call, &node, 2)) {
        call->dx[2] = channel_sums(&e, call->dy[0]);
    }
    if (!wants(call, &node, 0) && !wants(call, &node, 1)) {
        return e.status;
    }
    const ry_value_id dy = without_padding(&e, convt, call->dy[0]);
    if (wants(call, &node, 1)) {
        weight_gradient(&e, &attrs.conv, (ry_value_id[]){dy, node.in[0]}, &w, false, &call->dx[1]);
    }
    if (wants(call, &node, 0)) {
        call->dx[0] = ry_emit(&e, RY_OP_conv, &attrs, 2, (ry_value_id[]){dy, node.in[1]});
    }
    return e.status;
}
