/* SPDX-License-Identifier: Apache-2.0 */
/* Layer normalisation and its root-mean-square form, f32, over contiguous rows: several short rows
 * at once, whose sums hide each other's latency. */
#include "kernels/cpu/norm/layer_norm_plan.h"

#include "kernels/cpu/norm/row_moments.h"
#include "kernels/cpu/parts/cpu_kernel.h"

#include <math.h>

enum { TOGETHER = 4 };

typedef struct norm {
    const float *scale, *bias; /* NULL where absent */
    float *means, *inverses;   /* each row's mean and 1/deviation; NULL: not wanted */
    int64_t length;
    double share, epsilon; /* share: 1 / length */
    bool rms;
    ry_vm tail; /* lanes of a row's last vector */
    ry_vf live; /* 1 in them, 0 in others */
} norm;

/* y = ((x - estimate) - rest) * inverse * scale + bias; mean = estimate + rest */
typedef struct row_factors {
    ry_vf minus, inverse, offset;
} row_factors;

/* Sums the lanes of `rows` vectors each; rows is TOGETHER or 1. */
RY_INLINE void sum_lanes(const ry_vf *v, int rows, float *sum)
{
    if (rows == TOGETHER) {
        ry_vf_sum_four(v, sum);
    } else {
        sum[0] = ry_vf_sum(v[0]);
    }
}

/* Sums d and d * d over each of `rows` rows, d = x - estimate. */
RY_INLINE void sum_rows(const norm *s, const float *x, int rows, const float *estimate, float *sum,
                        float *squares)
{
    const int64_t full = s->length - s->length % RY_W;
    ry_vf minus[TOGETHER], a[TOGETHER], q[TOGETHER];
    for (int r = 0; r < rows; r++) {
        minus[r] = ry_vf_set(-estimate[r]);
        a[r] = q[r] = ry_vf_zero();
    }
    for (int64_t i = 0; i < full; i += RY_W) {
        for (int r = 0; r < rows; r++) {
            const ry_vf d = ry_vf_add(ry_vf_load(x + r * s->length + i), minus[r]);
            a[r] = ry_vf_add(a[r], d);
            q[r] = ry_vf_fma(d, d, q[r]);
        }
    }
    for (int r = 0; r < rows; r++) {
        if (full < s->length) {
            const ry_vf d =
                ry_vf_fma(minus[r], s->live, ry_vf_load_m(x + r * s->length + full, s->tail));
            a[r] = ry_vf_add(a[r], d);
            q[r] = ry_vf_fma(d, d, q[r]);
        }
    }
    sum_lanes(a, rows, sum);
    sum_lanes(q, rows, squares);
}

/* The mean of each row, rounded by the sum. */
RY_INLINE void estimate_rows(const norm *s, const float *x, int rows, float *estimate)
{
    const int64_t full = s->length - s->length % RY_W;
    ry_vf a[TOGETHER];
    for (int r = 0; r < rows; r++) {
        a[r] = ry_vf_load_m(x + r * s->length + full, s->tail);
    }
    for (int64_t i = 0; i < full; i += RY_W) {
        for (int r = 0; r < rows; r++) {
            a[r] = ry_vf_add(a[r], ry_vf_load(x + r * s->length + i));
        }
    }
    sum_lanes(a, rows, estimate);
    for (int r = 0; r < rows; r++) {
        estimate[r] = (float)((double)estimate[r] * s->share);
    }
}

/* rest: of the mean beside its estimate; squares: of differences from the mean. */
RY_INLINE void factors_of(const norm *s, int64_t row, int rows, const float *estimate,
                          const double *rest, const double *squares, row_factors *f)
{
    float inverse[TOGETHER], offset[TOGETHER];
    for (int r = 0; r < rows; r++) {
        const double scale = 1 / sqrt(squares[r] * s->share + s->epsilon);
        inverse[r] = (float)scale;
        offset[r] = (float)(-rest[r] * scale);
    }
    for (int r = 0; r < rows; r++) {
        f[r] = (row_factors){ry_vf_set(-estimate[r]), ry_vf_set(inverse[r]), ry_vf_set(offset[r])};
        /* differences from an infinity are no numbers: the estimate itself knows better */
        if (s->means) {
            const double mean = (double)estimate[r] + rest[r];
            s->means[row + r] = isfinite(mean) ? (float)mean : estimate[r];
        }
        if (s->inverses) {
            s->inverses[row + r] = inverse[r];
        }
    }
}

RY_INLINE void apply_rows(const norm *s, float *y, const float *x, int rows, const row_factors *f,
                          bool scale, bool bias)
{
    const ry_vf one = ry_vf_set(1), zero = ry_vf_zero();
    const int64_t n = s->length, full = n - n % RY_W;
    for (int64_t i = 0; i < full; i += RY_W) {
        const ry_vf by = scale ? ry_vf_load(s->scale + i) : one,
                    plus = bias ? ry_vf_load(s->bias + i) : zero;
        for (int r = 0; r < rows; r++) {
            const ry_vf d = ry_vf_fma(ry_vf_add(ry_vf_load(x + r * n + i), f[r].minus),
                                      f[r].inverse, f[r].offset);
            ry_vf_store(y + r * n + i, ry_vf_fma(d, by, plus));
        }
    }
    if (full < n) {
        const ry_vf by = scale ? ry_vf_load_m(s->scale + full, s->tail) : one;
        const ry_vf plus = bias ? ry_vf_load_m(s->bias + full, s->tail) : zero;
        for (int r = 0; r < rows; r++) {
            const ry_vf d =
                ry_vf_fma(ry_vf_add(ry_vf_load_m(x + r * n + full, s->tail), f[r].minus),
                          f[r].inverse, f[r].offset);
            ry_vf_store_m(y + r * n + full, s->tail, ry_vf_fma(d, by, plus));
        }
    }
}

RY_INLINE void apply(const norm *s, float *y, const float *x, int rows, const row_factors *f)
{
    if (s->scale && s->bias) {
        apply_rows(s, y, x, rows, f, true, true);
    } else if (s->scale) {
        apply_rows(s, y, x, rows, f, true, false);
    } else if (s->bias) {
        apply_rows(s, y, x, rows, f, false, true);
    } else {
        apply_rows(s, y, x, rows, f, false, false);
    }
}

RY_INLINE void norm_rows(const norm *s, float *y, const float *x, int rows, int64_t row)
{
    float estimate[TOGETHER] = {0}, sum[TOGETHER], squares[TOGETHER];
    double rest[TOGETHER], gaps[TOGETHER];
    row_factors f[TOGETHER];
    if (!s->rms) {
        estimate_rows(s, x, rows, estimate);
    }
    sum_rows(s, x, rows, estimate, sum, squares);
    for (int r = 0; r < rows; r++) {
        const double d = s->rms ? 0 : (double)sum[r];
        rest[r] = d * s->share;
        gaps[r] = (double)squares[r] - d * rest[r];
    }
    factors_of(s, row, rows, estimate, rest, gaps, f);
    apply(s, y, x, rows, f);
}

static void norm_long_row(const norm *s, float *y, const float *x, int64_t row)
{
    ry_moments m = {.count = (double)s->length};
    if (s->rms) {
        double sum;
        ry_row_sums(x, s->length, 0, &sum, &m.squares);
    } else {
        m = ry_row_moments(x, s->length);
    }
    if (!isfinite(m.mean)) {
        double squares;
        ry_row_sums(x, s->length, 0, &m.mean, &squares);
        m.mean /= (double)s->length;
    }
    const float estimate = (float)m.mean;
    const double rest = m.mean - (double)estimate;
    row_factors f;
    factors_of(s, row, 1, &estimate, &rest, &m.squares, &f);
    apply(s, y, x, 1, &f);
}

static void run(const ry_cpu_launch *launch, size_t task)
{
    const layer_norm_plan *plan = launch->state;
    const ry_problem *problem = launch->problem;
    const ry_cut_range rows = ry_cut_part(&plan->rows, task);
    const int64_t n = plan->length, end = rows.end;
    norm s = {.scale = ry_problem_has_input(problem, 1) ? launch->in[1] : NULL,
              .bias = ry_problem_has_input(problem, 2) ? launch->in[2] : NULL,
              .means = ry_problem_has_output(problem, 1) ? launch->out[1] : NULL,
              .inverses = ry_problem_has_output(problem, 2) ? launch->out[2] : NULL,
              .length = n,
              .share = 1 / (double)n,
              .epsilon = problem->attrs.layer_norm.epsilon,
              .rms = problem->attrs.layer_norm.rms != 0,
              .tail = ry_vm_first(n % RY_W)};
    float ones[RY_W];
    ry_vf_store(ones, ry_vf_set(1));
    s.live = ry_vf_load_m(ones, s.tail);
    const float *x = launch->in[0];
    float *y = launch->out[0];
    int64_t row = rows.first;
    for (; n <= LAYER_NORM_SHORT && row + TOGETHER <= end; row += TOGETHER) {
        norm_rows(&s, y + row * n, x + row * n, TOGETHER, row);
    }
    for (; n <= LAYER_NORM_SHORT && row < end; row++) {
        norm_rows(&s, y + row * n, x + row * n, 1, row);
    }
    for (; row < end; row++) {
        norm_long_row(&s, y + row * n, x + row * n, row);
    }
}

RY_CPU_KERNEL(layer_norm_f32, layer_norm, strict, .simd = RY_SIMD,
              .applicable = ry_layer_norm_applicable, .prepare = ry_layer_norm_prepare,
              .initialise = ry_layer_norm_initialise, .run = run);
