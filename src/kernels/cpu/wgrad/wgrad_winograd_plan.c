/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts a weight gradient in Winograd's form into parts, blocks and tasks: the cheapest by a count
 * of cycles, in units of one vector's multiply-add. */
#include "kernels/cpu/wgrad/wgrad_winograd_plan.h"

#include "base/integer.h"
#include "base/room.h"
#include "kernels/cpu/wgrad/wgrad_parts.h"
#include "kernels/knob_values.h"

const ry_knob ry_wgrad_winograd_knobs[WGRAD_WINOGRAD_KNOBS] = {
    [WGRAD_WINOGRAD_PARTS] = {.name = "parts", .main = true},
    [WGRAD_WINOGRAD_TILES] = {.name = "tiles", .main = true},
    [WGRAD_WINOGRAD_CHANNELS] = {.name = "channels"},
    [WGRAD_WINOGRAD_FILTERS] = {.name = "filters"},
};

enum { LINE_FLOATS = 16 };

static bool is_plain(const ry_window_axis *axis)
{
    return axis->taps == WGRAD_TAPS && axis->stride == 1 && axis->dilation == 1;
}

bool ry_wgrad_winograd_takes(const ry_problem *problem)
{
    if (!ry_wgrad_takes(problem)) {
        return false;
    }
    wgrad_shape s;
    ry_wgrad_shape_of(problem, &s);
    return is_plain(&s.axis[2]) && is_plain(&s.axis[1]) && s.axis[0].taps == 1 &&
           s.axis[0].in == 1 && s.axis[0].out == 1;
}

static int64_t point_step(int64_t floats)
{
    return (ry_ceil_div(floats, LINE_FLOATS) | 1) * LINE_FLOATS;
}

/* A task's rows of products, and its vectors of columns: a step of all of its tiles. */
static double step_cycles(const wgrad_winograd_plan *plan,
                          const struct ry_wgrad_winograd_costs *cost)
{
    const int64_t pieces = ry_ceil_div(plan->c_block, plan->tile_rows),
                  vectors = plan->k_block / plan->width, full = vectors / plan->tile_vectors,
                  rest = vectors % plan->tile_vectors;
    const double each = (double)plan->c_block / (double)pieces,
                 whole = each * (double)plan->tile_vectors, narrow = each * (double)rest;
    return (double)pieces * cost->product *
           ((double)full * (whole > cost->latency ? whole : cost->latency) +
            (rest ? (narrow > cost->latency ? narrow : cost->latency) : 0));
}

/* Cycles of the largest task. */
static double task_cycles(const wgrad_winograd_plan *plan)
{
    const struct ry_wgrad_winograd_costs *cost = &ry_costs_of(plan->costs)->wgrad_winograd;
    const double tiles = (double)ry_ceil_div(plan->tiles, plan->parts),
                 blocks = (double)ry_ceil_div((int64_t)tiles, plan->block),
                 c = (double)ry_ceil_div(plan->c_block, plan->width),
                 k = (double)(plan->k_block / plan->width), pairs = (double)plan->c_block * k;
    const double calls = (double)(ry_ceil_div(plan->c_block, plan->tile_rows) *
                                  ry_ceil_div(plan->k_block, plan->width * plan->tile_vectors));
    const double around = blocks * WGRAD_POINTS * (calls * cost->call + pairs * cost->sum);
    const double staged = cost->staged * ((plan->x_staged ? c * WGRAD_IN * WGRAD_OUT : 0) +
                                          (plan->dy_staged ? k * WGRAD_OUT * WGRAD_OUT : 0));
    const double transforms = c * cost->input + k * cost->gradient + staged;
    const double flushes = (double)ry_ceil_div((int64_t)blocks, WGRAD_SUM_BLOCKS);
    return tiles * (WGRAD_POINTS * step_cycles(plan, cost) + transforms) + around +
           pairs * (flushes * cost->output +
                    WGRAD_WINDOW * (plan->parts > 1 ? cost->part : cost->store)) +
           cost->task;
}

/* Cycles of the whole second phase. */
static double finish_cycles(const wgrad_winograd_plan *plan)
{
    const struct ry_wgrad_winograd_costs *cost = &ry_costs_of(plan->costs)->wgrad_winograd;
    const wgrad_shape *s = &plan->shape;
    const double vectors =
        (double)(s->groups * s->c * WGRAD_WINDOW) * (double)(plan->pitch / plan->width);
    return plan->parts == 1 ? 0 : vectors * ((double)plan->parts * cost->part + cost->store);
}

static void set_task(wgrad_winograd_plan *plan, const ry_form *form)
{
    plan->parts = form->value[WGRAD_WINOGRAD_PARTS];
    plan->block = form->value[WGRAD_WINOGRAD_TILES];
    plan->c_block = form->value[WGRAD_WINOGRAD_CHANNELS];
    plan->k_block = form->value[WGRAD_WINOGRAD_FILTERS];
    plan->tasks[0] = (ry_task_cut){{{plan->parts, 1},
                                    {plan->shape.groups, 1},
                                    {plan->shape.k, plan->k_block},
                                    {plan->shape.c, plan->c_block}}};
    plan->v_point = point_step(plan->block * wgrad_v_row(plan));
    plan->u_point = point_step(plan->block * plan->k_block);
    plan->m_point = point_step(plan->c_block * plan->k_block);
}

/* Floats of the lines that a block's tiles of one row meet, at most. */
static int64_t stage_floats(const wgrad_winograd_plan *plan)
{
    const int64_t across = ry_min(plan->block, plan->along) * WGRAD_OUT;
    const int64_t x = WGRAD_IN * (across + WGRAD_TAPS - 1) * wgrad_v_row(plan),
                  dy = WGRAD_OUT * across * plan->k_block;
    return ry_max(plan->x_staged ? x : 0, plan->dy_staged ? dy : 0);
}

/* Do products, operands and lines of a task stay in the second-level cache? */
static bool fits(const ry_query *query, const void *user)
{
    const wgrad_winograd_plan *plan = user;
    const double floats =
        (double)WGRAD_POINTS * (double)(plan->v_point + plan->u_point + plan->m_point) +
        (double)stage_floats(plan);
    return floats * 4 <= ry_blocks_of(plan->costs)->wgrad_winograd_task *
                             (double)ry_machine_core_bytes(query->target->machine, RYND_LEVEL_L2);
}

static void list_values(const ry_query *query, const void *user, int knob, ry_knob_values *values)
{
    (void)query;
    const wgrad_winograd_plan *plan = user;
    const int64_t width = plan->width, max_parts = (int64_t)ry_blocks_of(plan->costs)->wgrad_parts;
    switch (knob) {
    case WGRAD_WINOGRAD_PARTS: ry_knob_values_counts(values, ry_min(max_parts, plan->tiles)); break;
    case WGRAD_WINOGRAD_TILES: *values = (ry_knob_values){3, {16, 32, 64}}; break;
    case WGRAD_WINOGRAD_CHANNELS:
        ry_knob_values_cuts(values, ry_ceil_div(plan->shape.c, width), width, plan->shape.c);
        break;
    default:
        ry_knob_values_cuts(values, ry_ceil_div(plan->shape.k, width), width, INT64_MAX);
        break;
    }
}

static bool set_axis(const ry_query *query, void *plan, int knob, const ry_form *form)
{
    (void)query;
    if (knob == WGRAD_WINOGRAD_PARTS) {
        set_task(plan, form);
    }
    return true;
}

static double cost_of(const ry_query *query, void *user, double least)
{
    const wgrad_winograd_plan *plan = user;
    (void)least;
    return wgrad_spent(query, &plan->tasks[0], task_cycles(plan), finish_cycles(plan));
}

static void lay_out(const ry_query *query, void *user)
{
    wgrad_winograd_plan *plan = user;
    (void)query;
    const wgrad_shape *s = &plan->shape;
    const size_t points = WGRAD_POINTS * sizeof(float);
    const int64_t finish = (int64_t)ry_blocks_of(plan->costs)->wgrad_finish;
    size_t at = 0;
    plan->bias_floats = s->groups * s->c * WGRAD_WINDOW * plan->pitch;
    plan->squares_floats = plan->bias_floats + s->groups * plan->pitch;
    plan->part_floats = plan->squares_floats + s->groups * wgrad_group_squares(plan);
    plan->tasks[1] = (ry_task_cut){
        {{s->groups, 1}, {s->c, ry_clamp(finish / WGRAD_WINDOW / plan->pitch, 1, s->c)}}};
    plan->v = ry_room(&at, plan->v_point, points);
    plan->u = ry_room(&at, plan->u_point, points);
    plan->m = ry_room(&at, plan->m_point, points);
    plan->stage = ry_room(&at, stage_floats(plan), sizeof(float));
    plan->sums = at;
    if (plan->parts == 1) {
        at += ry_aligned((size_t)(plan->c_block * WGRAD_WINDOW * plan->k_block) * sizeof(float));
    }
    plan->bias = ry_room(&at, 2 * plan->k_block, sizeof(float));
    plan->squares =
        ry_room(&at, WGRAD_SQUARES * (wgrad_v_row(plan) + ry_round_up(plan->k_block, plan->width)),
                sizeof(float));
    plan->scratch = at;
}

static bool begin(const ry_query *query, void *user)
{
    wgrad_winograd_plan *plan = user;
    const ry_simd *simd = &query->kernel->simd;
    ry_wgrad_shape_of(query->problem, &plan->shape);
    const wgrad_shape *s = &plan->shape;
    plan->width = simd->width;
    plan->tile_rows = simd->rows;
    plan->tile_vectors = simd->vectors;
    plan->costs = ry_cost_column_of(query->target->machine, simd->width);
    plan->down = ry_ceil_div(s->axis[1].out, WGRAD_OUT);
    plan->along = ry_ceil_div(s->axis[2].out, WGRAD_OUT);
    plan->tiles = s->images * plan->down * plan->along;
    plan->pitch = ry_round_up(s->k, plan->width);
    plan->x_staged = s->x.channel != 1;
    plan->dy_staged = s->dy.channel != 1;
    return true;
}

static void describe(const ry_query *query, const void *user, ry_prepared *prepared)
{
    const wgrad_winograd_plan *plan = user;
    const wgrad_shape *s = &plan->shape;
    const double tasks = (double)ry_cut_tasks(&plan->tasks[0]),
                 cycles[2] = {task_cycles(plan) * tasks, finish_cycles(plan)};
    const double products =
        (double)plan->tiles * WGRAD_POINTS * (double)(s->groups * s->c) * (double)s->k;
    wgrad_describe(plan->parts, plan->tasks, cycles, plan->width, prepared);
    prepared->workspace = plan->parts > 1 ? (size_t)(plan->parts * plan->part_floats) * 4 : 0;
    prepared->scratch = plan->scratch;
    prepared->counts = (ry_counts){2 * products, ry_problem_bytes(query->problem)};
}

static const ry_form_axis axes[] = {{.knob = WGRAD_WINOGRAD_FILTERS, .memory = true},
                                    {.knob = WGRAD_WINOGRAD_CHANNELS, .memory = true},
                                    {.knob = WGRAD_WINOGRAD_TILES, .memory = true},
                                    {.knob = WGRAD_WINOGRAD_PARTS}};
static const ry_form_method method = {
    .search = {axes, sizeof axes / sizeof *axes, list_values, set_axis, fits, cost_of},
    .size = sizeof(wgrad_winograd_plan),
    .begin = begin,
    .lay_out = lay_out,
    .describe = describe};
RY_FORM_METHOD(ry_wgrad_winograd, wgrad_winograd_plan, method)
