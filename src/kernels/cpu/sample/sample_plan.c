/* SPDX-License-Identifier: Apache-2.0 */
/* GridSample, deformable columns, RoiAlign and AffineGrid: the problems that the vector kernels
 * take, their tables and costs. */
#include "kernels/cpu/sample/sample_plan.h"

#include "base/integer.h"
#include "kernels/common/grid_map.h"
#include "kernels/common/roi_bins.h"
#include "kernels/common/work.h"
#include "kernels/cpu/parts/dense_lanes.h"
#include "problem/limits.h"

bool ry_grid_sample_applicable(const ry_problem *problem)
{
    const ry_tensor *x = &problem->in[0], *grid = &problem->in[1];
    return ry_problem_has_input(problem, 0) && ry_problem_has_input(problem, 1) &&
           ry_problem_has_output(problem, 0) && x->rank > 2 && grid->rank == x->rank &&
           ry_dtype_is_float((ry_dtype)grid->dtype) &&
           (problem->attrs.grid_sample.mode == RY_grid_mode_nearest ||
            x->dtype != RYND_DTYPE_BOOL) &&
           ry_points_takes(x, &problem->out[0]);
}

void ry_grid_sample_initialise(const ry_query *query, void *state)
{
    const ry_problem *problem = query->problem;
    const ry_grid_mode mode = problem->attrs.grid_sample.mode;
    ry_points_plan *s = state;
    int64_t taps = 1;
    ry_points_describe(&problem->in[0], &problem->out[0], s);
    s->axis_taps = ry_grid_tap_count(mode);
    for (int a = 0; a < s->rank; a++) {
        taps *= s->axis_taps;
    }
    s->picks = mode == RY_grid_mode_nearest;
    ry_points_lay_out(query->target->machine, taps, s);
}

rynd_status ry_grid_sample_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    ry_points_plan s;
    (void)error;
    ry_grid_sample_initialise(query, &s);
    ry_points_prepare(query, &s, 1, 1, prepared);
    return RYND_OK;
}

bool ry_deform_columns_applicable(const ry_problem *problem)
{
    const ry_tensor *x = &problem->in[0];
    return ry_problem_has_input(problem, 0) && ry_problem_has_input(problem, 1) &&
           ry_problem_has_output(problem, 0) && ry_dtype_is_float((ry_dtype)x->dtype) &&
           problem->attrs.deform_columns.kernel.count == x->rank - 2 &&
           ry_points_takes(x, &problem->out[0]);
}

void ry_deform_columns_initialise(const ry_query *query, void *state)
{
    ry_points_plan *s = state;
    ry_points_describe(&query->problem->in[0], &query->problem->out[0], s);
    s->axis_taps = 2;
    ry_points_lay_out(query->target->machine, INT64_C(1) << s->rank, s);
}

rynd_status ry_deform_columns_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    const ry_problem *problem = query->problem;
    ry_points_plan s;
    (void)error;
    ry_deform_columns_initialise(query, &s);
    const int64_t taps = problem->out[0].dim[1] / s.channels;
    ry_points_prepare(query, &s, (double)taps,
                      (double)(taps * problem->attrs.deform_columns.offset_groups), prepared);
    return RYND_OK;
}

/* Taps of a bin that its cost is counted with, if it has as many. */
enum { TYPICAL = 64 };

bool ry_roi_align_applicable(const ry_problem *problem)
{
    const ry_tensor *x = &problem->in[0], *y = &problem->out[0];
    return ry_problem_has_input(problem, 0) && ry_problem_has_input(problem, 1) &&
           ry_problem_has_input(problem, 2) && ry_problem_has_output(problem, 0) &&
           ry_dtype_is_float((ry_dtype)x->dtype) && x->rank == 4 && problem->in[1].rank == 2 &&
           problem->in[2].rank == 1 && ry_points_takes(x, y);
}

void ry_roi_align_initialise(const ry_query *query, void *state)
{
    const ry_roi_align_attrs *attrs = &query->problem->attrs.roi_align;
    const ry_tensor *y = &query->problem->out[0];
    const int64_t asked = ry_min(attrs->sampling_ratio, RY_ROI_SAMPLES),
                  samples = asked > 0 ? asked : RY_ROI_SAMPLES;
    ry_roi_align_plan *s = state;
    *s = (ry_roi_align_plan){0};
    ry_points_describe(&query->problem->in[0], y, &s->points);
    s->points.largest = attrs->max != 0;
    s->points.axis_taps = 2 * samples;
    /* bins of an axis, or, if they would not fit a worker's scratch, positions of a block */
    s->by_bin = ry_max(y->dim[2], y->dim[3]) <= RY_LIMIT_ROI_ALIGN_BINS;
    s->points.axis_length = s->by_bin ? ry_max(y->dim[2], y->dim[3]) : 0;
    /* data decides how many taps adaptive bins have: any number of passes */
    ry_points_lay_out(query->target->machine, asked > 0 ? 4 * asked * asked : RY_POINTS_PASS + 1,
                      &s->points);
    s->points.taps = ry_min(s->points.taps, TYPICAL);
    for (int a = 0; a < 2; a++) {
        s->positions[a] = s->points.scratch;
        s->points.scratch += ry_aligned((size_t)s->points.block * sizeof(int32_t));
    }
    s->points.cut.axis[2] = (ry_cut_axis){s->points.channels, RY_ROI_CHANNELS};
}

rynd_status ry_roi_align_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    ry_roi_align_plan s;
    (void)error;
    ry_roi_align_initialise(query, &s);
    ry_points_prepare(query, &s.points, 1, (double)ry_cut_parts(&s.points.cut.axis[2]), prepared);
    prepared->state_size = sizeof s;
    return RYND_OK;
}

bool ry_affine_grid_applicable(const ry_problem *problem)
{
    const ry_tensor *theta = &problem->in[0], *y = &problem->out[0];
    return ry_problem_has_input(problem, 0) && ry_problem_has_output(problem, 0) &&
           ry_dtype_is_float((ry_dtype)theta->dtype) && ry_dtype_is_float((ry_dtype)y->dtype) &&
           theta->rank == 3 && y->rank >= 3 && theta->dim[2] == y->rank - 1 &&
           ry_tensor_count(y) > 0 && ry_tensor_is_row_major(y);
}

void ry_affine_grid_initialise(const ry_query *query, void *state)
{
    const ry_tensor *y = &query->problem->out[0];
    const int64_t line = y->dim[y->rank - 2] * y->dim[y->rank - 1];
    ry_affine_grid_plan *s = state;
    s->lines = ry_lanes_cut(query->target->machine, ry_tensor_count(y) / line,
                            line * (int64_t)ry_dtype_size((ry_dtype)y->dtype));
}

rynd_status ry_affine_grid_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    const struct ry_sample_costs *cost = &ry_costs_asked(query)->sample;
    const ry_problem *problem = query->problem;
    ry_affine_grid_plan s;
    (void)error;
    ry_affine_grid_initialise(query, &s);
    *prepared = (ry_prepared){
        .phases = 1, .tasks = {(size_t)ry_cut_parts(&s.lines)}, .state_size = sizeof s};
    ry_count_work(ry_stream_work(query->target->machine, ry_problem_bytes(problem)) +
                      (double)s.lines.extent * cost->line +
                      (double)ry_tensor_count(&problem->out[0]) * cost->coordinate,
                  ry_problem_bytes(problem), prepared);
    return RYND_OK;
}
