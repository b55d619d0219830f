/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions whose windows are far apart become convolutions of blocks with stride 1.
 *
 * Along an axis of stride s the large side (y of a transposed convolution, x of a weight gradient)
 * is a row of blocks of s elements, and the window's k taps are t = ceil(k / s) blocks. A block's
 * elements become channels: each tap of the block window multiplies s times as many channels, and
 * the same products are summed. Transposed convolutions so become a convolution and a pixel
 * shuffle (Shi et al., "Is the deconvolution layer the same as a convolutional layer?",
 * arXiv:1609.07009); weight gradients a space to depth and a weight gradient of few taps. */
#include "graph/emitter.h"
#include "graph/rewrite.h"
#include "problem/limits.h"
#include "problem/window.h"

typedef struct block_axis {
    ry_window_axis window;
    int64_t taps;   /* blocks that a window covers */
    int64_t size;   /* elements of a block that a window reaches: the stride, or a shorter window */
    int64_t blocks; /* on the large side */
} block_axis;

typedef struct strided {
    ry_emitter emitter;
    ry_node node; /* as it was */
    ry_shape w;
    int rank; /* spatial dims */
    int64_t groups, batch;
    block_axis axis[RY_MAX_RANK];
} strided;

static int64_t block_elements(const strided *s)
{
    int64_t elements = 1;
    for (int i = 0; i < s->rank; i++) {
        elements *= s->axis[i].size;
    }
    return elements;
}

static ry_value_id pad(strided *s, ry_value_id value, const ry_ints *pads)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_pad);
    bool pads_anything = false;
    for (int i = 0; i < pads->count; i++) {
        pads_anything |= pads->at[i] != 0;
    }
    attrs.pad.pads = *pads;
    return pads_anything ? ry_emit(&s->emitter, RY_OP_pad, &attrs, 1, &value) : value;
}

/* Pads each spatial dim at its end: axis i by `more[i]`, which may be negative. `first` is the
 * first spatial dim and `step` the distance to the next. */
static ry_value_id pad_ends(strided *s, ry_value_id value, int first, int step, const int64_t *more)
{
    const int rank = ry_emit_shape(&s->emitter, value).rank;
    ry_ints pads = {.count = 2 * rank};
    for (int i = 0; i < s->rank; i++) {
        pads.at[rank + first + i * step] = more[i];
    }
    return pad(s, value, &pads);
}

/* The taps of w[., ., k..] as [., ., taps, size, taps, size ..], with zeros for dilation. */
static ry_value_id taps_in_blocks(strided *s, ry_value_id w)
{
    ry_shape apart = {.rank = 2, .dim = {s->w.dim[0], s->w.dim[1]}}, joined = apart, blocks = apart;
    int64_t dilation[RY_MAX_RANK], rest[RY_MAX_RANK];
    for (int i = 0; i < s->rank; i++) {
        const ry_window_axis *window = &s->axis[i].window;
        apart.dim[apart.rank++] = window->taps;
        apart.dim[apart.rank++] = 1;
        joined.dim[joined.rank++] = window->taps * window->dilation;
        blocks.dim[blocks.rank++] = s->axis[i].taps;
        blocks.dim[blocks.rank++] = s->axis[i].size;
        dilation[i] = window->dilation - 1;
        rest[i] = s->axis[i].taps * s->axis[i].size - window->taps * window->dilation;
    }
    w = pad_ends(s, ry_emit_reshape(&s->emitter, w, &apart), 3, 2, dilation);
    w = pad_ends(s, ry_emit_reshape(&s->emitter, w, &joined), 2, 1, rest);
    return ry_emit_reshape(&s->emitter, w, &blocks);
}

/* Reverses the blocks of each axis in [., ., taps, size, taps, size ..]. */
static ry_value_id reverse_taps(strided *s, ry_value_id w)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_slice);
    for (int i = 0; i < s->rank; i++) {
        if (s->axis[i].taps > 1) {
            const int n = attrs.slice.axes.count;
            attrs.slice.axes.at[n] = 2 + 2 * i;
            attrs.slice.starts.at[n] = s->axis[i].taps - 1;
            attrs.slice.ends.at[n] = -s->axis[i].taps - 1;
            attrs.slice.steps.at[n] = -1;
            attrs.slice.axes.count = attrs.slice.starts.count = attrs.slice.ends.count =
                attrs.slice.steps.count = n + 1;
        }
    }
    return attrs.slice.axes.count ? ry_emit(&s->emitter, RY_OP_slice, &attrs, 1, &w) : w;
}

/* w[C, K/groups, k..] of a transposed convolution as [K * sizes.., C/groups, taps..]. */
static ry_value_id block_weights(strided *s)
{
    const int64_t inner = s->w.dim[0] / s->groups, outer = s->w.dim[1];
    ry_shape split = {.rank = 3, .dim = {s->groups, inner, outer}}, y = {.rank = 2};
    ry_ints perm = {.count = 3 + 2 * s->rank, .at = {0, 2}};
    y.dim[0] = s->groups * outer * block_elements(s);
    y.dim[1] = inner;
    for (int i = 0; i < s->rank; i++) {
        split.dim[split.rank++] = s->axis[i].taps;
        split.dim[split.rank++] = s->axis[i].size;
        perm.at[2 + i] = 3 + 2 * i + 1;
        perm.at[3 + s->rank + i] = 3 + 2 * i;
        y.dim[y.rank++] = s->axis[i].taps;
    }
    perm.at[2 + s->rank] = 1;
    ry_value_id w = reverse_taps(s, taps_in_blocks(s, s->node.in[1]));
    w = ry_emit_transpose(&s->emitter, ry_emit_reshape(&s->emitter, w, &split), &perm);
    return ry_emit_reshape(&s->emitter, w, &y);
}

/* A bias of each channel for each of its elements in a block. */
static ry_value_id block_bias(strided *s, ry_value_id bias)
{
    const int64_t channels = ry_emit_shape(&s->emitter, bias).dim[0], size = block_elements(s);
    const ry_shape column = {.rank = 2, .dim = {channels, 1}},
                   whole = {.rank = 2, .dim = {channels, size}},
                   row = {.rank = 1, .dim = {channels * size}};
    bias = ry_emit_expand(&s->emitter, ry_emit_reshape(&s->emitter, bias, &column), &whole);
    return ry_emit_reshape(&s->emitter, bias, &row);
}

/* [N, K * sizes.., blocks..] as [N, K, blocks * stride..]. */
static ry_value_id spread_blocks(strided *s, ry_value_id y, int64_t channels)
{
    ry_shape split = {.rank = 2, .dim = {s->batch, channels}}, joined = split;
    ry_ints perm = {.count = 2 + 2 * s->rank, .at = {0, 1}};
    int64_t more[RY_MAX_RANK];
    for (int i = 0; i < s->rank; i++) {
        const block_axis *axis = &s->axis[i];
        split.dim[2 + i] = axis->size;
        split.dim[2 + s->rank + i] = axis->blocks;
        perm.at[2 + 2 * i] = 2 + s->rank + i;
        perm.at[3 + 2 * i] = 2 + i;
        more[i] = axis->window.stride - axis->size;
        joined.dim[joined.rank++] = axis->blocks * axis->window.stride;
    }
    split.rank = 2 + 2 * s->rank;
    y = ry_emit_transpose(&s->emitter, ry_emit_reshape(&s->emitter, y, &split), &perm);
    return ry_emit_reshape(&s->emitter, pad_ends(s, y, 3, 2, more), &joined);
}

/* Crops what the pads cover; output padding may extend the end. */
static ry_ints crop(const strided *s, bool *extends)
{
    const int rank = 2 + s->rank;
    ry_ints pads = {.count = 2 * rank};
    *extends = false;
    for (int i = 0; i < s->rank; i++) {
        const block_axis *axis = &s->axis[i];
        pads.at[2 + i] = -axis->window.pad;
        pads.at[rank + 2 + i] =
            axis->window.in + axis->window.pad - axis->blocks * axis->window.stride;
        *extends |= pads.at[rank + 2 + i] > 0 || axis->size < axis->window.stride;
    }
    return pads;
}

static ry_value_id convolve_blocks(strided *s, ry_value_id bias)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_conv);
    attrs.conv.groups = s->groups;
    attrs.conv.pads.count = 2 * s->rank;
    for (int i = 0; i < s->rank; i++) {
        attrs.conv.pads.at[i] = attrs.conv.pads.at[s->rank + i] = s->axis[i].taps - 1;
    }
    const ry_value_id in[] = {s->node.in[0], block_weights(s),
                              bias == RY_NO_VALUE ? bias : block_bias(s, bias)};
    return ry_emit(&s->emitter, RY_OP_conv, &attrs, bias == RY_NO_VALUE ? 2 : 3, in);
}

static ry_value_id as_column(strided *s, ry_value_id bias)
{
    ry_shape column = {.rank = 1 + s->rank, .dim = {ry_emit_shape(&s->emitter, bias).dim[0]}};
    for (int i = 1; i < column.rank; i++) {
        column.dim[i] = 1;
    }
    return ry_emit_reshape(&s->emitter, bias, &column);
}

static ry_value_id transposed_convolution(strided *s)
{
    const ry_value_id bias = s->node.inputs > 2 ? s->node.in[2] : RY_NO_VALUE;
    bool extends;
    const ry_ints pads = crop(s, &extends);
    const bool bias_last = extends && bias != RY_NO_VALUE;
    ry_value_id y = convolve_blocks(s, bias_last ? RY_NO_VALUE : bias);
    y = pad(s, spread_blocks(s, y, s->w.dim[1] * s->groups), &pads);
    return bias_last
               ? ry_emit_expr(&s->emitter, "x0 + x1", 2, (ry_value_id[]){y, as_column(s, bias)})
               : y;
}

/* x[N, C, in..] as [N, C * sizes.., blocks..]: the reverse of spread_blocks. */
static ry_value_id gather_blocks(strided *s)
{
    const ry_shape x = ry_emit_shape(&s->emitter, s->node.in[0]);
    ry_ints pads = {.count = 2 * x.rank}, perm = {.count = 2 + 2 * s->rank, .at = {0, 1}};
    ry_shape split = {.rank = 2, .dim = {x.dim[0], x.dim[1]}},
             joined = {.rank = 2, .dim = {x.dim[0], x.dim[1] * block_elements(s)}};
    int64_t more[RY_MAX_RANK];
    for (int i = 0; i < s->rank; i++) {
        const block_axis *axis = &s->axis[i];
        pads.at[2 + i] = axis->window.pad;
        pads.at[x.rank + 2 + i] =
            axis->blocks * axis->window.stride - axis->window.pad - axis->window.in;
        split.dim[split.rank++] = axis->blocks;
        split.dim[split.rank++] = axis->window.stride;
        joined.dim[joined.rank++] = axis->blocks;
        perm.at[2 + i] = 3 + 2 * i;
        perm.at[2 + s->rank + i] = 2 + 2 * i;
        more[i] = axis->size - axis->window.stride;
    }
    ry_value_id blocks = pad(s, s->node.in[0], &pads);
    blocks = pad_ends(s, ry_emit_reshape(&s->emitter, blocks, &split), 3, 2, more);
    return ry_emit_reshape(&s->emitter, ry_emit_transpose(&s->emitter, blocks, &perm), &joined);
}

/* The gradient of the block window, [K, C/groups * sizes.., taps..]; that of the bias, if wanted,
 * is the node's own. */
static ry_value_id block_gradient(strided *s)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_conv);
    ry_shape shape = {.rank = 2, .dim = {s->w.dim[0], s->w.dim[1] * block_elements(s)}};
    attrs.conv.dir = RY_direction_bwd_weights;
    attrs.conv.groups = s->groups;
    for (int i = 0; i < s->rank; i++) {
        shape.dim[shape.rank++] = s->axis[i].taps;
    }
    ry_graph *graph = s->emitter.graph;
    const ry_value_id in[] = {gather_blocks(s), s->node.in[1]};
    const ry_value_id dw = ry_graph_add_value(graph, NULL, RY_NONE, &shape);
    if (dw == RY_NO_VALUE) {
        s->emitter.status = ry_fail_memory(s->emitter.error);
        return RY_NO_VALUE;
    }
    const ry_value_id out[] = {dw, s->node.outputs > 1 ? s->node.out[1] : RY_NO_VALUE};
    return ry_emit_into(&s->emitter, RY_OP_conv, &attrs, 2, in, s->node.outputs, out) ? dw
                                                                                      : RY_NO_VALUE;
}

/* [K, C/groups * sizes.., taps..] as [K, C/groups, k..]: the reverse of taps_in_blocks. */
static ry_value_id weight_gradient(strided *s)
{
    ry_shape split = {.rank = 2, .dim = {s->w.dim[0], s->w.dim[1]}}, blocks = split, apart = split;
    ry_ints perm = {.count = 2 + 2 * s->rank, .at = {0, 1}};
    int64_t dilation[RY_MAX_RANK], rest[RY_MAX_RANK];
    for (int i = 0; i < s->rank; i++) {
        const block_axis *axis = &s->axis[i];
        const int64_t reach = axis->window.taps * axis->window.dilation;
        split.dim[2 + i] = axis->size;
        split.dim[2 + s->rank + i] = axis->taps;
        perm.at[2 + 2 * i] = 2 + s->rank + i;
        perm.at[3 + 2 * i] = 2 + i;
        blocks.dim[blocks.rank++] = axis->taps * axis->size;
        apart.dim[apart.rank++] = axis->window.taps;
        apart.dim[apart.rank++] = axis->window.dilation;
        rest[i] = reach - axis->taps * axis->size;
        dilation[i] = 1 - axis->window.dilation;
    }
    split.rank = 2 + 2 * s->rank;
    ry_value_id dw = ry_emit_reshape(&s->emitter, block_gradient(s), &split);
    dw = ry_emit_reshape(&s->emitter, ry_emit_transpose(&s->emitter, dw, &perm), &blocks);
    dw = ry_emit_reshape(&s->emitter, pad_ends(s, dw, 2, 1, rest), &apart);
    return pad_ends(s, dw, 3, 2, dilation);
}

static int64_t strides_of(const ry_window *window)
{
    int64_t product = 1;
    for (int i = 0; i < window->rank; i++) {
        product = ry_product(product, window->axis[i].stride);
    }
    return product;
}

/* A single position has no distance to another: its block ends with its window. */
static block_axis block_axis_of(const ry_window_axis *window)
{
    const int64_t reach = ry_product(window->taps, window->dilation);
    block_axis axis = {.window = *window};
    axis.window.stride = window->out == 1 ? reach : window->stride;
    axis.taps = ry_ceil_div(reach, axis.window.stride);
    axis.size = ry_min(reach, axis.window.stride);
    axis.blocks = window->out + axis.taps - 1;
    return axis;
}

static bool blocks_fit(const strided *s)
{
    int64_t blocks = 1, side = RY_LIMIT_STRIDED_SPREAD;
    for (int i = 0; i < s->rank; i++) {
        const block_axis *axis = &s->axis[i];
        blocks = ry_product(blocks, ry_product(axis->blocks, axis->window.stride));
        side = ry_product(side, axis->window.in);
    }
    return blocks <= ry_max(side, RY_LIMIT_STRIDED_ELEMENTS);
}

static bool has(const ry_node *node, int input)
{
    return node->inputs > input && node->in[input] != RY_NO_VALUE;
}

/* Reads a node that the rewrite takes. */
static bool read_node(const ry_graph *graph, const ry_node *node, strided *s)
{
    const bool transposed = node->op == RY_OP_convt;
    if (!transposed &&
        (node->op != RY_OP_conv || node->attrs.conv.dir != RY_direction_bwd_weights)) {
        return false;
    }
    const ry_shape *y = &graph->values[node->out[0]].shape, *x = &graph->values[node->in[0]].shape,
                   *second = &graph->values[node->in[1]].shape;
    s->w = transposed ? *second : *y;
    s->rank = x->rank - 2;
    s->batch = x->dim[0];
    s->groups = transposed ? node->attrs.convt.groups : node->attrs.conv.groups;
    const ry_window window =
        ry_window_of_attrs(node->op, &node->attrs, s->rank, (transposed ? y : x)->dim + 2,
                           (transposed ? x : second)->dim + 2, s->w.dim + 2);
    for (int i = 0; i < s->rank; i++) {
        s->axis[i] = block_axis_of(&window.axis[i]);
    }
    const bool plain =
        transposed ? !has(node, 3) && node->attrs.convt.activation == RY_activation_none : true;
    return plain && window.auto_pad == RY_auto_pad_explicit && ry_shape_elements(y) > 0 &&
           strides_of(&window) > RY_LIMIT_STRIDED_PHASES && blocks_fit(s);
}

static rynd_status rewrite_node(ry_graph *graph, ry_node_id id, strided *s, ry_error *error)
{
    const ry_node_id first = (ry_node_id)graph->node_count;
    s->node = graph->nodes[id];
    const char *name =
        ry_arena_format(&graph->arena, "%s/blocks", graph->values[s->node.out[0]].name);
    if (!name) {
        return ry_fail_memory(error);
    }
    s->emitter = (ry_emitter){.graph = graph, .name = name, .error = error};
    const ry_value_id y =
        s->node.op == RY_OP_convt ? transposed_convolution(s) : weight_gradient(s);
    RY_TRY(s->emitter.status);
    ry_rewrite_replace(graph, id, first, y);
    return RYND_OK;
}

rynd_status ry_rewrite_strided_window(ry_graph *graph, bool *changed, ry_error *error)
{
    const size_t count = graph->node_count;
    for (ry_node_id n = 0; n < count; n++) {
        strided s = {.rank = 0};
        if (read_node(graph, &graph->nodes[n], &s)) {
            RY_TRY(rewrite_node(graph, n, &s, error));
            *changed = true;
        }
    }
    return RYND_OK;
}
