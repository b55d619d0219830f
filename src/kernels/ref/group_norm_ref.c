/* SPDX-License-Identifier: Apache-2.0 */
/* Reference group normalisation (Wu and He, arXiv:1803.08494); as many groups as channels is
 * instance normalisation. */
#include "kernels/ref/ref_common.h"

/* index is [n, group]. Two passes: the variance of differences from the mean loses nothing to
 * cancellation. */
static void group(const ry_cpu_launch *launch, const int64_t *index)
{
    const ry_problem *p = launch->problem;
    const ry_tensor *x = &p->in[0], *scale = &p->in[1], *bias = &p->in[2], *y = &p->out[0];
    ry_shape part = ry_tensor_shape(x);
    part.dim[0] = 1;
    part.dim[1] = x->dim[1] / p->attrs.group_norm.groups;
    int64_t count = ry_shape_elements(&part);
    int64_t at[RY_MAX_RANK] = {0};
    int64_t x_base = index[0] * x->stride[0] + index[1] * part.dim[1] * x->stride[1];
    int64_t y_base = index[0] * y->stride[0] + index[1] * part.dim[1] * y->stride[1];
    if (count == 0) {
        return;
    }
    double mean = 0, variance = 0;
    do {
        mean += ry_ref_get(ry_ref_dtype(x), launch->in[0], x_base + ry_index_offset(x, at));
    } while (ry_index_next(part.rank, part.dim, at));
    mean /= (double)count;
    do {
        double d =
            ry_ref_get(ry_ref_dtype(x), launch->in[0], x_base + ry_index_offset(x, at)) - mean;
        variance += d * d;
    } while (ry_index_next(part.rank, part.dim, at));
    double inverse = 1 / sqrt(variance / (double)count + p->attrs.group_norm.epsilon);
    do {
        int64_t channel = index[1] * part.dim[1] + at[1];
        double value =
            (ry_ref_get(ry_ref_dtype(x), launch->in[0], x_base + ry_index_offset(x, at)) - mean) *
            inverse;
        value *= ry_ref_get(ry_ref_dtype(scale), launch->in[1], channel * scale->stride[0]);
        value += ry_ref_get(ry_ref_dtype(bias), launch->in[2], channel * bias->stride[0]);
        ry_set_f64(ry_ref_dtype(y), launch->out[0], y_base + ry_index_offset(y, at), value);
    } while (ry_index_next(part.rank, part.dim, at));
}

static bool applicable(const ry_problem *problem)
{
    return ry_ref_floats(problem) && problem->in[0].rank >= 2 && ry_problem_has_input(problem, 1) &&
           ry_problem_has_input(problem, 2) && problem->attrs.group_norm.groups > 0 &&
           problem->in[0].dim[1] % problem->attrs.group_norm.groups == 0;
}

static rynd_status prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    const ry_problem *problem = query->problem;
    (void)error;
    ry_ref_prepare(prepared, problem->in[0].dim[0] * problem->attrs.group_norm.groups);
    return RYND_OK;
}

static void run(const ry_cpu_launch *launch, size_t task)
{
    int64_t dim[] = {launch->problem->in[0].dim[0], launch->problem->attrs.group_norm.groups};
    ry_ref_each(launch, 2, dim, launch->prepared->tasks[0], task, group);
}

RY_REF_KERNEL(group_norm, applicable, prepare, .run = run);
