/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts a quantised depthwise convolution into rows of outputs. */
#include "kernels/cpu/qconv/qdepthwise_plan.h"

#include "base/integer.h"
#include "kernels/common/work.h"
#include "kernels/costs.h"
#include "kernels/packing.h"
#include "problem/window.h"

#include <string.h>

enum { MAX_TAPS = 1024 /* wider windows are left to others */ };

static void describe(const ry_query *query, qdepthwise_plan *plan)
{
    const ry_problem *problem = query->problem;
    const ry_tensor *x = &problem->in[0], *y = &problem->out[0];
    const ry_window window = ry_window_of(problem);
    memset(plan, 0, sizeof *plan);
    plan->batch = x->dim[0];
    plan->channels = x->dim[1];
    plan->x_batch = x->stride[0];
    plan->y_batch = y->stride[0];
    for (int i = 0; i < RY_SPACE; i++) {
        const int at = i - (RY_SPACE - window.rank);
        const ry_window_axis axis = at < 0 ? RY_WINDOW_UNIT : window.axis[at];
        plan->in[i] = axis.in;
        plan->out[i] = axis.out;
        plan->kernel[i] = axis.taps;
        plan->stride[i] = axis.stride;
        plan->dilation[i] = axis.dilation;
        plan->before[i] = axis.pad;
        plan->x_step[i] = at < 0 ? 0 : x->stride[at + 2];
        plan->y_step[i] = at < 0 ? 0 : y->stride[at + 2];
    }
    plan->width = QDEPTHWISE_TAPS * query->kernel->simd.width;
    plan->blocks = ry_ceil_div(plan->channels, plan->width);
    plan->words = ry_type_of(y) != RY_u8;
    plan->rows = plan->kernel[0] * plan->kernel[1];
    plan->quads = ry_ceil_div(plan->rows, QDEPTHWISE_TAPS);
    const bool pairs = query->kernel->simd.lane == RY_LANE_PAIR;
    plan->lanes = pairs ? 2 * plan->quads - (plan->rows % QDEPTHWISE_TAPS == 1) : plan->quads;
    const int64_t field = (plan->kernel[2] - 1) * plan->dilation[2],
                  column = plan->lanes * QDEPTHWISE_TAPS * plan->width;
    const int64_t strip = (int64_t)ry_costs_asked(query)->blocks.qdepthwise_strip_bytes;
    const int64_t most = ry_max(strip / column, field + 1);
    plan->strip = ry_clamp((most - field - 1) / plan->stride[2] + 1, 1, plan->out[2]);
    plan->columns = (plan->strip - 1) * plan->stride[2] + field + 1;
    plan->block_bytes = plan->width * (plan->lanes * plan->kernel[2] * QDEPTHWISE_TAPS +
                                       2 * (int64_t)sizeof(float));
    plan->cut = (ry_task_cut){{{plan->batch, 1}, {plan->out[0], 1}, {plan->out[1], 1}}};
}

static bool is_channels_last(const ry_tensor *t)
{
    return t->stride[1] == 1 || t->dim[1] == 1;
}

bool ry_qdepthwise_takes(const ry_problem *problem)
{
    if (problem->op != RY_OP_qconv) {
        return false;
    }
    const ry_tensor *x = &problem->in[0], *w = &problem->in[1], *y = &problem->out[0];
    if (x->rank < 3 || x->rank > 2 + RY_SPACE || ry_tensor_count(y) == 0 ||
        ry_tensor_count(x) == 0 || ry_tensor_count(w) == 0) {
        return false;
    }
    const ry_window window = ry_window_of(problem);
    int64_t taps = 1, field = 0;
    for (int i = 0; i < window.rank; i++) {
        taps = ry_product(taps, window.axis[i].taps);
        field = ry_max(field, ry_product(window.axis[i].taps, window.axis[i].dilation));
    }
    return problem->attrs.qconv.groups == x->dim[1] && y->dim[1] == x->dim[1] && taps <= MAX_TAPS &&
           field <= MAX_TAPS && is_channels_last(x) && is_channels_last(y) &&
           ry_tensor_is_row_major(w) && !ry_problem_has_input(problem, 3) &&
           ry_type_of(y) != RY_f64;
}

rynd_status ry_qdepthwise_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    qdepthwise_plan plan;
    (void)error;
    describe(query, &plan);
    const int64_t lanes = plan.lanes * plan.kernel[2];
    const double rows = (double)(plan.batch * plan.out[0] * plan.out[1]),
                 vectors = rows * (double)plan.blocks,
                 columns = (double)ry_min(plan.in[2], plan.out[2] * plan.stride[2]);
    *prepared = (ry_prepared){
        .phases = 1,
        .tasks = {(size_t)ry_cut_tasks(&plan.cut)},
        .state_size = ry_aligned(sizeof plan),
        .packed = ry_aligned((size_t)(plan.blocks * plan.block_bytes)),
        .pack_tasks = (size_t)plan.blocks,
        .scratch = ry_aligned((size_t)(plan.columns * plan.lanes * QDEPTHWISE_TAPS * plan.width))};
    const struct ry_qconv_costs *cost = &ry_costs_asked(query)->qconv;
    const bool pairs = query->kernel->simd.lane == RY_LANE_PAIR;
    const double finish = cost->finish + (plan.words ? cost->finish_wide : 0);
    const double cycles =
        vectors * (columns * (double)plan.quads * cost->interleave +
                   (double)plan.out[2] *
                       ((double)lanes * (pairs ? cost->pair_taps : cost->taps) + finish)) +
        rows * cost->row;
    prepared->work[0] = ry_work_of_cycles((ry_work){cycles, 0}, query->kernel->simd.width);
    return RYND_OK;
}

void ry_qdepthwise_initialise(const ry_query *query, void *state)
{
    describe(query, state);
}

void ry_qdepthwise_packing(const ry_prepared *prepared, ry_text *key)
{
    const qdepthwise_plan *plan = prepared->state;
    RY_PACKING_NUMBERS(key, plan->blocks, plan->block_bytes);
}
