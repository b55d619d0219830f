/* SPDX-License-Identifier: Apache-2.0 */
/* Reference gradient of pooling: each element of x gathers from the windows that contain it. */
#include "kernels/ref/ref_common.h"
#include "problem/window.h"

/* An element of x and a window that contains it. */
typedef struct pair {
    const int64_t *in;
    int64_t out[RY_MAX_RANK];
} pair;

static double get(const ry_cpu_launch *launch, int input, const int64_t *at)
{
    const ry_tensor *t = &launch->problem->in[input];
    return ry_ref_get(ry_ref_dtype(t), launch->in[input], ry_index_offset(t, at));
}

/* Is the element its window's maximum: the first of equals in row-major order? */
static bool is_maximum(const ry_cpu_launch *launch, const ry_window *w, const pair *p)
{
    const ry_tensor *x = &launch->problem->in[1];
    int64_t first[RY_MAX_RANK], count[RY_MAX_RANK], step[RY_MAX_RANK] = {0},
                                                    at[RY_MAX_RANK] = {p->in[0], p->in[1]};
    for (int i = 0; i < w->rank; i++) {
        const ry_window_range taps = ry_window_taps(&w->axis[i], p->out[i + 2]);
        count[i] = taps.end - taps.begin;
        first[i] = ry_window_at(&w->axis[i], p->out[i + 2], taps.begin);
    }
    const int64_t own = ry_index_offset(x, p->in);
    bool before = true;
    do {
        for (int i = 0; i < w->rank; i++) {
            at[i + 2] = first[i] + step[i] * w->axis[i].dilation;
        }
        const int64_t other = ry_index_offset(x, at);
        before = before && other != own;
        const int order = ry_ref_compare(ry_ref_dtype(x), launch->in[1], other, own);
        if (order > 0 || (order == 0 && before)) {
            return false;
        }
    } while (ry_index_next(w->rank, count, step));
    return true;
}

static double from_maximum(const ry_cpu_launch *launch, const ry_window *w, const pair *p)
{
    return is_maximum(launch, w, p) ? get(launch, 0, p->out) : 0;
}

static double from_average(const ry_cpu_launch *launch, const ry_window *w, const pair *p)
{
    int64_t count = 1;
    for (int i = 0; i < w->rank; i++) {
        const ry_window_range taps = launch->problem->attrs.pool_grad.count_include_pad
                                         ? ry_window_padded_taps(&w->axis[i], p->out[i + 2])
                                         : ry_window_taps(&w->axis[i], p->out[i + 2]);
        count *= taps.end - taps.begin;
    }
    return get(launch, 0, p->out) / (double)count;
}

/* A norm of nothing but zeros passes nothing on. */
static double from_norm(const ry_cpu_launch *launch, const ry_window *w, const pair *p)
{
    (void)w;
    const double power = (double)launch->problem->attrs.pool_grad.p, x = get(launch, 1, p->in),
                 y = get(launch, 2, p->out);
    const double slope = y == 0 ? 0 : pow(fabs(x) / y, power - 1);
    return get(launch, 0, p->out) * (x < 0 ? -slope : x > 0 ? slope : x * slope);
}

typedef double (*given)(const ry_cpu_launch *launch, const ry_window *w, const pair *p);

static const given rules[RY_pool_kind_count] = {
    [RY_pool_kind_max] = from_maximum,
    [RY_pool_kind_average] = from_average,
    [RY_pool_kind_lp] = from_norm,
};

static void element(const ry_cpu_launch *launch, const int64_t *index)
{
    const ry_problem *problem = launch->problem;
    const ry_tensor *dx = &problem->out[0];
    const ry_window w = ry_window_of(problem);
    const given give = rules[problem->attrs.pool_grad.kind];
    ry_window_readers readers[RY_MAX_RANK];
    int64_t count[RY_MAX_RANK], step[RY_MAX_RANK] = {0};
    bool any = true;
    for (int i = 0; i < w.rank; i++) {
        readers[i] = ry_window_readers_of(&w.axis[i], index[i + 2]);
        count[i] = readers[i].count;
        any = any && count[i] > 0;
    }
    pair p = {.in = index, .out = {index[0], index[1]}};
    double sum = 0;
    for (bool more = any; more; more = ry_index_next(w.rank, count, step)) {
        for (int i = 0; i < w.rank; i++) {
            p.out[i + 2] = readers[i].out + step[i] * readers[i].out_step;
        }
        sum += give(launch, &w, &p);
    }
    ry_set_f64(ry_ref_dtype(dx), launch->out[0], ry_index_offset(dx, index), sum);
}

static bool applicable(const ry_problem *problem)
{
    const ry_pool_grad_attrs *a = &problem->attrs.pool_grad;
    return ry_ref_floats(problem) && problem->in[0].rank >= 2 && ry_window_has_sizes(problem) &&
           (a->kind == RY_pool_kind_average || ry_problem_has_input(problem, 1)) &&
           (a->kind != RY_pool_kind_lp || ry_problem_has_input(problem, 2));
}

RY_REF_ELEMENTS(pool_grad, applicable, element)
