/* SPDX-License-Identifier: Apache-2.0 */
/* Checks windows of nodes, and does in symbols what problem/window.c does in numbers. */
#include "graph/infer_window.h"

ry_infer_result ry_infer_list(ry_infer *infer, const char *name, ry_ints *list, int count,
                              int64_t least)
{
    if (list->count == 0) {
        list->count = count;
        for (int i = 0; i < count; i++) {
            list->at[i] = least;
        }
    }
    if (list->count != count) {
        return ry_infer_fail(infer, RYND_ERROR_SHAPE, "%s has %d numbers, expected %d", name,
                             list->count, count);
    }
    for (int i = 0; i < count; i++) {
        if (list->at[i] < least || list->at[i] > INT32_MAX) {
            return ry_infer_fail(infer, RYND_ERROR_SHAPE, "%s has %lld, expected %lld to 2^31-1",
                                 name, (long long)list->at[i], (long long)least);
        }
    }
    return RY_INFER_DONE;
}

static void *attribute(ry_infer *infer, size_t at)
{
    return at ? (char *)&infer->node->attrs + at - 1 : NULL;
}

ry_infer_result ry_infer_window(ry_infer *infer, int rank, const int64_t *in, const int64_t *out,
                                const int64_t *taps, ry_window *window)
{
    const ry_window_lists *lists = ry_window_lists_of(infer->node->op);
    const struct {
        const char *name;
        size_t at;
        int count;
        int64_t least;
    } list[] = {{"strides", lists->stride, rank, 1},
                {"dilations", lists->dilation, rank, 1},
                {"pads", lists->pads, 2 * rank, 0},
                {"output_padding", lists->output_padding, rank, 0}};
    for (size_t k = 0; k < sizeof list / sizeof *list; k++) {
        if (list[k].at) {
            RY_INFER_TRY(ry_infer_list(infer, list[k].name, attribute(infer, list[k].at),
                                       list[k].count, list[k].least));
        }
    }
    for (int i = 0; i < rank; i++) {
        if (taps[i] == 0 || taps[i] > INT32_MAX) {
            return ry_infer_fail(
                infer, RYND_ERROR_SHAPE,
                "the window's size along spatial dim %d is %lld, expected 1 to 2^31-1", i,
                (long long)taps[i]);
        }
    }
    *window = ry_window_of_attrs(infer->node->op, &infer->node->attrs, rank, in, out, taps);
    return RY_INFER_DONE;
}

void ry_infer_store_pads(ry_infer *infer, const ry_window *window, bool known)
{
    const ry_window_lists *lists = ry_window_lists_of(infer->node->op);
    ry_ints *pads = attribute(infer, lists->pads),
            *output_padding = attribute(infer, lists->output_padding);
    ry_auto_pad *auto_pad = attribute(infer, lists->auto_pad);
    for (int i = 0; i < window->rank; i++) {
        pads->at[i] = window->axis[i].pad;
        pads->at[window->rank + i] = window->axis[i].pad_end;
        if (output_padding) {
            output_padding->at[i] = window->axis[i].output_padding;
        }
    }
    if (known && auto_pad) {
        *auto_pad = RY_auto_pad_explicit;
    }
}

static int64_t reach(ry_graph *graph, const ry_window_axis *axis)
{
    return ry_dim_affine(
        graph, ry_dim_mul(graph, ry_dim_affine(graph, axis->taps, -1, 1), axis->dilation), 1, 1);
}

int64_t ry_infer_covered(ry_graph *graph, const ry_window_axis *axis)
{
    int64_t last = ry_dim_mul(graph, ry_dim_affine(graph, axis->out, -1, 1), axis->stride);
    return ry_dim_add(graph, last,
                      ry_dim_affine(graph, reach(graph, axis), axis->output_padding, 1));
}

/* ry_window_extent where `in` or the taps are a symbol. */
static int64_t symbolic_positions(ry_graph *graph, const ry_window *w, ry_window_axis *axis)
{
    if (w->auto_pad == RY_auto_pad_same_upper || w->auto_pad == RY_auto_pad_same_lower) {
        return ry_dim_ceil_div(graph, axis->in, axis->stride);
    }
    if (w->auto_pad == RY_auto_pad_valid) {
        ry_window_split_pads(axis, w->auto_pad, 0);
    }
    int64_t covered = reach(graph, axis), stride = axis->stride;
    int64_t room =
        ry_dim_sub(graph, ry_dim_affine(graph, axis->in, axis->pad + axis->pad_end, 1), covered);
    if (w->ceil_mode && (covered < 0 || axis->pad_end + stride > covered)) {
        return ry_dim_unknown(graph); /* the last window may start in the padding, or not */
    }
    return ry_dim_affine(graph,
                         w->ceil_mode ? ry_dim_ceil_div(graph, room, stride)
                                      : ry_dim_floor_div(graph, room, stride),
                         1, 1);
}

ry_infer_result ry_infer_positions(ry_infer *infer, ry_window *window, int i, int64_t *out)
{
    /* with pads and a window, whose numbers are below 2^31, sums stay below 2^63 */
    static const int64_t LARGEST = (int64_t)1 << 60;
    ry_window_axis *axis = &window->axis[i];
    if (axis->in > LARGEST) {
        return ry_infer_bad(infer, 0, "has %lld along dim %d, more than any tensor can have",
                            (long long)axis->in, i + 2);
    }
    if (axis->in < 0 || axis->taps < 0) {
        *out = symbolic_positions(infer->graph, window, axis);
        return RY_INFER_DONE;
    }
    ry_window_pad(axis, window->auto_pad);
    *out = ry_window_extent(window, i);
    if (*out < 0) {
        return ry_infer_bad(
            infer, 0, "is smaller along dim %d, with its pads, than the window: %lld + %lld < %lld",
            i + 2, (long long)axis->in, (long long)(axis->pad + axis->pad_end),
            (long long)ry_window_field(axis));
    }
    return RY_INFER_DONE;
}

ry_infer_result ry_infer_window_outs(ry_infer *infer, const int64_t *taps, ry_shape *out)
{
    const ry_shape *in = &ry_infer_in(infer, 0)->shape;
    ry_window w;
    bool known = true;
    RY_INFER_TRY(ry_infer_window(infer, in->rank - 2, in->dim + 2, NULL, taps, &w));
    for (int i = 0; i < w.rank; i++) {
        RY_INFER_TRY(ry_infer_positions(infer, &w, i, &out->dim[2 + i]));
        known = known && w.axis[i].in >= 0 && w.axis[i].taps >= 0;
    }
    ry_infer_store_pads(infer, &w, known);
    return RY_INFER_DONE;
}

ry_infer_result ry_infer_adaptive(ry_infer *infer, const int64_t *in, const int64_t *out, int rank,
                                  const ry_ints *kernel)
{
    const ry_window w =
        ry_window_of_attrs(infer->node->op, &infer->node->attrs, rank, in, out, NULL);
    for (int i = 0; i < rank; i++) {
        const ry_window_axis *axis = &w.axis[i];
        if (kernel->count || axis->stride != 1 || axis->dilation != 1 || axis->pad ||
            axis->pad_end || w.ceil_mode || w.auto_pad != RY_auto_pad_explicit) {
            return ry_infer_fail(
                infer, RYND_ERROR_SHAPE,
                "an adaptive pool has no kernel, strides, dilations, pads or ceil_mode");
        }
        if (in[i] == 0 || in[i] > INT32_MAX || out[i] > INT32_MAX) {
            return ry_infer_fail(infer, RYND_ERROR_SHAPE,
                                 "an adaptive pool from %lld to %lld along spatial dim %d, "
                                 "expected 1 to 2^31-1",
                                 (long long)in[i], (long long)out[i], i);
        }
    }
    return RY_INFER_DONE;
}
