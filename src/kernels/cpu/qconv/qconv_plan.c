/* SPDX-License-Identifier: Apache-2.0 */
/* Describes a quantised convolution as one of quads, and asks the implicit GEMM about it. */
#include "kernels/cpu/qconv/qconv_plan.h"

#include "base/integer.h"
#include "kernels/common/work.h"
#include "kernels/costs.h"
#include "kernels/cpu/igemm/igemm_prepare.h"

#include <string.h>

/* Can the kernel read quads from x without a copy? */
static bool reads_quads(const ry_tensor *x, int64_t groups)
{
    bool whole = x->dim[1] / groups % QCONV_QUAD == 0 && x->stride[1] == 1;
    for (int i = 0; i < x->rank; i++) {
        whole = whole && (i == 1 || x->dim[i] == 1 || x->stride[i] % QCONV_QUAD == 0);
    }
    return whole;
}

static ry_tensor quads_of(const ry_tensor *x, int64_t groups, int64_t group_quads, bool copied)
{
    ry_shape shape = ry_tensor_shape(x);
    shape.dim[1] = groups * group_quads;
    ry_tensor quads = ry_tensor_channels_last(RY_i32, &shape, NULL);
    for (int i = 0; !copied && i < x->rank; i++) {
        quads.stride[i] = i == 1 ? 1 : x->stride[i] / QCONV_QUAD;
    }
    return quads;
}

static ry_tensor row_major(ry_dtype dtype, ry_shape shape)
{
    return ry_tensor_row_major(dtype, &shape, NULL);
}

/* y of floats is described as bytes: the implicit GEMM leaves it to the kernel's own store. */
static ry_tensor describe_y(ry_tensor y)
{
    if (ry_type_of(&y) == RY_f32) {
        y.dtype = RYND_DTYPE_U8;
    }
    return y;
}

static void describe(const ry_problem *problem, int64_t lane, qconv_plan *plan)
{
    const ry_qconv_attrs *attrs = &problem->attrs.qconv;
    const ry_tensor *x = &problem->in[0], *w = &problem->in[1];
    memset(plan, 0, sizeof *plan);
    plan->lane = lane;
    plan->group_quads = ry_ceil_div(x->dim[1] / attrs->groups, lane);
    plan->copied = lane != QCONV_QUAD || !reads_quads(x, attrs->groups);
    plan->whole_pixels = x->stride[1] == 1 && x->dim[1] / attrs->groups >= QCONV_PIXEL;
    ry_shape weights = ry_tensor_shape(w);
    weights.dim[1] = plan->group_quads;
    plan->in[0] = quads_of(x, attrs->groups, plan->group_quads, plan->copied);
    plan->in[1] = row_major(RY_i32, weights);
    plan->in[2] = row_major(RY_i32, (ry_shape){.rank = 1, .dim = {w->dim[0]}});
    if (ry_problem_has_input(problem, 3)) {
        plan->in[3] = problem->in[3];
    }
    plan->out[0] = describe_y(problem->out[0]);
    plan->rows = ry_type_of(&problem->out[0]) == RY_u8 && problem->out[0].stride[1] == 1 &&
                 (!ry_problem_has_input(problem, 3) || problem->in[3].stride[1] == 1);
    plan->conv = (ry_problem){.op = RY_OP_conv,
                              .accuracy = problem->accuracy,
                              .attrs = ry_attrs_default(RY_OP_conv),
                              .inputs = QCONV_INPUTS,
                              .outputs = 1,
                              .in = plan->in,
                              .out = plan->out};
    ry_conv_attrs *conv = &plan->conv.attrs.conv;
    conv->stride = attrs->stride;
    conv->dilation = attrs->dilation;
    conv->pads = attrs->pads;
    conv->groups = attrs->groups;
    plan->copy_rows = ry_tensor_count(x) / (x->dim[1] * x->dim[x->rank - 1]);
    plan->copy = plan->copied ? ry_aligned(ry_tensor_bytes(&plan->in[0])) : 0;
}

static int64_t lane_of(const ry_query *query)
{
    return query->kernel->simd.lane == RY_LANE_PAIR ? QCONV_PAIR : QCONV_QUAD;
}

static void describe_cut(const ry_query *query, qconv_plan *plan)
{
    const ry_tensor *x = &query->problem->in[0];
    describe(query->problem, lane_of(query), plan);
    plan->offset = ry_lane_offset(query->kernel->simd.lane);
    const int64_t row = x->dim[x->rank - 1] * query->problem->attrs.qconv.groups *
                        plan->group_quads * plan->lane,
                  bytes = (int64_t)ry_costs_asked(query)->blocks.qconv_task_bytes;
    plan->rows_of_task = ry_min(ry_ceil_div(bytes, row), plan->copy_rows);
}

/* Has no tensor a dim of 0? Then nothing of it is described. */
static bool is_whole(const ry_problem *problem)
{
    return problem->in[0].rank >= 3 && ry_tensor_count(&problem->in[0]) > 0 &&
           ry_tensor_count(&problem->in[1]) > 0 && ry_tensor_count(&problem->out[0]) > 0;
}

bool ry_qconv_takes(const ry_problem *problem)
{
    qconv_plan plan;
    if (problem->op != RY_OP_qconv || !is_whole(problem) ||
        ry_type_of(&problem->out[0]) == RY_f64 || !ry_tensor_is_row_major(&problem->in[1])) {
        return false;
    }
    describe(problem, QCONV_QUAD, &plan);
    return ry_conv_is_spatial(&plan.conv);
}

void ry_qconv_values(const ry_query *query, int knob, ry_knob_values *values)
{
    qconv_plan plan;
    describe(query->problem, lane_of(query), &plan);
    ry_query asked = *query;
    asked.problem = &plan.conv;
    ry_igemm_values(&asked, knob, values);
}

/* Cycles of copying x. */
static double copy_cycles(const ry_query *query, const qconv_plan *plan)
{
    const struct ry_qconv_costs *cost = &ry_costs_asked(query)->qconv;
    const double elements = (double)ry_tensor_count(&plan->in[0]);
    return plan->whole_pixels
               ? elements / (double)plan->group_quads *
                     (cost->pixel +
                      cost->pixel_vector *
                          (double)ry_ceil_div(plan->group_quads, query->kernel->simd.width))
               : elements * cost->element;
}

/* A phase before the others copies x. */
static void add_copy(const ry_query *query, const qconv_plan *plan, ry_prepared *prepared)
{
    for (int i = prepared->phases; i > 0; i--) {
        prepared->tasks[i] = prepared->tasks[i - 1];
        prepared->work[i] = prepared->work[i - 1];
    }
    prepared->phases++;
    prepared->tasks[0] = (size_t)ry_ceil_div(plan->copy_rows, plan->rows_of_task);
    prepared->work[0] =
        ry_work_of_cycles((ry_work){copy_cycles(query, plan), 0}, query->kernel->simd.width);
    prepared->workspace += plan->copy;
}

/* What the ends of sums cost beside those of bytes without a residual. */
static void add_ends(const ry_query *query, ry_prepared *prepared)
{
    const struct ry_qconv_costs *cost = &ry_costs_asked(query)->qconv;
    const ry_tensor *y = &query->problem->out[0];
    const int64_t width = query->kernel->simd.width;
    const double vectors =
        (double)(ry_tensor_count(y) / y->dim[1]) * (double)ry_ceil_div(y->dim[1], width);
    const double cycles =
        vectors * ((ry_type_of(y) == RY_u8 ? 0 : cost->wide) +
                   (ry_problem_has_input(query->problem, 3) ? cost->residual : 0));
    const ry_work more = ry_work_of_cycles((ry_work){cycles, 0}, width);
    const int last = prepared->phases - 1;
    prepared->work[last].all += more.all;
    prepared->work[last].largest += more.all / (double)prepared->tasks[last];
}

rynd_status ry_qconv_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    qconv_plan plan;
    describe_cut(query, &plan);
    ry_query asked = *query;
    asked.problem = &plan.conv;
    RY_TRY(ry_igemm_prepare(&asked, prepared, error));
    add_ends(query, prepared);
    prepared->state_size += ry_aligned(sizeof plan);
    if (plan.copied) {
        add_copy(query, &plan, prepared);
    }
    const size_t channels = (size_t)plan.in[2].dim[0];
    prepared->packed += 2 * ry_aligned(channels * sizeof(int32_t));
    return RYND_OK;
}

void ry_qconv_initialise(const ry_query *query, void *state)
{
    qconv_plan *plan = state;
    describe_cut(query, plan);
    ry_query asked = *query;
    asked.problem = &plan->conv;
    igemm_plan *igemm = (igemm_plan *)(void *)((char *)state + ry_aligned(sizeof *plan));
    ry_igemm_initialise(&asked, igemm);
    igemm->fill = (int32_t)((uint32_t)query->problem->attrs.qconv.x_zero *
                            (plan->lane == QCONV_QUAD ? 0x01010101u : 0x00010001u));
    plan->starts =
        ry_aligned((size_t)(igemm->geometry.groups * igemm->packed_group) * sizeof(float));
    plan->scales = plan->starts + ry_aligned((size_t)plan->in[2].dim[0] * sizeof(int32_t));
    plan->conv.in = plan->conv.out = NULL;
}

void ry_qconv_packing(const ry_prepared *prepared, ry_text *key)
{
    ry_igemm_packing_of(qconv_igemm(prepared->state), key);
}

ry_cpu_launch ry_qconv_launch(const ry_cpu_launch *launch, ry_problem *conv)
{
    const qconv_plan *plan = launch->state;
    *conv = plan->conv;
    conv->in = plan->in;
    conv->out = plan->out;
    ry_cpu_launch as_conv = *launch;
    as_conv.problem = conv;
    as_conv.state = qconv_igemm(plan);
    as_conv.phase -= plan->copied;
    as_conv.workspace = (char *)launch->workspace + plan->copy;
    return as_conv;
}
