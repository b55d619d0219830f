/* SPDX-License-Identifier: Apache-2.0 */
/* The gradient of batch normalisation, f32, NCHW and NHWC (batch_sums_plan.h), x and y also as
 * bf16: the sums of y's gradient d, as it passes the activation, and of d * (x - mean); then
 *
 *   dx = d * scale * inv + (x - mean) * g + h
 *
 * where g and h, which are 0 for fixed statistics, follow from the sums (Ioffe and Szegedy,
 * arXiv:1502.03167, section 3). */
#include "kernels/cpu/norm/batch_rows.h"
#include "kernels/cpu/parts/cpu_kernel.h"

typedef struct grad_to {
    const float *dy;
    const void *x, *y;     /* y where there is an activation */
    float *dx, *dresidual; /* dresidual may be NULL */
    batch_bounds bounds;
} grad_to;

/* What of it a loop is made for: a constant. */
typedef struct grad_kind {
    bool half; /* x and y are bf16 */
    bool active, residual;
} grad_kind;

RY_INLINE ry_vf load(const void *p, batch_block b, int64_t at, const grad_kind kind)
{
    return kind.half ? batch_load_bf16(b, (const uint16_t *)p + at)
                     : batch_load(b, (const float *)p + at);
}

static inline const void *element(const void *p, int64_t at, bool half)
{
    return (const char *)p + at * (half ? 2 : 4);
}

/* As in PyTorch, nothing passes at a bound itself. */
RY_INLINE ry_vf passed(const grad_to *t, batch_block b, int64_t at, const grad_kind kind)
{
    const ry_vf d = batch_load(b, t->dy + at);
    if (!kind.active) {
        return d;
    }
    const ry_vf y = load(t->y, b, at, kind);
    return ry_vf_keep_above(ry_vf_keep_above(d, y, t->bounds.low), t->bounds.high, y);
}

/* Element `at` of a channel: into its two sums. Lanes behind the end of a row add 0. */
RY_INLINE void sum_vector(const grad_to *t, batch_block b, int64_t at, ry_vf minus,
                          const grad_kind kind, ry_vf *s, ry_vf *q)
{
    const ry_vf d = passed(t, b, at, kind);
    *s = ry_vf_add(*s, d);
    *q = ry_vf_fma(d, ry_vf_add(load(t->x, b, at, kind), minus), *q);
}

RY_INLINE void sum_row(batch_block b, int64_t at, const grad_to *t, ry_vf minus,
                       const grad_kind kind, ry_vf s[4], ry_vf q[4])
{
    for (int v = 0; v < b.vectors; v++) {
        sum_vector(t, b, at + v * RY_W, minus, kind, &s[v], &q[v]);
    }
}

RY_INLINE void sum_block(batch_block b, int64_t at, const grad_to *t, const float *mean,
                         int64_t count, int64_t channels, const grad_kind kind, float *out)
{
    ry_vf s[BATCH_VECTORS], q[BATCH_VECTORS], minus[BATCH_VECTORS];
    for (int v = 0; v < b.vectors; v++) {
        s[v] = q[v] = ry_vf_zero();
        minus[v] = ry_vf_mul(batch_load(b, mean + at + v * RY_W), ry_vf_set(-1));
    }
    for (int64_t i = 0; i < count; i++) {
        for (int v = 0; v < b.vectors; v++) {
            sum_vector(t, b, i * channels + at + v * RY_W, minus[v], kind, &s[v], &q[v]);
        }
    }
    for (int v = 0; v < b.vectors; v++) {
        batch_store(b, out + at + v * RY_W, s[v]);
        batch_store(b, out + channels + at + v * RY_W, q[v]);
    }
}

static bool is_half(const ry_problem *problem)
{
    return problem->in[1].dtype == RYND_DTYPE_BF16;
}

/* Memory of part `part` of channel c. */
static grad_to part_of(const batch_work *w, const batch_part *part, int64_t c)
{
    const batch_sums_plan *s = w->s;
    const ry_problem *problem = w->launch->problem;
    const ry_batch_norm_grad_attrs *a = &problem->attrs.batch_norm_grad;
    const int64_t at = (part->first * s->channels + (s->last ? 0 : c)) * s->length + part->from;
    const batch_bounds bounds = batch_bounds_of(a->activation, a->act_alpha, a->act_beta);
    const void *const *in = w->launch->in;
    float *const *out = (float *const *)w->launch->out;
    const bool half = is_half(problem);
    return (grad_to){(const float *)in[0] + at,
                     element(in[1], at, half),
                     bounds.active ? element(in[5], at, half) : NULL,
                     out[0] + at,
                     ry_problem_has_output(problem, 3) ? out[3] + at : NULL,
                     bounds};
}

RY_INLINE grad_to row_of(const batch_work *w, const grad_to *t, int64_t row, const grad_kind kind)
{
    const int64_t at = row * w->s->channels * w->s->length;
    return (grad_to){t->dy + at,
                     element(t->x, at, kind.half),
                     kind.active ? element(t->y, at, kind.half) : NULL,
                     t->dx + at,
                     kind.residual ? t->dresidual + at : NULL,
                     t->bounds};
}

/* Inlined with constants. */
RY_INLINE void sum_part(const batch_work *w, const grad_to *t, const batch_part *part, int64_t p,
                        int64_t c, int64_t slot, const grad_kind kind)
{
    const batch_sums_plan *s = w->s;
    const float *mean = w->launch->in[3];
    float *out = batch_sums_at(&w->in, p, slot);
    if (s->last) {
        BATCH_EACH_BLOCK(s->channels, sum_block, t, mean, part->count, s->channels, kind, out);
        return;
    }
    ry_vf sum[4], products[4];
    for (int k = 0; k < 4; k++) {
        sum[k] = products[k] = ry_vf_zero();
    }
    for (int64_t row = 0; row < part->count; row++) {
        const grad_to one = row_of(w, t, row, kind);
        BATCH_EACH_BLOCK(part->length, sum_row, &one, ry_vf_set(-mean[c]), kind, sum, products);
    }
    out[0] = (float)batch_lanes(sum);
    out[w->in.channels] = (float)batch_lanes(products);
}

static void sums(const batch_work *w, int64_t p, int64_t c, int64_t slot)
{
    const batch_part part = batch_part_of(w->s, p);
    const grad_to t = part_of(w, &part, c);
    const bool half = is_half(w->launch->problem);
    if (t.bounds.active && half) {
        sum_part(w, &t, &part, p, c, slot, (grad_kind){.half = true, .active = true});
    } else if (t.bounds.active) {
        sum_part(w, &t, &part, p, c, slot, (grad_kind){.active = true});
    } else if (half) {
        sum_part(w, &t, &part, p, c, slot, (grad_kind){.half = true});
    } else {
        sum_part(w, &t, &part, p, c, slot, (grad_kind){0});
    }
}

static void store(const ry_cpu_launch *launch, int output, int64_t c, double value)
{
    if (ry_problem_has_output(launch->problem, output)) {
        ((float *)launch->out[output])[c] = (float)value;
    }
}

static void join(const batch_work *w, int64_t c, int64_t slot)
{
    const float *const *in = (const float *const *)w->launch->in;
    const bool fixed = w->launch->problem->attrs.batch_norm_grad.fixed != 0;
    const int64_t step = w->in.channels;
    const double count = (double)(w->s->rows * w->s->length), inverse = (double)in[4][c],
                 by = inverse * (double)in[2][c];
    double sum = 0, products = 0;
    for (int64_t p = 0; p < w->s->parts; p++) {
        const float *of = batch_sums_at(&w->in, p, slot);
        sum += (double)of[0];
        products += (double)of[step];
    }
    float *factor = w->in.factors + slot;
    factor[0] = -in[3][c];
    factor[step] = (float)by;
    factor[2 * step] = fixed ? 0 : (float)(-by * inverse * inverse * products / count);
    factor[3 * step] = fixed ? 0 : (float)(-by * sum / count);
    store(w->launch, 1, c, products * inverse);
    store(w->launch, 2, c, sum);
}

RY_INLINE void grad_vector(const grad_to *t, batch_block b, int64_t at, const ry_vf factor[4],
                           const grad_kind kind)
{
    const ry_vf d = passed(t, b, at, kind);
    const ry_vf x = ry_vf_add(load(t->x, b, at, kind), factor[0]);
    batch_store(b, t->dx + at, ry_vf_fma(d, factor[1], ry_vf_fma(x, factor[2], factor[3])));
    if (kind.residual) {
        batch_store(b, t->dresidual + at, d);
    }
}

RY_INLINE void row_block(batch_block b, int64_t at, const grad_to *t, const ry_vf factor[4],
                         const grad_kind kind)
{
    for (int v = 0; v < b.vectors; v++) {
        grad_vector(t, b, at + v * RY_W, factor, kind);
    }
}

RY_INLINE void position_block(batch_block b, int64_t at, const grad_to *t, const float *factors,
                              int64_t step, int64_t count, const grad_kind kind)
{
    ry_vf factor[BATCH_VECTORS][4];
    for (int v = 0; v < b.vectors; v++) {
        for (int k = 0; k < 4; k++) {
            factor[v][k] = batch_load(b, factors + k * step + at + v * RY_W);
        }
    }
    for (int64_t i = 0; i < count; i++) {
        for (int v = 0; v < b.vectors; v++) {
            grad_vector(t, b, i * step + at + v * RY_W, factor[v], kind);
        }
    }
}

/* Inlined with constants. */
RY_INLINE void apply_part(const batch_work *w, const grad_to *t, const batch_part *part,
                          int64_t slot, const grad_kind kind)
{
    const batch_sums_plan *s = w->s;
    const float *factors = w->in.factors + slot;
    if (s->last) {
        BATCH_EACH_BLOCK(s->channels, position_block, t, factors, s->channels, part->count, kind);
        return;
    }
    ry_vf factor[4];
    for (int k = 0; k < 4; k++) {
        factor[k] = ry_vf_set(factors[k * w->in.channels]);
    }
    for (int64_t row = 0; row < part->count; row++) {
        const grad_to one = row_of(w, t, row, kind);
        BATCH_EACH_BLOCK(part->length, row_block, &one, factor, kind);
    }
}

RY_INLINE void apply_half(const batch_work *w, int64_t p, int64_t c, int64_t slot, const bool half)
{
    const batch_part part = batch_part_of(w->s, p);
    const grad_to t = part_of(w, &part, c);
    if (t.bounds.active && t.dresidual) {
        apply_part(w, &t, &part, slot, (grad_kind){half, true, true});
    } else if (t.bounds.active) {
        apply_part(w, &t, &part, slot, (grad_kind){half, true, false});
    } else if (t.dresidual) {
        apply_part(w, &t, &part, slot, (grad_kind){half, false, true});
    } else {
        apply_part(w, &t, &part, slot, (grad_kind){half, false, false});
    }
}

static void apply(const batch_work *w, int64_t p, int64_t c, int64_t slot)
{
    if (is_half(w->launch->problem)) {
        apply_half(w, p, c, slot, true);
    } else {
        apply_half(w, p, c, slot, false);
    }
}

static void run(const ry_cpu_launch *launch, size_t task)
{
    batch_run(launch, task, sums, join, apply);
}

RY_CPU_KERNEL(batch_norm_grad_f32, batch_norm_grad, strict, .simd = RY_SIMD,
              .applicable = ry_batch_norm_grad_applicable, .prepare = ry_batch_sums_prepare,
              .initialise = ry_batch_sums_initialise, .run = run, .over = RY_BATCH_NORM_GRAD_OVER);
