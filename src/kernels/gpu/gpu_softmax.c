/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax and its logarithm on a GPU, of any strides in memory. */
#include "base/integer.h"
#include "kernels/common/work.h"
#include "kernels/gpu/gpu_define.h"
#include "kernels/gpu/gpu_group.h"
#include "kernels/gpu/gpu_kernel.h"
#include "kernels/gpu/gpu_offset.h"
#include "kernels/gpu/gpu_texts.h"

/* The lanes of x and y: dims before and behind those of a lane, and those of a lane. */
typedef struct softmax_lanes {
    int64_t lanes, length;
    ry_gpu_dims x_lane, y_lane, x, y;
    bool columns; /* elements of a lane are further apart than lanes are */
} softmax_lanes;

static softmax_lanes lanes_of(const ry_problem *problem)
{
    const ry_tensor *x = &problem->in[0], *y = &problem->out[0];
    const int begin = ry_axis(problem->attrs.softmax.axis, x->rank),
              end = problem->attrs.softmax.flatten ? x->rank : begin + 1;
    softmax_lanes l = {.lanes = 1, .length = 1};
    int64_t inside = INT64_MAX, outside = INT64_MAX;
    for (int d = 0; d < x->rank; d++) {
        const bool in_lane = d >= begin && d < end;
        *(in_lane ? &l.length : &l.lanes) *= x->dim[d];
        ry_gpu_dims_add(in_lane ? &l.x : &l.x_lane, x->dim[d], x->stride[d]);
        ry_gpu_dims_add(in_lane ? &l.y : &l.y_lane, x->dim[d], y->stride[d]);
        if (x->dim[d] > 1) {
            int64_t *least = in_lane ? &inside : &outside;
            *least = x->stride[d] < *least ? x->stride[d] : *least;
        }
    }
    l.columns = outside < inside;
    return l;
}

static bool applicable(const ry_problem *problem)
{
    return ry_problem_has_input(problem, 0) && ry_problem_has_output(problem, 0) &&
           problem->attrs.softmax.kind != RY_softmax_kind_hardmax &&
           ry_gpu_is_float(&problem->in[0]) && ry_gpu_is_float(&problem->out[0]) &&
           ry_tensor_count(&problem->in[0]) > 0 && problem->in[0].rank > 0 &&
           ry_axis(problem->attrs.softmax.axis, problem->in[0].rank) >= 0 &&
           ry_axis(problem->attrs.softmax.axis, problem->in[0].rank) < problem->in[0].rank;
}

static rynd_status prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    const softmax_lanes l = lanes_of(query->problem);
    const int64_t group = ry_gpu_group_size(query, l.columns || l.length <= 512 ? 64 : 256);
    (void)error;
    ry_gpu_group_prepare(group, l.columns ? ry_ceil_div(l.lanes, group) : l.lanes, prepared);
    ry_count_work((double)l.lanes * (double)(l.columns ? l.length : ry_round_up(l.length, group)) *
                      40,
                  ry_problem_bytes(query->problem), prepared);
    return RYND_OK;
}

static void define(const ry_query *query, const ry_prepared *prepared, ry_text *text)
{
    const softmax_lanes l = lanes_of(query->problem);
    ry_gpu_define_types(text, query->problem, ry_gpu_is_wide(query->problem));
    ry_gpu_group_define(prepared, text);
    ry_gpu_define(text, "LANES", l.lanes);
    ry_gpu_define(text, "LENGTH", l.length);
    ry_gpu_define(text, "COLUMNS", l.columns);
    ry_gpu_define(text, "LOGARITHM",
                  query->problem->attrs.softmax.kind == RY_softmax_kind_log_softmax);
    ry_gpu_define_offset(text, "x_lane_at", &l.x_lane);
    ry_gpu_define_offset(text, "y_lane_at", &l.y_lane);
    ry_gpu_define_offset(text, "x_at", &l.x);
    ry_gpu_define_offset(text, "y_at", &l.y);
}

static const char *const entries[] = {"run"};
static const ry_gpu_kernel gpu = {ry_gpu_text_softmax, entries, 1, define};

RY_GPU_KERNEL(softmax_gpu, softmax, strict, RY_GPU_GROUP_KNOB_FIELDS, .applicable = applicable,
              .prepare = prepare, .gpu = &gpu);
