/* SPDX-License-Identifier: Apache-2.0 */
/* The last vectors of a plane's rows where they fill at most half of the lanes: those of two strips
 * at once. */
#include "kernels/cpu/depthwise/depthwise_strip.h"

enum { HEIGHT = STRIP_ROWS };

/* What stands for rows outside x. */
static const float nothing[3 * RY_W];

typedef struct two_strips {
    const float *x[2]; /* column 0 of the vector in input row 0 of either strip */
    int64_t pitch;
    ry_window_range inside; /* rows of the upper strip, and on, that are inside x */
    uint32_t bits[2];       /* bit j: row j of the rows at hand is inside */
} two_strips;

RY_INLINE const float *row_of(const two_strips *h, int half, const int j, int64_t at)
{
    return h->bits[half] >> j & 1 ? h->x[half] + j * h->pitch + at : nothing + RY_W;
}

RY_INLINE void add_contiguous(const two_strips *h, int64_t at, ry_vm mask, const ry_vf *w,
                              ry_vf *sum, const int taps)
{
#pragma GCC unroll 16
    for (int j = 0; j < HEIGHT + taps - 1; j++) {
        add_row(sum, w, ry_vf_load_halves(row_of(h, 0, j, at), row_of(h, 1, j, at), mask), j,
                HEIGHT, taps, 1, 1);
    }
}

/* Some rows of the window, column after column. */
RY_INLINE void add_columns(const two_strips *full, const strip *s, const uint32_t *mask,
                           int64_t first_row, ry_vf *sum, const int taps)
{
    const int64_t width = s->plan->geometry.kernel[2], step = s->plan->geometry.dilation[2],
                  skipped = first_row * full->pitch;
    const float *weight = s->weight + first_row * width;
    const two_strips h = {.x = {full->x[0] + skipped, full->x[1] + skipped},
                          .pitch = full->pitch,
                          .bits = {depthwise_nchw_rows(full->inside, first_row),
                                   depthwise_nchw_rows(full->inside, first_row + HEIGHT)}};
    for (int64_t i = 0; i < width; i++, weight += taps) {
        ry_vf w[STRIP_TAPS];
        load_weights(w, weight, taps);
        add_contiguous(&h, i * step, ry_vm_bits(mask[i] & ((1u << RY_W / 2) - 1)), w, sum, taps);
    }
}

RY_INLINE void add_window(const two_strips *h, const strip *s, const uint32_t *mask, ry_vf *sum)
{
    const int64_t rows = s->plan->geometry.kernel[1];
    for (int64_t r = 0, taps; r < rows; r += taps) {
        taps = depthwise_nchw_tap_rows(rows - r);
        switch (taps) {
        case 1: add_columns(h, s, mask, r, sum, 1); break;
        case 2: add_columns(h, s, mask, r, sum, 2); break;
        case 3: add_columns(h, s, mask, r, sum, 3); break;
        case 5: add_columns(h, s, mask, r, sum, 5); break;
        default: add_columns(h, s, mask, r, sum, 7); break;
        }
    }
}

/* A window of 3x3, whose weights stay in registers. */
RY_INLINE void add_square(const two_strips *h, const strip *s, const uint32_t *mask, ry_vf *sum,
                          const int stride)
{
    const int64_t step = s->plan->geometry.dilation[2];
    const uint32_t lanes = stride == 1 ? (1u << RY_W / 2) - 1 : (uint32_t)((1ull << RY_W) - 1);
    const ry_vm first = ry_vm_bits(mask[0] & lanes), second = ry_vm_bits(mask[1] & lanes);
    const ry_vm third = stride == 1 ? ry_vm_bits(mask[2] & lanes) : second;
    const bool there = mask[0] & 1u;
    ry_vf w[3][3];
    load_weights(w[0], s->weight, 3);
    load_weights(w[1], s->weight + 3, 3);
    load_weights(w[2], s->weight + 6, 3);
#pragma GCC unroll 16
    for (int j = 0; j < (HEIGHT - 1) * stride + 3; j++) {
        ry_vf x[3];
        if (stride == 1) {
            x[0] = ry_vf_load_halves(row_of(h, 0, j, 0), row_of(h, 1, j, 0), first);
            x[1] = ry_vf_load_halves(row_of(h, 0, j, step), row_of(h, 1, j, step), second);
            x[2] = ry_vf_load_halves(row_of(h, 0, j, 2 * step), row_of(h, 1, j, 2 * step), third);
        } else {
            const float *const p = row_of(h, 0, j, 0), *const q = row_of(h, 1, j, 0);
            ry_vf_deinterleave_loose(ry_vf_load_m(p + 1, second), ry_vf_load_m(q + 1, second),
                                     &x[1], &x[2]);
            x[0] = ry_vf_shift_loose_halves(p, q, there, x[2]);
        }
        add_row(sum, w[0], x[0], j, HEIGHT, 3, stride, 1);
        add_row(sum, w[1], x[1], j, HEIGHT, 3, stride, 1);
        add_row(sum, w[2], x[2], j, HEIGHT, 3, stride, 1);
    }
}

/* Residual, bounds, store. */
RY_INLINE void end_columns(const strip *s, int64_t column, const ry_vf *sum, const int stride)
{
    const int64_t left = s->plan->geometry.out[2] - column, to_row = s->to_row,
                  residual_row = s->residual_row;
    const ry_vm last = ry_vm_first(left);
    float *const to[2] = {s->to + column, s->to + column + HEIGHT * to_row};
    const float *const residual = s->residual ? s->residual + column : NULL;
#pragma GCC unroll 8
    for (int i = 0; i < HEIGHT; i++) {
        ry_vf y = stride == 1 ? sum[i] : ry_vf_tidy(sum[i]);
        if (residual) {
            y = ry_vf_add(y, ry_vf_load_halves(residual + i * residual_row,
                                               residual + (HEIGHT + i) * residual_row, last));
        }
        y = ry_vf_min(s->high, ry_vf_max(s->low, y));
        ry_vf_store_halves(to[0] + i * to_row, to[1] + i * to_row, left, y);
    }
}

RY_INLINE void sum_two_strips(const strip *s, const int stride, const bool is_square)
{
    const depthwise_nchw_plan *plan = s->plan;
    const int64_t column = (plan->vectors - 1) * RY_W;
    /* the last vector needs masks, as it reaches over the end of y */
    const uint32_t *mask = plan->mask + (plan->left + plan->right - 1) * plan->loads;
    const float *x = s->x + column * stride;
    const two_strips h = {.x = {x, x + HEIGHT * stride * s->pitch},
                          .pitch = s->pitch,
                          .inside = s->inside,
                          .bits = {depthwise_nchw_rows(s->inside, 0),
                                   depthwise_nchw_rows(s->inside, HEIGHT * stride)}};
    ry_vf sum[HEIGHT];
#pragma GCC unroll 8
    for (int i = 0; i < HEIGHT; i++) {
        sum[i] = ry_vf_set(s->bias);
    }
    if (is_square) {
        add_square(&h, s, mask, sum, stride);
    } else {
        add_window(&h, s, mask, sum);
    }
    end_columns(s, column, sum, stride);
}

static void window(const strip *s)
{
    sum_two_strips(s, 1, false);
}

static void square(const strip *s)
{
    sum_two_strips(s, 1, true);
}

static void square_of_seconds(const strip *s)
{
    sum_two_strips(s, 2, true);
}

void RY_ISA_SYMBOL(depthwise_nchw_two_strips)(const strip *s)
{
    const ry_conv_geometry *g = &s->plan->geometry;
    if (g->stride[2] == 2) {
        square_of_seconds(s);
    } else if (g->kernel[1] == 3 && g->kernel[2] == 3) {
        square(s);
    } else {
        window(s);
    }
}
