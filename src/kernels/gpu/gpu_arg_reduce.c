/* SPDX-License-Identifier: Apache-2.0 */
/* Positions of largest and least elements on a GPU, of any strides in memory. */
#include "base/integer.h"
#include "kernels/common/work.h"
#include "kernels/gpu/expr_spell.h"
#include "kernels/gpu/gpu_define.h"
#include "kernels/gpu/gpu_group.h"
#include "kernels/gpu/gpu_kernel.h"
#include "kernels/gpu/gpu_offset.h"
#include "kernels/gpu/gpu_texts.h"

/* The lanes of x, in the order of its memory, and the elements of a lane. */
typedef struct arg_lanes {
    int64_t lanes, length;
    ry_gpu_dims x_lane, y_lane, x;
    bool columns; /* elements of a lane are further apart than lanes are */
} arg_lanes;

static arg_lanes lanes_of(const ry_problem *problem)
{
    const ry_tensor *x = &problem->in[0], *y = &problem->out[0];
    const int axis = ry_axis(problem->attrs.arg_reduce.axis, x->rank);
    arg_lanes l = {.lanes = 1, .length = x->dim[axis]};
    int order[RY_MAX_RANK], rank = 0;
    int64_t closest = INT64_MAX;
    for (int d = 0; d < x->rank; d++) {
        if (d == axis || x->dim[d] == 1) {
            continue;
        }
        int at = rank++;
        for (; at > 0 && x->stride[order[at - 1]] < x->stride[d]; at--) {
            order[at] = order[at - 1];
        }
        order[at] = d;
        closest = ry_min(closest, x->stride[d]);
    }
    for (int i = 0; i < rank; i++) {
        const int d = order[i];
        const int kept = d - (d > axis && !problem->attrs.arg_reduce.keepdims);
        l.lanes *= x->dim[d];
        ry_gpu_dims_add(&l.x_lane, x->dim[d], x->stride[d]);
        ry_gpu_dims_add(&l.y_lane, x->dim[d], y->stride[kept]);
    }
    ry_gpu_dims_add(&l.x, l.length, x->stride[axis]);
    l.columns = closest < x->stride[axis];
    return l;
}

static bool is_number(ry_dtype dtype)
{
    const ry_dtype_kind kind = ry_dtype_get_kind(dtype);
    return kind == RY_KIND_SIGNED || kind == RY_KIND_UNSIGNED ||
           (kind == RY_KIND_FLOAT && dtype != RY_f64);
}

static bool applicable(const ry_problem *problem)
{
    return ry_problem_has_input(problem, 0) && ry_problem_has_output(problem, 0) &&
           is_number((ry_dtype)problem->in[0].dtype) && problem->out[0].dtype == RYND_DTYPE_I64 &&
           ry_tensor_count(&problem->in[0]) > 0 && problem->in[0].rank > 0 &&
           ry_axis(problem->attrs.arg_reduce.axis, problem->in[0].rank) >= 0;
}

static rynd_status prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    enum { OPERATIONS = 12 }; /* per element */
    const arg_lanes l = lanes_of(query->problem);
    const int64_t group = ry_gpu_group_size(query, l.columns || l.length <= 512 ? 64 : 256);
    (void)error;
    ry_gpu_group_prepare(group, l.columns ? ry_ceil_div(l.lanes, group) : l.lanes, prepared);
    ry_count_work((double)l.lanes * (double)(l.columns ? l.length : ry_round_up(l.length, group)) *
                      OPERATIONS,
                  ry_problem_bytes(query->problem), prepared);
    return RYND_OK;
}

static void define(const ry_query *query, const ry_prepared *prepared, ry_text *text)
{
    const ry_problem *problem = query->problem;
    const ry_dtype dtype = (ry_dtype)problem->in[0].dtype;
    const char *memory = ry_gpu_memory_type(dtype);
    const arg_lanes l = lanes_of(problem);
    ry_text_add(text, "#define INDEX %s\n#define VALUE_TYPE %s\n#define RESULT_TYPE int64_t\n",
                ry_gpu_is_wide(problem) ? "long" : "int", ry_gpu_register_type(dtype));
    if (ry_gpu_is_float(&problem->in[0])) {
        ry_text_add(text, "#define LOAD_VALUE(at) LOAD_%s(IN(%s, 0), at)\n", ry_dtype_name(dtype),
                    memory);
    } else {
        ry_text_add(text, "#define LOAD_VALUE(at) (IN(%s, 0)[at])\n", memory);
    }
    ry_gpu_define(text, "GROUP_ITEMS", prepared->form.value[RY_GPU_GROUP_KNOB]);
    ry_gpu_define(text, "HAS_NANS", ry_gpu_is_float(&problem->in[0]));
    ry_gpu_define(text, "LANES", l.lanes);
    ry_gpu_define(text, "LENGTH", l.length);
    ry_gpu_define(text, "COLUMNS", l.columns);
    ry_gpu_define(text, "MINIMUM", problem->attrs.arg_reduce.min != 0);
    ry_gpu_define(text, "SELECT_LAST", problem->attrs.arg_reduce.select_last != 0);
    ry_gpu_define_offset(text, "x_lane_at", &l.x_lane);
    ry_gpu_define_offset(text, "y_lane_at", &l.y_lane);
    ry_gpu_define_offset(text, "x_at", &l.x);
}

static const char *const entries[] = {"run"};
static const ry_gpu_kernel gpu = {ry_gpu_text_arg_reduce, entries, 1, define};

RY_GPU_KERNEL(arg_reduce_gpu, arg_reduce, strict, RY_GPU_GROUP_KNOB_FIELDS,
              .applicable = applicable, .prepare = prepare, .gpu = &gpu);
