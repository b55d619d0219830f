/* SPDX-License-Identifier: Apache-2.0 */
/* Planes of at most two vectors a row, 3x3 windows, seven rows of one plane or of two at a time:
 * all sums in registers, nothing decided on the way. */
#include "kernels/cpu/depthwise/depthwise_plane.h"
#include "kernels/cpu/simd/simd_rows.h"

enum { ROWS = 7, TAPS = 3, VECTORS = 2 };

typedef struct lanes {
    /* mask of a row's last vector; mask of the first vector's pixels with a left neighbour */
    ry_vm row, before;
    ry_vm behind; /* mask of the last vector's pixels with a right neighbour */
    ry_vf low, high;
    int64_t width;
} lanes;

RY_INLINE ry_vf both(const float *const p[2], int64_t at, const bool pairs)
{
    return pairs ? ry_vf_halves(p[0][at], p[1][at]) : ry_vf_set(p[0][at]);
}

/* What the taps of a row of the window read in a row of x: the pixels before, the pixels
 * themselves, those behind. Lanes behind a row are 0. */
RY_INLINE void read_line(const lanes *l, const float *const x[2], ry_vf v[TAPS][VECTORS],
                         const bool pairs, const int vectors)
{
    if (vectors == 2) {
        /* neighbours that are in the other vector are loaded: permutations of two vectors would
         * take multiply-adds' places */
        const ry_vf first = ry_vf_load(x[0]), second = ry_vf_load_m(x[0] + RY_W, l->row);
        v[0][0] = ry_vf_before(first, l->before);
        v[0][1] = ry_vf_load_m(x[0] + RY_W - 1, l->row);
        v[1][0] = first;
        v[1][1] = second;
        v[2][0] = ry_vf_load(x[0] + 1);
        v[2][1] = ry_vf_behind(second, l->behind);
        return;
    }
    const ry_vf row = pairs ? ry_vf_load_halves(x[0], x[1], l->row) : ry_vf_load_m(x[0], l->row);
    v[0][0] = ry_vf_before(row, l->before);
    v[1][0] = row;
    v[2][0] = ry_vf_behind(row, l->behind);
}

/* Row j of x, counted from the strip's first row of y. */
RY_INLINE void add_line(const lanes *l, const float *const x[2], const int j, ry_vf w[TAPS][TAPS],
                        ry_vf sum[ROWS][VECTORS], const bool pairs, const int vectors)
{
    ry_vf v[TAPS][VECTORS];
    const float *const line[2] = {x[0] + j * l->width, pairs ? x[1] + j * l->width : NULL};
    read_line(l, line, v, pairs, vectors);
#pragma GCC unroll 4
    for (int s = 0; s < TAPS; s++) {
#pragma GCC unroll 4
        for (int r = 0; r < TAPS; r++) {
            const int i = j + 1 - r;
            if (i >= 0 && i < ROWS) {
                sum[i][0] = ry_vf_fma(w[s][r], v[s][0], sum[i][0]);
            }
            if (i >= 0 && i < ROWS && vectors == 2) {
                sum[i][1] = ry_vf_fma(w[s][r], v[s][1], sum[i][1]);
            }
        }
    }
}

RY_INLINE void end_line(const lanes *l, float *const y[2], const int i, const ry_vf sum[VECTORS],
                        const bool last, const bool pairs, const int vectors)
{
    /* what a full vector writes behind a row, the next row writes again */
    const int64_t at = i * l->width, tail = at + (vectors - 1) * RY_W,
                  left = l->width - (vectors - 1) * RY_W;
    const ry_vf v = ry_vf_min(l->high, ry_vf_max(l->low, sum[vectors - 1]));
    if (vectors == 2) {
        ry_vf_store(y[0] + at, ry_vf_min(l->high, ry_vf_max(l->low, sum[0])));
    }
    if (pairs) {
        ry_vf_store_halves(y[0] + tail, y[1] + tail, last ? left : RY_W / 2, v);
    } else if (last) {
        ry_vf_store_first(y[0] + tail, left, v);
    } else {
        ry_vf_store(y[0] + tail, v);
    }
}

/* Rows first to first + 6, which are not all of the plane where it goes on above or below. */
RY_INLINE void sum_strip(const lanes *l, const float *const x[2], const float *const weight[2],
                         float *const y[2], const bool above, const bool below, const bool pairs,
                         const int vectors)
{
    ry_vf w[TAPS][TAPS], sum[ROWS][VECTORS];
#pragma GCC unroll 16
    for (int t = 0; t < TAPS * TAPS; t++) {
        w[t / TAPS][t % TAPS] = both(weight, t, pairs);
    }
    const ry_vf bias = both(weight, TAPS * TAPS, pairs);
#pragma GCC unroll 8
    for (int i = 0; i < ROWS; i++) {
        sum[i][0] = sum[i][vectors - 1] = bias;
    }
    if (above) {
        add_line(l, x, -1, w, sum, pairs, vectors);
    }
#pragma GCC unroll 8
    for (int j = 0; j < ROWS; j++) {
        add_line(l, x, j, w, sum, pairs, vectors);
    }
    if (below) {
        add_line(l, x, ROWS, w, sum, pairs, vectors);
    }
#pragma GCC unroll 8
    for (int i = 0; i < ROWS; i++) {
        end_line(l, y, i, sum[i], i == ROWS - 1 && !below, pairs, vectors);
    }
}

static void sum_pairs(const ry_conv_geometry *g, const lanes *l, const depthwise_plane *first,
                      int64_t count)
{
    const int64_t x_step = g->x_channel, y_step = g->y_channel, w_step = g->taps + 1;
    const lanes own = *l;
    for (int64_t k = 0; k < count; k += 2) {
        /* the last of an odd number goes with itself */
        const int64_t next = k + 1 < count ? k + 1 : k;
        const float *const x[2] = {first->x + k * x_step, first->x + next * x_step};
        const float *const weight[2] = {first->weight + k * w_step, first->weight + next * w_step};
        float *const y[2] = {first->y + k * y_step, first->y + next * y_step};
        sum_strip(&own, x, weight, y, false, false, true, 1);
    }
}

/* More than seven rows. The last strip ends with the plane: some of its rows may be written once
 * more, with the same values. */
RY_INLINE void sum_plane(const lanes *l, const depthwise_plane *p, int64_t rows, const int vectors)
{
    const int64_t strip = ROWS * l->width;
    const float *const end = p->x + (rows - ROWS) * l->width, *x[2] = {p->x, NULL};
    const float *const weight[2] = {p->weight, NULL};
    float *y[2] = {p->y, NULL};
    sum_strip(l, x, weight, y, false, true, false, vectors);
    for (x[0] += strip, y[0] += strip; x[0] < end; x[0] += strip, y[0] += strip) {
        sum_strip(l, x, weight, y, true, true, false, vectors);
    }
    y[0] -= x[0] - end;
    x[0] = end;
    sum_strip(l, x, weight, y, true, false, false, vectors);
}

RY_INLINE void sum_planes(const ry_conv_geometry *g, const lanes *l, const depthwise_plane *first,
                          int64_t count, const int vectors)
{
    const lanes own = *l;
    depthwise_plane p = *first;
    for (int64_t k = 0; k < count;
         k++, p.x += g->x_channel, p.y += g->y_channel, p.weight += g->taps + 1) {
        sum_plane(&own, &p, g->out[1], vectors);
    }
}

void RY_ISA_SYMBOL(depthwise_nchw_seven_rows)(const depthwise_nchw_plan *plan,
                                              const depthwise_plane *first, int64_t count)
{
    const ry_conv_geometry *g = &plan->geometry;
    const bool wide = plan->vectors == 2;
    const uint32_t row = (1u << (g->out[2] - wide * RY_W)) - 1,
                   both = plan->two_planes ? row | row << RY_W / 2 : row;
    const uint32_t ends = plan->two_planes ? 1u | 1u << RY_W / 2 : 1u;
    const lanes l = {.low = ry_vf_set(first->low),
                     .high = ry_vf_set(first->high),
                     .row = ry_vm_bits(row),
                     .before = ry_vm_bits((wide ? (uint32_t)((1ull << RY_W) - 1) : both) & ~ends),
                     .behind = ry_vm_bits(both & both >> 1 & ~(ends >> 1)),
                     .width = g->out[2]};
    if (plan->two_planes) {
        sum_pairs(g, &l, first, count);
    } else if (wide) {
        sum_planes(g, &l, first, count, 2);
    } else {
        sum_planes(g, &l, first, count, 1);
    }
}
