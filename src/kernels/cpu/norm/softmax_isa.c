/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax and log-softmax along any axis, computed in f32: by rows where the axis is contiguous, else by blocks of columns side by side. Blocks of f16 and
 * bf16 are converted in scratch memory. */
#include "kernels/cpu/common/dense_lanes.h"
#include "kernels/cpu/common/half_rows.h"
#include "kernels/cpu/common/isa.h"
#include "kernels/cpu/common/simd.h"
#include "kernels/cpu/common/vector_math.h"

/* Columns of a block: their maxima and sums stay in L1, and a line of the block fills cache lines. */
enum { COLUMNS = 256 };

typedef struct state {
    ry_lanes lanes;
    int64_t blocks; /* of columns, for each outer position; 0: by rows */
    int64_t units, units_per_task;
} state;

static bool lanes_of(const ry_problem *problem, ry_lanes *lanes)
{
    const ry_softmax_attrs *a = &problem->attrs.softmax;
    int rank = problem->in[0].rank, axis = ry_axis(a->axis, rank);
    return axis >= 0 && ry_lanes_make(&problem->in[0], axis, a->flatten ? rank : axis + 1, lanes);
}

static void describe(const ry_problem *problem, state *s)
{
    *s = (state){0};
    lanes_of(problem, &s->lanes);
    int64_t inner = s->lanes.inner;
    s->blocks = inner > 1 ? (inner + COLUMNS - 1) / COLUMNS : 0;
    s->units = s->lanes.outer * (s->blocks ? s->blocks : 1);
    s->units_per_task = ry_lanes_per_task(s->units, 4 * s->lanes.length * (inner < COLUMNS ? inner : COLUMNS));
}

static bool applicable(const ry_problem *problem)
{
    ry_lanes lanes;
    return ry_problem_has_input(problem, 0) && ry_problem_has_output(problem, 0) && ry_row_dtype(problem->in[0].dtype) &&
           problem->out[0].dtype == problem->in[0].dtype && problem->attrs.softmax.kind != RY_softmax_kind_hardmax &&
           ry_lanes_alike(&problem->in[0], &problem->out[0]) && lanes_of(problem, &lanes);
}

static rynd_status prepare(const ry_problem *problem, ry_prepared *prepared, ry_error *error)
{
    (void)error;
    state s;
    describe(problem, &s);
    prepared->phases = 1;
    prepared->tasks[0] = ry_lanes_tasks(s.units, s.units_per_task);
    prepared->state = sizeof s;
    if (problem->in[0].dtype != RYND_DTYPE_F32) { /* a block, and its result */
        int64_t columns = s.lanes.inner < COLUMNS ? s.lanes.inner : COLUMNS;
        prepared->scratch = (size_t)(2 * s.lanes.length * columns + 15) / 16 * 64;
    }
    return RYND_OK;
}

static void initialise(const ry_problem *problem, const ry_prepared *prepared, void *memory)
{
    (void)prepared;
    describe(problem, memory);
}

static float row_maximum(const float *x, int64_t n)
{
    ry_vf m = ry_vf_set(-INFINITY);
    float lanes[RY_W], best = -INFINITY;
    int64_t i = 0;
    for (; i + RY_W <= n; i += RY_W) {
        m = ry_vf_max(ry_vf_load(x + i), m);
    }
    ry_vf_store(lanes, m);
    for (; i < n; i++) {
        best = x[i] > best ? x[i] : best;
    }
    for (int k = 0; k < RY_W; k++) {
        best = lanes[k] > best ? lanes[k] : best;
    }
    return best;
}

static float row_sum(const float *x, int64_t n)
{
    ry_vf s[2] = {ry_vf_zero(), ry_vf_zero()};
    float rest = 0;
    int64_t i = 0;
    for (; i + 2 * RY_W <= n; i += 2 * RY_W) {
        s[0] = ry_vf_add(s[0], ry_vf_load(x + i));
        s[1] = ry_vf_add(s[1], ry_vf_load(x + i + RY_W));
    }
    for (; i < n; i++) {
        rest += x[i];
    }
    return ry_vf_sum(ry_vf_add(s[0], s[1])) + rest;
}

static void softmax_row(float *restrict y, const float *restrict x, int64_t n, bool logarithm)
{
    float shift = row_maximum(x, n);
    for (int64_t i = 0; i < n; i++) {
        y[i] = ry_f32_exp(x[i] - shift);
    }
    float sum = row_sum(y, n);
    if (logarithm) {
        float less = ry_f32_log(sum);
        for (int64_t i = 0; i < n; i++) {
            y[i] = (x[i] - shift) - less;
        }
    } else {
        float factor = 1 / sum;
        for (int64_t i = 0; i < n; i++) {
            y[i] *= factor;
        }
    }
}

static void add_exponentials(float *restrict y, const float *restrict x, const float *restrict shift, float *restrict sum, int64_t columns)
{
    for (int64_t i = 0; i < columns; i++) {
        y[i] = ry_f32_exp(x[i] - shift[i]);
        sum[i] += y[i];
    }
}

/* `columns` softmaxes of `length` elements that lie `step` apart. */
static void softmax_columns(float *restrict y, const float *restrict x, int64_t length, int64_t step, int64_t columns, bool logarithm)
{
    float shift[COLUMNS], sum[COLUMNS];
    for (int64_t i = 0; i < columns; i++) {
        shift[i] = x[i];
        sum[i] = 0;
    }
    for (int64_t k = 1; k < length; k++) {
        for (int64_t i = 0; i < columns; i++) {
            shift[i] = x[k * step + i] > shift[i] ? x[k * step + i] : shift[i];
        }
    }
    for (int64_t k = 0; k < length; k++) {
        add_exponentials(y + k * step, x + k * step, shift, sum, columns);
    }
    for (int64_t i = 0; i < columns; i++) {
        sum[i] = logarithm ? ry_f32_log(sum[i]) : 1 / sum[i];
    }
    for (int64_t k = 0; k < length; k++) {
        for (int64_t i = 0; i < columns; i++) {
            y[k * step + i] = logarithm ? (x[k * step + i] - shift[i]) - sum[i] : y[k * step + i] * sum[i];
        }
    }
}

/* `columns` lanes (one, where lanes are rows) from element `at` on. */
static void softmax_block(const state *s, float *y, const float *x, int64_t step, int64_t columns, bool logarithm)
{
    if (s->blocks == 0) {
        softmax_row(y, x, s->lanes.length, logarithm);
    } else {
        softmax_columns(y, x, s->lanes.length, step, columns, logarithm);
    }
}

static void run(const ry_cpu_launch *launch, int phase, size_t task, unsigned worker)
{
    (void)phase;
    const state *s = launch->state;
    const rynd_dtype dtype = launch->problem->in[0].dtype;
    const int64_t length = s->lanes.length, inner = s->lanes.inner;
    const bool logarithm = launch->problem->attrs.softmax.kind == RY_softmax_kind_log_softmax;
    float *block = (float *)(void *)(launch->scratch + worker * launch->prepared->scratch);
    int64_t first = (int64_t)task * s->units_per_task, end = first + s->units_per_task < s->units ? first + s->units_per_task : s->units;
    for (int64_t unit = first; unit < end; unit++) {
        int64_t column = s->blocks ? unit % s->blocks * COLUMNS : 0, at = (s->blocks ? unit / s->blocks : unit) * length * inner + column;
        int64_t columns = inner - column < COLUMNS ? inner - column : COLUMNS;
        if (dtype == RYND_DTYPE_F32) {
            softmax_block(s, (float *)launch->out[0] + at, (const float *)launch->in[0] + at, inner, columns, logarithm);
            continue;
        }
        float *result = block + length * columns;
        int64_t rows = s->blocks ? length : 1, width = s->blocks ? columns : length;
        for (int64_t k = 0; k < rows; k++) {
            ry_row_load(dtype, block + k * width, launch->in[0], at + k * inner, width);
        }
        softmax_block(s, result, block, columns, columns, logarithm);
        for (int64_t k = 0; k < rows; k++) {
            ry_row_store(dtype, launch->out[0], at + k * inner, result + k * width, width);
        }
    }
}

const ry_kernel RY_ISA_SYMBOL(softmax_f32) = {
    .name = "softmax_f32_" RY_ISA_TEXT,
    .op = RY_OP_softmax,
    .device = "cpu",
    .isa = RY_ISA_ID,
    .accuracy = RY_ACCURACY_strict,
    .rank = 20 + RY_ISA_ID,
    .applicable = applicable,
    .prepare = prepare,
    .initialise = initialise,
    .run = run,
};
