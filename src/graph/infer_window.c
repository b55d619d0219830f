/* SPDX-License-Identifier: Apache-2.0 */
/* How many windows fit along a dim, as the ONNX specification of Conv and MaxPool states it. */
#include "graph/infer_window.h"

ry_infer_result ry_infer_list(ry_infer *infer, const char *name, ry_ints *list, int count, int64_t preset, int64_t least)
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

ry_infer_result ry_window_check(ry_infer *infer, ry_window *w)
{
    RY_INFER_TRY(ry_infer_list(infer, "strides", w->stride, w->spatial, 1, 1));
    if (w->dilation) {
        RY_INFER_TRY(ry_infer_list(infer, "dilations", w->dilation, w->spatial, 1, 1));
    }
    RY_INFER_TRY(ry_infer_list(infer, "pads", w->pads, 2 * w->spatial, 0, 0));
    for (int i = 0; i < w->spatial; i++) {
        if (w->kernel[i] == 0 || w->kernel[i] > INT32_MAX) {
            return ry_infer_fail(infer, RYND_ERROR_SHAPE, "the window's size along spatial dim %d is %lld, expected 1 to 2^31-1", i,
                                 (long long)w->kernel[i]);
        }
    }
    return RY_INFER_DONE;
}

int64_t ry_window_extent(ry_graph *graph, const ry_window *w, int i)
{
    int64_t dilation = w->dilation ? w->dilation->at[i] : 1;
    return ry_dim_affine(graph, ry_dim_mul(graph, ry_dim_affine(graph, w->kernel[i], -1, 1), dilation), 1, 1);
}

void ry_window_set_same_pads(const ry_window *w, int i, int64_t total)
{
    int64_t small = total / 2, large = total - total / 2;
    bool upper = *w->auto_pad == RY_auto_pad_same_upper;
    w->pads->at[i] = upper ? small : large;
    w->pads->at[w->spatial + i] = upper ? large : small;
}

/* SAME: ceil(in / stride) windows, and pads so that they fit. VALID: no pads. Pads become numbers where the size is one. */
static bool resolve_auto_pad(ry_graph *graph, const ry_window *w, int i, int64_t in, int64_t *out)
{
    if (*w->auto_pad == RY_auto_pad_valid) {
        w->pads->at[i] = w->pads->at[w->spatial + i] = 0;
        return false;
    }
    int64_t stride = w->stride->at[i], covered = ry_window_extent(graph, w, i);
    *out = ry_dim_ceil_div(graph, in, stride);
    if (in >= 0 && covered >= 0) {
        int64_t total = (*out - 1) * stride + covered - in;
        ry_window_set_same_pads(w, i, in > 0 && total > 0 ? total : 0);
    }
    return true;
}

/* In ceil_mode the last may hang over the end, but not start in the padding there. */
int64_t ry_window_count(const ry_window *w, int i, int64_t in, int64_t covered)
{
    int64_t stride = w->stride->at[i], begin = w->pads->at[i], room = in + begin + w->pads->at[w->spatial + i] - covered;
    int64_t more = w->ceil_mode && room > -stride ? (room + stride - 1) / stride : room >= 0 ? room / stride : -2;
    return w->ceil_mode && more > 0 && more * stride >= in + begin ? more : more + 1;
}

/* The same where the size or the window is a symbol. */
static int64_t symbolic_windows(ry_graph *graph, const ry_window *w, int i, int64_t in)
{
    int64_t stride = w->stride->at[i], end = w->pads->at[w->spatial + i], covered = ry_window_extent(graph, w, i);
    int64_t room = ry_dim_sub(graph, ry_dim_affine(graph, in, w->pads->at[i] + end, 1), covered);
    if (w->ceil_mode && (covered < 0 || end + stride > covered)) {
        return ry_dim_unknown(graph); /* the last window may start in the padding, or not */
    }
    return ry_dim_affine(graph, w->ceil_mode ? ry_dim_ceil_div(graph, room, stride) : ry_dim_floor_div(graph, room, stride), 1, 1);
}

ry_infer_result ry_window_out(ry_infer *infer, const ry_window *w, int i, int64_t in, int64_t *out)
{
    static const int64_t LARGEST = (int64_t)1 << 60; /* with pads and a window, whose numbers are below 2^31, sums stay below 2^63 */
    ry_graph *graph = infer->graph;
    if (in > LARGEST) {
        return ry_infer_bad(infer, 0, "has %lld along dim %d, more than any tensor can have", (long long)in, i + 2);
    }
    if (w->auto_pad && *w->auto_pad != RY_auto_pad_explicit && resolve_auto_pad(graph, w, i, in, out)) {
        return RY_INFER_DONE;
    }
    int64_t covered = ry_window_extent(graph, w, i);
    if (in < 0 || covered < 0) {
        *out = symbolic_windows(graph, w, i, in);
        return RY_INFER_DONE;
    }
    *out = in > 0 ? ry_window_count(w, i, in, covered) : 0;
    if (*out < 0) {
        return ry_infer_bad(infer, 0, "is smaller along dim %d, with its pads, than the window: %lld + %lld < %lld", i + 2, (long long)in,
                            (long long)(w->pads->at[i] + w->pads->at[w->spatial + i]), (long long)covered);
    }
    return RY_INFER_DONE;
}

ry_infer_result ry_window_outs(ry_infer *infer, ry_window *w, ry_shape *out)
{
    const ry_shape *in = &ry_infer_in(infer, 0)->shape;
    bool known = true;
    RY_INFER_TRY(ry_window_check(infer, w));
    for (int i = 0; i < w->spatial; i++) {
        RY_INFER_TRY(ry_window_out(infer, w, i, in->dim[2 + i], &out->dim[2 + i]));
        known = known && in->dim[2 + i] >= 0 && w->kernel[i] >= 0;
    }
    if (known && w->auto_pad) {
        *w->auto_pad = RY_auto_pad_explicit;
    }
    return RY_INFER_DONE;
}
