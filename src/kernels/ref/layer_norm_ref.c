/* SPDX-License-Identifier: Apache-2.0 */
/* Reference layer normalisation (Ba et al., arXiv:1607.06450) and its root-mean-square form (Zhang
 * and Sennrich, arXiv:1910.07467). */
#include "kernels/ref/ref_common.h"

static int first_axis(const ry_problem *p)
{
    return ry_axis(p->attrs.layer_norm.axis, p->in[0].rank);
}

static double optional(const ry_cpu_launch *launch, int input, const int64_t *index, double preset)
{
    const ry_problem *p = launch->problem;
    if (!ry_problem_has_input(p, input)) {
        return preset;
    }
    return ry_ref_get(ry_ref_dtype(&p->in[input]), launch->in[input],
                      ry_ref_broadcast_offset(&p->in[input], index, p->in[0].rank));
}

static void store_statistic(const ry_cpu_launch *launch, int output, const int64_t *index,
                            double value)
{
    const ry_tensor *t = &launch->problem->out[output];
    if (ry_problem_has_output(launch->problem, output)) {
        ry_set_f64(ry_ref_dtype(t), launch->out[output], ry_index_offset(t, index), value);
    }
}

static void lane(const ry_cpu_launch *launch, const int64_t *index)
{
    const ry_problem *p = launch->problem;
    const ry_tensor *x = &p->in[0], *y = &p->out[0];
    int axis = first_axis(p), inner = x->rank - axis;
    int64_t at[RY_MAX_RANK];
    memcpy(at, index, sizeof at);
    if (ry_tensor_count(x) == 0) { /* 0 / 0 */
        store_statistic(launch, 1, index, NAN);
        store_statistic(launch, 2, index, NAN);
        return;
    }
    double mean = 0, squares = 0, count = 0;
    do {
        mean += ry_ref_get(ry_ref_dtype(x), launch->in[0], ry_index_offset(x, at));
        count++;
    } while (ry_index_next(inner, x->dim + axis, at + axis));
    mean = p->attrs.layer_norm.rms ? 0 : mean / count;
    do {
        double d = ry_ref_get(ry_ref_dtype(x), launch->in[0], ry_index_offset(x, at)) - mean;
        squares += d * d;
    } while (ry_index_next(inner, x->dim + axis, at + axis));
    double inverse = 1 / sqrt(squares / count + p->attrs.layer_norm.epsilon);
    do {
        double value =
            (ry_ref_get(ry_ref_dtype(x), launch->in[0], ry_index_offset(x, at)) - mean) * inverse;
        value = value * optional(launch, 1, at, 1) + optional(launch, 2, at, 0);
        ry_set_f64(ry_ref_dtype(y), launch->out[0], ry_index_offset(y, at), value);
    } while (ry_index_next(inner, x->dim + axis, at + axis));
    store_statistic(launch, 1, index, mean);
    store_statistic(launch, 2, index, inverse);
}

static bool applicable(const ry_problem *problem)
{
    return ry_ref_floats(problem) && first_axis(problem) >= 0;
}

static rynd_status prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    const ry_problem *problem = query->problem;
    (void)error;
    if (ry_tensor_count(&problem->in[0]) > 0) {
        ry_ref_prepare_lanes(problem, prepared, first_axis(problem), problem->in[0].rank);
        return RYND_OK;
    }
    /* Rows without elements have statistics all the same. */
    const int statistic = ry_problem_has_output(problem, 1) ? 1 : 2;
    ry_ref_prepare(prepared, ry_problem_has_output(problem, statistic)
                                 ? ry_tensor_count(&problem->out[statistic])
                                 : 0);
    return RYND_OK;
}

static void run(const ry_cpu_launch *launch, size_t task)
{
    ry_ref_each_lane(launch, task, first_axis(launch->problem), launch->problem->in[0].rank, lane);
}

RY_REF_KERNEL(layer_norm, applicable, prepare, .run = run);
