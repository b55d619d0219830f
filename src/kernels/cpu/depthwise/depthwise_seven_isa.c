/* SPDX-License-Identifier: Apache-2.0 */
/* Narrow planes, 3x3 windows, seven rows of one plane or of two at a time: all sums in registers, every row loaded once, nothing decided on the way. */
#include "kernels/cpu/common/simd_rows.h"
#include "kernels/cpu/depthwise/depthwise_nchw.h"

enum { ROWS = 7, TAPS = 3 };

typedef struct lanes {
    ry_vm row, before, behind; /* pixels of a row, and those that have one on either side */
    ry_vf low, high;
    int64_t width;
} lanes;

RY_INLINE ry_vf both(const float *const p[2], int64_t at, const bool pairs)
{
    return pairs ? ry_vf_halves(p[0][at], p[1][at]) : ry_vf_set(p[0][at]);
}

/* Row j of x, counted from the strip's first row of y. */
RY_INLINE void add_line(const lanes *l, const float *const x[2], const int j, ry_vf w[TAPS][TAPS], ry_vf sum[ROWS], const bool pairs)
{
    /* lanes behind a row are 0 */
    const ry_vf row =
        pairs ? ry_vf_load_halves(x[0] + j * l->width, x[1] + j * l->width, l->row) : ry_vf_load_m(x[0] + j * l->width, l->row);
#pragma GCC unroll 4
    for (int s = 0; s < TAPS; s++) {
        const ry_vf v = s == 0 ? ry_vf_before(row, l->before) : s == 1 ? row : ry_vf_behind(row, l->behind);
#pragma GCC unroll 4
        for (int r = 0; r < TAPS; r++) {
            const int i = j + 1 - r;
            if (i >= 0 && i < ROWS) {
                sum[i] = ry_vf_fma(w[s][r], v, sum[i]);
            }
        }
    }
}

/* Rows first to first + 6, which are not all of the plane where it goes on above or below. */
RY_INLINE void sum_strip(const lanes *l, const float *const x[2], const float *const weight[2], float *const y[2], const bool above,
                         const bool below, const bool pairs)
{
    ry_vf w[TAPS][TAPS], sum[ROWS];
#pragma GCC unroll 16
    for (int t = 0; t < TAPS * TAPS; t++) {
        w[t / TAPS][t % TAPS] = both(weight, t, pairs);
    }
    const ry_vf bias = both(weight, TAPS * TAPS, pairs);
#pragma GCC unroll 8
    for (int i = 0; i < ROWS; i++) {
        sum[i] = bias;
    }
    if (above) {
        add_line(l, x, -1, w, sum, pairs);
    }
#pragma GCC unroll 8
    for (int j = 0; j < ROWS; j++) {
        add_line(l, x, j, w, sum, pairs);
    }
    if (below) {
        add_line(l, x, ROWS, w, sum, pairs);
    }
    /* what a whole vector writes behind a row, the next row writes again */
    const int64_t span = pairs ? RY_W / 2 : RY_W;
#pragma GCC unroll 8
    for (int i = 0; i < ROWS; i++) {
        const ry_vf v = ry_vf_min(l->high, ry_vf_max(l->low, sum[i]));
        const int64_t count = i < ROWS - 1 || below ? span : l->width;
        if (pairs) {
            ry_vf_store_halves(y[0] + i * l->width, y[1] + i * l->width, count, v);
        } else if (i < ROWS - 1 || below) {
            ry_vf_store(y[0] + i * l->width, v);
        } else {
            ry_vf_store_first(y[0] + i * l->width, count, v);
        }
    }
}

static void sum_pairs(const ry_conv_geometry *g, const lanes *l, const depthwise_plane *first, int64_t count)
{
    const int64_t x_step = g->x_channel, y_step = g->y_channel, w_step = g->taps + 1;
    const lanes own = *l;
    for (int64_t k = 0; k < count; k += 2) {
        /* the last of an odd number goes with itself */
        const int64_t next = k + 1 < count ? k + 1 : k;
        const float *const x[2] = {first->x + k * x_step, first->x + next * x_step};
        const float *const weight[2] = {first->weight + k * w_step, first->weight + next * w_step};
        float *const y[2] = {first->y + k * y_step, first->y + next * y_step};
        sum_strip(&own, x, weight, y, false, false, true);
    }
}

static void sum_plane(const lanes *l, const depthwise_plane *p, int64_t rows)
{
    const int64_t strip = ROWS * l->width;
    const float *x[2] = {p->x, NULL};
    const float *const weight[2] = {p->weight, NULL};
    float *y[2] = {p->y, NULL};
    for (int64_t row = 0; row < rows; row += ROWS, x[0] += strip, y[0] += strip) {
        if (row == 0) {
            sum_strip(l, x, weight, y, false, true, false);
        } else if (row + ROWS < rows) {
            sum_strip(l, x, weight, y, true, true, false);
        } else {
            sum_strip(l, x, weight, y, true, false, false);
        }
    }
}

void RY_ISA_SYMBOL(depthwise_nchw_sevens)(const depthwise_nchw_plan *plan, const depthwise_plane *first, int64_t count)
{
    const ry_conv_geometry *g = &plan->geometry;
    const uint32_t row = (1u << g->out[2]) - 1, both = plan->paired ? row | row << RY_W / 2 : row;
    const uint32_t ends = plan->paired ? 1u | 1u << RY_W / 2 : 1u;
    const lanes l = {.low = ry_vf_set(first->low),
                     .high = ry_vf_set(first->high),
                     .row = ry_vm_bits(row),
                     .before = ry_vm_bits(both & ~ends),
                     .behind = ry_vm_bits(both & both >> 1 & ~(ends >> 1)),
                     .width = g->out[2]};
    if (plan->paired) {
        sum_pairs(g, &l, first, count);
        return;
    }
    depthwise_plane p = *first;
    for (int64_t k = 0; k < count; k++, p.x += g->x_channel, p.y += g->y_channel, p.weight += g->taps + 1) {
        sum_plane(&l, &p, g->out[1]);
    }
}
