/* SPDX-License-Identifier: Apache-2.0 */
/* Reference max-unpooling: puts each element where its index says, zeros elsewhere. */
#include "kernels/ref/ref_common.h"
#include "problem/window.h"

/* False where `flat` is not a position of the shape. */
static bool unravel(int64_t flat, const ry_shape *shape, int64_t *at)
{
    if (flat < 0) {
        return false;
    }
    for (int i = shape->rank - 1; i >= 0; i--) {
        if (shape->dim[i] <= 0) {
            return false;
        }
        at[i] = flat % shape->dim[i];
        flat /= shape->dim[i];
    }
    return flat == 0;
}

static bool inside(const ry_tensor *y, const int64_t *at)
{
    for (int i = 0; i < y->rank; i++) {
        if (at[i] >= y->dim[i]) {
            return false;
        }
    }
    return true;
}

static void clear(const ry_cpu_launch *launch, const int64_t *index)
{
    const ry_tensor *y = &launch->problem->out[0];
    ry_set_i64(ry_ref_dtype(y), launch->out[0], ry_index_offset(y, index), 0);
}

static void note_index(const ry_cpu_launch *launch, const int64_t *index, int64_t value,
                       const ry_shape *pooled)
{
    uint64_t position = 0;
    for (int i = 0; i < pooled->rank; i++) {
        position = position * (uint64_t)launch->problem->in[1].dim[i] + (uint64_t)index[i];
    }
    ry_fault bad = {.found = position + 1,
                    .value = value,
                    .most = ry_shape_elements(pooled) - 1,
                    .input = 1,
                    .axis = -1};
    ry_fault_note(launch->fault, &bad);
}

/* One task: two elements may have the same index, and the last in row-major order stays. */
static void scatter(const ry_cpu_launch *launch, const int64_t *index)
{
    const ry_problem *p = launch->problem;
    const ry_tensor *x = &p->in[0], *indices = &p->in[1], *y = &p->out[0];
    ry_shape pooled = ry_window_unpooled(p);
    int64_t at[RY_MAX_RANK] = {0};
    int64_t flat =
        ry_get_i64(ry_ref_dtype(indices), launch->in[1], ry_index_offset(indices, index));
    if (!unravel(flat, &pooled, at) || !inside(y, at)) {
        note_index(launch, index, flat, &pooled);
    } else {
        ry_ref_copy_element(ry_ref_dtype(y), launch->out[0], ry_index_offset(y, at), launch->in[0],
                            ry_index_offset(x, index));
    }
}

static rynd_status prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    RY_TRY(ry_ref_prepare_elements(query, prepared, error));
    prepared->tasks[prepared->phases++] = 1;
    return RYND_OK;
}

static void run(const ry_cpu_launch *launch, size_t task)
{
    if (launch->phase == 0) {
        ry_ref_each_output(launch, task, clear);
    } else {
        const ry_tensor *x = &launch->problem->in[0];
        ry_ref_each(launch, x->rank, x->dim, 1, 0, scatter);
    }
}

static bool applicable(const ry_problem *problem)
{
    return ry_ref_numeric(problem) && ry_problem_has_input(problem, 1) &&
           problem->in[0].dtype == problem->out[0].dtype;
}

RY_REF_KERNEL(max_unpool, applicable, prepare, .run = run);
