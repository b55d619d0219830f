/* SPDX-License-Identifier: Apache-2.0 */
/* one_hot on a GPU, of values of any type and any strides in memory. */
#include "base/integer.h"
#include "kernels/common/work.h"
#include "kernels/gpu/expr_spell.h"
#include "kernels/gpu/gpu_define.h"
#include "kernels/gpu/gpu_group.h"
#include "kernels/gpu/gpu_kernel.h"
#include "kernels/gpu/gpu_offset.h"
#include "kernels/gpu/gpu_texts.h"

static bool applicable(const ry_problem *problem)
{
    if (!ry_problem_has_input(problem, 0) || !ry_problem_has_input(problem, 2) ||
        !ry_problem_has_output(problem, 0)) {
        return false;
    }
    const ry_tensor *index = &problem->in[0], *values = &problem->in[2], *y = &problem->out[0];
    const ry_dtype_kind kind = ry_dtype_get_kind((ry_dtype)index->dtype);
    return (kind == RY_KIND_SIGNED || kind == RY_KIND_UNSIGNED) && values->dtype == y->dtype &&
           values->rank == 1 && y->rank == index->rank + 1 && ry_tensor_count(y) > 0 &&
           ry_dtype_size((ry_dtype)y->dtype) <= sizeof(uint64_t);
}

static rynd_status prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    enum { OPERATIONS = 40 }; /* per element, mostly to find its places */
    const ry_problem *problem = query->problem;
    const int64_t group = ry_gpu_group_size(query, 256),
                  elements = ry_tensor_count(&problem->out[0]);
    (void)error;
    ry_gpu_group_prepare(group, ry_ceil_div(elements, group), prepared);
    ry_count_work((double)elements * OPERATIONS, ry_problem_bytes(problem), prepared);
    return RYND_OK;
}

/* Dims of y by their strides, the innermost last. */
static void sort_dims(const ry_tensor *y, int *dims)
{
    for (int d = 0; d < y->rank; d++) {
        int at = d;
        for (; at > 0 && y->stride[dims[at - 1]] < y->stride[d]; at--) {
            dims[at] = dims[at - 1];
        }
        dims[at] = d;
    }
}

static void define_offsets(const ry_problem *problem, int axis, ry_text *text)
{
    const ry_tensor *index = &problem->in[0], *y = &problem->out[0];
    ry_gpu_dims to = {0}, from = {0}, class = {0};
    int dims[RY_MAX_RANK];
    sort_dims(y, dims);
    for (int i = 0; i < y->rank; i++) {
        const int d = dims[i];
        ry_gpu_dims_add(&to, y->dim[d], y->stride[d]);
        ry_gpu_dims_add(&from, y->dim[d], d == axis ? 0 : index->stride[d - (d > axis)]);
        ry_gpu_dims_add(&class, y->dim[d], d == axis);
    }
    ry_gpu_define_offset(text, "y_at", &to);
    ry_gpu_define_offset(text, "index_at", &from);
    ry_gpu_define_offset(text, "class_at", &class);
}

static void define(const ry_query *query, const ry_prepared *prepared, ry_text *text)
{
    static const char *const units[] = {[1] = "uchar", [2] = "ushort", [4] = "uint", [8] = "ulong"};
    const ry_problem *problem = query->problem;
    const ry_dtype index = (ry_dtype)problem->in[0].dtype;
    const ry_tensor *y = &problem->out[0];
    const int axis = ry_axis(problem->attrs.one_hot.axis, y->rank);
    const bool wide = ry_gpu_is_wide(problem);
    ry_text_add(text,
                "#define INDEX %s\n#define UNIT %s\n#define INDEX_TYPE %s\n"
                "#define COMPARED_TYPE %s\n",
                wide ? "int64_t" : "int", units[ry_dtype_size((ry_dtype)y->dtype)],
                ry_gpu_memory_type(index),
                wide && index != RY_u64 ? "int64_t" : ry_gpu_compared_type(index));
    ry_gpu_define(text, "GROUP_ITEMS", prepared->form.value[RY_GPU_GROUP_KNOB]);
    ry_gpu_define(text, "COUNT", ry_tensor_count(y));
    ry_gpu_define(text, "COUNTS_BACK", ry_dtype_get_kind(index) == RY_KIND_SIGNED);
    ry_gpu_define(text, "DEPTH", y->dim[axis]);
    ry_gpu_define(text, "VALUES_STEP", problem->in[2].stride[0]);
    define_offsets(problem, axis, text);
}

static const char *const entries[] = {"run"};
static const ry_gpu_kernel gpu = {ry_gpu_text_one_hot, entries, 1, define};

RY_GPU_KERNEL(one_hot_gpu, one_hot, strict, RY_GPU_GROUP_KNOB_FIELDS, .applicable = applicable,
              .prepare = prepare, .gpu = &gpu);
