/* SPDX-License-Identifier: Apache-2.0 */
/* Layer normalisation and its root-mean-square form, f32, over contiguous rows. */
#include "kernels/cpu/common/dense_lanes.h"
#include "kernels/cpu/common/isa.h"
#include "kernels/cpu/norm/moments.h"

#include <math.h>

typedef struct state {
    int64_t rows, length, rows_per_task;
} state;

static void describe(const ry_problem *problem, state *s)
{
    const ry_tensor *x = &problem->in[0];
    *s = (state){.rows = 1, .length = 1};
    for (int i = 0; i < x->rank; i++) {
        *(i < ry_axis(problem->attrs.layer_norm.axis, x->rank) ? &s->rows : &s->length) *= x->dim[i];
    }
    s->rows_per_task = ry_lanes_per_task(s->rows, 4 * s->length);
}

static bool row_major_f32(const ry_tensor *t)
{
    return t->dtype == RYND_DTYPE_F32 && ry_tensor_is_row_major(t);
}

static bool applicable(const ry_problem *problem)
{
    const ry_tensor *x = &problem->in[0];
    if (!ry_problem_has_input(problem, 0) || !ry_problem_has_output(problem, 0) || ry_axis(problem->attrs.layer_norm.axis, x->rank) < 0) {
        return false;
    }
    state s;
    describe(problem, &s);
    for (int i = 0; i < 3; i++) { /* scale and bias have the row's own shape: nothing is broadcast within a row */
        const ry_tensor *t = &problem->in[i];
        if (ry_problem_has_input(problem, i) && (!row_major_f32(t) || (i > 0 && ry_tensor_count(t) != s.length))) {
            return false;
        }
        if (ry_problem_has_output(problem, i) && !row_major_f32(&problem->out[i])) {
            return false;
        }
    }
    return ry_tensor_count(x) > 0;
}

static rynd_status prepare(const ry_problem *problem, ry_prepared *prepared, ry_error *error)
{
    (void)error;
    state s;
    describe(problem, &s);
    prepared->phases = 1;
    prepared->tasks[0] = ry_lanes_tasks(s.rows, s.rows_per_task);
    prepared->state = sizeof s;
    return RYND_OK;
}

static void initialise(const ry_problem *problem, const ry_prepared *prepared, void *memory)
{
    (void)prepared;
    describe(problem, memory);
}

static void scale_row(float *restrict y, const float *restrict scale, const float *restrict bias, int64_t n)
{
    for (int64_t i = 0; scale && !bias && i < n; i++) {
        y[i] *= scale[i];
    }
    for (int64_t i = 0; !scale && bias && i < n; i++) {
        y[i] += bias[i];
    }
    for (int64_t i = 0; scale && bias && i < n; i++) {
        y[i] = y[i] * scale[i] + bias[i];
    }
}

/* The moments are taken about a guess, of which an infinity makes NaN: the sum itself knows better. */
static double finite_or_summed(double mean, const float *x, int64_t n)
{
    if (isfinite(mean)) {
        return mean;
    }
    double sum, squares;
    ry_row_sums(x, n, 0, &sum, &squares);
    return sum / (double)n;
}

static void run(const ry_cpu_launch *launch, int phase, size_t task, unsigned worker)
{
    (void)phase;
    (void)worker;
    const state *s = launch->state;
    const ry_problem *problem = launch->problem;
    const float *scale = ry_problem_has_input(problem, 1) ? launch->in[1] : NULL;
    const float *bias = ry_problem_has_input(problem, 2) ? launch->in[2] : NULL;
    float *means = ry_problem_has_output(problem, 1) ? launch->out[1] : NULL;
    float *inverses = ry_problem_has_output(problem, 2) ? launch->out[2] : NULL;
    const bool rms = problem->attrs.layer_norm.rms != 0;
    int64_t first = (int64_t)task * s->rows_per_task, end = first + s->rows_per_task < s->rows ? first + s->rows_per_task : s->rows;
    for (int64_t row = first; row < end; row++) {
        const float *x = (const float *)launch->in[0] + row * s->length;
        float *y = (float *)launch->out[0] + row * s->length;
        ry_moments m = {.count = (double)s->length};
        if (rms) {
            double sum;
            ry_row_sums(x, s->length, 0, &sum, &m.squares);
        } else {
            m = ry_row_moments(x, s->length);
        }
        double inverse = 1 / sqrt(m.squares / m.count + problem->attrs.layer_norm.epsilon);
        ry_row_apply(y, x, s->length, (float)m.mean, (float)(m.mean - (double)(float)m.mean), (float)inverse, 0);
        scale_row(y, scale, bias, s->length);
        if (means) {
            means[row] = (float)finite_or_summed(m.mean, x, s->length);
        }
        if (inverses) {
            inverses[row] = (float)inverse;
        }
    }
}

const ry_kernel RY_ISA_SYMBOL(layer_norm_f32) = {
    .name = "layer_norm_f32_" RY_ISA_TEXT,
    .op = RY_OP_layer_norm,
    .device = "cpu",
    .isa = RY_ISA_ID,
    .accuracy = RY_ACCURACY_strict,
    .rank = 20 + RY_ISA_ID,
    .applicable = applicable,
    .prepare = prepare,
    .initialise = initialise,
    .run = run,
};
