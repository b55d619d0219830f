/* SPDX-License-Identifier: Apache-2.0 */
/* Reference resize: separable interpolation over any number of dims, from tables of taps made once;
 * and its gradient, which is the same of the transposed tables. */
#include "base/integer.h"
#include "kernels/common/resize_map.h"
#include "kernels/ref/ref_common.h"

/* Numbers of all tables together at most. A resize beyond finds its taps element by element. */
enum { MAX_NUMBERS = 1 << 20 };

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

/* Bytes of the tables of spans and weights, 0 where they would be too many; *taps: the weights of
 * one element. */
static size_t table_bytes(const ry_problem *problem, size_t *taps)
{
    int64_t numbers = 0;
    bool fits = true;
    *taps = 0;
    for (int d = 0; d < problem->out[0].rank; d++) {
        ry_resize_axis axis;
        ry_resize_axis_make(problem, d, &axis);
        const int64_t most = ry_resize_max_taps(&axis);
        numbers += fits ? ry_min(ry_product(axis.out, most), MAX_NUMBERS + 1) : 0;
        fits = numbers <= MAX_NUMBERS;
        *taps += (size_t)most;
    }
    return fits ? span_count(problem) * sizeof(span) + (size_t)numbers * sizeof(double) : 0;
}

static rynd_status prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    const ry_problem *problem = query->problem;
    RY_TRY(ry_ref_prepare_elements(query, prepared, error));
    if (prepared->tasks[0] == 0) {
        return RYND_OK;
    }
    size_t taps;
    prepared->state_size = table_bytes(problem, &taps);
    prepared->scratch = prepared->state_size > 0 ? 0 : ry_aligned(taps * sizeof(double));
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

/* Each dim's span of an element, from the tables; returns all weights. */
static const double *look_up(const ry_cpu_launch *launch, const int64_t *index, span *found)
{
    const ry_tensor *y = &launch->problem->out[0];
    const span *spans = launch->state;
    for (int d = 0; d < y->rank; d++, spans += y->dim[d - 1]) {
        found[d] = spans[index[d]];
    }
    return (const double *)(const void *)spans;
}

/* The same without tables. */
static const double *find_spans(const ry_cpu_launch *launch, const int64_t *index, span *found)
{
    double *weights = launch->scratch;
    int64_t used = 0;
    if (launch->prepared->state_size > 0) {
        return look_up(launch, index, found);
    }
    for (int d = 0; d < launch->problem->out[0].rank; d++) {
        ry_resize_axis axis;
        ry_resize_axis_make(launch->problem, d, &axis);
        found[d].weight = used;
        found[d].count = ry_resize_taps(&axis, index[d], &found[d].first, weights + used);
        used += found[d].count;
    }
    return weights;
}

/* The part of the sum that dims d.. contribute, from element `offset` on. */
static double interpolate(const ry_cpu_launch *launch, const span *spans, const double *weights,
                          int d, int64_t offset)
{
    const ry_tensor *x = &launch->problem->in[0];
    if (d == x->rank) {
        return ry_ref_get(ry_ref_dtype(x), launch->in[0], offset);
    }
    const span s = spans[d];
    offset += s.first * x->stride[d];
    if (s.count == 1 && weights[s.weight] == 1) {
        return interpolate(launch, spans, weights, d + 1, offset);
    }
    double sum = 0;
    for (int64_t j = 0; j < s.count; j++) {
        sum += weights[s.weight + j] *
               interpolate(launch, spans, weights, d + 1, offset + j * x->stride[d]);
    }
    return sum;
}

static void element(const ry_cpu_launch *launch, const int64_t *index)
{
    const ry_problem *p = launch->problem;
    const ry_tensor *x = &p->in[0], *y = &p->out[0];
    span spans[RY_MAX_RANK];
    const double *weights = find_spans(launch, index, spans);
    int64_t to = ry_index_offset(y, index), from = 0;
    bool outside = false;
    for (int d = 0; d < y->rank; d++) {
        outside |= spans[d].count == 0;
        from += spans[d].first * x->stride[d];
    }
    if (outside) {
        ry_ref_store_interpolated(ry_ref_dtype(y), launch->out[0], to,
                                  p->attrs.resize.extrapolation);
    } else if (p->attrs.resize.mode == RY_resize_mode_nearest) {
        ry_ref_copy_element(ry_ref_dtype(y), launch->out[0], to, launch->in[0], from);
    } else {
        ry_ref_store_interpolated(ry_ref_dtype(y), launch->out[0], to,
                                  interpolate(launch, spans, weights, 0, 0));
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

/* Refuses a gradient whose transposed tables would be too large. */
static rynd_status check_grad(const ry_problem *p, ry_error *error)
{
    double numbers = 0;
    for (int d = 0; d < p->out[0].rank; d++) {
        ry_resize_axis axis;
        ry_resize_axis_make(p, d, &axis);
        numbers += (double)axis.in + (double)axis.out * (double)ry_resize_max_taps(&axis);
    }
    return numbers <= MAX_NUMBERS
               ? RYND_OK
               : ry_fail(error, RYND_ERROR_UNSUPPORTED,
                         "resize_grad: its tables would need %.0f bytes, at most %zu are supported",
                         numbers * sizeof(double), MAX_NUMBERS * sizeof(double));
}

static rynd_status prepare_grad(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    const ry_problem *p = query->problem;
    RY_TRY(ry_ref_prepare_elements(query, prepared, error));
    if (prepared->tasks[0] == 0) {
        return RYND_OK;
    }
    RY_TRY(check_grad(p, error));
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
    span spans[RY_MAX_RANK];
    const double *weights = look_up(launch, index, spans);
    ry_set_f64(ry_ref_dtype(dx), launch->out[0], ry_index_offset(dx, index),
               interpolate(launch, spans, weights, 0, 0));
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
