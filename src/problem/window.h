/* SPDX-License-Identifier: Apache-2.0 */
/* THE description of a window that slides along the spatial dims of a tensor: of convolutions in
 * every direction, pooling, unpooling, col2im.
 *
 * Along an axis, tap r of position o meets element o * stride + r * dilation - pad of `in`, for 0
 * <= o < out and 0 <= r < taps; what is met outside `in` is padding. Two of the three are read and
 * the third is computed:
 *
 *   fwd          out from in and taps: convolution, pooling
 *   bwd_data     in from out and taps: convolution's data gradient, transposed convolution,
 *                unpooling, col2im
 *   bwd_weights  taps from in and out: convolution's weight gradient
 *
 * An adaptive pool has windows of its own: position o has the elements floor(o * in / out) to
 * ceil((o + 1) * in / out) - 1, one tap each.
 *
 * Each gradient is a convolution, too: ry_window_data_gradient makes the transposed one of the
 * first, ry_window_exchange the forward one, of `in` by `out`, of the second. */
#ifndef RY_PROBLEM_WINDOW_H
#define RY_PROBLEM_WINDOW_H

#include "base/integer.h"
#include "problem/problem.h"

typedef struct ry_window_axis {
    int64_t in, out, taps;
    int64_t stride, dilation;
    int64_t pad, pad_end; /* before and behind `in`; negative: cropped */
    /* bwd_data: elements of `in` and its padding behind the last tap of the last position */
    int64_t output_padding;
    bool adaptive; /* taps: of the largest window */
} ry_window_axis;

typedef struct ry_window {
    ry_direction direction;
    ry_auto_pad auto_pad; /* not explicit: ry_window_pad computes the pads */
    bool ceil_mode;       /* fwd: the last window may extend beyond the padding */
    int rank;             /* spatial dims */
    ry_window_axis axis[RY_MAX_RANK];
} ry_window;

/* An axis that a window does not have. */
#define RY_WINDOW_UNIT ((ry_window_axis){.in = 1, .out = 1, .taps = 1, .stride = 1, .dilation = 1})

/* Where a window's attributes stand in ry_attrs: offset and one; 0: the operator has none. */
typedef struct ry_window_lists {
    size_t stride, dilation, pads, output_padding, auto_pad, taps;
} ry_window_lists;

const ry_window_lists *ry_window_lists_of(ry_op op);
/* The window of an operator's attributes; `in`, `out` and `taps` have a number a spatial dim (NULL:
 * zeros; taps: the attributes'). */
ry_window ry_window_of_attrs(ry_op op, const ry_attrs *attrs, int rank, const int64_t *in,
                             const int64_t *out, const int64_t *taps);
/* The window of a problem whose operator has one. */
ry_window ry_window_of(const ry_problem *problem);
/* Have a pool's attributes, or its gradient's, a size for each spatial dim? */
bool ry_window_has_sizes(const ry_problem *problem);

/* The shape that max_unpool's indices number: the pooled tensor's, whose spatial dims follow from
 * kernel, stride and pads. A larger output has it in its corner. */
ry_shape ry_window_unpooled(const ry_problem *problem);

/* Elements that a position's taps cover, from the first to the last. */
static inline int64_t ry_window_field(const ry_window_axis *axis)
{
    return (axis->taps - 1) * axis->dilation + 1;
}

/* The extent that axis i's direction computes, from the others: negative where not even one
 * position fits. Nothing comes of nothing, whatever the padding. */
int64_t ry_window_extent(const ry_window *window, int i);
/* Window positions along padded `in`, as ONNX counts them; negative if no window fits. */
int64_t ry_window_positions(const ry_window_axis *axis, bool ceil_mode);
/* Elements of `in` that the positions of `out` cover, with output padding and without pads. */
int64_t ry_window_covered(const ry_window_axis *axis);
/* Makes pads: `total` in two halves; SAME_UPPER has the larger one at the end. */
void ry_window_split_pads(ry_window_axis *axis, ry_auto_pad auto_pad, int64_t total);
/* Makes the pads of ONNX's auto_pad for a forward axis of such an `in`: SAME gives ceil(in /
 * stride) positions, VALID none. */
void ry_window_pad(ry_window_axis *axis, ry_auto_pad auto_pad);

/* The part of `count` places at, at + step, ... (step > 0) inside 0 .. extent - 1. begin <= end. */
typedef struct ry_window_range {
    int64_t begin, end;
} ry_window_range;

static inline ry_window_range ry_window_inside(int64_t extent, int64_t at, int64_t step,
                                               int64_t count)
{
    const int64_t begin = at < 0 ? ry_min(ry_ceil_div(-at, step), count) : 0;
    return (ry_window_range){
        begin, extent > at ? ry_clamp(ry_ceil_div(extent - at, step), begin, count) : begin};
}

/* Elements of the largest window of an adaptive pool. */
int64_t ry_window_adaptive_taps(int64_t in, int64_t out);

/* The element that tap r of position o meets. */
static inline int64_t ry_window_at(const ry_window_axis *axis, int64_t o, int64_t r)
{
    if (axis->adaptive) {
        return o * axis->in / axis->out + r;
    }
    return o * axis->stride + r * axis->dilation - axis->pad;
}

/* Taps of position o inside `in`; inside `in` and its padding. */
static inline ry_window_range ry_window_taps(const ry_window_axis *axis, int64_t o)
{
    if (axis->adaptive) {
        return (ry_window_range){0, ry_ceil_div((o + 1) * axis->in, axis->out) -
                                        ry_window_at(axis, o, 0)};
    }
    return ry_window_inside(axis->in, ry_window_at(axis, o, 0), axis->dilation, axis->taps);
}

static inline ry_window_range ry_window_padded_taps(const ry_window_axis *axis, int64_t o)
{
    if (axis->adaptive) {
        return ry_window_taps(axis, o);
    }
    return ry_window_inside(axis->pad + axis->in + axis->pad_end, o * axis->stride, axis->dilation,
                            axis->taps);
}

/* The reverse: element `in` is met by tap `tap + j * tap_step` of position `out + j * out_step`
 * (out_step < 0; an adaptive pool: 1, without taps), 0 <= j < count. */
typedef struct ry_window_readers {
    int64_t count, tap, tap_step, out, out_step;
} ry_window_readers;

/* Those positions that exist; and those of an unbounded `out`, which are the same for all elements
 * that are a multiple of the stride apart, but for `out`: a phase of a transposed convolution. */
ry_window_readers ry_window_readers_of(const ry_window_axis *axis, int64_t in);
ry_window_readers ry_window_phase(const ry_window_axis *axis, int64_t in);

/* The data gradient of a forward convolution as a transposed convolution of y's gradient, of the
 * same weights: the window that gives all of x, the elements behind the last position's last tap by
 * output padding. */
ry_window ry_window_data_gradient(const ry_window *forward);
/* The same as attributes of convt, of conv's and of the extents of x, y and the window. */
ry_attrs ry_window_data_gradient_attrs(const ry_attrs *conv, int rank, const int64_t *x,
                                       const int64_t *y, const int64_t *taps);
/* The transposed convolution of unit stride as a forward one, of the taps in reverse order: `in`
 * and `out` change places. */
ry_window_axis ry_window_mirror(const ry_window_axis *axis);
/* Positions as taps and taps as positions: position r of it meets, by tap o, what tap r of position
 * o does. The weight gradient is the forward convolution of x by y's gradient, whose outputs are
 * the taps. */
ry_window_axis ry_window_exchange(const ry_window_axis *axis);

#endif
