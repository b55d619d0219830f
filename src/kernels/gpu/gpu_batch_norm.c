/* SPDX-License-Identifier: Apache-2.0 */
/* Batch normalisation by the statistics of the batch on a GPU, and its gradient, of any strides in
 * memory. */
#include "base/integer.h"
#include "kernels/common/batch_norm_over.h"
#include "kernels/common/work.h"
#include "kernels/gpu/expr_text.h"
#include "kernels/gpu/gpu_costs.h"
#include "kernels/gpu/gpu_define.h"
#include "kernels/gpu/gpu_kernel.h"
#include "kernels/gpu/gpu_lanes.h"
#include "kernels/gpu/gpu_offset.h"
#include "kernels/gpu/gpu_texts.h"

#include <math.h>

enum {
    GROUPS = 512,   /* that fill a device */
    SHORTEST = 8,   /* elements of an item that are worth another part */
    MOST_PARTS = 64 /* each is joined by every group of its channels */
};

/* How channels are handed out. */
typedef struct norm_plan {
    int64_t channels, elements; /* channels; elements of a channel */
    int64_t lanes, part, parts; /* channels of a group; elements of a part */
} norm_plan;

static norm_plan plan_of(const ry_problem *problem, int64_t group)
{
    const ry_tensor *x = &problem->in[problem->op == RY_OP_batch_norm_train ? 0 : 1];
    norm_plan p = {.channels = x->dim[1],
                   .elements = ry_tensor_count(x) / x->dim[1],
                   .lanes = ry_gpu_lanes_of(x, group)};
    const int64_t blocks = ry_ceil_div(p.channels, p.lanes), rows = group / p.lanes;
    p.parts = ry_clamp(ry_min(GROUPS / blocks, p.elements / (rows * SHORTEST)), 1, MOST_PARTS);
    p.part = ry_ceil_div(p.elements, p.parts);
    p.parts = ry_ceil_div(p.elements, p.part);
    return p;
}

static bool is_there(const ry_problem *problem, int i)
{
    return ry_problem_has_input(problem, i) && ry_gpu_is_float(&problem->in[i]);
}

static bool outputs_fit(const ry_problem *problem)
{
    for (int i = 0; i < problem->outputs; i++) {
        if (ry_problem_has_output(problem, i) && !ry_gpu_is_float(&problem->out[i])) {
            return false;
        }
    }
    return ry_problem_has_output(problem, 0);
}

/* Inputs first to end - 1 have an element for each channel. */
static bool per_channel(const ry_problem *problem, int first, int end)
{
    for (int i = first; i < end; i++) {
        if (!is_there(problem, i) || problem->in[i].rank != 1) {
            return false;
        }
    }
    return outputs_fit(problem) && problem->in[0].rank >= 2 && ry_tensor_count(&problem->in[0]) > 0;
}

static bool takes_train(const ry_problem *problem)
{
    return per_channel(problem, 1, 5) && is_there(problem, 0) &&
           (!ry_problem_has_input(problem, 5) || is_there(problem, 5));
}

static bool takes_gradient(const ry_problem *problem)
{
    return per_channel(problem, 2, 5) && is_there(problem, 0) && is_there(problem, 1) &&
           (problem->attrs.batch_norm_grad.activation == RY_activation_none ||
            is_there(problem, 5));
}

static rynd_status prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    const ry_problem *problem = query->problem;
    const int64_t group = ry_gpu_group_size(query, 256);
    const norm_plan p = plan_of(problem, group);
    const int64_t tasks = ry_ceil_div(p.channels, p.lanes) * p.parts;
    const double elements = (double)ry_round_up(p.channels, p.lanes) * (double)p.elements,
                 work = elements * ry_gpu_costs_of(query->target->machine)->batch_norm_element;
    (void)error;
    ry_gpu_group_prepare(group, tasks, prepared);
    prepared->phases = 2;
    prepared->tasks[1] = prepared->tasks[0];
    prepared->group[1] = prepared->group[0];
    prepared->workspace = (size_t)(2 * p.parts * p.channels) * sizeof(float);
    ry_count_work(work, 2 * ry_problem_bytes(problem), prepared);
    prepared->work[1] = (ry_work){work + (double)tasks * (double)group * (double)p.parts * 4, 0};
    prepared->counts.flop += prepared->work[1].all;
    return RYND_OK;
}

/* NAME_CHANNEL, the stride of a tensor's channels, and name_at(i), of a channel's elements. */
static void define_tensor(const ry_tensor *tensor, const char *name, const char *offset,
                          ry_text *text)
{
    ry_gpu_dims dims = {0};
    ry_text_add(text, "#define %s_CHANNEL (%lld)\n", name, (long long)tensor->stride[1]);
    ry_gpu_dims_add(&dims, tensor->dim[0], tensor->stride[0]);
    for (int d = 2; d < tensor->rank; d++) {
        ry_gpu_dims_add(&dims, tensor->dim[d], tensor->stride[d]);
    }
    ry_gpu_define_offset(text, offset, &dims);
}

/* What both texts are told; STEP_i and Y_STEP_i of the tensors that have an element a channel. */
static void define_plan(const ry_query *query, const ry_prepared *prepared, ry_text *text)
{
    const ry_problem *problem = query->problem;
    const norm_plan p = plan_of(problem, prepared->form.value[RY_GPU_GROUP_KNOB]);
    ry_gpu_define_types(text, problem, ry_gpu_is_wide(problem));
    ry_gpu_define_outputs(text, problem);
    ry_gpu_lanes_define(prepared, p.lanes, text);
    ry_gpu_define(text, "CHANNELS", p.channels);
    ry_gpu_define(text, "ELEMENTS", p.elements);
    ry_gpu_define(text, "PARTS", p.parts);
    ry_gpu_define(text, "PART", p.part);
    for (int i = 0; i < problem->inputs; i++) {
        if (ry_problem_has_input(problem, i) && problem->in[i].rank == 1) {
            ry_gpu_define_axis(text, "STEP", i, problem->in[i].stride[0]);
        }
    }
    for (int i = 0; i < problem->outputs; i++) {
        if (ry_problem_has_output(problem, i) && problem->out[i].rank == 1) {
            ry_gpu_define_axis(text, "Y_STEP", i, problem->out[i].stride[0]);
        }
    }
}

static void define_train(const ry_query *query, const ry_prepared *prepared, ry_text *text)
{
    const ry_problem *problem = query->problem;
    const ry_batch_norm_train_attrs *a = &problem->attrs.batch_norm_train;
    define_plan(query, prepared, text);
    ry_gpu_define_float(text, "EPSILON", a->epsilon);
    ry_gpu_define_float(text, "TAKEN", a->momentum);
    ry_gpu_define_float(text, "KEPT", 1 - a->momentum);
    define_tensor(&problem->in[0], "X", "x_at", text);
    define_tensor(&problem->out[0], "Y", "y_at", text);
    if (ry_problem_has_input(problem, 5)) {
        define_tensor(&problem->in[5], "RESIDUAL", "residual_at", text);
    }
    ry_gpu_activation(text, a->activation, (float)a->act_alpha, (float)a->act_beta);
}

static void define_gradient(const ry_query *query, const ry_prepared *prepared, ry_text *text)
{
    const ry_problem *problem = query->problem;
    const ry_batch_norm_grad_attrs *a = &problem->attrs.batch_norm_grad;
    const bool clip = a->activation == RY_activation_clip,
               active = a->activation != RY_activation_none;
    define_plan(query, prepared, text);
    ry_gpu_define(text, "FIXED", a->fixed != 0);
    ry_gpu_define(text, "HAS_ACTIVATION", active);
    ry_gpu_define_float(text, "LOW", clip ? a->act_alpha : 0);
    ry_gpu_define_float(text, "HIGH", clip ? a->act_beta : INFINITY);
    ry_text_add(text, "#define PASSES(y) (!((y) <= LOW%s))\n", clip ? " || (y) >= HIGH" : "");
    define_tensor(&problem->in[0], "DY", "dy_at", text);
    define_tensor(&problem->in[1], "X", "x_at", text);
    define_tensor(&problem->out[0], "DX", "dx_at", text);
    if (active) {
        define_tensor(&problem->in[5], "Y", "y_at", text);
    }
    if (ry_problem_has_output(problem, 3)) {
        define_tensor(&problem->out[3], "RESIDUAL", "residual_at", text);
    }
}

static const char *const train_entries[] = {"moments", "run"};
static const char *const gradient_entries[] = {"sums", "run"};
static const ry_gpu_kernel train = {ry_gpu_text_batch_norm, train_entries, 2, define_train};
static const ry_gpu_kernel gradient = {ry_gpu_text_batch_norm_grad, gradient_entries, 2,
                                       define_gradient};

RY_GPU_KERNEL(batch_norm_train_gpu, batch_norm_train, strict, RY_GPU_GROUP_KNOB_FIELDS,
              .applicable = takes_train, .prepare = prepare, .gpu = &train,
              .over = RY_BATCH_NORM_TRAIN_OVER);
RY_GPU_KERNEL(batch_norm_grad_gpu, batch_norm_grad, strict, RY_GPU_GROUP_KNOB_FIELDS,
              .applicable = takes_gradient, .prepare = prepare, .gpu = &gradient,
              .over = RY_BATCH_NORM_GRAD_OVER);
