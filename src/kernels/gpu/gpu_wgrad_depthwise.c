/* SPDX-License-Identifier: Apache-2.0 */
/* Weight gradients of convolutions whose groups have few input channels (wgrad_depthwise.cl). */
#include "base/integer.h"
#include "kernels/common/work.h"
#include "kernels/gpu/gpu_costs.h"
#include "kernels/gpu/gpu_define.h"
#include "kernels/gpu/gpu_kernel.h"
#include "kernels/gpu/gpu_lanes.h"
#include "kernels/gpu/gpu_texts.h"
#include "kernels/gpu/gpu_wgrad.h"

enum { MOST_CHANNELS = 4, MOST_TAPS = 27 };

/* Work-groups: taps of each, and how many. */
typedef struct direct_plan {
    ry_gpu_window w;
    int64_t taps, chunk, chunks, lanes, groups;
} direct_plan;

static bool applicable(const ry_problem *problem)
{
    return ry_gpu_wgrad_takes(problem) && problem->out[0].dim[1] <= MOST_CHANNELS;
}

static direct_plan plan_of(const ry_problem *problem, int64_t group, ry_gpu_wgrad *e)
{
    direct_plan p = {.taps = 1};
    ry_gpu_wgrad_fill(problem, e);
    p.w = ry_gpu_wgrad_window(problem, e);
    for (int i = 0; i < RY_GPU_AXES; i++) {
        p.taps *= p.w.axis[i].out;
    }
    p.chunks = ry_ceil_div(p.taps, MOST_TAPS);
    p.chunk = ry_ceil_div(p.taps, p.chunks);
    p.lanes = ry_gpu_lanes_of(&problem->in[1], group);
    p.groups = ry_ceil_div(p.w.groups * p.w.rows, p.lanes) * p.w.images * p.chunks;
    return p;
}

static rynd_status prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    const ry_gpu_costs *cost = ry_gpu_costs_of(query->target->machine);
    const int64_t group = ry_gpu_group_size(query, 128);
    ry_gpu_wgrad e;
    const direct_plan p = plan_of(query->problem, group, &e);
    const double items = (double)p.groups * (double)group,
                 terms = (double)ry_ceil_div(p.w.terms, group / p.lanes);
    if (p.groups > INT32_MAX) {
        return ry_fail(error, RYND_ERROR_UNSUPPORTED, "more groups than a launch has");
    }
    ry_gpu_group_prepare(group, p.groups, prepared);
    ry_count_work(items *
                      (terms * ((double)p.chunk * (cost->depthwise_load + cost->depthwise_product) +
                                cost->depthwise_weight) +
                       cost->depthwise_output * (double)p.chunk),
                  ry_problem_bytes(query->problem), prepared);
    return RYND_OK;
}

static void define(const ry_query *query, const ry_prepared *prepared, ry_text *text)
{
    ry_gpu_wgrad e;
    const direct_plan p = plan_of(query->problem, prepared->form.value[RY_GPU_GROUP_KNOB], &e);
    ry_gpu_window_define(&e.problem, &p.w, text);
    ry_gpu_wgrad_define_bias(query->problem, text);
    ry_gpu_lanes_define(prepared, p.lanes, text);
    ry_gpu_define(text, "BATCHES", p.w.groups);
    ry_gpu_define(text, "CHUNK", p.chunk);
    ry_gpu_define(text, "CHUNKS", p.chunks);
}

static const char *const entries[] = {"run"};
static const ry_gpu_kernel gpu = {ry_gpu_text_wgrad_depthwise, entries, 1, define};

RY_GPU_KERNEL(conv_bwd_weights_f32_depthwise_gpu, conv, strict, RY_GPU_GROUP_KNOB_FIELDS,
              .applicable = applicable, .prepare = prepare, .gpu = &gpu);
