/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a strip: some output rows of one plane at once. */
#include "kernels/cpu/depthwise/depthwise_nchw.h"

#include "kernels/cpu/common/simd.h"

typedef struct strip {
    const depthwise_nchw_plan *plan;
    const float *x;  /* what tap (0, 0) of output column 0 of the strip's first row reads */
    int64_t pitch;   /* from one input row of the strip to the next */
    uint64_t inside; /* bit j: input row j is inside x */
    const float *weight;
    float bias;
    ry_vf low, high;
    float *to;
    int64_t to_row;
    const float *residual; /* NULL: none */
    int64_t residual_row;
} strip;

RY_INLINE ry_vf load_near(const float *x, uint32_t mask, const bool masked)
{
    return masked ? ry_vf_load_m(x, ry_vm_bits(mask)) : ry_vf_load(x);
}

RY_INLINE void load_pair(const float *x, uint32_t mask, const bool masked, ry_vf pair[2])
{
    const ry_vf a = load_near(x, mask & (uint32_t)((1ull << RY_W) - 1), masked);
    const ry_vf b = load_near(x + RY_W, mask >> (RY_W - 1) >> 1, masked);
    ry_vf_part(a, b, &pair[0], &pair[1]);
}

/* Adds what input row j gives to each output row: tap row j - i * stride. */
RY_INLINE void add_row(ry_vf *sum, const ry_vf *w, ry_vf x, const int j, const int height, const int taps, const int stride,
                       const int apart)
{
#pragma GCC unroll 8
    for (int i = 0; i < height; i++) {
        if (j - i * stride >= 0 && j - i * stride < taps) {
            sum[i * apart] = ry_vf_fma(w[j - i * stride], x, sum[i * apart]);
        }
    }
}

RY_INLINE void load_weights(ry_vf *w, const float *weight, const int taps)
{
#pragma GCC unroll 8
    for (int r = 0; r < taps; r++) {
        w[r] = ry_vf_set(weight[r]);
    }
}

/* A column of the window, or (stride 2) two, or the first three of an odd window. */
typedef struct columns {
    const float *x;
    int64_t pitch;
    uint64_t inside;
    uint32_t mask, mask_first;
    ry_vf w[3][STRIP_TAPS];
} columns;

RY_INLINE void add_near(const columns *c, ry_vf *sum, const int height, const int taps, const int vectors, const bool masked)
{
#pragma GCC unroll 16
    for (int j = 0; j < height + taps - 1; j++) {
        if (c->inside >> j & 1) {
#pragma GCC unroll 4
            for (int v = 0; v < vectors; v++) {
                const ry_vf x = load_near(c->x + j * c->pitch + v * RY_W, c->mask, masked);
                add_row(sum + v, c->w[0], x, j, height, taps, 1, vectors);
            }
        }
    }
}

/* Every second column. */
RY_INLINE void add_evens(const columns *c, ry_vf *sum, const int height, const int taps, const bool masked)
{
#pragma GCC unroll 24
    for (int j = 0; j < (height - 1) * 2 + taps; j++) {
        if (c->inside >> j & 1) {
            ry_vf pair[2];
            load_pair(c->x + j * c->pitch, c->mask, masked, pair);
            add_row(sum, c->w[0], pair[0], j, height, taps, 2, 1);
        }
    }
}

/* w[1] and w[2] are of the columns that c->x reads, w[0] is of the one before (`first`). */
RY_INLINE void add_pair(const columns *c, ry_vf *sum, const int height, const int taps, const bool first, const bool masked)
{
#pragma GCC unroll 24
    for (int j = 0; j < (height - 1) * 2 + taps; j++) {
        if (c->inside >> j & 1) {
            const float *x = c->x + j * c->pitch;
            ry_vf pair[2];
            load_pair(x, c->mask, masked, pair);
            add_row(sum, c->w[1], pair[0], j, height, taps, 2, 1);
            add_row(sum, c->w[2], pair[1], j, height, taps, 2, 1);
            if (first) {
                const ry_vf before = ry_vf_load_m(x - 1, ry_vm_bits(masked ? c->mask_first & 1u : 1u));
                add_row(sum, c->w[0], ry_vf_shift_in(before, pair[1]), j, height, taps, 2, 1);
            }
        }
    }
}

/* Any width: column after column. */
RY_INLINE void add_columns(const strip *s, int64_t first_row, int64_t at, const uint32_t *mask, ry_vf *sum, const int height,
                           const int taps, const int stride, const int vectors)
{
    const int64_t width = s->plan->geometry.kernel[2], odd = width % 2;
    const float *weight = s->weight + first_row * width;
    columns c = {.pitch = s->pitch, .inside = s->inside >> first_row, .mask_first = mask ? mask[0] : 0};
    const float *x = s->x + first_row * s->pitch + at;
    if (stride == 1) {
        for (int64_t i = 0; i < width; i++, weight += taps) {
            load_weights(c.w[0], weight, taps);
            c.mask = mask ? mask[i] : 0;
            c.x = x + i * s->plan->geometry.dilation[2];
            add_near(&c, sum, height, taps, vectors, mask != NULL);
        }
        return;
    }
    if (width == 1) {
        load_weights(c.w[0], weight, taps);
        c.mask = mask ? mask[0] : 0;
        c.x = x;
        add_evens(&c, sum, height, taps, mask != NULL);
        return;
    }
    for (int64_t i = odd; i < width; i += 2) {
        load_weights(c.w[1], weight + i * taps, taps);
        load_weights(c.w[2], weight + (i + 1) * taps, taps);
        c.mask = mask ? mask[(i + odd) / 2] : 0;
        c.x = x + i;
        if (i == 1) {
            load_weights(c.w[0], weight, taps);
            add_pair(&c, sum, height, taps, true, mask != NULL);
        } else {
            add_pair(&c, sum, height, taps, false, mask != NULL);
        }
    }
}

/* A window of 3x3, whose weights stay in registers. */
RY_INLINE void add_square(const strip *s, const ry_vf w[3][STRIP_TAPS], int64_t at, const uint32_t *mask, ry_vf *sum, const int height,
                          const int stride, const int vectors)
{
    columns c = {.pitch = s->pitch, .inside = s->inside, .mask_first = mask ? mask[0] : 0};
    if (stride == 2) {
        memcpy(c.w, w, sizeof c.w);
        c.mask = mask ? mask[1] : 0;
        c.x = s->x + at + 1;
        add_pair(&c, sum, height, 3, true, mask != NULL);
        return;
    }
    /* what stays the same is read before the loops: for all the compiler knows, a store to y could change it */
    const float *x = s->x + at;
    const int64_t step = s->plan->geometry.dilation[2], pitch = s->pitch;
    const uint64_t inside = s->inside;
    const uint32_t first = mask ? mask[0] : 0, second = mask ? mask[1] : 0, third = mask ? mask[2] : 0;
#pragma GCC unroll 16
    for (int j = 0; j < height + 2; j++) {
        if (inside >> j & 1) {
#pragma GCC unroll 4
            for (int v = 0; v < vectors; v++) {
                const float *row = x + j * pitch + v * RY_W;
                const ry_vf x0 = load_near(row, first, mask != NULL), x1 = load_near(row + step, second, mask != NULL);
                const ry_vf x2 = load_near(row + 2 * step, third, mask != NULL);
                add_row(sum + v, w[0], x0, j, height, 3, 1, vectors);
                add_row(sum + v, w[1], x1, j, height, 3, 1, vectors);
                add_row(sum + v, w[2], x2, j, height, 3, 1, vectors);
            }
        }
    }
}

/* Residual, bounds, store. */
RY_INLINE void end_columns(const strip *s, int64_t column, const bool masked, const ry_vf *sum, const int height, const int vectors)
{
    const int64_t left = s->plan->geometry.out[2] - column;
    const ry_vm last = ry_vm_first(left);
    const ry_vf low = s->low, high = s->high;
    const float *residual = s->residual;
    float *first = s->to;
    const int64_t to_row = s->to_row, residual_row = s->residual_row;
#pragma GCC unroll 8
    for (int i = 0; i < height; i++) {
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) {
            ry_vf y = sum[i * vectors + v];
            if (residual) {
                const float *from = residual + i * residual_row + column + v * RY_W;
                y = ry_vf_add(y, masked ? ry_vf_load_m(from, last) : ry_vf_load(from));
            }
            y = ry_vf_min(high, ry_vf_max(low, y));
            float *to = first + i * to_row + column + v * RY_W;
            if (masked) {
                ry_vf_store_first(to, left, y);
            } else {
                ry_vf_store(to, y);
            }
        }
    }
}

/* `height` rows of `vectors` vectors from vector v on; `square`: the weights of a window of 3x3, or NULL. */
RY_INLINE void sum_columns(const strip *s, int64_t v, const uint32_t *mask, const ry_vf square[3][STRIP_TAPS], const int height,
                           const int stride, const int vectors)
{
    ry_vf sum[8];
#pragma GCC unroll 8
    for (int i = 0; i < height * vectors; i++) {
        sum[i] = ry_vf_set(s->bias);
    }
    const int64_t at = v * RY_W * stride, rows = s->plan->geometry.kernel[1];
    if (square) {
        add_square(s, square, at, mask, sum, height, stride, vectors);
    } else {
        for (int64_t r = 0, taps; r < rows; r += taps) {
            taps = depthwise_nchw_turn(rows - r);
            switch (taps) {
            case 1: add_columns(s, r, at, mask, sum, height, 1, stride, vectors); break;
            case 2: add_columns(s, r, at, mask, sum, height, 2, stride, vectors); break;
            case 3: add_columns(s, r, at, mask, sum, height, 3, stride, vectors); break;
            case 5: add_columns(s, r, at, mask, sum, height, 5, stride, vectors); break;
            default: add_columns(s, r, at, mask, sum, height, 7, stride, vectors); break;
            }
        }
    }
    end_columns(s, v * RY_W, mask != NULL, sum, height, vectors);
}

/* `vectors` at once where no masks are needed. */
RY_INLINE void sum_strip(const strip *s, const int height, const int stride, const int vectors, const bool is_square)
{
    const depthwise_nchw_plan *plan = s->plan;
    const int64_t end = plan->vectors - plan->right;
    const uint32_t *mask = plan->mask;
    ry_vf w[3][STRIP_TAPS];
    if (is_square) {
        load_weights(w[0], s->weight, 3);
        load_weights(w[1], s->weight + 3, 3);
        load_weights(w[2], s->weight + 6, 3);
    }
    int64_t v = 0;
    for (; v < plan->left; v++, mask += plan->loads) {
        sum_columns(s, v, mask, is_square ? w : NULL, height, stride, 1);
    }
    for (; v + vectors <= end; v += vectors) {
        sum_columns(s, v, NULL, is_square ? w : NULL, height, stride, vectors);
    }
    for (; vectors > 1 && v < end; v++) {
        sum_columns(s, v, NULL, is_square ? w : NULL, height, stride, 1);
    }
    for (; v < plan->vectors; v++, mask += plan->loads) {
        sum_columns(s, v, mask, is_square ? w : NULL, height, stride, 1);
    }
}

#define STRIP(height, vectors)                            \
    static void strip_##height##_1(const strip *s)        \
    {                                                     \
        sum_strip(s, height, 1, vectors, false);          \
    }                                                     \
    static void strip_##height##_2(const strip *s)        \
    {                                                     \
        sum_strip(s, height, 2, 1, false);                \
    }                                                     \
    static void strip_##height##_1_square(const strip *s) \
    {                                                     \
        sum_strip(s, height, 1, vectors, true);           \
    }                                                     \
    static void strip_##height##_2_square(const strip *s) \
    {                                                     \
        sum_strip(s, height, 2, 1, true);                 \
    }
STRIP(1, 4)
STRIP(4, 2)
STRIP(7, 1)

#define FORM(height)                                             \
    {                                                            \
        {strip_##height##_1, strip_##height##_2},                \
        {                                                        \
            strip_##height##_1_square, strip_##height##_2_square \
        }                                                        \
    }

/* [height][window of 3x3][stride 1 and 2] */
static void (*const forms[DEPTHWISE_HEIGHTS][2][2])(const strip *s) = {FORM(7), FORM(4), FORM(1)};

void RY_ISA_SYMBOL(depthwise_nchw_strips)(const depthwise_nchw_plan *plan, const depthwise_plane *p)
{
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t step = g->dilation[1], stride = g->stride[1];
    const bool square = g->kernel[1] == 3 && g->kernel[2] == 3;
    strip s = {.plan = plan,
               .pitch = g->x_step[1] * step,
               .weight = p->weight,
               .bias = p->bias,
               .low = ry_vf_set(p->low),
               .high = ry_vf_set(p->high),
               .to_row = plan->phase.y_step[1] * step,
               .residual_row = plan->phase.r_step[1] * step};
    for (int64_t residue = 0; residue < step; residue++) {
        for (int64_t y = p->first_row + residue; y < p->end_row;) {
            const int form = depthwise_nchw_form((p->end_row - y + step - 1) / step);
            const int64_t height = depthwise_nchw_heights[form], first = y * stride - g->before[1];
            s.inside = depthwise_nchw_inside(plan, first, (height - 1) * stride + g->kernel[1]);
            s.x = p->x + first * g->x_step[1] - g->before[2];
            s.to = p->y + y * plan->phase.y_step[1];
            s.residual = p->residual ? p->residual + y * plan->phase.r_step[1] : NULL;
            forms[form][square][stride - 1](&s);
            y += height * step;
        }
    }
}
