/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of convolution and its kin. */
#include "graph/infer_window.h"

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
        RY_INFER_TRY(
            ry_infer_check_dim(infer, i, d, out->dim[d], "the residual has the output's shape"));
    }
    return RY_INFER_DONE;
}

static ry_infer_result check_groups(ry_infer *infer, int64_t groups, int64_t channels)
{
    if (groups >= 1 && (channels < 0 || channels % groups == 0)) {
        return RY_INFER_DONE;
    }
    return ry_infer_fail(infer, RYND_ERROR_SHAPE,
                         "group is %lld, expected a divisor of the %lld channels",
                         (long long)groups, (long long)channels);
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
        RY_INFER_TRY(ry_infer_check_dim(infer, 1, 1, x->dim[1] / a->groups,
                                        "channels of the input / group"));
    }
    RY_INFER_TRY(ry_infer_check_same_type(infer, 2, 0));
    RY_INFER_TRY(check_vector(infer, 2, weights->dim[0], "one bias an output channel"));
    ry_shape out = {.rank = x->rank, .dim = {x->dim[0], weights->dim[0]}};
    RY_INFER_TRY(ry_infer_window_outs(infer, weights->dim + 2, &out));
    RY_INFER_TRY(check_residual(infer, 3, &out));
    ry_infer_set(infer, 0, ry_infer_in(infer, 0)->dtype, &out);
    return RY_INFER_DONE;
}

/* Several input sizes (or kernel sizes) give one output size, so the directions backward take
 * theirs from the node's output, which whoever makes such a node states; here it is checked against
 * the forward relation. */
static ry_infer_result conv_backward(ry_infer *infer)
{
    ry_conv_attrs *a = &infer->node->attrs.conv;
    const ry_value *result = ry_infer_out(infer, 0);
    bool data = a->dir == RY_direction_bwd_data;
    if (!result || result->shape.rank != ry_infer_in(infer, 0)->shape.rank) {
        return ry_infer_fail(infer, RYND_ERROR_SHAPE, "the shape of output 0 must be stated for %s",
                             data ? "bwd_data" : "bwd_weights");
    }
    const ry_shape *x = data ? &result->shape : &ry_infer_in(infer, 0)->shape;
    const ry_shape *weights = data ? &ry_infer_in(infer, 1)->shape : &result->shape;
    int dy_input = data ? 0 : 1;
    int64_t wanted[RY_MAX_RANK] = {x->dim[0], weights->dim[0]};
    ry_window w;
    RY_INFER_TRY(ry_infer_window(infer, x->rank - 2, x->dim + 2, NULL, weights->dim + 2, &w));
    w.direction = RY_direction_fwd;
    w.auto_pad = RY_auto_pad_explicit;
    RY_INFER_TRY(check_groups(infer, a->groups, x->dim[1]));
    RY_INFER_TRY(check_groups(infer, a->groups, weights->dim[0]));
    if (x->dim[1] >= 0 && !ry_infer_agree(weights->dim[1], x->dim[1] / a->groups)) {
        return ry_infer_fail(infer, RYND_ERROR_SHAPE,
                             "weights have %lld input channels, expected %lld",
                             (long long)weights->dim[1], (long long)(x->dim[1] / a->groups));
    }
    for (int i = 0; i < w.rank; i++) {
        RY_INFER_TRY(ry_infer_positions(infer, &w, i, &wanted[2 + i]));
    }
    for (int d = 0; d < x->rank; d++) {
        RY_INFER_TRY(
            ry_infer_check_dim(infer, dy_input, d, wanted[d], "the forward convolution's output"));
    }
    ry_shape shape = result->shape, bias = {.rank = 1, .dim = {weights->dim[0]}};
    ry_infer_set(infer, 0, ry_infer_in(infer, 0)->dtype, &shape);
    ry_infer_set(infer, 1, ry_infer_in(infer, 0)->dtype, &bias);
    return RY_INFER_DONE;
}

ry_infer_result ry_infer_op_conv(ry_infer *infer)
{
    RY_INFER_TRY(check_x_w(infer));
    return infer->node->attrs.conv.dir == RY_direction_fwd ? conv_forward(infer)
                                                           : conv_backward(infer);
}

ry_infer_result ry_infer_op_separable_conv(ry_infer *infer)
{
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
    RY_INFER_TRY(ry_infer_window_outs(infer, taps->dim + 2, &out));
    RY_INFER_TRY(check_residual(infer, 5, &out));
    ry_infer_set(infer, 0, ry_infer_in(infer, 0)->dtype, &out);
    return RY_INFER_DONE;
}

/* One spatial dim of a transposed convolution: a wanted size gives the pads, and where it is larger
 * than what the window covers, the rest is output padding. */
static int64_t convt_out(ry_infer *infer, const ry_ints *output_shape, ry_window *w, int i)
{
    ry_graph *graph = infer->graph;
    ry_window_axis *axis = &w->axis[i];
    int64_t full = ry_infer_covered(graph, axis);
    bool same = w->auto_pad == RY_auto_pad_same_upper || w->auto_pad == RY_auto_pad_same_lower;
    int64_t wanted = output_shape->count ? output_shape->at[output_shape->count - w->rank + i]
                                         : ry_dim_mul(graph, axis->out, axis->stride);
    if (output_shape->count == 0 && !same) {
        if (w->auto_pad == RY_auto_pad_valid) {
            ry_window_split_pads(axis, w->auto_pad, 0);
        }
        return ry_dim_affine(graph, full, -(axis->pad + axis->pad_end), 1);
    }
    if (full >= 0 && wanted >= 0) {
        ry_window_split_pads(axis, w->auto_pad, full > wanted ? full - wanted : 0);
        axis->output_padding += wanted > full ? wanted - full : 0;
    }
    return wanted;
}

static ry_infer_result check_output_shape(ry_infer *infer, const ry_ints *list, int spatial)
{
    if (list->count != 0 && list->count != spatial && list->count != spatial + 2) {
        return ry_infer_fail(infer, RYND_ERROR_SHAPE, "output_shape has %d numbers, expected %d",
                             list->count, spatial);
    }
    for (int i = 0; i < list->count; i++) {
        if (list->at[i] < 0 || list->at[i] > INT32_MAX) {
            return ry_infer_fail(infer, RYND_ERROR_SHAPE,
                                 "output_shape has %lld, expected 0 to 2^31-1",
                                 (long long)list->at[i]);
        }
    }
    return RY_INFER_DONE;
}

/* One an output channel, or [channels][stride]... : one for each residue of the output's position,
 * too. */
static ry_infer_result check_phase_bias(ry_infer *infer, int i, int64_t channels,
                                        const ry_window *w)
{
    if (!ry_infer_has(infer, i) || ry_infer_in(infer, i)->shape.rank < 2) {
        return check_vector(infer, i, channels, "one bias an output channel");
    }
    RY_INFER_TRY(ry_infer_check_rank(infer, i, 1 + w->rank, 1 + w->rank));
    RY_INFER_TRY(ry_infer_check_dim(infer, i, 0, channels, "one bias an output channel"));
    for (int d = 0; d < w->rank; d++) {
        RY_INFER_TRY(ry_infer_check_dim(infer, i, 1 + d, w->axis[d].stride, "one bias a phase"));
    }
    return RY_INFER_DONE;
}

ry_infer_result ry_infer_op_convt(ry_infer *infer)
{
    ry_convt_attrs *a = &infer->node->attrs.convt;
    RY_INFER_TRY(check_x_w(infer));
    const ry_shape *x = &ry_infer_in(infer, 0)->shape, *weights = &ry_infer_in(infer, 1)->shape;
    ry_window w;
    RY_INFER_TRY(check_groups(infer, a->groups, x->dim[1]));
    RY_INFER_TRY(ry_infer_check_dim(infer, 1, 0, x->dim[1], "channels of the input"));
    RY_INFER_TRY(ry_infer_window(infer, x->rank - 2, NULL, x->dim + 2, weights->dim + 2, &w));
    RY_INFER_TRY(check_output_shape(infer, &a->output_shape, w.rank));
    ry_shape out = {.rank = x->rank,
                    .dim = {x->dim[0], ry_dim_mul(infer->graph, weights->dim[1], a->groups)}};
    bool known = true;
    for (int i = 0; i < w.rank; i++) {
        out.dim[2 + i] = w.axis[i].out == 0 ? 0 : convt_out(infer, &a->output_shape, &w, i);
        known = known && w.axis[i].out >= 0 && w.axis[i].taps >= 0;
    }
    ry_infer_store_pads(infer, &w, known);
    if (known) {
        a->output_shape.count = 0;
    }
    RY_INFER_TRY(ry_infer_check_same_type(infer, 2, 0));
    RY_INFER_TRY(check_phase_bias(infer, 2, out.dim[1], &w));
    RY_INFER_TRY(check_residual(infer, 3, &out));
    ry_infer_set(infer, 0, ry_infer_in(infer, 0)->dtype, &out);
    return RY_INFER_DONE;
}

/* Dim 1 of a map with one number for each window position: `each` for every one of `groups` and of
 * the kernel's points. */
static ry_infer_result check_map(ry_infer *infer, int i, const ry_shape *out, int64_t groups,
                                 int64_t each, const int64_t *kernel)
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
        RY_INFER_TRY(ry_infer_check_dim(infer, 1, 1, x->dim[1] / a->groups,
                                        "channels of the input / group"));
    }
    ry_shape out = {.rank = x->rank, .dim = {x->dim[0], weights->dim[0]}};
    RY_INFER_TRY(ry_infer_window_outs(infer, weights->dim + 2, &out));
    RY_INFER_TRY(check_map(infer, 2, &out, a->offset_groups, x->rank - 2, weights->dim + 2));
    RY_INFER_TRY(check_vector(infer, 3, weights->dim[0], "one bias an output channel"));
    RY_INFER_TRY(check_map(infer, 4, &out, a->offset_groups, 1, weights->dim + 2));
    ry_infer_set(infer, 0, ry_infer_in(infer, 0)->dtype, &out);
    return RY_INFER_DONE;
}

ry_infer_result ry_infer_op_deform_columns(ry_infer *infer)
{
    const ry_deform_columns_attrs *a = &infer->node->attrs.deform_columns;
    RY_INFER_TRY(ry_infer_check_rank(infer, 0, 3, RY_MAX_RANK));
    const ry_shape *x = &ry_infer_in(infer, 0)->shape;
    if (a->kernel.count != x->rank - 2) {
        return ry_infer_fail(infer, RYND_ERROR_SHAPE, "kernel has %d numbers, expected %d",
                             a->kernel.count, x->rank - 2);
    }
    RY_INFER_TRY(check_groups(infer, a->groups, x->dim[1]));
    RY_INFER_TRY(check_groups(infer, a->offset_groups, x->dim[1]));
    ry_shape out = {.rank = x->rank, .dim = {x->dim[0], x->dim[1]}};
    for (int i = 0; i < a->kernel.count; i++) {
        out.dim[1] = ry_dim_mul(infer->graph, out.dim[1], a->kernel.at[i]);
    }
    RY_INFER_TRY(ry_infer_window_outs(infer, a->kernel.at, &out));
    RY_INFER_TRY(check_map(infer, 1, &out, a->offset_groups, x->rank - 2, a->kernel.at));
    RY_INFER_TRY(check_map(infer, 2, &out, a->offset_groups, 1, a->kernel.at));
    ry_infer_set(infer, 0, ry_infer_in(infer, 0)->dtype, &out);
    return RY_INFER_DONE;
}
