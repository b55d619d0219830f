/* SPDX-License-Identifier: Apache-2.0 */
/* Which convolutions the staged method computes, and in which forms. */
#include "base/integer.h"
#include "kernels/cpu/staged/staged_plan.h"
#include "kernels/form.h"
#include "problem/limits.h"

enum {
    MAX_RUNS_CHANNEL = 1 << 18, /* bytes of one channel's planes in a worker's scratch */
    MAX_ROWS_CHANNEL = 1 << 24
};

/* Bytes of one channel's planes at most, in tasks of few rows. */
static int64_t channel_bytes(const ry_problem *problem, const ry_conv_geometry *g)
{
    const bool forward = problem->op == RY_OP_conv;
    int64_t extent[2];
    for (int i = 0; i < 2; i++) {
        const int64_t step = forward ? g->stride[i + 1] : g->output_stride[i + 1];
        const int64_t grid = forward ? g->out[i + 1] : ry_ceil_div(g->out[i + 1], step);
        const int64_t field = g->dilation[i + 1] * (g->kernel[i + 1] - 1) / step + 1;
        extent[i] = (i == 0 ? ry_min(grid, 8) : grid) + field;
    }
    return extent[0] * extent[1] * g->stride[1] * g->stride[2] * 4;
}

/* One tap of every pixel needs no staging. */
static bool has_runs(const ry_problem *problem, const ry_conv_geometry *g)
{
    const int64_t max_out =
        problem->op == RY_OP_conv ? RY_LIMIT_STAGED_OUT : RY_LIMIT_STAGED_TRANSPOSED_OUT;
    return g->stride[1] <= RY_LIMIT_STAGED_STRIDE && g->stride[2] <= RY_LIMIT_STAGED_STRIDE &&
           g->kernel[1] * g->kernel[2] * g->stride[1] * g->stride[2] > 1 &&
           g->kernel[0] <= RY_LIMIT_STAGED_DEPTHS && g->channels_out <= max_out &&
           g->phases <= RY_LIMIT_STAGED_PHASES && channel_bytes(problem, g) <= MAX_RUNS_CHANNEL;
}

/* All sums end in tiles of one phase, whose columns are floats next to each other. */
static bool ends_in_tiles(const ry_problem *problem, const ry_conv_geometry *g, int64_t max_in)
{
    return ry_conv_reads_forward(problem) && ry_conv_is_flat(g) &&
           !ry_problem_has_input(problem, 3) && ry_type_of(&problem->out[0]) == RY_f32 &&
           g->kernel[1] * g->kernel[2] > 1 && g->channels_in <= max_in &&
           g->kernel[1] * g->kernel[2] * g->channels_in <= RY_LIMIT_STAGED_DEPTH;
}

static bool has_rows(const ry_problem *problem, const ry_conv_geometry *g)
{
    const ry_tensor *y = &problem->out[0];
    return ends_in_tiles(problem, g, RY_LIMIT_STAGED_IN) &&
           g->stride[1] <= RY_LIMIT_STAGED_STRIDE && g->stride[2] <= RY_LIMIT_STAGED_STRIDE &&
           y->stride[y->rank - 1] == 1 && channel_bytes(problem, g) <= MAX_ROWS_CHANNEL;
}

/* Vectors of a row but the first and the last read inside x with every tap. */
static bool is_inside_between(const ry_conv_geometry *g, int64_t width)
{
    const int64_t vectors = ry_ceil_div(g->out[2], width),
                  field = (g->kernel[2] - 1) * g->dilation[2] - g->before[2];
    return vectors <= 2 || (g->before[2] <= width && (vectors - 1) * width + field <= g->in[2]);
}

static bool has_place(const ry_problem *problem, const ry_conv_geometry *g, int64_t width)
{
    const ry_tensor *x = &problem->in[0], *y = &problem->out[0];
    const int64_t field = g->kernel[1] * g->dilation[1] + ry_max(g->before[1], -g->before[1]),
                  row = ry_max(g->x_step[1], -g->x_step[1]);
    return ends_in_tiles(problem, g,
                         g->groups > 1 ? RY_LIMIT_STAGED_GROUP_IN : RY_LIMIT_STAGED_IN) &&
           ry_type_of(x) == RY_f32 && g->x_step[2] == 1 && g->stride[2] == 1 &&
           y->stride[y->rank - 1] == 1 && g->taps <= STAGED_MAX_PLACE_TAPS &&
           row <= INT32_MAX / field && is_inside_between(g, width);
}

static bool has_channels(const ry_problem *problem, const ry_conv_geometry *g)
{
    const ry_tensor *y = &problem->out[0];
    for (int i = 0; i < 3; i++) {
        if (ry_problem_has_input(problem, i) && ry_type_of(&problem->in[i]) != RY_f32) {
            return false;
        }
    }
    return ends_in_tiles(problem, g, RY_LIMIT_STAGED_IN) && g->groups == 1 && g->dilation[2] == 1 &&
           g->stride[2] <= g->kernel[2] && (y->stride[1] == 1 || y->stride[y->rank - 1] == 1);
}

bool ry_staged_has(const ry_problem *problem, staged_form form, int64_t width)
{
    ry_conv_geometry g;
    if (!ry_conv_takes_floats(problem)) {
        return false;
    }
    ry_conv_geometry_of(problem, &g, NULL, NULL);
    return g.taps > 0 &&
           (form == STAGED_RUNS   ? has_runs(problem, &g)
            : form == STAGED_ROWS ? has_rows(problem, &g)
            : form == STAGED_PLACE
                ? (has_rows(problem, &g) || has_runs(problem, &g)) && has_place(problem, &g, width)
                : has_channels(problem, &g));
}

bool ry_staged_is_possible(const ry_problem *problem)
{
    /* PLACE has no problems of its own */
    return ry_staged_has(problem, STAGED_RUNS, 0) || ry_staged_has(problem, STAGED_ROWS, 0) ||
           ry_staged_has(problem, STAGED_CHANNELS, 0);
}

void ry_staged_list_forms(const ry_query *query, ry_knob_values *values)
{
    for (staged_form form = 0; form < STAGED_FORMS; form++) {
        if (ry_staged_has(query->problem, form, query->kernel->simd.width)) {
            ry_knob_values_add(values, form);
        }
    }
}
