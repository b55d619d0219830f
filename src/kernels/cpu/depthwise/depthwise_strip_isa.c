/* SPDX-License-Identifier: Apache-2.0 */
/* The variant of a strip: some output rows of one plane at once. */
#include "kernels/cpu/depthwise/depthwise_strip.h"
#include "kernels/cpu/parts/tile_lines.h"

RY_INLINE ry_vf load_contiguous(const float *x, ry_vm mask, const bool masked)
{
    return ry_vf_keep(masked ? ry_vf_load_m(x, mask) : ry_vf_load(x));
}

RY_INLINE void load_pair(const float *x, const ry_vm mask[2], const bool masked, ry_vf pair[2])
{
    const ry_vf a = load_contiguous(x, mask[0], masked),
                b = load_contiguous(x + RY_W, mask[1], masked);
    ry_vf_deinterleave_loose(a, b, &pair[0], &pair[1]);
}

/* A column of the window, or (stride 2) two, or the first three of an odd window. */
typedef struct columns {
    const float *x;
    int64_t pitch;
    uint32_t inside; /* bit j: row j is inside x */
    ry_vm mask[2];   /* masks of one vector or of a pair */
    bool first;      /* is there a pixel before the first pair? */
    ry_vf w[3][STRIP_TAPS];
} columns;

RY_INLINE void add_contiguous(const columns *c, ry_vf *sum, const int height, const int taps,
                              const int vectors, const bool masked, const bool full)
{
#pragma GCC unroll 16
    for (int j = 0; j < height + taps - 1; j++) {
        if (full || c->inside >> j & 1) {
#pragma GCC unroll 4
            for (int v = 0; v < vectors; v++) {
                const ry_vf x = load_contiguous(c->x + j * c->pitch + v * RY_W, c->mask[0], masked);
                add_row(sum + v, c->w[0], x, j, height, taps, 1, vectors);
            }
        }
    }
}

/* Every second column. */
RY_INLINE void add_evens(const columns *c, ry_vf *sum, const int height, const int taps,
                         const bool masked, const bool full)
{
#pragma GCC unroll 24
    for (int j = 0; j < (height - 1) * 2 + taps; j++) {
        if (full || c->inside >> j & 1) {
            ry_vf pair[2];
            load_pair(c->x + j * c->pitch, c->mask, masked, pair);
            add_row(sum, c->w[0], pair[0], j, height, taps, 2, 1);
        }
    }
}

/* Row i in an order in which neighbours add to other sums, so that none waits for the one before.
 */
RY_INLINE int strided_rows(int i, int rows)
{
    return rows % 2 && rows > 4 ? 4 * i % rows : i;
}

/* w[1] and w[2] are of the columns that c->x reads, w[0] is of the one before (`first`). */
RY_INLINE void add_pair(const columns *c, ry_vf *sum, const int height, const int taps,
                        const bool first, const bool masked, const bool full)
{
#pragma GCC unroll 24
    for (int i = 0; i < (height - 1) * 2 + taps; i++) {
        const int j = strided_rows(i, (height - 1) * 2 + taps);
        if (full || c->inside >> j & 1) {
            const float *x = c->x + j * c->pitch;
            ry_vf pair[2];
            load_pair(x, c->mask, masked, pair);
            add_row(sum, c->w[1], pair[0], j, height, taps, 2, 1);
            add_row(sum, c->w[2], pair[1], j, height, taps, 2, 1);
            if (first) {
                add_row(sum, c->w[0], ry_vf_shift_loose(x - 1, !masked || c->first, pair[1]), j,
                        height, taps, 2, 1);
            }
        }
    }
}

RY_INLINE void set_masks(columns *c, const uint32_t *mask)
{
    if (mask) {
        c->mask[0] = ry_vm_bits(*mask & (uint32_t)((1ull << RY_W) - 1));
        c->mask[1] = ry_vm_bits(*mask >> (RY_W - 1) >> 1);
    }
}

/* Any width: column after column. */
RY_INLINE void add_columns(const strip *s, int64_t first_row, int64_t at, const uint32_t *mask,
                           ry_vf *sum, const int height, const int taps, const int stride,
                           const int vectors, const bool full)
{
    const int64_t width = s->plan->geometry.kernel[2], odd = width % 2;
    const float *weight = s->weight + first_row * width;
    columns c = {.pitch = s->pitch,
                 .inside = depthwise_nchw_rows(s->inside, first_row),
                 .first = !mask || (mask[0] & 1u)};
    const float *x = s->x + first_row * s->pitch + at;
    if (stride == 1) {
        for (int64_t i = 0; i < width; i++, weight += taps) {
            load_weights(c.w[0], weight, taps);
            set_masks(&c, mask ? mask + i : NULL);
            c.x = x + i * s->plan->geometry.dilation[2];
            add_contiguous(&c, sum, height, taps, vectors, mask != NULL, full);
        }
        return;
    }
    if (width == 1) {
        load_weights(c.w[0], weight, taps);
        set_masks(&c, mask);
        c.x = x;
        add_evens(&c, sum, height, taps, mask != NULL, full);
        return;
    }
    for (int64_t i = odd; i < width; i += 2) {
        load_weights(c.w[1], weight + i * taps, taps);
        load_weights(c.w[2], weight + (i + 1) * taps, taps);
        set_masks(&c, mask ? mask + (i + odd) / 2 : NULL);
        c.x = x + i;
        if (i == 1) {
            load_weights(c.w[0], weight, taps);
            add_pair(&c, sum, height, taps, true, mask != NULL, full);
        } else {
            add_pair(&c, sum, height, taps, false, mask != NULL, full);
        }
    }
}

/* A window of 3x3, whose weights stay in registers. */
RY_INLINE void add_square(const strip *s, const ry_vf w[3][STRIP_TAPS], int64_t at,
                          const uint32_t *mask, ry_vf *sum, const int height, const int stride,
                          const int vectors, const bool full)
{
    const uint32_t inside = depthwise_nchw_rows(s->inside, 0);
    columns c = {.pitch = s->pitch, .inside = inside, .first = !mask || (mask[0] & 1u)};
    if (stride == 2) {
        memcpy(c.w, w, sizeof c.w);
        set_masks(&c, mask ? mask + 1 : NULL);
        c.x = s->x + at + 1;
        add_pair(&c, sum, height, 3, true, mask != NULL, full);
        return;
    }
    /* what stays the same is read before the loops: for all the compiler knows, a store to y could
     * change it */
    const float *x = s->x + at;
    const int64_t step = s->plan->geometry.dilation[2], pitch = s->pitch;
    const ry_vm first = ry_vm_bits(mask ? mask[0] : 0), second = ry_vm_bits(mask ? mask[1] : 0),
                third = ry_vm_bits(mask ? mask[2] : 0);
#pragma GCC unroll 16
    for (int j = 0; j < height + 2; j++) {
        if (full || inside >> j & 1) {
#pragma GCC unroll 4
            for (int v = 0; v < vectors; v++) {
                const float *row = x + j * pitch + v * RY_W;
                const ry_vf x0 = load_contiguous(row, first, mask != NULL),
                            x1 = load_contiguous(row + step, second, mask != NULL);
                const ry_vf x2 = load_contiguous(row + 2 * step, third, mask != NULL);
                add_row(sum + v, w[0], x0, j, height, 3, 1, vectors);
                add_row(sum + v, w[1], x1, j, height, 3, 1, vectors);
                add_row(sum + v, w[2], x2, j, height, 3, 1, vectors);
            }
        }
    }
}

/* Residual, bounds, store. */
RY_INLINE void end_columns(const strip *s, int64_t column, const bool masked, ry_vf *sum,
                           const int height, const int stride, const int vectors)
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
            ry_vf *y = &sum[i * vectors + v];
            *y = stride == 1 ? *y : ry_vf_tidy(*y);
            /* load all rows before the first store: if the residual is y, a load waits for a
             * store it overlaps */
            if (residual) {
                const float *from = residual + i * residual_row + column + v * RY_W;
                *y = ry_vf_add(*y, masked ? ry_vf_load_m(from, last) : ry_vf_load(from));
            }
        }
    }
#pragma GCC unroll 8
    for (int i = 0; i < height; i++) {
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) {
            const ry_vf y = ry_vf_min(high, ry_vf_max(low, sum[i * vectors + v]));
            float *to = first + i * to_row + column + v * RY_W;
            if (masked) {
                ry_vf_store_first(to, left, y);
            } else {
                ry_vf_store(to, y);
            }
        }
    }
}

/* Lines of the next strip below, of the same columns: memory's prefetchers do not follow over as
 * many rows as a strip goes along. */
static void fetch_below(const strip *s, int64_t v, int64_t vectors, int height, int stride)
{
    const ry_conv_geometry *g = &s->plan->geometry;
    const float *x = s->x + ((height - 1) * stride + g->kernel[1]) * s->pitch + v * stride * RY_W;
    const float *to = s->to + height * s->to_row + v * RY_W;
    for (int i = 0; i < height * stride; i++) {
        for (int64_t j = 0; j < vectors * stride * RY_W; j += RY_LINE_FLOATS) {
            __builtin_prefetch(x + i * s->pitch + j, 0, 3);
        }
    }
    for (int i = 0; i < height; i++) {
        for (int64_t j = 0; j < vectors * RY_W; j += RY_LINE_FLOATS) {
            __builtin_prefetch(to + i * s->to_row + j, 1, 3);
        }
    }
}

/* `height` rows of `vectors` vectors from vector v on; `square`: the weights of a window of 3x3, or
 * NULL. */
RY_INLINE void sum_columns(const strip *s, int64_t v, const uint32_t *mask,
                           const ry_vf square[3][STRIP_TAPS], const int height, const int stride,
                           const int vectors, const bool full)
{
    ry_vf sum[8];
    if (s->plan->fetches) {
        fetch_below(s, v, vectors, height, stride);
    }
#pragma GCC unroll 8
    for (int i = 0; i < height * vectors; i++) {
        sum[i] = ry_vf_set(s->bias);
    }
    const int64_t at = v * RY_W * stride, rows = s->plan->geometry.kernel[1];
    if (square) {
        add_square(s, square, at, mask, sum, height, stride, vectors, full);
    } else {
        for (int64_t r = 0, taps; r < rows; r += taps) {
            taps = depthwise_nchw_tap_rows(rows - r);
            switch (taps) {
            case 1: add_columns(s, r, at, mask, sum, height, 1, stride, vectors, full); break;
            case 2: add_columns(s, r, at, mask, sum, height, 2, stride, vectors, full); break;
            case 3: add_columns(s, r, at, mask, sum, height, 3, stride, vectors, full); break;
            case 5: add_columns(s, r, at, mask, sum, height, 5, stride, vectors, full); break;
            default: add_columns(s, r, at, mask, sum, height, 7, stride, vectors, full); break;
            }
        }
    }
    end_columns(s, v * RY_W, mask != NULL, sum, height, stride, vectors);
}

/* Windows of 3x3: `vectors` at once where no masks are needed. */
RY_INLINE void sum_squares(const strip *s, const int height, const int stride, const int vectors,
                           const bool full)
{
    const depthwise_nchw_plan *plan = s->plan;
    const int64_t end = plan->vectors - plan->right;
    const uint32_t *mask = plan->mask;
    ry_vf w[3][STRIP_TAPS];
    load_weights(w[0], s->weight, 3);
    load_weights(w[1], s->weight + 3, 3);
    load_weights(w[2], s->weight + 6, 3);
    for (int64_t v = 0; v < s->vectors;) {
        if (v < plan->left || v >= end) {
            sum_columns(s, v, mask, w, height, stride, 1, full);
            mask += plan->loads;
            v++;
        } else if (vectors == 1 || v + vectors <= end) {
            sum_columns(s, v, NULL, w, height, stride, vectors, full);
            v += vectors;
        } else {
            sum_columns(s, v, NULL, w, height, stride, 1, full);
            v++;
        }
    }
}

typedef void (*columns_function)(const strip *s, int64_t v, int64_t mask);

/* The same for windows of any size; `mask`: where the masks of a column begin. */
RY_INLINE void sum_strided(const strip *s, columns_function edge, columns_function one,
                           columns_function some, const int vectors)
{
    const depthwise_nchw_plan *plan = s->plan;
    const int64_t end = plan->vectors - plan->right;
    for (int64_t v = 0, mask = 0; v < s->vectors;) {
        if (v < plan->left || v >= end) {
            edge(s, v, mask);
            mask += plan->loads;
            v++;
        } else if (v + vectors <= end) {
            some(s, v, 0);
            v += vectors;
        } else {
            one(s, v, 0);
            v++;
        }
    }
}

/* Windows of any size: each kind of columns is a function of its own, as compilers take minutes
 * over one of them all. */
#define APART(name, height, stride, vectors, masked, full)                                       \
    static __attribute__((noinline)) void name(const strip *s, int64_t v, int64_t mask)          \
    {                                                                                            \
        sum_columns(s, v, (masked) ? s->plan->mask + mask : NULL, NULL, height, stride, vectors, \
                    full);                                                                       \
    }
#define STRIP(name, height, stride, vectors, full)                     \
    APART(name##_edge, height, stride, 1, true, full)                  \
    APART(name##_one, height, stride, 1, false, full)                  \
    APART(name##_some, height, stride, vectors, false, full)           \
    static void name(const strip *s)                                   \
    {                                                                  \
        sum_strided(s, name##_edge, name##_one, name##_some, vectors); \
    }
#define SQUARE(name, height, stride, vectors, full)    \
    static void name(const strip *s)                   \
    {                                                  \
        sum_squares(s, height, stride, vectors, full); \
    }
#define STRIPS(height, vectors)                            \
    STRIP(strip_##height##_1, height, 1, vectors, false)   \
    STRIP(strip_##height##_2, height, 2, 1, false)         \
    SQUARE(square_##height##_1, height, 1, vectors, false) \
    SQUARE(square_##height##_2, height, 2, 1, false)
STRIPS(1, 4)
STRIPS(4, 2)
STRIPS(7, 1)
STRIP(strip_full_1, 7, 1, 1, true)
SQUARE(square_full_2, 7, 2, 1, true)

#define FORM(height)                                 \
    {                                                \
        {strip_##height##_1, strip_##height##_2},    \
        {                                            \
            square_##height##_1, square_##height##_2 \
        }                                            \
    }

typedef void (*strip_function)(const strip *s);

/* [height][window of 3x3][stride 1 and 2] */
static const strip_function forms[DEPTHWISE_HEIGHTS][2][2] = {FORM(7), FORM(4), FORM(1)};
/* The highest strips where all rows of x are inside it; for other windows and strides that gains
 * nothing. */
static const strip_function full_forms[2][2] = {{strip_full_1, strip_7_2},
                                                {square_7_1, square_full_2}};

void RY_ISA_SYMBOL(depthwise_nchw_strips)(const depthwise_nchw_plan *plan, const depthwise_plane *p)
{
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t step = g->dilation[1], stride = g->stride[1];
    const bool square = g->kernel[1] == 3 && g->kernel[2] == 3;
    const int64_t strips = plan->windows ? (p->end_row - p->first_row) / STRIP_ROWS : 0,
                  first_row = p->first_row + strips * STRIP_ROWS;
    if (strips > 0) {
        RY_ISA_SYMBOL(depthwise_nchw_windows)(plan, p, strips);
    }
    if (first_row == p->end_row) {
        return;
    }
    strip s = {.plan = plan,
               .pitch = g->x_step[1] * step,
               .weight = p->weight,
               .bias = p->bias,
               .low = ry_vf_set(p->low),
               .high = ry_vf_set(p->high),
               .to_row = plan->phase.y_step[1] * step,
               .residual_row = p->residual_row * step};
    strip upper = s;
    for (int64_t residue = 0; residue < step; residue++) {
        int64_t halved = 0; /* strips whose last vectors are summed together */
        for (int64_t y = first_row + residue; y < p->end_row;) {
            const int64_t left = (p->end_row - y + step - 1) / step;
            const int form = ry_depthwise_nchw_form(left);
            const int64_t height = ry_depthwise_nchw_heights[form],
                          first = y * stride - g->before[1];
            const int64_t rows = (height - 1) * stride + g->kernel[1];
            halved = halved == 2 ? 1 : plan->two_strips && left >= 2 * STRIP_ROWS ? 2 : 0;
            s.vectors = plan->vectors - (halved > 0);
            s.x = p->x + first * g->x_step[1] - g->before[2];
            s.to = p->y + y * plan->phase.y_step[1];
            s.residual = p->residual ? p->residual + y * p->residual_row : NULL;
            s.inside = depthwise_nchw_inside(plan, first, rows);
            const bool full = form == 0 && s.inside.begin == 0 && s.inside.end == rows;
            (full ? full_forms : forms[form])[square][stride - 1](&s);
            if (halved == 2) {
                upper = s;
                upper.inside = depthwise_nchw_inside(plan, first, rows + STRIP_ROWS * stride);
            } else if (halved == 1) {
                RY_ISA_SYMBOL(depthwise_nchw_two_strips)(&upper);
            }
            y += height * step;
        }
    }
}
