/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of operators that slide a window: convolution, pooling and their kin, as the ONNX specification of Conv and MaxPool states them. */
#include "graph/infer_table.h"

/* The lists of one window operator; each pointer is into the node's attributes, NULL where the operator has none. */
typedef struct window {
    int spatial;
    ry_ints *stride, *dilation, *pads;
    ry_auto_pad *auto_pad;
    const int64_t *kernel; /* spatial sizes; symbols are allowed */
    bool ceil_mode;
} window;

static ry_infer_result check_list(ry_infer *infer, const char *name, ry_ints *list, int count, int64_t preset, int64_t least)
{
    if (list->count == 0) {
        list->count = count;
        for (int i = 0; i < count; i++) {
            list->at[i] = preset;
        }
    }
    if (list->count != count) {
        return ry_infer_fail(infer, RYND_ERROR_SHAPE, "%s has %d numbers, expected %d", name, list->count, count);
    }
    for (int i = 0; i < count; i++) {
        if (list->at[i] < least || list->at[i] > INT32_MAX) {
            return ry_infer_fail(infer, RYND_ERROR_SHAPE, "%s has %lld, expected %lld to 2^31-1", name, (long long)list->at[i],
                                 (long long)least);
        }
    }
    return RY_INFER_DONE;
}

static ry_infer_result check_window(ry_infer *infer, window *w)
{
    RY_INFER_TRY(check_list(infer, "strides", w->stride, w->spatial, 1, 1));
    if (w->dilation) {
        RY_INFER_TRY(check_list(infer, "dilations", w->dilation, w->spatial, 1, 1));
    }
    RY_INFER_TRY(check_list(infer, "pads", w->pads, 2 * w->spatial, 0, 0));
    for (int i = 0; i < w->spatial; i++) {
        if (w->kernel[i] == 0 || w->kernel[i] > INT32_MAX) {
            return ry_infer_fail(infer, RYND_ERROR_SHAPE, "the window's size along spatial dim %d is %lld, expected 1 to 2^31-1", i,
                                 (long long)w->kernel[i]);
        }
    }
    return RY_INFER_DONE;
}

/* Positions that a window covers: (kernel-1)*dilation + 1. */
static int64_t extent(ry_graph *graph, const window *w, int i)
{
    int64_t dilation = w->dilation ? w->dilation->at[i] : 1;
    return ry_dim_affine(graph, ry_dim_mul(graph, ry_dim_affine(graph, w->kernel[i], -1, 1), dilation), 1, 1);
}

static void set_same_pads(const window *w, int i, int64_t total)
{
    int64_t small = total / 2, large = total - total / 2;
    bool upper = *w->auto_pad == RY_auto_pad_same_upper;
    w->pads->at[i] = upper ? small : large;
    w->pads->at[w->spatial + i] = upper ? large : small;
}

/* SAME: ceil(in / stride) windows, and pads so that they fit. VALID: no pads. Pads become numbers where the size is one. */
static bool resolve_auto_pad(ry_graph *graph, const window *w, int i, int64_t in, int64_t *out)
{
    if (*w->auto_pad == RY_auto_pad_valid) {
        w->pads->at[i] = w->pads->at[w->spatial + i] = 0;
        return false;
    }
    int64_t stride = w->stride->at[i], covered = extent(graph, w, i);
    *out = ry_dim_ceil_div(graph, in, stride);
    if (in >= 0 && covered >= 0) {
        int64_t total = (*out - 1) * stride + covered - in;
        set_same_pads(w, i, in > 0 && total > 0 ? total : 0);
    }
    return true;
}

/* Windows along a dim of numbers: negative when not even one fits. In ceil_mode the last may hang over the end, but not start in the padding there. */
static int64_t count_windows(const window *w, int i, int64_t in, int64_t covered)
{
    int64_t stride = w->stride->at[i], begin = w->pads->at[i], room = in + begin + w->pads->at[w->spatial + i] - covered;
    int64_t more = w->ceil_mode && room > -stride ? (room + stride - 1) / stride : room >= 0 ? room / stride : -2;
    return w->ceil_mode && more > 0 && more * stride >= in + begin ? more : more + 1;
}

/* The same where the size or the window is a symbol. */
static int64_t symbolic_windows(ry_graph *graph, const window *w, int i, int64_t in)
{
    int64_t stride = w->stride->at[i], end = w->pads->at[w->spatial + i], covered = extent(graph, w, i);
    int64_t room = ry_dim_sub(graph, ry_dim_affine(graph, in, w->pads->at[i] + end, 1), covered);
    if (w->ceil_mode && (covered < 0 || end + stride > covered)) {
        return ry_dim_unknown(graph); /* the last window may start in the padding, or not */
    }
    return ry_dim_affine(graph, w->ceil_mode ? ry_dim_ceil_div(graph, room, stride) : ry_dim_floor_div(graph, room, stride), 1, 1);
}

static ry_infer_result window_out(ry_infer *infer, const window *w, int i, int64_t in, int64_t *out)
{
    ry_graph *graph = infer->graph;
    if (w->auto_pad && *w->auto_pad != RY_auto_pad_explicit && resolve_auto_pad(graph, w, i, in, out)) {
        return RY_INFER_DONE;
    }
    int64_t covered = extent(graph, w, i);
    if (in < 0 || covered < 0) {
        *out = symbolic_windows(graph, w, i, in);
        return RY_INFER_DONE;
    }
    *out = in > 0 ? count_windows(w, i, in, covered) : 0;
    if (*out < 0) {
        return ry_infer_bad(infer, 0, "is smaller along dim %d, with its pads, than the window: %lld + %lld < %lld", i + 2, (long long)in,
                            (long long)(w->pads->at[i] + w->pads->at[w->spatial + i]), (long long)covered);
    }
    return RY_INFER_DONE;
}

/* Spatial dims of `out` from those of input 0; auto_pad becomes explicit once every number is known. */
static ry_infer_result window_outs(ry_infer *infer, window *w, ry_shape *out)
{
    const ry_shape *in = &ry_infer_in(infer, 0)->shape;
    bool known = true;
    RY_INFER_TRY(check_window(infer, w));
    for (int i = 0; i < w->spatial; i++) {
        RY_INFER_TRY(window_out(infer, w, i, in->dim[2 + i], &out->dim[2 + i]));
        known = known && in->dim[2 + i] >= 0 && w->kernel[i] >= 0;
    }
    if (known && w->auto_pad) {
        *w->auto_pad = RY_auto_pad_explicit;
    }
    return RY_INFER_DONE;
}

static ry_infer_result check_vector(ry_infer *infer, int i, int64_t size, const char *what)
{
    if (!ry_infer_has(infer, i)) {
        return RY_INFER_DONE;
    }
    RY_INFER_TRY(ry_infer_check_rank(infer, i, 1, 1));
    return ry_infer_check_dim(infer, i, 0, size, what);
}

static ry_infer_result check_residual(ry_infer *infer, int i, const ry_shape *out)
{
    if (!ry_infer_has(infer, i)) {
        return RY_INFER_DONE;
    }
    RY_INFER_TRY(ry_infer_check_same_type(infer, i, 0));
    RY_INFER_TRY(ry_infer_check_rank(infer, i, out->rank, out->rank));
    for (int d = 0; d < out->rank; d++) {
        RY_INFER_TRY(ry_infer_check_dim(infer, i, d, out->dim[d], "the residual has the output's shape"));
    }
    return RY_INFER_DONE;
}

static ry_infer_result check_groups(ry_infer *infer, int64_t groups, int64_t channels)
{
    if (groups >= 1 && (channels < 0 || channels % groups == 0)) {
        return RY_INFER_DONE;
    }
    return ry_infer_fail(infer, RYND_ERROR_SHAPE, "group is %lld, expected a divisor of the %lld channels", (long long)groups,
                         (long long)channels);
}

/* x[N,C,..] and w of the same rank and type. */
static ry_infer_result check_x_w(ry_infer *infer)
{
    RY_INFER_TRY(ry_infer_check_rank(infer, 0, 3, RY_MAX_RANK));
    int rank = ry_infer_in(infer, 0)->shape.rank;
    RY_INFER_TRY(ry_infer_check_rank(infer, 1, rank, rank));
    return ry_infer_check_same_type(infer, 1, 0);
}

static ry_infer_result conv_forward(ry_infer *infer)
{
    ry_conv_attrs *a = &infer->node->attrs.conv;
    const ry_shape *x = &ry_infer_in(infer, 0)->shape, *weights = &ry_infer_in(infer, 1)->shape;
    RY_INFER_TRY(check_groups(infer, a->groups, x->dim[1]));
    RY_INFER_TRY(check_groups(infer, a->groups, weights->dim[0]));
    if (x->dim[1] >= 0) {
        RY_INFER_TRY(ry_infer_check_dim(infer, 1, 1, x->dim[1] / a->groups, "channels of the input / group"));
    }
    RY_INFER_TRY(ry_infer_check_same_type(infer, 2, 0));
    RY_INFER_TRY(check_vector(infer, 2, weights->dim[0], "one bias an output channel"));
    ry_shape out = {.rank = x->rank, .dim = {x->dim[0], weights->dim[0]}};
    window w = {x->rank - 2, &a->stride, &a->dilation, &a->pads, &a->auto_pad, weights->dim + 2, false};
    RY_INFER_TRY(window_outs(infer, &w, &out));
    RY_INFER_TRY(check_residual(infer, 3, &out));
    ry_infer_set(infer, 0, ry_infer_in(infer, 0)->dtype, &out);
    return RY_INFER_DONE;
}

/* Several input sizes (or kernel sizes) give one output size, so the directions backward take theirs from the node's output, which
 * whoever makes such a node states; here it is checked against the forward relation. */
static ry_infer_result conv_backward(ry_infer *infer)
{
    ry_conv_attrs *a = &infer->node->attrs.conv;
    const ry_value *result = ry_infer_out(infer, 0);
    bool data = a->dir == RY_direction_bwd_data;
    if (!result || result->shape.rank != ry_infer_in(infer, 0)->shape.rank) {
        return ry_infer_fail(infer, RYND_ERROR_SHAPE, "the shape of output 0 must be stated for %s", data ? "bwd_data" : "bwd_weights");
    }
    const ry_shape *x = data ? &result->shape : &ry_infer_in(infer, 0)->shape;
    const ry_shape *weights = data ? &ry_infer_in(infer, 1)->shape : &result->shape;
    int dy_input = data ? 0 : 1;
    int64_t wanted[RY_MAX_RANK] = {x->dim[0], weights->dim[0]};
    window w = {x->rank - 2, &a->stride, &a->dilation, &a->pads, NULL, weights->dim + 2, false};
    RY_INFER_TRY(check_window(infer, &w));
    RY_INFER_TRY(check_groups(infer, a->groups, x->dim[1]));
    RY_INFER_TRY(check_groups(infer, a->groups, weights->dim[0]));
    if (x->dim[1] >= 0 && !ry_infer_agree(weights->dim[1], x->dim[1] / a->groups)) {
        return ry_infer_fail(infer, RYND_ERROR_SHAPE, "weights have %lld input channels, expected %lld", (long long)weights->dim[1],
                             (long long)(x->dim[1] / a->groups));
    }
    for (int i = 0; i < w.spatial; i++) {
        RY_INFER_TRY(window_out(infer, &w, i, x->dim[2 + i], &wanted[2 + i]));
    }
    for (int d = 0; d < x->rank; d++) {
        RY_INFER_TRY(ry_infer_check_dim(infer, dy_input, d, wanted[d], "the forward convolution's output"));
    }
    ry_shape shape = result->shape, bias = {.rank = 1, .dim = {weights->dim[0]}};
    ry_infer_set(infer, 0, ry_infer_in(infer, 0)->dtype, &shape);
    ry_infer_set(infer, 1, ry_infer_in(infer, 0)->dtype, &bias);
    return RY_INFER_DONE;
}

ry_infer_result ry_infer_op_conv(ry_infer *infer)
{
    RY_INFER_TRY(check_x_w(infer));
    return infer->node->attrs.conv.dir == RY_direction_fwd ? conv_forward(infer) : conv_backward(infer);
}

ry_infer_result ry_infer_op_separable_conv(ry_infer *infer)
{
    ry_separable_conv_attrs *a = &infer->node->attrs.separable_conv;
    RY_INFER_TRY(check_x_w(infer));
    const ry_shape *x = &ry_infer_in(infer, 0)->shape, *taps = &ry_infer_in(infer, 1)->shape;
    RY_INFER_TRY(ry_infer_check_dim(infer, 1, 0, x->dim[1], "one window a channel"));
    RY_INFER_TRY(ry_infer_check_dim(infer, 1, 1, 1, "one window a channel"));
    RY_INFER_TRY(check_vector(infer, 2, x->dim[1], "one bias a channel"));
    if (!ry_infer_has(infer, 3)) {
        return ry_infer_fail(infer, RYND_ERROR_SHAPE, "input 3, the pointwise weights, is missing");
    }
    RY_INFER_TRY(ry_infer_check_rank(infer, 3, x->rank, x->rank));
    RY_INFER_TRY(ry_infer_check_same_type(infer, 3, 0));
    const ry_shape *weights = &ry_infer_in(infer, 3)->shape;
    RY_INFER_TRY(ry_infer_check_dim(infer, 3, 1, x->dim[1], "channels of the input"));
    for (int i = 2; i < x->rank; i++) {
        RY_INFER_TRY(ry_infer_check_dim(infer, 3, i, 1, "a pointwise window"));
    }
    RY_INFER_TRY(check_vector(infer, 4, weights->dim[0], "one bias an output channel"));
    ry_shape out = {.rank = x->rank, .dim = {x->dim[0], weights->dim[0]}};
    window w = {x->rank - 2, &a->stride, &a->dilation, &a->pads, NULL, taps->dim + 2, false};
    RY_INFER_TRY(window_outs(infer, &w, &out));
    RY_INFER_TRY(check_residual(infer, 5, &out));
    ry_infer_set(infer, 0, ry_infer_in(infer, 0)->dtype, &out);
    return RY_INFER_DONE;
}

/* One spatial dim of a transposed convolution. Without pads it is stride*(in-1) + output_padding + extent; a wanted size gives the pads, and
 * where it is larger than that, the rest is output padding. */
static int64_t convt_out(ry_infer *infer, ry_convt_attrs *a, const window *w, int i, int64_t in)
{
    ry_graph *graph = infer->graph;
    int64_t stride = w->stride->at[i];
    int64_t full = ry_dim_mul(graph, ry_dim_affine(graph, in, -1, 1), stride);
    full = ry_dim_add(graph, full, ry_dim_affine(graph, extent(graph, w, i), a->output_padding.at[i], 1));
    bool same = a->auto_pad == RY_auto_pad_same_upper || a->auto_pad == RY_auto_pad_same_lower;
    int64_t wanted = a->output_shape.count ? a->output_shape.at[a->output_shape.count - w->spatial + i] : ry_dim_mul(graph, in, stride);
    if (a->output_shape.count == 0 && !same) {
        bool valid = a->auto_pad == RY_auto_pad_valid;
        if (valid) {
            a->pads.at[i] = a->pads.at[w->spatial + i] = 0;
        }
        return ry_dim_affine(graph, full, -(a->pads.at[i] + a->pads.at[w->spatial + i]), 1);
    }
    if (full >= 0 && wanted >= 0) {
        set_same_pads(w, i, full > wanted ? full - wanted : 0);
        a->output_padding.at[i] += wanted > full ? wanted - full : 0;
    }
    return wanted;
}

static ry_infer_result check_output_shape(ry_infer *infer, const ry_ints *list, int spatial)
{
    if (list->count != 0 && list->count != spatial && list->count != spatial + 2) {
        return ry_infer_fail(infer, RYND_ERROR_SHAPE, "output_shape has %d numbers, expected %d", list->count, spatial);
    }
    for (int i = 0; i < list->count; i++) {
        if (list->at[i] < 0 || list->at[i] > INT32_MAX) {
            return ry_infer_fail(infer, RYND_ERROR_SHAPE, "output_shape has %lld, expected 0 to 2^31-1", (long long)list->at[i]);
        }
    }
    return RY_INFER_DONE;
}

ry_infer_result ry_infer_op_convt(ry_infer *infer)
{
    ry_convt_attrs *a = &infer->node->attrs.convt;
    RY_INFER_TRY(check_x_w(infer));
    const ry_shape *x = &ry_infer_in(infer, 0)->shape, *weights = &ry_infer_in(infer, 1)->shape;
    window w = {x->rank - 2, &a->stride, &a->dilation, &a->pads, &a->auto_pad, weights->dim + 2, false};
    RY_INFER_TRY(check_groups(infer, a->groups, x->dim[1]));
    RY_INFER_TRY(ry_infer_check_dim(infer, 1, 0, x->dim[1], "channels of the input"));
    RY_INFER_TRY(check_window(infer, &w));
    RY_INFER_TRY(check_list(infer, "output_padding", &a->output_padding, w.spatial, 0, 0));
    RY_INFER_TRY(check_output_shape(infer, &a->output_shape, w.spatial));
    ry_shape out = {.rank = x->rank, .dim = {x->dim[0], ry_dim_mul(infer->graph, weights->dim[1], a->groups)}};
    bool known = true;
    for (int i = 0; i < w.spatial; i++) {
        out.dim[2 + i] = x->dim[2 + i] == 0 ? 0 : convt_out(infer, a, &w, i, x->dim[2 + i]);
        known = known && x->dim[2 + i] >= 0 && w.kernel[i] >= 0;
    }
    if (known) {
        a->auto_pad = RY_auto_pad_explicit;
        a->output_shape.count = 0;
    }
    RY_INFER_TRY(ry_infer_check_same_type(infer, 2, 0));
    RY_INFER_TRY(check_vector(infer, 2, out.dim[1], "one bias an output channel"));
    RY_INFER_TRY(check_residual(infer, 3, &out));
    ry_infer_set(infer, 0, ry_infer_in(infer, 0)->dtype, &out);
    return RY_INFER_DONE;
}

/* Dim 1 of a map with one number for each window position: `each` for every one of `groups` and of the kernel's points. */
static ry_infer_result check_map(ry_infer *infer, int i, const ry_shape *out, int64_t groups, int64_t each, const int64_t *kernel)
{
    if (!ry_infer_has(infer, i)) {
        return RY_INFER_DONE;
    }
    RY_INFER_TRY(ry_infer_check_rank(infer, i, out->rank, out->rank));
    RY_INFER_TRY(ry_infer_check_same_type(infer, i, 0));
    RY_INFER_TRY(ry_infer_check_dim(infer, i, 0, out->dim[0], "batch"));
    int64_t wanted = ry_dim_mul(infer->graph, groups, each);
    for (int d = 2; d < out->rank; d++) {
        wanted = ry_dim_mul(infer->graph, wanted, kernel[d - 2]);
        RY_INFER_TRY(ry_infer_check_dim(infer, i, d, out->dim[d], "the output's size"));
    }
    return ry_infer_check_dim(infer, i, 1, wanted, "offset groups, kernel points and coordinates");
}

ry_infer_result ry_infer_op_deform_conv(ry_infer *infer)
{
    ry_deform_conv_attrs *a = &infer->node->attrs.deform_conv;
    RY_INFER_TRY(check_x_w(infer));
    const ry_shape *x = &ry_infer_in(infer, 0)->shape, *weights = &ry_infer_in(infer, 1)->shape;
    RY_INFER_TRY(check_groups(infer, a->groups, x->dim[1]));
    RY_INFER_TRY(check_groups(infer, a->groups, weights->dim[0]));
    RY_INFER_TRY(check_groups(infer, a->offset_groups, x->dim[1]));
    if (x->dim[1] >= 0) {
        RY_INFER_TRY(ry_infer_check_dim(infer, 1, 1, x->dim[1] / a->groups, "channels of the input / group"));
    }
    ry_shape out = {.rank = x->rank, .dim = {x->dim[0], weights->dim[0]}};
    window w = {x->rank - 2, &a->stride, &a->dilation, &a->pads, NULL, weights->dim + 2, false};
    RY_INFER_TRY(window_outs(infer, &w, &out));
    RY_INFER_TRY(check_map(infer, 2, &out, a->offset_groups, w.spatial, w.kernel));
    RY_INFER_TRY(check_vector(infer, 3, weights->dim[0], "one bias an output channel"));
    RY_INFER_TRY(check_map(infer, 4, &out, a->offset_groups, 1, w.kernel));
    ry_infer_set(infer, 0, ry_infer_in(infer, 0)->dtype, &out);
    return RY_INFER_DONE;
}

ry_infer_result ry_infer_op_pool(ry_infer *infer)
{
    ry_pool_attrs *a = &infer->node->attrs.pool;
    RY_INFER_TRY(ry_infer_check_rank(infer, 0, 3, RY_MAX_RANK));
    const ry_shape *x = &ry_infer_in(infer, 0)->shape;
    if (a->kernel.count != x->rank - 2) {
        return ry_infer_fail(infer, RYND_ERROR_SHAPE, "kernel_shape has %d numbers, expected %d", a->kernel.count, x->rank - 2);
    }
    RY_INFER_TRY(check_list(infer, "kernel_shape", &a->kernel, x->rank - 2, 1, 1));
    ry_shape out = {.rank = x->rank, .dim = {x->dim[0], x->dim[1]}};
    window w = {x->rank - 2, &a->stride, &a->dilation, &a->pads, &a->auto_pad, a->kernel.at, a->ceil_mode != 0};
    RY_INFER_TRY(window_outs(infer, &w, &out));
    ry_infer_set(infer, 0, ry_infer_in(infer, 0)->dtype, &out);
    ry_infer_set(infer, 1, RY_i64, &out);
    return RY_INFER_DONE;
}

ry_infer_result ry_infer_op_max_unpool(ry_infer *infer)
{
    ry_max_unpool_attrs *a = &infer->node->attrs.max_unpool;
    RY_INFER_TRY(ry_infer_check_rank(infer, 0, 3, RY_MAX_RANK));
    const ry_shape *x = &ry_infer_in(infer, 0)->shape;
    RY_INFER_TRY(ry_infer_check_integer(infer, 1));
    RY_INFER_TRY(ry_infer_check_rank(infer, 1, x->rank, x->rank));
    for (int d = 0; d < x->rank; d++) {
        RY_INFER_TRY(ry_infer_check_dim(infer, 1, d, x->dim[d], "indices have the input's shape"));
    }
    if (a->kernel.count != x->rank - 2) {
        return ry_infer_fail(infer, RYND_ERROR_SHAPE, "kernel_shape has %d numbers, expected %d", a->kernel.count, x->rank - 2);
    }
    window w = {x->rank - 2, &a->stride, NULL, &a->pads, NULL, a->kernel.at, false};
    RY_INFER_TRY(check_window(infer, &w));
    ry_shape out = *x;
    for (int i = 0; i < w.spatial; i++) {
        int64_t grown = ry_dim_mul(infer->graph, ry_dim_affine(infer->graph, x->dim[2 + i], -1, 1), a->stride.at[i]);
        out.dim[2 + i] = ry_dim_affine(infer->graph, grown, a->kernel.at[i] - a->pads.at[i] - a->pads.at[w.spatial + i], 1);
    }
    ry_infer_result result = RY_INFER_DONE;
    if (ry_infer_has(infer, 2)) {
        ry_ints sizes;
        result = ry_infer_ints(infer, 2, &sizes);
        RY_INFER_TRY(result);
        if (result == RY_INFER_DONE && sizes.count != x->rank) {
            return ry_infer_bad(infer, 2, "has %d numbers, expected %d", sizes.count, x->rank);
        }
        for (int d = 0; d < x->rank; d++) {
            out.dim[d] = result == RY_INFER_LATER ? ry_dim_unknown(infer->graph) : sizes.at[d] < 0 ? RY_DIM_ERROR : sizes.at[d];
        }
    }
    ry_infer_set(infer, 0, ry_infer_in(infer, 0)->dtype, &out);
    return result;
}

ry_infer_result ry_infer_op_col2im(ry_infer *infer)
{
    ry_col2im_attrs *a = &infer->node->attrs.col2im;
    ry_graph *graph = infer->graph;
    RY_INFER_TRY(ry_infer_check_rank(infer, 0, 3, 3));
    const ry_shape *x = &ry_infer_in(infer, 0)->shape;
    ry_ints image, block;
    ry_infer_result have_image = ry_infer_ints(infer, 1, &image), have_block = ry_infer_ints(infer, 2, &block);
    if (have_image == RY_INFER_FAILED || have_block == RY_INFER_FAILED) {
        return RY_INFER_FAILED;
    }
    if (have_image == RY_INFER_LATER || have_block == RY_INFER_LATER) {
        int64_t spatial = ry_infer_in(infer, 1)->shape.rank == 1 ? ry_infer_in(infer, 1)->shape.dim[0] : -1;
        ry_shape out = ry_infer_unknown(infer, spatial < 0 || spatial > RY_MAX_RANK - 2 ? -1 : 2 + (int)spatial);
        ry_infer_set(infer, 0, ry_infer_in(infer, 0)->dtype, &out);
        return RY_INFER_LATER;
    }
    if (image.count != block.count || image.count < 1 || image.count > RY_MAX_RANK - 2) {
        return ry_infer_fail(infer, RYND_ERROR_SHAPE, "image_shape has %d numbers and block_shape %d, expected 1 to %d of both",
                             image.count, block.count, RY_MAX_RANK - 2);
    }
    int64_t points = 1, positions = 1;
    window w = {image.count, &a->stride, &a->dilation, &a->pads, NULL, block.at, false};
    RY_INFER_TRY(check_list(infer, "block_shape", &block, block.count, 1, 1));
    RY_INFER_TRY(check_list(infer, "image_shape", &image, image.count, 1, 0));
    RY_INFER_TRY(check_window(infer, &w));
    ry_shape out = {.rank = 2 + image.count, .dim = {x->dim[0]}};
    for (int i = 0; i < image.count; i++) {
        out.dim[2 + i] = image.at[i];
        points = ry_dim_mul(graph, points, block.at[i]);
        int64_t fit = count_windows(&w, i, image.at[i], extent(graph, &w, i));
        positions = ry_dim_mul(graph, positions, fit > 0 ? fit : 0);
    }
    RY_INFER_TRY(ry_infer_check_dim(infer, 0, 2, positions, "positions of the block in the image"));
    if (x->dim[1] >= 0 && x->dim[1] % points != 0) {
        return ry_infer_bad(infer, 0, "has %lld in dim 1, expected a multiple of the block's %lld points", (long long)x->dim[1],
                            (long long)points);
    }
    out.dim[1] = ry_dim_floor_div(graph, x->dim[1], points);
    a->image = image;
    a->block = block;
    ry_infer_set(infer, 0, ry_infer_in(infer, 0)->dtype, &out);
    return RY_INFER_DONE;
}

ry_infer_result ry_infer_op_grid_sample(ry_infer *infer)
{
    RY_INFER_TRY(ry_infer_check_rank(infer, 0, 3, RY_MAX_RANK));
    const ry_shape *x = &ry_infer_in(infer, 0)->shape;
    RY_INFER_TRY(ry_infer_check_rank(infer, 1, x->rank, x->rank));
    const ry_shape *grid = &ry_infer_in(infer, 1)->shape;
    RY_INFER_TRY(ry_infer_check_dim(infer, 1, 0, x->dim[0], "batch of the input"));
    RY_INFER_TRY(ry_infer_check_dim(infer, 1, x->rank - 1, x->rank - 2, "one coordinate a spatial dim"));
    ry_shape out = *x;
    for (int d = 2; d < x->rank; d++) {
        out.dim[d] = grid->dim[d - 1];
    }
    ry_infer_set(infer, 0, ry_infer_in(infer, 0)->dtype, &out);
    return RY_INFER_DONE;
}

ry_infer_result ry_infer_op_affine_grid(ry_infer *infer)
{
    RY_INFER_TRY(ry_infer_check_rank(infer, 0, 3, 3));
    const ry_shape *theta = &ry_infer_in(infer, 0)->shape;
    ry_ints size;
    ry_infer_result result = ry_infer_ints(infer, 1, &size);
    RY_INFER_TRY(result);
    int64_t count = result == RY_INFER_DONE                  ? size.count
                    : ry_infer_in(infer, 1)->shape.rank == 1 ? ry_infer_in(infer, 1)->shape.dim[0]
                                                             : -1;
    if (count >= 0 && count != 4 && count != 5) {
        return ry_infer_bad(infer, 1, "has %lld numbers, expected 4 (N,C,H,W) or 5 (N,C,D,H,W)", (long long)count);
    }
    ry_shape out = ry_infer_unknown(infer, (int)count);
    if (count > 0) {
        RY_INFER_TRY(ry_infer_check_dim(infer, 0, 1, count - 2, "spatial dims"));
        RY_INFER_TRY(ry_infer_check_dim(infer, 0, 2, count - 1, "spatial dims + 1"));
        out.dim[0] = theta->dim[0];
        out.dim[count - 1] = count - 2;
    }
    if (result == RY_INFER_DONE) {
        RY_INFER_TRY(ry_infer_check_dim(infer, 0, 0, size.at[0], "batch of `size`"));
        out.dim[0] = size.at[0];
        for (int d = 2; d < size.count; d++) {
            out.dim[d - 1] = size.at[d] < 0 ? RY_DIM_ERROR : size.at[d];
        }
    }
    ry_infer_set(infer, 0, ry_infer_in(infer, 0)->dtype, &out);
    return result;
}

ry_infer_result ry_infer_op_roi_align(ry_infer *infer)
{
    const ry_roi_align_attrs *a = &infer->node->attrs.roi_align;
    RY_INFER_TRY(ry_infer_check_rank(infer, 0, 4, 4));
    RY_INFER_TRY(ry_infer_check_rank(infer, 1, 2, 2));
    RY_INFER_TRY(ry_infer_check_rank(infer, 2, 1, 1));
    RY_INFER_TRY(ry_infer_check_same_type(infer, 1, 0));
    RY_INFER_TRY(ry_infer_check_integer(infer, 2));
    RY_INFER_TRY(ry_infer_check_dim(infer, 1, 1, 4, "x1, y1, x2, y2"));
    const ry_shape *x = &ry_infer_in(infer, 0)->shape, *rois = &ry_infer_in(infer, 1)->shape;
    RY_INFER_TRY(ry_infer_check_dim(infer, 2, 0, rois->dim[0], "number of rois"));
    if (a->output_height < 1 || a->output_width < 1) {
        return ry_infer_fail(infer, RYND_ERROR_SHAPE, "output_height and output_width must be at least 1");
    }
    ry_shape out = {.rank = 4, .dim = {rois->dim[0], x->dim[1], a->output_height, a->output_width}};
    ry_infer_set(infer, 0, ry_infer_in(infer, 0)->dtype, &out);
    return RY_INFER_DONE;
}
