/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of operators that move, repeat or leave out elements: each element of y that is an
 * element of x sends its gradient back there. */
#include "train/gradient.h"

#include <stdio.h>

/* The elements `first` .. `first` + `count` - 1 of an axis. */
static ry_value_id part_of(ry_emitter *e, ry_value_id v, int axis, int64_t first, int64_t count)
{
    const ry_shape shape = ry_emit_shape(e, v);
    ry_attrs attrs = ry_attrs_default(RY_OP_slice);
    attrs.slice.axes = (ry_ints){1, {axis}};
    attrs.slice.starts = (ry_ints){1, {first}};
    attrs.slice.ends = (ry_ints){1, {first + count}};
    attrs.slice.steps = (ry_ints){1, {1}};
    return first == 0 && e->status == RYND_OK && shape.dim[axis] == count
               ? v
               : ry_emit(e, RY_OP_slice, &attrs, 1, &v);
}

rynd_status ry_gradient_concat(const ry_gradient_call *call)
{
    ry_emitter e = ry_gradient_emitter(call);
    const ry_node node = ry_gradient_node(call);
    const int axis = (int)node.attrs.concat.axis;
    int64_t first = 0;
    for (int i = 0; i < node.inputs; i++) {
        const int64_t count = ry_emit_shape(&e, node.in[i]).dim[axis];
        if (call->wanted[i]) {
            call->dx[i] = part_of(&e, call->dy[0], axis, first, count);
        }
        first += count;
    }
    return e.status;
}

rynd_status ry_gradient_split(const ry_gradient_call *call)
{
    ry_emitter e = ry_gradient_emitter(call);
    const ry_node node = ry_gradient_node(call);
    ry_attrs attrs = ry_attrs_default(RY_OP_concat);
    attrs.concat.axis = node.attrs.split.axis;
    ry_value_id *parts = RY_TAKE(&call->graph->arena, ry_value_id, node.outputs);
    if (!parts) {
        return ry_fail_memory(call->error);
    }
    for (int i = 0; i < node.outputs; i++) {
        const ry_shape shape = ry_emit_shape(&e, node.out[i]);
        parts[i] = call->dy[i];
        if (parts[i] == RY_NO_VALUE) {
            parts[i] = ry_emit_filled(&e, ry_emit_dtype(&e, node.in[0]), &shape, 0);
        }
    }
    call->dx[0] = ry_emit(&e, RY_OP_concat, &attrs, node.outputs, parts);
    return e.status;
}

/* An axis of x with `step` places for each element of dy along it: dy, then zeros. */
static ry_value_id spread(ry_emitter *e, ry_value_id dy, int axis, int64_t step)
{
    ry_shape shape = ry_emit_shape(e, dy), rows = {.rank = 3, .dim = {1, 1, 1}};
    for (int d = 0; d < shape.rank; d++) {
        rows.dim[d > axis ? 2 : 0] *= shape.dim[d];
    }
    ry_attrs pad = ry_attrs_default(RY_OP_pad);
    pad.pad.pads = (ry_ints){6, {0, 0, 0, 0, step - 1, 0}};
    dy = ry_emit_reshape(e, dy, &rows);
    dy = ry_emit(e, RY_OP_pad, &pad, 1, &dy);
    shape.dim[axis] *= step;
    return ry_emit_reshape(e, dy, &shape);
}

static ry_value_id flip(ry_emitter *e, ry_value_id v, int axis)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_slice);
    attrs.slice.axes = (ry_ints){1, {axis}};
    attrs.slice.starts = (ry_ints){1, {-1}};
    attrs.slice.ends = (ry_ints){1, {INT64_MIN}};
    attrs.slice.steps = (ry_ints){1, {-1}};
    return ry_emit(e, RY_OP_slice, &attrs, 1, &v);
}

rynd_status ry_gradient_slice(const ry_gradient_call *call)
{
    ry_emitter e = ry_gradient_emitter(call);
    const ry_node node = ry_gradient_node(call);
    const ry_shape x = ry_emit_shape(&e, node.in[0]), y = ry_emit_shape(&e, node.out[0]);
    ry_attrs pad = ry_attrs_default(RY_OP_pad);
    ry_value_id dx = call->dy[0];
    if (ry_shape_elements(&y) == 0) {
        return RYND_OK;
    }
    pad.pad.pads.count = 2 * x.rank;
    for (int d = 0; d < x.rank; d++) {
        const int64_t step = node.attrs.slice.steps.at[d], count = y.dim[d];
        int64_t first = node.attrs.slice.starts.at[d], stride = step;
        if (step < 0 && count > 1) {
            dx = flip(&e, dx, d);
            first += step * (count - 1);
            stride = -step;
        }
        if (stride > 1 && count > 1) {
            dx = spread(&e, dx, d, stride);
        }
        const int64_t covered = count > 1 ? count * stride : 1;
        pad.pad.pads.at[d] = first;
        pad.pad.pads.at[x.rank + d] = x.dim[d] - first - covered;
    }
    call->dx[0] = ry_emit(&e, RY_OP_pad, &pad, 1, &dx);
    return e.status;
}

/* Elements `from` .. of an axis of v, `count` of them, added to those of `sum` from `to` on. */
static ry_value_id add_band(ry_emitter *e, ry_value_id sum, ry_value_id band, int axis, int64_t to)
{
    const ry_shape whole = ry_emit_shape(e, sum), part = ry_emit_shape(e, band);
    ry_attrs pad = ry_attrs_default(RY_OP_pad);
    pad.pad.pads.count = 2 * whole.rank;
    pad.pad.pads.at[axis] = to;
    pad.pad.pads.at[whole.rank + axis] = whole.dim[axis] - to - part.dim[axis];
    const ry_value_id there = ry_emit(e, RY_OP_pad, &pad, 1, &band);
    return ry_emit_expr(e, "x0 + x1", 2, (ry_value_id[]){sum, there});
}

/* What padding along one axis read twice: `before` and `after` elements beside the `extent`. */
typedef struct padded_axis {
    int axis;
    int64_t before, extent, after;
} padded_axis;

static ry_value_id border_sum(ry_emitter *e, ry_value_id band, int axis)
{
    return ry_emit_reduce(e, "sum(x0)", &(ry_ints){1, {axis}}, true, 1, &band);
}

static ry_value_id fold_axis(ry_emitter *e, ry_pad_mode mode, ry_value_id dy, const padded_axis *a)
{
    ry_value_id sum = part_of(e, dy, a->axis, a->before, a->extent);
    if (a->before > 0) {
        ry_value_id band = part_of(e, dy, a->axis, 0, a->before);
        band = mode == RY_pad_mode_reflect ? flip(e, band, a->axis)
               : mode == RY_pad_mode_edge  ? border_sum(e, band, a->axis)
                                           : band;
        sum = add_band(e, sum, band, a->axis,
                       mode == RY_pad_mode_reflect ? 1
                       : mode == RY_pad_mode_edge  ? 0
                                                   : a->extent - a->before);
    }
    if (a->after > 0) {
        ry_value_id band = part_of(e, dy, a->axis, a->before + a->extent, a->after);
        band = mode == RY_pad_mode_reflect ? flip(e, band, a->axis)
               : mode == RY_pad_mode_edge  ? border_sum(e, band, a->axis)
                                           : band;
        sum = add_band(e, sum, band, a->axis,
                       mode == RY_pad_mode_reflect ? a->extent - 1 - a->after
                       : mode == RY_pad_mode_edge  ? a->extent - 1
                                                   : 0);
    }
    return sum;
}

/* Constants around x get nothing, and what was cropped gives none. */
static ry_value_id crop(ry_emitter *e, ry_value_id dy, const ry_ints *pads)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_pad);
    attrs.pad.pads.count = pads->count;
    for (int i = 0; i < pads->count; i++) {
        attrs.pad.pads.at[i] = -pads->at[i];
    }
    return ry_emit(e, RY_OP_pad, &attrs, 1, &dy);
}

rynd_status ry_gradient_pad(const ry_gradient_call *call)
{
    ry_emitter e = ry_gradient_emitter(call);
    const ry_node node = ry_gradient_node(call);
    const ry_pad_attrs *pad = &node.attrs.pad;
    const ry_shape x = ry_emit_shape(&e, node.in[0]);
    ry_value_id dy = call->dy[0];
    if (node.inputs > 2 && call->wanted[2]) {
        return ry_gradient_refuse(call, "the value that it pads with has no gradient");
    }
    if (pad->mode == RY_pad_mode_constant) {
        call->dx[0] = crop(&e, dy, &pad->pads);
        return e.status;
    }
    for (int d = 0; d < x.rank; d++) {
        const padded_axis a = {d, pad->pads.at[d], x.dim[d], pad->pads.at[x.rank + d]};
        if (a.before < 0 || a.after < 0 ||
            (pad->mode == RY_pad_mode_wrap && (a.before > a.extent || a.after > a.extent))) {
            return ry_gradient_refuse(
                call, "it crops, or wraps more than once, and has no gradient then");
        }
        dy = fold_axis(&e, pad->mode, dy, &a);
    }
    call->dx[0] = dy;
    return e.status;
}

rynd_status ry_gradient_transpose(const ry_gradient_call *call)
{
    ry_emitter e = ry_gradient_emitter(call);
    const ry_node node = ry_gradient_node(call);
    const ry_ints *perm = &node.attrs.transpose.perm;
    ry_ints inverse = {.count = perm->count};
    for (int d = 0; d < perm->count; d++) {
        inverse.at[perm->at[d]] = d;
    }
    call->dx[0] = ry_emit_transpose(&e, call->dy[0], &inverse);
    return e.status;
}

rynd_status ry_gradient_expand(const ry_gradient_call *call)
{
    ry_emitter e = ry_gradient_emitter(call);
    const ry_shape x = ry_emit_shape(&e, ry_gradient_node(call).in[0]);
    call->dx[0] = ry_emit_sum_to(&e, call->dy[0], &x);
    return e.status;
}

rynd_status ry_gradient_tile(const ry_gradient_call *call)
{
    ry_emitter e = ry_gradient_emitter(call);
    const ry_node node = ry_gradient_node(call);
    const ry_shape x = ry_emit_shape(&e, node.in[0]), y = ry_emit_shape(&e, node.out[0]);
    ry_value_id dx = call->dy[0];
    if (ry_shape_elements(&y) == 0) {
        return RYND_OK;
    }
    ry_shape now = y;
    for (int d = 0; d < x.rank; d++) {
        ry_shape rows = {.rank = 3, .dim = {1, y.dim[d] / x.dim[d], x.dim[d]}};
        if (rows.dim[1] == 1) {
            continue;
        }
        for (int i = 0; i < x.rank; i++) {
            rows.dim[i < d ? 0 : 2] *= i == d ? 1 : now.dim[i];
        }
        dx = ry_emit_reshape(&e, dx, &rows);
        dx = ry_emit_reduce(&e, "sum(x0)", &(ry_ints){1, {1}}, true, 1, &dx);
        now.dim[d] = x.dim[d];
        dx = ry_emit_reshape(&e, dx, &now);
    }
    call->dx[0] = dx;
    return e.status;
}

rynd_status ry_gradient_depth_to_space(const ry_gradient_call *call)
{
    ry_emitter e = ry_gradient_emitter(call);
    const ry_node node = ry_gradient_node(call);
    ry_attrs attrs = ry_attrs_default(RY_OP_space_to_depth);
    attrs.space_to_depth.block = node.attrs.depth_to_space.block;
    attrs.space_to_depth.crd = node.attrs.depth_to_space.crd;
    call->dx[0] = ry_emit(&e, RY_OP_space_to_depth, &attrs, 1, call->dy);
    return e.status;
}

rynd_status ry_gradient_space_to_depth(const ry_gradient_call *call)
{
    ry_emitter e = ry_gradient_emitter(call);
    const ry_node node = ry_gradient_node(call);
    ry_attrs attrs = ry_attrs_default(RY_OP_depth_to_space);
    attrs.depth_to_space.block = node.attrs.space_to_depth.block;
    attrs.depth_to_space.crd = node.attrs.space_to_depth.crd;
    call->dx[0] = ry_emit(&e, RY_OP_depth_to_space, &attrs, 1, call->dy);
    return e.status;
}

/* The gradient has x's type, also where the copy changes it. */
rynd_status ry_gradient_copy(const ry_gradient_call *call)
{
    ry_emitter e = ry_gradient_emitter(call);
    const ry_node node = ry_gradient_node(call);
    const ry_dtype x = ry_emit_dtype(&e, node.in[0]);
    if (x == ry_emit_dtype(&e, node.out[0])) {
        call->dx[0] = call->dy[0];
        return e.status;
    }
    char text[32];
    snprintf(text, sizeof text, "cast(x0, %s)", ry_dtype_name(x));
    call->dx[0] = ry_emit_expr(&e, text, 1, call->dy);
    return e.status;
}
