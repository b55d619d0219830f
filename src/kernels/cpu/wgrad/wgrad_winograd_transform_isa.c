/* SPDX-License-Identifier: Apache-2.0 */
/* The transforms of a weight gradient in Winograd's form, a vector of channels at a time. */
#include "base/integer.h"
#include "kernels/cpu/parts/winograd_transform.h"
#include "kernels/cpu/wgrad/wgrad_winograd.h"

static bool is_whole(const wgrad_square *square, int64_t size)
{
    return square->rows.begin == 0 && square->rows.end == size && square->columns.begin == 0 &&
           square->columns.end == size;
}

/* Row i; `whole`: no element of the tile and no lane is missing. */
RY_INLINE void load_row(const wgrad_square *s, int64_t i, const int size, ry_vm lanes,
                        const bool whole, int64_t channel, ry_vf to[])
{
    const float *from = s->at + i * s->line + channel;
    const bool inside = i >= s->rows.begin && i < s->rows.end;
#pragma GCC unroll 8
    for (int j = 0; j < size; j++) {
        to[j] = whole ? ry_vf_load(from + j * s->step)
                : inside && j >= s->columns.begin && j < s->columns.end
                    ? ry_vf_load_m(from + j * s->step, lanes)
                    : ry_vf_zero();
    }
}

/* What a tile adds to the sums of squares of a vector of channels. */
typedef struct tile_squares {
    ry_vf all, probe[2];
} tile_squares;

RY_INLINE void add_square(ry_vf x, ry_vf *sum)
{
    *sum = ry_vf_fma(x, x, *sum);
}

/* Row i of a tile of `size` rows, two of which have a probe each: no other tile has these. */
RY_INLINE void set_probe(const int size, int i, const ry_vf row[], tile_squares *to)
{
    const int first = size / 2 - 1;
    if (i == first || i == first + 1) {
        to->probe[i - first] = ry_vf_mul(row[i], row[i]);
    }
}

/* V at three points of each axis stands for x: the first input adds to the point 0, the last one to
 * infinity, and all others to the second point. */
RY_INLINE bool is_looked_at(int point)
{
    return point < 2 || point == WGRAD_IN - 1;
}

RY_INLINE void store_squares(const tile_squares *from, float *to)
{
    float *largest = to + WGRAD_LARGEST * RY_W, *a = to + WGRAD_PROBE_A * RY_W,
          *b = to + WGRAD_PROBE_B * RY_W;
    ry_vf_store(largest, ry_vf_max(ry_vf_load(largest), from->all));
    ry_vf_store(a, ry_vf_add(ry_vf_load(a), from->probe[0]));
    ry_vf_store(b, ry_vf_add(ry_vf_load(b), from->probe[1]));
}

RY_INLINE void input_vector(const wgrad_square *x, int64_t channel, ry_vm lanes, const bool whole,
                            float *v, int64_t point, float *to)
{
    ry_vf rows[WGRAD_IN][WGRAD_IN];
    ry_vf d[WINOGRAD_MAX_POINTS];
    tile_squares squares = {.all = ry_vf_zero()};
#pragma GCC unroll 8
    for (int i = 0; i < WGRAD_IN; i++) {
        load_row(x, i, WGRAD_IN, lanes, whole, channel, d);
        set_probe(WGRAD_IN, i, d, &squares);
        winograd_input(WGRAD_IN, d);
#pragma GCC unroll 8
        for (int j = 0; j < WGRAD_IN; j++) {
            rows[i][j] = d[j];
        }
    }
#pragma GCC unroll 8
    for (int j = 0; j < WGRAD_IN; j++) {
#pragma GCC unroll 8
        for (int i = 0; i < WGRAD_IN; i++) {
            d[i] = rows[i][j];
        }
        winograd_input(WGRAD_IN, d);
#pragma GCC unroll 8
        for (int i = 0; i < WGRAD_IN; i++) {
            if (is_looked_at(i) && is_looked_at(j)) {
                add_square(d[i], &squares.all);
            }
            ry_vf_store(v + (i * WGRAD_IN + j) * point, d[i]);
        }
    }
    store_squares(&squares, to);
}

void RY_ISA_SYMBOL(wgrad_winograd_input)(const wgrad_square *x, int64_t channels, float *v,
                                         int64_t point, float *squares)
{
    const bool whole = is_whole(x, WGRAD_IN);
    for (int64_t c = 0; c < channels; c += RY_W, squares += WGRAD_SQUARES * RY_W) {
        if (whole && c + RY_W <= channels) {
            input_vector(x, c, ry_vm_first(RY_W), true, v + c, point, squares);
        } else {
            input_vector(x, c, ry_vm_first(channels - c), false, v + c, point, squares);
        }
    }
}

/* G of one axis: the polynomial of four coefficients at the points, each over the product of its
 * distances to the other finite points. */
RY_INLINE void spread(const ry_vf g[WGRAD_OUT], ry_vf u[WGRAD_IN])
{
    const float a = WINOGRAD_6_A, b = WINOGRAD_6_B, a2 = a * a, b2 = b * b;
    const float at_0 = 1 / (a2 * b2), at_a = 1 / (2 * a2 * (a2 - b2)),
                at_b = 1 / (2 * b2 * (b2 - a2));
    u[0] = ry_vf_mul(ry_vf_set(at_0), g[0]);
    winograd_pair(ry_vf_fma(ry_vf_set(at_a * a2), g[2], ry_vf_mul(ry_vf_set(at_a), g[0])),
                  ry_vf_fma(ry_vf_set(at_a * a2), g[3], ry_vf_mul(ry_vf_set(at_a), g[1])), a, &u[1],
                  &u[2]);
    winograd_pair(ry_vf_fma(ry_vf_set(at_b * b2), g[2], ry_vf_mul(ry_vf_set(at_b), g[0])),
                  ry_vf_fma(ry_vf_set(at_b * b2), g[3], ry_vf_mul(ry_vf_set(at_b), g[1])), b, &u[3],
                  &u[4]);
    u[5] = g[3];
}

RY_INLINE void gradient_vector(const wgrad_square *dy, int64_t channel, ry_vm lanes,
                               const bool whole, float *u, int64_t point, float *to_squares,
                               float *bias)
{
    ry_vf rows[WGRAD_OUT][WGRAD_IN];
    ry_vf g[WGRAD_OUT], to[WGRAD_IN], sum = ry_vf_zero();
    tile_squares squares = {.all = ry_vf_zero()};
#pragma GCC unroll 8
    for (int i = 0; i < WGRAD_OUT; i++) {
        load_row(dy, i, WGRAD_OUT, lanes, whole, channel, g);
        set_probe(WGRAD_OUT, i, g, &squares);
#pragma GCC unroll 8
        for (int j = 0; j < WGRAD_OUT; j++) {
            add_square(g[j], &squares.all);
        }
        sum = ry_vf_add(sum, ry_vf_add(ry_vf_add(g[0], g[1]), ry_vf_add(g[2], g[3])));
        spread(g, rows[i]);
    }
    if (bias) {
        ry_vf_store(bias + channel, ry_vf_add(ry_vf_load(bias + channel), sum));
    }
#pragma GCC unroll 8
    for (int j = 0; j < WGRAD_IN; j++) {
#pragma GCC unroll 8
        for (int i = 0; i < WGRAD_OUT; i++) {
            g[i] = rows[i][j];
        }
        spread(g, to);
#pragma GCC unroll 8
        for (int i = 0; i < WGRAD_IN; i++) {
            ry_vf_store(u + (i * WGRAD_IN + j) * point, to[i]);
        }
    }
    store_squares(&squares, to_squares);
}

void RY_ISA_SYMBOL(wgrad_winograd_gradient)(const wgrad_square *dy, int64_t channels, float *u,
                                            int64_t point, float *squares, float *bias)
{
    const bool whole = is_whole(dy, WGRAD_OUT);
    for (int64_t k = 0; k < channels; k += RY_W, squares += WGRAD_SQUARES * RY_W) {
        if (whole && k + RY_W <= channels) {
            gradient_vector(dy, k, ry_vm_first(RY_W), true, u + k, point, squares, bias);
        } else {
            gradient_vector(dy, k, ry_vm_first(channels - k), false, u + k, point, squares, bias);
        }
    }
}

/* The sums of the window's taps from the products of a vector of pairs of channels. */
RY_INLINE void output_vector(const float *m, int64_t point, bool first, float *sums, int64_t pitch)
{
    ry_vf rows[WGRAD_IN][WINOGRAD_MAX_POINTS], d[WINOGRAD_MAX_POINTS], y[WINOGRAD_MAX_POINTS];
#pragma GCC unroll 8
    for (int i = 0; i < WGRAD_IN; i++) {
#pragma GCC unroll 8
        for (int j = 0; j < WGRAD_IN; j++) {
            d[j] = ry_vf_load(m + (i * WGRAD_IN + j) * point);
        }
        winograd_output(WGRAD_IN, WGRAD_TAPS, d, rows[i]);
    }
#pragma GCC unroll 4
    for (int j = 0; j < WGRAD_TAPS; j++) {
#pragma GCC unroll 8
        for (int i = 0; i < WGRAD_IN; i++) {
            d[i] = rows[i][j];
        }
        winograd_output(WGRAD_IN, WGRAD_TAPS, d, y);
#pragma GCC unroll 4
        for (int i = 0; i < WGRAD_TAPS; i++) {
            float *to = sums + (i * WGRAD_TAPS + j) * pitch;
            ry_vf_store(to, first ? y[i] : ry_vf_add(ry_vf_load(to), y[i]));
        }
    }
}

void RY_ISA_SYMBOL(wgrad_winograd_output)(const float *m, int64_t point, int64_t channels,
                                          int64_t columns, bool first, float *sums, int64_t pitch)
{
    for (int64_t c = 0; c < channels; c++) {
        for (int64_t k = 0; k < columns; k += RY_W) {
            output_vector(m + c * columns + k, point, first, sums + c * WGRAD_WINDOW * pitch + k,
                          pitch);
        }
    }
}
