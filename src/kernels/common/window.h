/* SPDX-License-Identifier: Apache-2.0 */
/* Geometry of sliding windows (convolution, pooling, col2im): which input positions an output position reads, and the reverse.
 *
 * Per spatial dimension i: output o reads input o * stride + tap * dilation - pad for 0 <= tap < taps. Padding may be asymmetric (pad is at
 * the begin, pad_end at the end), or negative, which crops. */
#ifndef RY_KERNELS_COMMON_WINDOW_H
#define RY_KERNELS_COMMON_WINDOW_H

#include "problem/attrs.h"

typedef struct ry_window {
    int rank; /* spatial dimensions */
    int64_t in[RY_MAX_RANK], out[RY_MAX_RANK], taps[RY_MAX_RANK];
    int64_t stride[RY_MAX_RANK], dilation[RY_MAX_RANK];
    int64_t pad[RY_MAX_RANK], pad_end[RY_MAX_RANK];
} ry_window;

/* in and out are [N, C, spatial..]; taps points to one number a spatial dimension; NULL: all ones. */
static inline ry_window ry_window_make(const ry_tensor *in, const ry_tensor *out, const int64_t *taps, const ry_ints *stride,
                                       const ry_ints *dilation, const ry_ints *pads)
{
    ry_window w = {.rank = in->rank > 2 ? in->rank - 2 : 0};
    for (int i = 0; i < w.rank; i++) {
        w.in[i] = in->dim[i + 2];
        w.out[i] = out->dim[i + 2];
        w.taps[i] = taps ? taps[i] : 1;
        w.stride[i] = ry_ints_get(stride, i, 1);
        w.dilation[i] = dilation ? ry_ints_get(dilation, i, 1) : 1;
        w.pad[i] = ry_ints_get(pads, i, 0);
        w.pad_end[i] = ry_ints_get(pads, i + w.rank, 0);
    }
    return w;
}

/* floor(a / b) and ceil(a / b) for b > 0. */
static inline int64_t ry_floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

static inline int64_t ry_ceil_div(int64_t a, int64_t b)
{
    return a / b + (a % b > 0);
}

static inline int64_t ry_clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* The input position of tap 0. */
static inline int64_t ry_window_start(const ry_window *w, int i, int64_t out)
{
    return out * w->stride[i] - w->pad[i];
}

/* Taps [*begin, *end) of output `out` read inside the input; *begin == *end when none does. */
static inline void ry_window_taps(const ry_window *w, int i, int64_t out, int64_t *begin, int64_t *end)
{
    int64_t start = ry_window_start(w, i, out);
    *begin = ry_clamp(ry_ceil_div(-start, w->dilation[i]), 0, w->taps[i]);
    *end = ry_clamp(ry_floor_div(w->in[i] - 1 - start, w->dilation[i]) + 1, *begin, w->taps[i]);
}

/* Outputs [*begin, *end) of tap `tap` read inside the input. */
static inline void ry_window_outputs(const ry_window *w, int i, int64_t tap, int64_t *begin, int64_t *end)
{
    int64_t shift = w->pad[i] - tap * w->dilation[i];
    *begin = ry_clamp(ry_ceil_div(shift, w->stride[i]), 0, w->out[i]);
    *end = ry_clamp(ry_floor_div(w->in[i] - 1 + shift, w->stride[i]) + 1, *begin, w->out[i]);
}

/* Outputs [*begin, *end) whose every tap reads inside the input. */
static inline void ry_window_interior(const ry_window *w, int i, int64_t *begin, int64_t *end)
{
    int64_t last_begin, first_end;
    ry_window_outputs(w, i, 0, begin, &first_end);
    ry_window_outputs(w, i, w->taps[i] - 1, &last_begin, end);
    *begin = *begin > last_begin ? *begin : last_begin;
    *end = *end < first_end ? *end : first_end;
    *end = *end < *begin ? *begin : *end;
}

/* The reverse: input `in` is read by tap `tap + j * tap_step` of output `out + j * out_step` (out_step < 0) for 0 <= j < count. */
typedef struct ry_window_readers {
    int64_t count, tap, tap_step, out, out_step;
} ry_window_readers;

static inline ry_window_readers ry_window_readers_of(const ry_window *w, int i, int64_t in)
{
    ry_window_readers readers = {.tap_step = 1, .out_step = -1};
    int64_t last = 0;
    for (int64_t tap = 0; tap < w->taps[i]; tap++) {
        int64_t distance = in + w->pad[i] - tap * w->dilation[i];
        int64_t out = distance / w->stride[i];
        if (distance < 0 || distance % w->stride[i] != 0 || out >= w->out[i]) {
            continue;
        }
        if (readers.count == 0) {
            readers.tap = tap;
            readers.out = out;
        } else if (readers.count == 1) {
            readers.tap_step = tap - last;
            readers.out_step = out - readers.out;
        }
        last = tap;
        readers.count++;
    }
    return readers;
}

#endif
