/* SPDX-License-Identifier: Apache-2.0 */
/* Batch normalisation by the statistics of the batch, f32, NCHW and NHWC (batch_sums_plan.h).
 *
 * A part's sums are of differences from a first estimate of its mean, so that nothing is lost to
 * cancellation; they are joined by Chan, Golub and LeVeque's formula ("Algorithms for Computing
 * the Sample Variance", The American Statistician 37, 1983), in f64. */
#include "kernels/cpu/norm/batch_rows.h"
#include "kernels/cpu/parts/cpu_kernel.h"

/* Sums of a row, of all that is `minus` more than it: `tail` is minus in the lanes of the row's
 * last vector. */
RY_INLINE void sum_row(const float *x, int64_t n, ry_vf minus, ry_vf tail, const bool squares,
                       ry_vf s[4], ry_vf q[4])
{
    int64_t i = 0;
    for (; i + 4 * RY_W <= n; i += 4 * RY_W) {
#pragma GCC unroll 4
        for (int k = 0; k < 4; k++) {
            const ry_vf d = ry_vf_add(ry_vf_load(x + i + k * RY_W), minus);
            s[k] = ry_vf_add(s[k], d);
            q[k] = squares ? ry_vf_fma(d, d, q[k]) : q[k];
        }
    }
    for (; i + RY_W <= n; i += RY_W) {
        const ry_vf d = ry_vf_add(ry_vf_load(x + i), minus);
        s[0] = ry_vf_add(s[0], d);
        q[0] = squares ? ry_vf_fma(d, d, q[0]) : q[0];
    }
    if (i < n) {
        const ry_vf d = ry_vf_add(ry_vf_load_m(x + i, ry_vm_first(n - i)), tail);
        s[1] = ry_vf_add(s[1], d);
        q[1] = squares ? ry_vf_fma(d, d, q[1]) : q[1];
    }
}

RY_INLINE void sum_rows(const batch_sums_plan *s, const batch_part *part, const float *x,
                        float minus, const bool squares, double *sum, double *square)
{
    float rest[RY_W] = {0};
    ry_vf sums[4], all[4];
    for (int k = 0; k < 4; k++) {
        sums[k] = all[k] = ry_vf_zero();
    }
    for (int k = 0; k < part->length % RY_W; k++) {
        rest[k] = minus;
    }
    for (int64_t row = 0; row < part->count; row++) {
        sum_row(x + row * s->channels * s->length, part->length, ry_vf_set(minus), ry_vf_load(rest),
                squares, sums, all);
    }
    *sum = batch_lanes(sums);
    *square = squares ? batch_lanes(all) : 0;
}

static void store_sums(const batch_work *w, int64_t part, int64_t slot, float estimate, double sum,
                       double squares)
{
    float *to = batch_sums_at(&w->in, part, slot);
    to[0] = estimate;
    to[w->in.channels] = (float)sum;
    to[2 * w->in.channels] = (float)squares;
}

/* NHWC: a block of channels down the positions of a part. */
RY_INLINE void sum_block(batch_block b, int64_t at, const float *x, int64_t count, int64_t channels,
                         float *out)
{
    ry_vf estimate[BATCH_VECTORS], s[BATCH_VECTORS], q[BATCH_VECTORS];
    x += at;
    for (int v = 0; v < b.vectors; v++) {
        s[v] = q[v] = ry_vf_zero();
    }
    for (int64_t i = 0; i < count; i++) {
        for (int v = 0; v < b.vectors; v++) {
            s[v] = ry_vf_add(s[v], batch_load(b, x + i * channels + v * RY_W));
        }
    }
    for (int v = 0; v < b.vectors; v++) {
        estimate[v] = ry_vf_mul(s[v], ry_vf_set(1 / (float)count));
        s[v] = ry_vf_zero();
    }
    for (int64_t i = 0; i < count; i++) {
        for (int v = 0; v < b.vectors; v++) {
            const ry_vf d =
                ry_vf_fma(estimate[v], ry_vf_set(-1), batch_load(b, x + i * channels + v * RY_W));
            s[v] = ry_vf_add(s[v], d);
            q[v] = ry_vf_fma(d, d, q[v]);
        }
    }
    for (int v = 0; v < b.vectors; v++) {
        batch_store(b, out + at + v * RY_W, estimate[v]);
        batch_store(b, out + channels + at + v * RY_W, s[v]);
        batch_store(b, out + 2 * channels + at + v * RY_W, q[v]);
    }
}

static void sums(const batch_work *w, int64_t p, int64_t c, int64_t slot)
{
    const batch_sums_plan *s = w->s;
    const batch_part part = batch_part_of(s, p);
    const float *x = w->launch->in[0];
    if (s->last) {
        BATCH_EACH_BLOCK(s->channels, sum_block, x + part.first * s->channels, part.count,
                         s->channels, batch_sums_at(&w->in, p, 0));
        return;
    }
    x += (part.first * s->channels + c) * s->length + part.from;
    double sum, squares;
    sum_rows(s, &part, x, 0, false, &sum, &squares);
    const float estimate = (float)(sum / (double)(part.count * part.length));
    sum_rows(s, &part, x, -estimate, true, &sum, &squares);
    store_sums(w, p, slot, estimate, sum, squares);
}

static void store(const ry_cpu_launch *launch, int output, int64_t c, double value)
{
    if (ry_problem_has_output(launch->problem, output)) {
        ((float *)launch->out[output])[c] = (float)value;
    }
}

static void join(const batch_work *w, int64_t c, int64_t slot)
{
    const ry_batch_norm_train_attrs *a = &w->launch->problem->attrs.batch_norm_train;
    const float *const *in = (const float *const *)w->launch->in;
    const int64_t step = w->in.channels;
    const double start = (double)batch_sums_at(&w->in, 0, slot)[0],
                 count = (double)(w->s->rows * w->s->length);
    double mean = 0, squares = 0;
    for (int64_t p = 0; p < w->s->parts; p++) {
        const batch_part part = batch_part_of(w->s, p);
        const float *of = batch_sums_at(&w->in, p, slot);
        mean += (double)(part.count * part.length) * ((double)of[0] - start) + (double)of[step];
    }
    mean = start + mean / count;
    for (int64_t p = 0; p < w->s->parts; p++) {
        const batch_part part = batch_part_of(w->s, p);
        const float *of = batch_sums_at(&w->in, p, slot);
        const double n = (double)(part.count * part.length), s = (double)of[step],
                     d = ((double)of[0] - mean) + s / n;
        squares += (double)of[2 * step] - s * s / n + n * d * d;
    }
    const double inverse = 1 / sqrt(squares / count + a->epsilon), by = inverse * (double)in[1][c];
    float *factor = w->in.factors + slot;
    factor[0] = -(float)mean;
    factor[step] = (float)by;
    factor[2 * step] = (float)((double)in[2][c] - (mean - (double)(float)mean) * by);
    store(w->launch, 1, c, mean);
    store(w->launch, 2, c, inverse);
    store(w->launch, 3, c, (1 - a->momentum) * (double)in[3][c] + a->momentum * mean);
    store(w->launch, 4, c,
          (1 - a->momentum) * (double)in[4][c] + a->momentum * squares / (count - 1));
}

typedef struct apply_to {
    float *y;
    const float *x, *residual; /* residual may be NULL */
    batch_bounds bounds;
} apply_to;

RY_INLINE void apply_vector(const apply_to *t, batch_block b, int64_t at, ry_vf minus, ry_vf factor,
                            ry_vf offset, const bool add, const bool active)
{
    ry_vf y = ry_vf_fma(ry_vf_add(batch_load(b, t->x + at), minus), factor, offset);
    y = add ? ry_vf_add(y, batch_load(b, t->residual + at)) : y;
    y = active ? ry_vf_min(t->bounds.high, ry_vf_max(t->bounds.low, y)) : y;
    batch_store(b, t->y + at, y);
}

RY_INLINE void row_block(batch_block b, int64_t at, const apply_to *t, const float *factor,
                         int64_t step, const bool add, const bool active)
{
    for (int v = 0; v < b.vectors; v++) {
        apply_vector(t, b, at + v * RY_W, ry_vf_set(factor[0]), ry_vf_set(factor[step]),
                     ry_vf_set(factor[2 * step]), add, active);
    }
}

RY_INLINE void position_block(batch_block b, int64_t at, const apply_to *t, const float *factor,
                              int64_t step, int64_t count, const bool add, const bool active)
{
    ry_vf minus[BATCH_VECTORS], by[BATCH_VECTORS], offset[BATCH_VECTORS];
    for (int v = 0; v < b.vectors; v++) {
        minus[v] = batch_load(b, factor + at + v * RY_W);
        by[v] = batch_load(b, factor + step + at + v * RY_W);
        offset[v] = batch_load(b, factor + 2 * step + at + v * RY_W);
    }
    for (int64_t i = 0; i < count; i++) {
        for (int v = 0; v < b.vectors; v++) {
            apply_vector(t, b, i * step + at + v * RY_W, minus[v], by[v], offset[v], add, active);
        }
    }
}

/* Inlined with constants. */
RY_INLINE void apply_part(const batch_work *w, const apply_to *t, const batch_part *part,
                          int64_t slot, const bool add, const bool active)
{
    const batch_sums_plan *s = w->s;
    const float *factor = w->in.factors + slot;
    if (s->last) {
        BATCH_EACH_BLOCK(s->channels, position_block, t, factor, s->channels, part->count, add,
                         active);
        return;
    }
    for (int64_t row = 0; row < part->count; row++) {
        const int64_t at = row * s->channels * s->length;
        const apply_to one = {t->y + at, t->x + at, add ? t->residual + at : NULL, t->bounds};
        BATCH_EACH_BLOCK(part->length, row_block, &one, factor, w->in.channels, add, active);
    }
}

static void apply(const batch_work *w, int64_t p, int64_t c, int64_t slot)
{
    const batch_sums_plan *s = w->s;
    const ry_problem *problem = w->launch->problem;
    const ry_batch_norm_train_attrs *a = &problem->attrs.batch_norm_train;
    const batch_part part = batch_part_of(s, p);
    const bool add = ry_problem_has_input(problem, 5);
    const int64_t at = (part.first * s->channels + (s->last ? 0 : c)) * s->length + part.from;
    const apply_to t = {(float *)w->launch->out[0] + at, (const float *)w->launch->in[0] + at,
                        add ? (const float *)w->launch->in[5] + at : NULL,
                        batch_bounds_of(a->activation, a->act_alpha, a->act_beta)};
    if (add && t.bounds.active) {
        apply_part(w, &t, &part, slot, true, true);
    } else if (add) {
        apply_part(w, &t, &part, slot, true, false);
    } else if (t.bounds.active) {
        apply_part(w, &t, &part, slot, false, true);
    } else {
        apply_part(w, &t, &part, slot, false, false);
    }
}

static void run(const ry_cpu_launch *launch, size_t task)
{
    batch_run(launch, task, sums, join, apply);
}

RY_CPU_KERNEL(batch_norm_train_f32, batch_norm_train, strict, .simd = RY_SIMD,
              .applicable = ry_batch_norm_train_applicable, .prepare = ry_batch_sums_prepare,
              .initialise = ry_batch_sums_initialise, .run = run, .over = RY_BATCH_NORM_TRAIN_OVER);
