/* SPDX-License-Identifier: Apache-2.0 */
/* Reference gradients of softmax and log-softmax, and of layer and group normalisation: of x, of
 * the scale and of the bias. Statistics are inputs, as the forward pass gave them. */
#include "kernels/ref/ref_common.h"
#include "problem/norm_rows.h"

/* Offset of the element with this row-major number. */
static int64_t offset_of(const ry_tensor *t, int64_t number)
{
    int64_t offset = 0;
    for (int d = t->rank - 1; d >= 0; d--) {
        offset += number % t->dim[d] * t->stride[d];
        number /= t->dim[d];
    }
    return offset;
}

static double get(const ry_cpu_launch *launch, int input, int64_t number, double preset)
{
    const ry_tensor *t = &launch->problem->in[input];
    return ry_problem_has_input(launch->problem, input)
               ? ry_ref_get(ry_ref_dtype(t), launch->in[input], offset_of(t, number))
               : preset;
}

static void set(const ry_cpu_launch *launch, int output, int64_t number, double value)
{
    const ry_tensor *t = &launch->problem->out[output];
    if (ry_problem_has_output(launch->problem, output)) {
        ry_set_f64(ry_ref_dtype(t), launch->out[output], offset_of(t, number), value);
    }
}

static ry_norm_rows rows_of(const ry_problem *p)
{
    return ry_norm_rows_of(p->op, &p->attrs, p->in[0].rank, p->in[0].dim);
}

/* The number of a position of the grid among the dims that `keep` names. */
static int64_t number_of(const ry_norm_rows *r, const int64_t *at, const bool *keep)
{
    int64_t number = 0;
    for (int d = 0; d < RY_NORM_DIMS; d++) {
        number = !keep || keep[d] ? number * r->dim[d] + at[d] : number;
    }
    return number;
}

/* dy * scale, and (x - mean) * inverse. */
typedef struct terms {
    double g, h, dy, inverse;
} terms;

static terms terms_at(const ry_cpu_launch *launch, const ry_norm_rows *r, const int64_t *at)
{
    const int64_t number = number_of(r, at, NULL), row = number_of(r, at, r->statistic);
    const double dy = get(launch, 0, number, 0), inverse = get(launch, 4, row, 0);
    return (terms){.g = dy * get(launch, 2, number_of(r, at, r->scale), 1),
                   .h = (get(launch, 1, number, 0) - get(launch, 3, row, 0)) * inverse,
                   .dy = dy,
                   .inverse = inverse};
}

static void row(const ry_cpu_launch *launch, const ry_norm_rows *r, int64_t number)
{
    const bool centred = ry_problem_has_input(launch->problem, 3);
    const double count = (double)(r->dim[2] * r->dim[3]);
    int64_t at[RY_NORM_DIMS] = {number / r->dim[1], number % r->dim[1]};
    double sum = 0, products = 0;
    do {
        const terms t = terms_at(launch, r, at);
        sum += t.g;
        products += t.g * t.h;
    } while (ry_index_next(2, r->dim + 2, at + 2));
    do {
        const terms t = terms_at(launch, r, at);
        const double shift = (centred ? sum : 0) + t.h * products;
        set(launch, 0, number_of(r, at, NULL), (t.g - shift / count) * t.inverse);
    } while (ry_index_next(2, r->dim + 2, at + 2));
}

/* dscale and dbias of one number of the scale. */
static void weight(const ry_cpu_launch *launch, const ry_norm_rows *r, int64_t number)
{
    int64_t at[RY_NORM_DIMS] = {0}, dim[RY_NORM_DIMS], rest = number;
    double scale = 0, bias = 0;
    int64_t own[RY_NORM_DIMS] = {0};
    for (int d = RY_NORM_DIMS - 1; d >= 0; d--) {
        dim[d] = r->scale[d] ? 1 : r->dim[d];
        if (r->scale[d]) {
            own[d] = rest % r->dim[d];
            rest /= r->dim[d];
        }
    }
    do {
        int64_t place[RY_NORM_DIMS];
        for (int d = 0; d < RY_NORM_DIMS; d++) {
            place[d] = at[d] + own[d];
        }
        const terms t = terms_at(launch, r, place);
        scale += t.dy * t.h;
        bias += t.dy;
    } while (ry_index_next(RY_NORM_DIMS, dim, at));
    set(launch, 1, number, scale);
    set(launch, 2, number, bias);
}

static int64_t weights_of(const ry_norm_rows *r)
{
    int64_t weights = 1;
    for (int d = 0; d < RY_NORM_DIMS; d++) {
        weights *= r->scale[d] ? r->dim[d] : 1;
    }
    return weights;
}

/* Positions: rows with groups, then weights. Without elements, weights have sums of nothing. */
static int64_t rows_to_do(const ry_problem *p, const ry_norm_rows *r)
{
    return ry_tensor_count(&p->in[0]) > 0 ? r->dim[0] * r->dim[1] : 0;
}

static rynd_status prepare_norm(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    const ry_norm_rows r = rows_of(query->problem);
    (void)error;
    ry_ref_prepare(prepared, rows_to_do(query->problem, &r) + weights_of(&r));
    return RYND_OK;
}

static void position(const ry_cpu_launch *launch, const int64_t *index)
{
    const ry_norm_rows r = rows_of(launch->problem);
    const int64_t rows = rows_to_do(launch->problem, &r);
    if (*index < rows) {
        row(launch, &r, *index);
    } else if (ry_tensor_count(&launch->problem->in[0]) > 0) {
        weight(launch, &r, *index - rows);
    } else {
        set(launch, 1, *index - rows, 0);
        set(launch, 2, *index - rows, 0);
    }
}

static void run_norm(const ry_cpu_launch *launch, size_t task)
{
    const ry_norm_rows r = rows_of(launch->problem);
    const int64_t positions = rows_to_do(launch->problem, &r) + weights_of(&r);
    ry_ref_each(launch, 1, &positions, launch->prepared->tasks[0], task, position);
}

/* All operands are floats; dx may be absent. */
static bool has_floats(const ry_problem *problem)
{
    bool floats = ry_problem_has_input(problem, 0);
    for (int i = 0; i < problem->inputs; i++) {
        floats &=
            !ry_problem_has_input(problem, i) || ry_dtype_is_float(ry_ref_dtype(&problem->in[i]));
    }
    for (int i = 0; i < problem->outputs; i++) {
        floats &=
            !ry_problem_has_output(problem, i) || ry_dtype_is_float(ry_ref_dtype(&problem->out[i]));
    }
    return floats;
}

static bool takes_layers(const ry_problem *problem)
{
    return has_floats(problem) && ry_problem_has_input(problem, 1) &&
           ry_problem_has_input(problem, 4) &&
           ry_axis(problem->attrs.layer_norm_grad.axis, problem->in[0].rank) >= 0;
}

static bool takes_groups(const ry_problem *problem)
{
    return has_floats(problem) && ry_problem_has_input(problem, 1) &&
           ry_problem_has_input(problem, 3) && ry_problem_has_input(problem, 4) &&
           problem->in[0].rank >= 2 && problem->attrs.group_norm_grad.groups > 0 &&
           problem->in[0].dim[1] % problem->attrs.group_norm_grad.groups == 0;
}

RY_REF_KERNEL(layer_norm_grad, takes_layers, prepare_norm, .run = run_norm);
RY_REF_KERNEL(group_norm_grad, takes_groups, prepare_norm, .run = run_norm);

/* ---- softmax ---- */

/* The dims of one lane; none: each element is a lane. */
static int begin_of(const ry_problem *p)
{
    const int axis = ry_axis(p->attrs.softmax_grad.axis, p->in[0].rank);
    return axis < 0 ? p->in[0].rank : axis;
}

static int end_of(const ry_problem *p)
{
    const int begin = begin_of(p);
    return p->attrs.softmax_grad.flatten || begin == p->in[0].rank ? p->in[0].rank : begin + 1;
}

static double value_at(const ry_cpu_launch *launch, int input, const int64_t *at)
{
    const ry_tensor *t = &launch->problem->in[input];
    return ry_ref_get(ry_ref_dtype(t), launch->in[input], ry_index_offset(t, at));
}

static void lane(const ry_cpu_launch *launch, const int64_t *index)
{
    const ry_problem *p = launch->problem;
    const ry_tensor *dy = &p->in[0], *dx = &p->out[0];
    const bool log = p->attrs.softmax_grad.kind == RY_softmax_kind_log_softmax;
    const int begin = begin_of(p), rank = end_of(p) - begin;
    int64_t at[RY_MAX_RANK];
    memcpy(at, index, sizeof at);
    double sum = 0;
    do {
        sum += value_at(launch, 0, at) * (log ? 1 : value_at(launch, 1, at));
    } while (ry_index_next(rank, dy->dim + begin, at + begin));
    do {
        const double g = value_at(launch, 0, at), y = value_at(launch, 1, at);
        ry_set_f64(ry_ref_dtype(dx), launch->out[0], ry_index_offset(dx, at),
                   log ? g - exp(y) * sum : y * (g - sum));
    } while (ry_index_next(rank, dy->dim + begin, at + begin));
}

static bool takes_softmax(const ry_problem *problem)
{
    return ry_ref_floats(problem) && ry_problem_has_input(problem, 1) &&
           problem->attrs.softmax_grad.kind != RY_softmax_kind_hardmax;
}

RY_REF_LANES(softmax_grad, takes_softmax, begin_of(p), end_of(p), lane)
