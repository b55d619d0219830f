/* SPDX-License-Identifier: Apache-2.0 */
/* Batch normalisation for inference, f32: a factor and an offset a channel, over rows of one channel (NCHW) or of all channels (NHWC). */
#include "kernels/cpu/common/dense_lanes.h"
#include "kernels/cpu/common/isa.h"
#include "kernels/cpu/norm/moments.h"

#include <math.h>

typedef struct state {
    ry_lanes lanes;
    int64_t rows, rows_per_task;
} state;

static void describe(const ry_problem *problem, state *s)
{
    ry_lanes_make(&problem->in[0], 1, 2, &s->lanes);
    bool by_channel = s->lanes.inner > 1;
    s->rows = by_channel ? s->lanes.outer * s->lanes.length : s->lanes.outer;
    s->rows_per_task = ry_lanes_per_task(s->rows, 4 * (by_channel ? s->lanes.inner : s->lanes.length));
}

static bool applicable(const ry_problem *problem)
{
    ry_lanes lanes;
    if (problem->inputs < 5 || !ry_problem_has_output(problem, 0) || problem->out[0].dtype != RYND_DTYPE_F32 || problem->in[0].rank < 2) {
        return false;
    }
    for (int i = 0; i < 5; i++) {
        const ry_tensor *t = &problem->in[i];
        if (t->dtype != RYND_DTYPE_F32 || (i > 0 && (t->rank != 1 || !ry_tensor_is_row_major(t)))) {
            return false;
        }
    }
    return ry_lanes_alike(&problem->in[0], &problem->out[0]) && ry_lanes_make(&problem->in[0], 1, 2, &lanes);
}

static rynd_status prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    const ry_problem *problem = query->problem;
    (void)error;
    state s;
    describe(problem, &s);
    prepared->phases = 1;
    prepared->tasks[0] = ry_lanes_tasks(s.rows, s.rows_per_task);
    prepared->state_size = sizeof s;
    prepared->scratch = s.lanes.inner > 1 ? 0 : (size_t)(s.lanes.length + 15) / 16 * 64;
    return RYND_OK;
}

static void initialise(const ry_query *query, const ry_prepared *prepared, void *memory)
{
    const ry_problem *problem = query->problem;
    (void)prepared;
    describe(problem, memory);
}

static void run(const ry_cpu_launch *launch, int phase, size_t task, unsigned worker)
{
    (void)phase;
    const state *s = launch->state;
    const float *scale = launch->in[1], *bias = launch->in[2], *mean = launch->in[3], *variance = launch->in[4];
    const double epsilon = launch->problem->attrs.batch_norm.epsilon;
    const int64_t channels = s->lanes.length, inner = s->lanes.inner;
    int64_t first = (int64_t)task * s->rows_per_task, end = first + s->rows_per_task < s->rows ? first + s->rows_per_task : s->rows;
    if (inner > 1) {
        for (int64_t row = first; row < end; row++) {
            int64_t c = row % channels;
            float factor = (float)((double)scale[c] / sqrt((double)variance[c] + epsilon));
            ry_row_apply((float *)launch->out[0] + row * inner, (const float *)launch->in[0] + row * inner, inner, mean[c], 0, factor,
                         bias[c]);
        }
        return;
    }
    float *restrict factor = (float *)(void *)(launch->scratch + worker * launch->prepared->scratch);
    for (int64_t c = 0; c < channels; c++) {
        factor[c] = (float)((double)scale[c] / sqrt((double)variance[c] + epsilon));
    }
    for (int64_t row = first; row < end; row++) {
        float *restrict y = (float *)launch->out[0] + row * channels;
        const float *restrict x = (const float *)launch->in[0] + row * channels;
        for (int64_t c = 0; c < channels; c++) {
            y[c] = (x[c] - mean[c]) * factor[c] + bias[c];
        }
    }
}

const ry_kernel RY_ISA_SYMBOL(batch_norm_f32) = {
    .name = "batch_norm_f32_" RY_ISA_TEXT,
    .family = "batch_norm_f32",
    .op = RY_OP_batch_norm,
    .device = RY_DEVICE_cpu,
    .isa = RY_ISA_ID,
    .accuracy = RY_ACCURACY_strict,
    .applicable = applicable,
    .prepare = prepare,
    .initialise = initialise,
    .run = run,
};
