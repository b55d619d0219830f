/* SPDX-License-Identifier: Apache-2.0 */
/* Reads windows from attributes, and computes extents, pads, readers and the windows of gradients.
 */
#include "problem/window.h"

#define AT(field) (offsetof(ry_attrs, field) + 1)
#define LISTS(op) .stride = AT(op.stride), .dilation = AT(op.dilation), .pads = AT(op.pads)

static const ry_window_lists lists[RY_OPS] = {
    [RY_OP_conv] = {LISTS(conv), .auto_pad = AT(conv.auto_pad)},
    [RY_OP_convt] = {LISTS(convt), .auto_pad = AT(convt.auto_pad),
                     .output_padding = AT(convt.output_padding)},
    [RY_OP_separable_conv] = {LISTS(separable_conv)},
    [RY_OP_qconv] = {LISTS(qconv)},
    [RY_OP_deform_conv] = {LISTS(deform_conv)},
    [RY_OP_deform_columns] = {LISTS(deform_columns), .taps = AT(deform_columns.kernel)},
    [RY_OP_col2im] = {LISTS(col2im), .taps = AT(col2im.block)},
    [RY_OP_pool] = {LISTS(pool), .auto_pad = AT(pool.auto_pad), .taps = AT(pool.kernel)},
    [RY_OP_pool_grad] = {LISTS(pool_grad), .taps = AT(pool_grad.kernel)},
    [RY_OP_max_unpool] = {.stride = AT(max_unpool.stride),
                          .pads = AT(max_unpool.pads),
                          .taps = AT(max_unpool.kernel)},
};

const ry_window_lists *ry_window_lists_of(ry_op op)
{
    return &lists[op];
}

static const void *attribute(const ry_attrs *attrs, size_t at)
{
    return (const char *)attrs + at - 1;
}

static int64_t number(const ry_attrs *attrs, size_t at, int i, int64_t preset)
{
    return at ? ry_ints_get(attribute(attrs, at), i, preset) : preset;
}

static ry_direction direction_of(ry_op op, const ry_attrs *attrs)
{
    const bool transposed =
        op == RY_OP_convt || op == RY_OP_col2im || op == RY_OP_max_unpool || op == RY_OP_pool_grad;
    return op == RY_OP_conv ? attrs->conv.dir
           : transposed     ? RY_direction_bwd_data
                            : RY_direction_fwd;
}

ry_window ry_window_of_attrs(ry_op op, const ry_attrs *attrs, int rank, const int64_t *in,
                             const int64_t *out, const int64_t *taps)
{
    const ry_window_lists *list = &lists[op];
    ry_window w = {.direction = direction_of(op, attrs),
                   .rank = rank,
                   .ceil_mode = (op == RY_OP_pool && attrs->pool.ceil_mode) ||
                                (op == RY_OP_pool_grad && attrs->pool_grad.ceil_mode)};
    const bool adaptive = (op == RY_OP_pool && attrs->pool.output.count) ||
                          (op == RY_OP_pool_grad && attrs->pool_grad.adaptive);
    w.auto_pad = list->auto_pad ? *(const ry_auto_pad *)attribute(attrs, list->auto_pad)
                                : RY_auto_pad_explicit;
    for (int i = 0; i < rank; i++) {
        w.axis[i] = (ry_window_axis){.in = in ? in[i] : 0,
                                     .out = out ? out[i] : 0,
                                     .taps = adaptive && in && out && in[i] > 0 && out[i] > 0
                                                 ? ry_window_adaptive_taps(in[i], out[i])
                                             : taps ? taps[i]
                                                    : number(attrs, list->taps, i, 1),
                                     .stride = number(attrs, list->stride, i, 1),
                                     .dilation = number(attrs, list->dilation, i, 1),
                                     .pad = number(attrs, list->pads, i, 0),
                                     .pad_end = number(attrs, list->pads, i + rank, 0),
                                     .output_padding = number(attrs, list->output_padding, i, 0),
                                     .adaptive = adaptive};
    }
    return w;
}

/* With in = q * out + r, a window has q elements, one more where r > 0, and another one where its
 * fractional begin, a multiple of gcd(r, out) / out, is beyond 1 - r / out. */
int64_t ry_window_adaptive_taps(int64_t in, int64_t out)
{
    const int64_t q = in / out, r = in % out;
    return r == 0 ? q : q + (r == ry_common_divisor(r, out) ? 1 : 2);
}

ry_window ry_window_of(const ry_problem *problem)
{
    const ry_direction direction = direction_of(problem->op, &problem->attrs);
    const bool to_data = direction == RY_direction_bwd_data,
               to_weights = direction == RY_direction_bwd_weights;
    const bool listed = lists[problem->op].taps != 0, columns = problem->op == RY_OP_col2im;
    const ry_tensor *in = to_data ? &problem->out[0] : &problem->in[0];
    const ry_tensor *out = to_data      ? &problem->in[0]
                           : to_weights ? &problem->in[1]
                                        : &problem->out[0];
    const ry_tensor *weights = to_weights ? &problem->out[0] : &problem->in[1];
    ry_window w = ry_window_of_attrs(problem->op, &problem->attrs, in->rank > 2 ? in->rank - 2 : 0,
                                     in->dim + 2, columns ? NULL : out->dim + 2,
                                     listed ? NULL : weights->dim + 2);
    for (int i = 0; columns && i < w.rank; i++) {
        w.axis[i].out = ry_max(ry_window_positions(&w.axis[i], false), 0);
    }
    return w;
}

bool ry_window_has_sizes(const ry_problem *problem)
{
    const ry_attrs *attrs = &problem->attrs;
    const int rank = problem->in[0].rank - 2;
    return problem->op == RY_OP_pool
               ? (attrs->pool.output.count ? attrs->pool.output.count : attrs->pool.kernel.count) ==
                     rank
               : attrs->pool_grad.adaptive || attrs->pool_grad.kernel.count == rank;
}

/* In ceil_mode the last position may reach over the end, but not start in the padding there. */
int64_t ry_window_positions(const ry_window_axis *axis, bool ceil_mode)
{
    const int64_t stride = axis->stride, end = axis->pad + axis->in,
                  room = end + axis->pad_end - ry_window_field(axis);
    if (!ceil_mode || room <= -stride) {
        return room < 0 ? -1 : room / stride + 1;
    }
    const int64_t last = ry_ceil_div(room, stride);
    return last > 0 && last * stride >= end ? last : last + 1;
}

int64_t ry_window_covered(const ry_window_axis *axis)
{
    return (axis->out - 1) * axis->stride + ry_window_field(axis) + axis->output_padding;
}

int64_t ry_window_extent(const ry_window *window, int i)
{
    const ry_window_axis *axis = &window->axis[i];
    if (window->direction == RY_direction_bwd_data) {
        return axis->out == 0 ? 0 : ry_window_covered(axis) - axis->pad - axis->pad_end;
    }
    const ry_window_axis exchanged = ry_window_exchange(axis);
    return axis->in == 0
               ? 0
               : ry_window_positions(window->direction == RY_direction_fwd ? axis : &exchanged,
                                     window->ceil_mode);
}

void ry_window_split_pads(ry_window_axis *axis, ry_auto_pad auto_pad, int64_t total)
{
    axis->pad = auto_pad == RY_auto_pad_same_upper ? total / 2 : total - total / 2;
    axis->pad_end = total - axis->pad;
}

void ry_window_pad(ry_window_axis *axis, ry_auto_pad auto_pad)
{
    if (auto_pad != RY_auto_pad_explicit) {
        const int64_t last = (ry_ceil_div(axis->in, axis->stride) - 1) * axis->stride,
                      total = last + ry_window_field(axis) - axis->in;
        ry_window_split_pads(axis, auto_pad,
                             auto_pad == RY_auto_pad_valid || axis->in == 0 ? 0 : ry_max(total, 0));
    }
}

ry_window_readers ry_window_phase(const ry_window_axis *axis, int64_t in)
{
    const int64_t step = axis->stride / ry_common_divisor(axis->stride, axis->dilation);
    ry_window_readers phase = {.tap_step = step,
                               .out_step = -(step * axis->dilation / axis->stride)};
    for (int64_t tap = 0; tap < axis->taps && tap < step; tap++) {
        const int64_t distance = in + axis->pad - tap * axis->dilation;
        if (distance % axis->stride == 0) {
            phase.count = ry_ceil_div(axis->taps - tap, step);
            phase.tap = tap;
            phase.out = distance / axis->stride;
            break;
        }
    }
    return phase;
}

ry_window_readers ry_window_readers_of(const ry_window_axis *axis, int64_t in)
{
    if (axis->adaptive) {
        const int64_t first = in * axis->out / axis->in;
        return (ry_window_readers){.count = ry_ceil_div((in + 1) * axis->out, axis->in) - first,
                                   .out = first,
                                   .out_step = 1};
    }
    ry_window_readers readers = ry_window_phase(axis, in);
    const ry_window_range there =
        ry_window_inside(axis->out, axis->out - 1 - readers.out, -readers.out_step, readers.count);
    readers.count = there.end - there.begin;
    readers.tap += there.begin * readers.tap_step;
    readers.out += there.begin * readers.out_step;
    return readers;
}

ry_window ry_window_data_gradient(const ry_window *forward)
{
    ry_window w = *forward;
    w.direction = RY_direction_bwd_data;
    for (int i = 0; i < w.rank; i++) {
        ry_window_axis *axis = &w.axis[i];
        axis->output_padding = 0;
        axis->output_padding =
            axis->out == 0 ? 0 : axis->in + axis->pad + axis->pad_end - ry_window_covered(axis);
    }
    return w;
}

ry_attrs ry_window_data_gradient_attrs(const ry_attrs *conv, int rank, const int64_t *x,
                                       const int64_t *y, const int64_t *taps)
{
    const ry_window forward = ry_window_of_attrs(RY_OP_conv, conv, rank, x, y, taps),
                    gradient = ry_window_data_gradient(&forward);
    ry_attrs attrs = ry_attrs_default(RY_OP_convt);
    ry_convt_attrs *convt = &attrs.convt;
    convt->groups = conv->conv.groups;
    convt->stride.count = convt->dilation.count = convt->output_padding.count = rank;
    convt->pads.count = 2 * rank;
    for (int i = 0; i < rank; i++) {
        const ry_window_axis *axis = &gradient.axis[i];
        convt->stride.at[i] = axis->stride;
        convt->dilation.at[i] = axis->dilation;
        convt->output_padding.at[i] = axis->output_padding;
        convt->pads.at[i] = axis->pad;
        convt->pads.at[i + rank] = axis->pad_end;
    }
    return attrs;
}

ry_window_axis ry_window_mirror(const ry_window_axis *axis)
{
    const int64_t before = ry_window_field(axis) - 1;
    return (ry_window_axis){.in = axis->out,
                            .out = axis->in,
                            .taps = axis->taps,
                            .stride = 1,
                            .dilation = axis->dilation,
                            .pad = before - axis->pad,
                            .pad_end = before - axis->pad_end + axis->output_padding};
}

ry_window_axis ry_window_exchange(const ry_window_axis *axis)
{
    /* what no position's tap meets is cropped */
    const int64_t met = (axis->out - 1) * axis->stride + ry_window_field(axis);
    return (ry_window_axis){.in = axis->in,
                            .out = axis->taps,
                            .taps = axis->out,
                            .stride = axis->dilation,
                            .dilation = axis->stride,
                            .pad = axis->pad,
                            .pad_end = met - axis->in - axis->pad};
}

ry_shape ry_window_unpooled(const ry_problem *problem)
{
    ry_shape shape = ry_tensor_shape(&problem->in[0]);
    const ry_window w = ry_window_of(problem);
    for (int i = 0; i < w.rank; i++) {
        shape.dim[i + 2] = ry_window_covered(&w.axis[i]) - w.axis[i].pad - w.axis[i].pad_end;
    }
    return shape;
}
