/* SPDX-License-Identifier: Apache-2.0 */
/* Packs elements of any type, and stores sums: one text for all types (product_loops.h). */
#include "kernels/cpu/product/product_loops.h"

#include "kernels/common/activation_scalar.h"
#include "kernels/cpu/simd/half.h"

#include <math.h>

/* Elements [begin, end) of a run that are inside. */
static ry_window_range clip(const product_run *run, int64_t position, int64_t in)
{
    ry_window_range r = {0, run->count};
    while (r.begin < r.end && (uint64_t)(position + r.begin * run->at_step) >= (uint64_t)in) {
        r.begin++;
    }
    while (r.end > r.begin && (uint64_t)(position + (r.end - 1) * run->at_step) >= (uint64_t)in) {
        r.end--;
    }
    return r;
}

static ry_window_range inside(const product_source *s, const int64_t *point, const int64_t *from,
                              const product_run *run)
{
    ry_window_range r = {0, run->count};
    for (int a = 0; a < s->axes; a++) {
        const int64_t position = s->nest->at[a] + point[1 + a] + from[1 + a];
        if (a == run->axis) {
            r = clip(run, position, s->nest->in[a]);
        } else if ((uint64_t)position >= (uint64_t)s->nest->in[a]) {
            return (ry_window_range){0, 0};
        }
    }
    return r;
}

/* Points that are packed at once: an element each, side by side. */
enum { TOGETHER = 4 };

static bool are_inside(const product_source *s, const int64_t *point, const int64_t *from,
                       const product_run *run)
{
    for (int i = 0; i < TOGETHER && s->axes > 0; i++) {
        const ry_window_range r = inside(s, point + i * (1 + s->axes), from, run);
        if (r.begin > 0 || r.end < run->count) {
            return false;
        }
    }
    return true;
}

#define RY_SAME(x)                (x)
#define SUM_FLOAT(value, sum)     value
#define SUM_SIGNED(value, sum)    sum
#define SUM_UNSIGNED(value, sum)  sum
#define TYPE_float                PRODUCT_f32
#define TYPE_double               PRODUCT_f64
#define TYPE_uint32_t             PRODUCT_u32
#define TYPE_uint64_t             PRODUCT_u64
#define TYPE_FLOAT(value, sum)    TYPE_##value
#define TYPE_SIGNED(value, sum)   TYPE_##sum
#define TYPE_UNSIGNED(value, sum) TYPE_##sum

#define BOUND_FLOAT(type, v, how) \
    ((v) < (type)(how)->low ? (type)(how)->low : (v) > (type)(how)->high ? (type)(how)->high : (v))
#define BOUND_SIGNED(type, v, how)   (v)
#define BOUND_UNSIGNED(type, v, how) (v)

static inline uint64_t scaled(uint64_t v, double factor)
{
    return factor == 1 ? v : (uint64_t)(int64_t)((double)(int64_t)v * factor);
}

/* Activations and factors: floats by float64, integers modulo 2^64, each term truncated. */
#define ANY_FLOAT(name, element, load, store_one)                                          \
    static void any_##name(const product_finish *how, const product_row *r)                \
    {                                                                                      \
        element *y = (element *)r->y + r->at[PRODUCT_Y];                                   \
        for (int64_t i = 0; i < r->n; i++) {                                               \
            double v = how->alpha * (double)((const sum_##name *)r->sums)[i];              \
            if (r->bias) {                                                                 \
                const element *b = (const element *)r->bias + r->at[PRODUCT_BIAS];         \
                v += how->beta * (double)load(b[i * r->step[PRODUCT_BIAS]]);               \
            }                                                                              \
            if (r->residual) {                                                             \
                const element *d = (const element *)r->residual + r->at[PRODUCT_RESIDUAL]; \
                v += (double)load(d[i * r->step[PRODUCT_RESIDUAL]]);                       \
            }                                                                              \
            v = ry_activation_scalar(how->activation, how->act_alpha, how->act_beta, v);   \
            y[i * r->step[PRODUCT_Y]] = (element)store_one((__typeof__(load(*y)))v);       \
        }                                                                                  \
    }
#define ANY_SIGNED(name, element, load, store_one)                                              \
    static void any_##name(const product_finish *how, const product_row *r)                     \
    {                                                                                           \
        element *y = (element *)r->y + r->at[PRODUCT_Y];                                        \
        for (int64_t i = 0; i < r->n; i++) {                                                    \
            uint64_t v = scaled(((const sum_##name *)r->sums)[i], how->alpha);                  \
            if (r->bias) {                                                                      \
                const element *b = (const element *)r->bias + r->at[PRODUCT_BIAS];              \
                v += scaled((uint64_t)b[i * r->step[PRODUCT_BIAS]], how->beta);                 \
            }                                                                                   \
            if (r->residual) {                                                                  \
                const element *d = (const element *)r->residual + r->at[PRODUCT_RESIDUAL];      \
                v += (uint64_t)d[i * r->step[PRODUCT_RESIDUAL]];                                \
            }                                                                                   \
            if (how->activation != RY_activation_none) {                                        \
                v = (uint64_t)(int64_t)ry_activation_scalar(how->activation, how->act_alpha,    \
                                                            how->act_beta, (double)(int64_t)v); \
            }                                                                                   \
            y[i * r->step[PRODUCT_Y]] = (element)v;                                             \
        }                                                                                       \
    }
#define ANY_UNSIGNED(name, element, load, store_one) ANY_SIGNED(name, element, load, store_one)

/* The loops of a type, with sums of another one. */
#define LOOPS(name, element, value, sum, load, store_one, kind)                                    \
    typedef sum sum_##name;                                                                        \
    RY_INLINE void copy_##name(const product_source *s, const int64_t *point, const int64_t *from, \
                               const product_run *run, sum_##name *restrict to)                    \
    {                                                                                              \
        const ry_window_range in = inside(s, point, from, run);                                    \
        const element *restrict x = (const element *)s->data + (s->base + point[0] + from[0]);     \
        for (int64_t i = 0; i < in.begin; i++) {                                                   \
            to[i * s->run_step] = 0;                                                               \
        }                                                                                          \
        if (s->run_step == 1 && run->step == 1) {                                                  \
            for (int64_t i = in.begin; i < in.end; i++) {                                          \
                to[i] = (sum_##name)load(x[i]);                                                    \
            }                                                                                      \
        } else if (s->run_step == 1 && run->step == 2) {                                           \
            for (int64_t i = in.begin; i < in.end; i++) {                                          \
                to[i] = (sum_##name)load(x[2 * i]);                                                \
            }                                                                                      \
        } else {                                                                                   \
            for (int64_t i = in.begin; i < in.end; i++) {                                          \
                to[i * s->run_step] = (sum_##name)load(x[i * run->step]);                          \
            }                                                                                      \
        }                                                                                          \
        for (int64_t i = in.end; i < run->count; i++) {                                            \
            to[i * s->run_step] = 0;                                                               \
        }                                                                                          \
    }                                                                                              \
    RY_INLINE void transpose_##name(const product_source *s, const int64_t *point, int64_t from,   \
                                    int64_t count, const int64_t step, sum_##name *restrict to)    \
    {                                                                                              \
        const int64_t size = 1 + s->axes;                                                          \
        const element *x = (const element *)s->data + (s->base + from);                            \
        const element *restrict x0 = x + point[0], *restrict x1 = x + point[size];                 \
        const element *restrict x2 = x + point[2 * size], *restrict x3 = x + point[3 * size];      \
        for (int64_t i = 0; i < count; i++, to += s->run_step) {                                   \
            to[0] = (sum_##name)load(x0[i * step]);                                                \
            to[1] = (sum_##name)load(x1[i * step]);                                                \
            to[2] = (sum_##name)load(x2[i * step]);                                                \
            to[3] = (sum_##name)load(x3[i * step]);                                                \
        }                                                                                          \
    }                                                                                              \
    static void gather_##name(const product_source *s, void *panel)                                \
    {                                                                                              \
        const int64_t size = 1 + s->axes;                                                          \
        for (int64_t p = 0, here; p < s->point_count; p += here) {                                 \
            const int64_t *point = s->points + p * size, *from = s->run_points;                    \
            here = s->point_step == 1 && s->point_count - p >= TOGETHER ? TOGETHER : 1;            \
            for (int64_t j = 0; j < s->run_count; j++, from += size) {                             \
                const product_run *run = &s->runs[j];                                              \
                sum_##name *to =                                                                   \
                    (sum_##name *)panel + p * s->point_step + run->first * s->run_step;            \
                if (here == TOGETHER && are_inside(s, point, from, run)) {                         \
                    if (run->step == 1) {                                                          \
                        transpose_##name(s, point, from[0], run->count, 1, to);                    \
                    } else {                                                                       \
                        transpose_##name(s, point, from[0], run->count, run->step, to);            \
                    }                                                                              \
                    continue;                                                                      \
                }                                                                                  \
                for (int64_t i = 0; i < here; i++) {                                               \
                    copy_##name(s, point + i * size, from, run, to + i);                           \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    RY_INLINE void plain_##name(const product_finish *how, const product_row *r, const int64_t n,  \
                                const int64_t y_step, const bool bias, const bool residual)        \
    {                                                                                              \
        const sum_##name *s = r->sums;                                                             \
        const element *b = (const element *)r->bias + (bias ? r->at[PRODUCT_BIAS] : 0);            \
        const element *d =                                                                         \
            (const element *)r->residual + (residual ? r->at[PRODUCT_RESIDUAL] : 0);               \
        element *y = (element *)r->y + r->at[PRODUCT_Y];                                           \
        (void)how;                                                                                 \
        for (int64_t i = 0; i < n; i++) {                                                          \
            const sum_##name first = bias ? (sum_##name)load(b[i * r->step[PRODUCT_BIAS]]) : 0;    \
            const sum_##name last =                                                                \
                residual ? (sum_##name)load(d[i * r->step[PRODUCT_RESIDUAL]]) : 0;                 \
            const sum_##name v = (sum_##name)(s[i] + first + last);                                \
            y[i * y_step] = (element)store_one((value)(BOUND_##kind(sum_##name, v, how)));         \
        }                                                                                          \
    }                                                                                              \
    ANY_##kind(name, element, load, store_one) static void store_##name(const product_finish *how, \
                                                                        const product_row *r)      \
    {                                                                                              \
        if (!how->plain) {                                                                         \
            any_##name(how, r);                                                                    \
        } else if (!r->bias && !r->residual && r->step[PRODUCT_Y] == 1) {                          \
            plain_##name(how, r, r->n, 1, false, false);                                           \
        } else {                                                                                   \
            plain_##name(how, r, r->n, r->step[PRODUCT_Y], r->bias != NULL, r->residual != NULL);  \
        }                                                                                          \
    }                                                                                              \
    static void add_##name(void *sums, const void *tile, int64_t depth, int64_t width, int64_t n)  \
    {                                                                                              \
        const sum_##name *t = tile;                                                                \
        for (int64_t k = 0; k < depth; k++, t += width) {                                          \
            for (int64_t i = 0; i < n; i++) {                                                      \
                ((sum_##name *)sums)[i] = (sum_##name)(((sum_##name *)sums)[i] + t[i]);            \
            }                                                                                      \
        }                                                                                          \
    }

#define WIDE_FLOAT(...)
#define WIDE_SIGNED(...)   LOOPS(__VA_ARGS__)
#define WIDE_UNSIGNED(...) LOOPS(__VA_ARGS__)
#define RY_LANE(name, element, value, sum_type, load, store_one, kind)              \
    LOOPS(name, element, value, SUM_##kind(value, sum_type), load, store_one, kind) \
    WIDE_##kind(name##_wide, element, value, uint64_t, load, store_one, kind)
#include "kernels/cpu/parts/lane_types.inc"
#undef RY_LANE

#define ROW(name, type)                                                   \
    {                                                                     \
        type, sizeof(sum_##name), gather_##name, store_##name, add_##name \
    }
#define WIDE_ROW_FLOAT(name, type)    ROW(name, type)
#define WIDE_ROW_SIGNED(name, type)   ROW(name##_wide, PRODUCT_u64)
#define WIDE_ROW_UNSIGNED(name, type) ROW(name##_wide, PRODUCT_u64)
const product_loops RY_ISA_SYMBOL(product_loops)[RY_DTYPES][2] = {
#define RY_LANE(name, element, value, sum_type, load, store_one, kind) \
    [RY_##name] = {ROW(name, TYPE_##kind(value, sum_type)),            \
                   WIDE_ROW_##kind(name, TYPE_##kind(value, sum_type))},
#include "kernels/cpu/parts/lane_types.inc"
#undef RY_LANE
};
