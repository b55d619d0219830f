/* SPDX-License-Identifier: Apache-2.0 */
/* Reference resize: separable interpolation over any number of dims, from tables of taps made once;
 * and its gradient, which is the same of the transposed tables. */
#include "kernels/common/resize_map.h"
#include "kernels/ref/ref_common.h"

/* The taps of one output position of one dim. state: for each dim, its positions' spans; behind
 * them all dims' weights, then room for a row of them. `weight` counts from the first of all. */
typedef ry_resize_readers span;

static size_t span_count(const ry_problem *p)
{
    size_t spans = 0;
    for (int d = 0; d < p->out[0].rank; d++) {
        spans += (size_t)p->out[0].dim[d];
    }
    return spans;
}

static rynd_status prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    const ry_problem *problem = query->problem;
    RY_TRY(ry_ref_prepare_elements(query, prepared, error));
    if (prepared->tasks[0] == 0) {
        return RYND_OK;
    }
    size_t bytes;
    if (!ry_mul_size(span_count(problem), sizeof(span), &bytes)) {
        return ry_fail_memory(error);
    }
    for (int d = 0; d < problem->out[0].rank; d++) {
        ry_resize_axis axis;
        ry_resize_axis_make(problem, d, &axis);
        size_t row, table;
        if (!ry_mul_size((size_t)ry_resize_max_taps(&axis), sizeof(double), &row) ||
            !ry_mul_size(row, (size_t)axis.out, &table) || table > SIZE_MAX - bytes) {
            return ry_fail_memory(error);
        }
        bytes += table;
    }
    prepared->state_size = bytes;
    return RYND_OK;
}

static void initialise(const ry_query *query, void *state)
{
    const ry_problem *problem = query->problem;
    span *spans = state;
    double *weights = (double *)(void *)(spans + span_count(problem));
    int64_t used = 0;
    for (int d = 0; d < problem->out[0].rank; d++) {
        ry_resize_axis axis;
        ry_resize_axis_make(problem, d, &axis);
        for (int64_t o = 0; o < axis.out; o++, spans++) {
            spans->weight = used;
            spans->count = ry_resize_taps(&axis, o, &spans->first, weights + used);
            used += spans->count;
        }
    }
}

/* The part of the sum that dims d.. contribute, from element `offset` on; spans are those of dim d
 * and the dims behind it. */
static double interpolate(const ry_cpu_launch *launch, const int64_t *index, const span *spans,
                          const double *weights, int d, int64_t offset)
{
    const ry_tensor *x = &launch->problem->in[0], *y = &launch->problem->out[0];
    if (d == x->rank) {
        return ry_ref_get(ry_ref_dtype(x), launch->in[0], offset);
    }
    span s = spans[index[d]];
    offset += s.first * x->stride[d];
    spans += y->dim[d];
    if (s.count == 1 && weights[s.weight] == 1) {
        return interpolate(launch, index, spans, weights, d + 1, offset);
    }
    double sum = 0;
    for (int64_t j = 0; j < s.count; j++) {
        sum += weights[s.weight + j] *
               interpolate(launch, index, spans, weights, d + 1, offset + j * x->stride[d]);
    }
    return sum;
}

static void element(const ry_cpu_launch *launch, const int64_t *index)
{
    const ry_problem *p = launch->problem;
    const ry_tensor *x = &p->in[0], *y = &p->out[0];
    const span *spans = launch->state, *next = spans;
    const double *weights = (const double *)(const void *)(spans + span_count(p));
    int64_t to = ry_index_offset(y, index), from = 0;
    bool outside = false;
    for (int d = 0; d < y->rank; d++) {
        outside |= next[index[d]].count == 0;
        from += next[index[d]].first * x->stride[d];
        next += y->dim[d];
    }
    if (outside) {
        ry_ref_store_interpolated(ry_ref_dtype(y), launch->out[0], to,
                                  p->attrs.resize.extrapolation);
    } else if (p->attrs.resize.mode == RY_resize_mode_nearest) {
        ry_ref_copy_element(ry_ref_dtype(y), launch->out[0], to, launch->in[0], from);
    } else {
        ry_ref_store_interpolated(ry_ref_dtype(y), launch->out[0], to,
                                  interpolate(launch, index, spans, weights, 0, 0));
    }
}

static bool applicable(const ry_problem *problem)
{
    bool known = ry_problem_has_input(problem, 0) && ry_problem_has_output(problem, 0) &&
                 problem->in[0].dtype == problem->out[0].dtype &&
                 problem->in[0].rank == problem->out[0].rank;
    return known &&
           (problem->attrs.resize.mode == RY_resize_mode_nearest ||
            problem->in[0].dtype != RYND_DTYPE_BOOL) &&
           (ry_tensor_count(&problem->in[0]) > 0 || ry_tensor_count(&problem->out[0]) == 0);
}

static void run(const ry_cpu_launch *launch, size_t task)
{
    ry_ref_each_output(launch, task, element);
}

RY_REF_KERNEL(resize, applicable, prepare, .run = run, .initialise = initialise);

static int64_t longest_row(const ry_problem *p)
{
    int64_t longest = 1;
    for (int d = 0; d < p->out[0].rank; d++) {
        ry_resize_axis axis;
        ry_resize_axis_make(p, d, &axis);
        const int64_t taps = ry_resize_max_taps(&axis);
        longest = longest < taps ? taps : longest;
    }
    return longest;
}

/* Weights of every dim, transposed; `row` has room for the longest row of them, `spans` for the
 * longest dim. */
static int64_t count_weights(const ry_problem *p, span *spans, double *row)
{
    int64_t count = 0;
    for (int d = 0; d < p->out[0].rank; d++) {
        ry_resize_axis axis;
        ry_resize_axis_make(p, d, &axis);
        count += ry_resize_find_readers(&axis, spans, row);
    }
    return count;
}

static rynd_status prepare_grad(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    const ry_problem *p = query->problem;
    RY_TRY(ry_ref_prepare_elements(query, prepared, error));
    if (prepared->tasks[0] == 0) {
        return RYND_OK;
    }
    const size_t positions = span_count(p), longest = (size_t)longest_row(p);
    span *spans = ry_allocate(&ry_system_allocator, positions * sizeof *spans);
    double *row = ry_allocate(&ry_system_allocator, longest * sizeof *row);
    const bool enough = spans && row;
    if (enough) {
        prepared->state_size = positions * sizeof *spans +
                               (longest + (size_t)count_weights(p, spans, row)) * sizeof *row;
    }
    ry_release(&ry_system_allocator, spans);
    ry_release(&ry_system_allocator, row);
    return enough ? RYND_OK : ry_fail_memory(error);
}

/* The row lies before the weights, which are counted from its begin. */
static void initialise_grad(const ry_query *query, void *state)
{
    const ry_problem *problem = query->problem;
    span *spans = state;
    double *row = (double *)(void *)(spans + span_count(problem));
    int64_t used = longest_row(problem);
    for (int d = 0; d < problem->out[0].rank; d++) {
        ry_resize_axis axis;
        ry_resize_axis_make(problem, d, &axis);
        const int64_t count = ry_resize_find_readers(&axis, spans, row);
        for (int64_t i = 0; i < axis.in; i++) {
            spans[i].weight += used;
        }
        ry_resize_transpose(&axis, spans, row, row);
        used += count;
        spans += axis.in;
    }
}

/* An element outside of everything that was sampled has the gradient 0. */
static void element_grad(const ry_cpu_launch *launch, const int64_t *index)
{
    const ry_tensor *dx = &launch->problem->out[0];
    const span *spans = launch->state;
    const double *weights = (const double *)(const void *)(spans + span_count(launch->problem));
    ry_set_f64(ry_ref_dtype(dx), launch->out[0], ry_index_offset(dx, index),
               interpolate(launch, index, spans, weights, 0, 0));
}

static bool applicable_grad(const ry_problem *problem)
{
    return ry_ref_floats(problem) && problem->in[0].rank == problem->out[0].rank;
}

static void run_grad(const ry_cpu_launch *launch, size_t task)
{
    ry_ref_each_output(launch, task, element_grad);
}

RY_REF_KERNEL(resize_grad, applicable_grad, prepare_grad, .run = run_grad,
              .initialise = initialise_grad);
