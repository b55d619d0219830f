/* SPDX-License-Identifier: Apache-2.0 */
/* Transposed convolutions as convolutions with a shuffle (quantise_phases.h). */
#include "graph/quantise_phases.h"

#include "base/integer.h"
#include "problem/window.h"

#include <string.h>

enum {
    MAX_GROWTH = 4,  /* times as many weights: more zeros than that are slower than floats */
    LEAST_INPUTS = 4 /* channels of a group: the kernels read four at once */
};

/* Blocks begin where the first output lies, and end behind the last one. */
static void cut_axis(ry_phases *phases, int i, const ry_window_axis *axis)
{
    const int64_t s = axis->stride, taps = ry_ceil_div(ry_window_field(axis), s),
                  begin = ry_min(axis->pad / s, taps - 1),
                  blocks = ry_ceil_div(axis->pad + axis->in, s) - begin;
    phases->stride[i] = s;
    phases->taps[i] = taps;
    phases->pads[i] = taps - 1 - begin;
    phases->pads[phases->rank + i] = ry_max(blocks - axis->out - phases->pads[i] + taps - 1, 0);
    phases->first[i] = axis->pad - begin * s;
}

bool ry_phases_of(const ry_graph *graph, const ry_node *node, ry_phases *phases)
{
    if (node->op != RY_OP_convt || node->attrs.convt.activation != RY_activation_none ||
        node->attrs.convt.auto_pad != RY_auto_pad_explicit) {
        return false;
    }
    const ry_shape *x = &graph->values[node->in[0]].shape, *w = &graph->values[node->in[1]].shape,
                   *y = &graph->values[node->out[0]].shape;
    const ry_window window =
        ry_window_of_attrs(node->op, &node->attrs, x->rank - 2, y->dim + 2, x->dim + 2, w->dim + 2);
    memset(phases, 0, sizeof *phases);
    phases->groups = node->attrs.convt.groups;
    phases->by_channel = phases->groups > 1;
    phases->rank = window.rank;
    phases->count = 1;
    int64_t taps = 1, grown = 1;
    for (int i = 0; i < window.rank; i++) {
        if (window.axis[i].pad < 0 || (window.axis[i].dilation > 1 && window.axis[i].taps > 1)) {
            return false;
        }
        cut_axis(phases, i, &window.axis[i]);
        phases->count = ry_product(phases->count, phases->stride[i]);
        taps = ry_product(taps, window.axis[i].taps);
        grown = ry_product(grown, ry_product(phases->stride[i], phases->taps[i]));
    }
    return 2 + 2 * phases->rank <= RY_MAX_RANK && grown <= ry_product(taps, MAX_GROWTH) &&
           (phases->groups == 1 || w->dim[0] / phases->groups >= LEAST_INPUTS);
}

int64_t ry_phase_channel(const ry_phases *phases, int64_t channels, int64_t at)
{
    return phases->by_channel ? at / phases->count : at % channels;
}

ry_shape ry_phase_weights(const ry_phases *phases, const ry_shape *w)
{
    ry_shape shape = {
        .rank = w->rank,
        .dim = {w->dim[1] * phases->groups * phases->count, w->dim[0] / phases->groups}};
    memcpy(shape.dim + 2, phases->taps, (size_t)phases->rank * sizeof *phases->taps);
    return shape;
}

int64_t ry_phase_weight(const ry_phases *phases, const ry_shape *w, int64_t i)
{
    const ry_shape shape = ry_phase_weights(phases, w);
    int64_t place[RY_MAX_RANK];
    for (int d = shape.rank - 1; d >= 0; d--) {
        place[d] = i % shape.dim[d];
        i /= shape.dim[d];
    }
    const int64_t channels = w->dim[1] * phases->groups,
                  k = ry_phase_channel(phases, channels, place[0]), group = k / w->dim[1];
    int64_t q = phases->by_channel ? place[0] % phases->count : place[0] / channels,
            tap[RY_MAX_RANK];
    for (int d = (int)phases->rank - 1; d >= 0; d--) {
        tap[d] = q % phases->stride[d] + phases->stride[d] * (phases->taps[d] - 1 - place[2 + d]);
        q /= phases->stride[d];
    }
    int64_t from = (group * shape.dim[1] + place[1]) * w->dim[1] + k % w->dim[1];
    for (int d = 0; d < phases->rank; d++) {
        if (tap[d] >= w->dim[2 + d]) {
            return -1;
        }
        from = from * w->dim[2 + d] + tap[d];
    }
    return from;
}

/* The shuffle of any strides: a view with a dim for the places of each spatial dim, which moves
 * behind that dim. */
static ry_value_id shuffle(ry_emitter *emitter, const ry_phases *phases, ry_value_id blocks)
{
    const ry_shape in = ry_emit_shape(emitter, blocks);
    const int rank = (int)phases->rank, split_rank = 2 + 2 * rank;
    const int channel = phases->by_channel ? 1 : 1 + rank,
              place = phases->by_channel ? 2 : 1; /* dims of the view */
    ry_shape split = {.rank = split_rank, .dim = {in.dim[0]}},
             out = {.rank = in.rank, .dim = {in.dim[0], in.dim[1] / phases->count}};
    ry_ints perm = {split_rank, {0, channel}};
    split.dim[channel] = out.dim[1];
    for (int d = 0; d < rank; d++) {
        split.dim[place + d] = phases->stride[d];
        split.dim[2 + rank + d] = in.dim[2 + d];
        perm.at[2 + 2 * d] = 2 + rank + d;
        perm.at[3 + 2 * d] = place + d;
        out.dim[2 + d] = in.dim[2 + d] * phases->stride[d];
    }
    const ry_value_id view = ry_emit_reshape(emitter, blocks, &split);
    return ry_emit_reshape(emitter, ry_emit_transpose(emitter, view, &perm), &out);
}

static ry_value_id shuffle_square(ry_emitter *emitter, const ry_phases *phases, ry_value_id blocks)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_depth_to_space);
    attrs.depth_to_space.block = phases->stride[0];
    attrs.depth_to_space.crd = phases->by_channel;
    return ry_emit(emitter, RY_OP_depth_to_space, &attrs, 1, &blocks);
}

/* The output's part of the shuffled places. */
static void crop(ry_emitter *emitter, const ry_phases *phases, ry_value_id places, ry_value_id y)
{
    const ry_shape from = ry_emit_shape(emitter, places), to = ry_emit_shape(emitter, y);
    if (ry_shape_equal(&from, &to)) {
        ry_emit_into(emitter, RY_OP_identity, NULL, 1, &places, 1, &y);
        return;
    }
    ry_attrs attrs = ry_attrs_default(RY_OP_slice);
    for (int d = 0; d < phases->rank; d++) {
        attrs.slice.axes.at[attrs.slice.axes.count++] = 2 + d;
        attrs.slice.starts.at[attrs.slice.starts.count++] = phases->first[d];
        attrs.slice.ends.at[attrs.slice.ends.count++] = phases->first[d] + to.dim[2 + d];
        attrs.slice.steps.at[attrs.slice.steps.count++] = 1;
    }
    ry_emit_into(emitter, RY_OP_slice, &attrs, 1, &places, 1, &y);
}

void ry_emit_phases(ry_emitter *emitter, const ry_phases *phases, ry_value_id blocks, ry_value_id y)
{
    const bool square = phases->rank == 2 && phases->stride[0] == phases->stride[1];
    const ry_value_id places = phases->count == 1 ? blocks
                               : square           ? shuffle_square(emitter, phases, blocks)
                                                  : shuffle(emitter, phases, blocks);
    if (emitter->status == RYND_OK) {
        crop(emitter, phases, places, y);
    }
}
