/* SPDX-License-Identifier: Apache-2.0 */
/* Which layer normalisations the vector kernels take: float32 whose rows are contiguous. */
#include "kernels/cpu/norm/layer_norm_plan.h"

#include "kernels/common/work.h"
#include "kernels/costs.h"
#include "kernels/cpu/parts/dense_lanes.h"

/* Returns the rows, and sets their length. */
static int64_t rows_of(const ry_problem *problem, layer_norm_plan *s)
{
    const ry_tensor *x = &problem->in[0];
    int64_t rows = 1;
    s->length = 1;
    for (int i = 0; i < x->rank; i++) {
        *(i < ry_axis(problem->attrs.layer_norm.axis, x->rank) ? &rows : &s->length) *= x->dim[i];
    }
    return rows;
}

void ry_layer_norm_initialise(const ry_query *query, void *state)
{
    layer_norm_plan *s = state;
    const int64_t rows = rows_of(query->problem, s);
    s->rows = ry_lanes_cut(query->target->machine, rows, 4 * s->length);
}

static bool row_major_f32(const ry_tensor *t)
{
    return t->dtype == RYND_DTYPE_F32 && ry_tensor_is_row_major(t);
}

bool ry_layer_norm_applicable(const ry_problem *problem)
{
    const ry_tensor *x = &problem->in[0];
    if (!ry_problem_has_input(problem, 0) || !ry_problem_has_output(problem, 0) ||
        ry_axis(problem->attrs.layer_norm.axis, x->rank) < 0) {
        return false;
    }
    layer_norm_plan s;
    rows_of(problem, &s);
    /* scale and bias have the row's own shape: nothing is broadcast within a row */
    for (int i = 0; i < 3; i++) {
        const ry_tensor *t = &problem->in[i];
        if (ry_problem_has_input(problem, i) &&
            (!row_major_f32(t) || (i > 0 && ry_tensor_count(t) != s.length))) {
            return false;
        }
        if (ry_problem_has_output(problem, i) && !row_major_f32(&problem->out[i])) {
            return false;
        }
    }
    return ry_tensor_count(x) > 0;
}

rynd_status ry_layer_norm_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    const struct ry_norm_costs *cost = &ry_costs_asked(query)->norm;
    (void)error;
    layer_norm_plan s;
    ry_layer_norm_initialise(query, &s);
    prepared->phases = 1;
    prepared->tasks[0] = (size_t)ry_cut_parts(&s.rows);
    prepared->state_size = sizeof s;
    const double each = s.length > LAYER_NORM_SHORT ? cost->layer_long : cost->layer_element;
    const double work = (double)s.rows.extent * ((double)s.length * each + cost->layer_row);
    ry_count_work(work, ry_problem_bytes(query->problem), prepared);
    return RYND_OK;
}
