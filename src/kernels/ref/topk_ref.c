/* SPDX-License-Identifier: Apache-2.0 */
/* Reference top-k along an axis: always sorted, ties by the lowest position, NaN counted as the
 * largest. */
#include "kernels/ref/ref_sort.h"

static int axis_of(const ry_problem *p)
{
    return ry_axis(p->attrs.topk.axis, p->in[0].rank);
}

static void lane(const ry_cpu_launch *launch, const int64_t *index)
{
    const ry_problem *p = launch->problem;
    const ry_tensor *x = &p->in[0], *values = &p->out[0], *indices = &p->out[1];
    int axis = axis_of(p);
    int64_t length = x->dim[axis];
    int64_t *positions = launch->scratch;
    for (int64_t i = 0; i < length; i++) {
        positions[i] = i;
    }
    ry_ref_row row = {ry_ref_dtype(x), launch->in[0], ry_index_offset(x, index), x->stride[axis],
                      p->attrs.topk.largest != 0};
    ry_ref_sort(&row, positions, positions + length, length);
    int64_t to = ry_index_offset(values, index);
    for (int64_t i = 0; i < values->dim[axis]; i++) {
        ry_ref_copy_element(ry_ref_dtype(x), launch->out[0], to + i * values->stride[axis],
                            launch->in[0], row.offset + positions[i] * row.step);
    }
    if (ry_problem_has_output(p, 1)) {
        to = ry_index_offset(indices, index);
        for (int64_t i = 0; i < indices->dim[axis]; i++) {
            ry_set_i64(ry_ref_dtype(indices), launch->out[1], to + i * indices->stride[axis],
                       positions[i]);
        }
    }
}

static bool applicable(const ry_problem *problem)
{
    int axis = axis_of(problem);
    return ry_ref_numeric(problem) && problem->in[0].dtype == problem->out[0].dtype && axis >= 0 &&
           problem->out[0].dim[axis] <= problem->in[0].dim[axis];
}

static rynd_status prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    const ry_problem *problem = query->problem;
    int axis = axis_of(problem);
    size_t length = (size_t)problem->in[0].dim[axis], bytes;
    ry_ref_prepare_lanes(problem, prepared, axis, axis + 1);
    if (!ry_mul_size(length, 2 * sizeof(int64_t), &bytes) || bytes > SIZE_MAX - RY_ALIGNMENT) {
        return ry_fail_memory(error);
    }
    prepared->scratch = (bytes + RY_ALIGNMENT - 1) / RY_ALIGNMENT * RY_ALIGNMENT;
    return RYND_OK;
}

static void run(const ry_cpu_launch *launch, size_t task)
{
    ry_ref_each_lane(launch, task, axis_of(launch->problem), axis_of(launch->problem) + 1, lane);
}

RY_REF_KERNEL(topk, applicable, prepare, .run = run);
