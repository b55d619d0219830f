/* SPDX-License-Identifier: Apache-2.0 */
/* The variant of a strip of two narrow planes: a row of each in one half of the lanes. */
#include "kernels/cpu/depthwise/depthwise_plane.h"
#include "kernels/cpu/simd/simd.h"

typedef struct pair {
    const depthwise_nchw_plan *plan;
    const float *x[2]; /* column 0 of the row that tap row 0 of the strip's first row reads */
    int64_t pitch;
    ry_window_range inside; /* input rows that are inside x */
    const float *weight[2];
    ry_vf bias, low, high;
    float *to[2];
    int64_t to_row;
    const float *residual[2]; /* NULL: none */
    int64_t residual_row;
    ry_vm row; /* pixels of a row of x */
} pair;

RY_INLINE void load_weights(const pair *p, ry_vf *w, int64_t at, const int taps)
{
#pragma GCC unroll 8
    for (int r = 0; r < taps; r++) {
        w[r] = ry_vf_halves(p->weight[0][at + r], p->weight[1][at + r]);
    }
}

RY_INLINE void add_row(ry_vf *sum, const ry_vf *w, ry_vf x, const int j, const int height,
                       const int taps, const int stride)
{
#pragma GCC unroll 8
    for (int i = 0; i < height; i++) {
        if (j - i * stride >= 0 && j - i * stride < taps) {
            sum[i] = ry_vf_fma(w[j - i * stride], x, sum[i]);
        }
    }
}

/* Some rows of the window, `wide` columns at once from column s on. */
RY_INLINE void add_columns(const pair *p, int64_t first_row, int64_t s, ry_vf *sum,
                           const int height, const int taps, const int stride, const int wide)
{
    ry_vf w[3][STRIP_TAPS];
    ry_vi lane[3];
    ry_vm keep[3];
#pragma GCC unroll 4
    for (int i = 0; i < wide; i++) {
        load_weights(p, w[i], first_row * p->plan->geometry.kernel[2] + (s + i) * taps, taps);
        lane[i] = ry_vi_load(depthwise_nchw_lanes(p->plan) + (s + i) * RY_W);
        keep[i] = ry_vm_bits(p->plan->mask[s + i]);
    }
    const int64_t pitch = p->pitch;
    const float *x[2] = {p->x[0] + first_row * pitch, p->x[1] + first_row * pitch};
    const uint32_t inside = depthwise_nchw_rows(p->inside, first_row);
    const ry_vm row = p->row;
#pragma GCC unroll 24
    for (int j = 0; j < (height - 1) * stride + taps; j++) {
        if (inside >> j & 1) {
            const ry_vf a = ry_vf_load_m(x[0] + j * pitch, row),
                        b = ry_vf_load_m(x[1] + j * pitch, row);
#pragma GCC unroll 4
            for (int i = 0; i < wide; i++) {
                add_row(sum, w[i], ry_vf_permute2(a, b, lane[i], keep[i]), j, height, taps, stride);
            }
        }
    }
}

RY_INLINE void add_taps(const pair *p, int64_t first_row, ry_vf *sum, const int height,
                        const int taps, const int stride)
{
    const int64_t width = p->plan->geometry.kernel[2];
    if (taps == 3 && width == 3) {
        add_columns(p, first_row, 0, sum, height, taps, stride, 3);
        return;
    }
    for (int64_t s = 0; s < width; s++) {
        add_columns(p, first_row, s, sum, height, taps, stride, 1);
    }
}

RY_INLINE void end_rows(const pair *p, ry_vf *sum, const int height)
{
    const uint32_t lanes = (uint32_t)((1ull << p->plan->geometry.out[2]) - 1);
    const ry_vm low = ry_vm_bits(lanes), high = ry_vm_bits(lanes << RY_W / 2);
    const ry_vf min = p->low, max = p->high;
    const float *residual[2] = {p->residual[0], p->residual[1]};
    float *to[2] = {p->to[0], p->to[1]};
    const int64_t width = p->plan->geometry.out[2], to_row = p->to_row,
                  residual_row = p->residual_row;
#pragma GCC unroll 8
    for (int i = 0; i < height; i++) {
        if (residual[0]) {
            sum[i] = ry_vf_add(sum[i], ry_vf_load_m(residual[0] + i * residual_row, low));
            sum[i] =
                ry_vf_add(sum[i], ry_vf_load_m(residual[1] + i * residual_row - RY_W / 2, high));
        }
    }
#pragma GCC unroll 8
    for (int i = 0; i < height; i++) {
        const ry_vf y = ry_vf_min(max, ry_vf_max(min, sum[i]));
        ry_vf_store_halves(to[0] + i * to_row, to[1] + i * to_row, width, y);
    }
}

RY_INLINE void sum_rows(const pair *p, const int height, const int stride)
{
    const int64_t rows = p->plan->geometry.kernel[1];
    ry_vf sum[STRIP_ROWS];
#pragma GCC unroll 8
    for (int i = 0; i < height; i++) {
        sum[i] = p->bias;
    }
    for (int64_t r = 0, taps; r < rows; r += taps) {
        taps = depthwise_nchw_tap_rows(rows - r);
        switch (taps) {
        case 1: add_taps(p, r, sum, height, 1, stride); break;
        case 2: add_taps(p, r, sum, height, 2, stride); break;
        case 3: add_taps(p, r, sum, height, 3, stride); break;
        case 5: add_taps(p, r, sum, height, 5, stride); break;
        default: add_taps(p, r, sum, height, 7, stride); break;
        }
    }
    end_rows(p, sum, height);
}

#define ROWS(height)                             \
    static void rows_##height##_1(const pair *p) \
    {                                            \
        sum_rows(p, height, 1);                  \
    }                                            \
    static void rows_##height##_2(const pair *p) \
    {                                            \
        sum_rows(p, height, 2);                  \
    }
ROWS(1)
ROWS(4)
ROWS(7)

static void (*const forms[DEPTHWISE_HEIGHTS][2])(const pair *p) = {
    {rows_7_1, rows_7_2}, {rows_4_1, rows_4_2}, {rows_1_1, rows_1_2}};

void RY_ISA_SYMBOL(depthwise_nchw_two_planes)(const depthwise_nchw_plan *plan,
                                              const depthwise_plane planes[2])
{
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t step = g->dilation[1], stride = g->stride[1];
    pair p = {.plan = plan,
              .pitch = g->x_step[1] * step,
              .weight = {planes[0].weight, planes[1].weight},
              .bias = ry_vf_halves(planes[0].bias, planes[1].bias),
              .low = ry_vf_set(planes[0].low),
              .high = ry_vf_set(planes[0].high),
              .to_row = plan->phase.y_step[1] * step,
              .residual_row = planes[0].residual_row * step,
              .row = ry_vm_first(g->in[2])};
    for (int64_t residue = 0; residue < step; residue++) {
        for (int64_t y = planes[0].first_row + residue; y < planes[0].end_row;) {
            const int form = ry_depthwise_nchw_form((planes[0].end_row - y + step - 1) / step);
            const int64_t height = ry_depthwise_nchw_heights[form],
                          first = y * stride - g->before[1];
            p.inside = depthwise_nchw_inside(plan, first, (height - 1) * stride + g->kernel[1]);
            for (int i = 0; i < 2; i++) {
                p.x[i] = planes[i].x + first * g->x_step[1];
                p.to[i] = planes[i].y + y * plan->phase.y_step[1];
                p.residual[i] =
                    planes[i].residual ? planes[i].residual + y * planes[i].residual_row : NULL;
            }
            forms[form][stride - 1](&p);
            y += height * step;
        }
    }
}
