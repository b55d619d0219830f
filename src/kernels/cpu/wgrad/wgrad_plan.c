/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts a weight gradient into blocks, parts and tasks: the cheapest by a count of cycles, in units
 * of one vector's multiply-add. */
#include "kernels/cpu/wgrad/wgrad_plan.h"

#include "base/integer.h"
#include "base/room.h"
#include "kernels/cpu/parts/tile_lines.h"
#include "kernels/cpu/wgrad/wgrad_parts.h"
#include "kernels/knob_values.h"

const ry_knob ry_wgrad_knobs[WGRAD_KNOBS] = {
    [WGRAD_PARTS] = {.name = "parts", .main = true},
    [WGRAD_COPIED] = {.name = "copied", .main = true},
    [WGRAD_K_TILES] = {.name = "k_tiles"},
    [WGRAD_CHANNELS] = {.name = "channels"},
    [WGRAD_POSITIONS] = {.name = "positions"},
};

/* Positions of a block: the panel of one tile of k stays in the first-level cache. */
static int64_t usual_positions(const ry_query *query, const void *user)
{
    const wgrad_plan *plan = user;
    const struct ry_blocks_costs *limit = ry_blocks_of(plan->costs);
    const int64_t panel =
        ry_machine_core_share(query->target->machine, RYND_LEVEL_L1, limit->wgrad_panel);
    return ry_max((int64_t)limit->wgrad_positions, panel / 4 / plan->tile_columns);
}

static void cut_blocks(wgrad_plan *plan, int64_t positions)
{
    const wgrad_shape *s = &plan->shape;
    const int64_t d = s->axis[0].out, lines = s->axis[1].out, along = s->axis[2].out;
    plan->outer_is_d = d > 1;
    plan->outer_extent = d > 1 ? d : s->images;
    const int64_t fit = ry_clamp(positions / along, 1, lines);
    plan->line_block = ry_ceil_div(lines, ry_ceil_div(lines, fit));
    plan->outer_block =
        plan->line_block < lines ? 1 : ry_clamp(positions / (along * lines), 1, plan->outer_extent);
    plan->outer_block =
        ry_ceil_div(plan->outer_extent, ry_ceil_div(plan->outer_extent, plan->outer_block));
    plan->line_blocks = ry_ceil_div(lines, plan->line_block);
    plan->outer_blocks = ry_ceil_div(plan->outer_extent, plan->outer_block);
    plan->blocks = plan->line_blocks * plan->outer_blocks * (plan->outer_is_d ? s->images : 1);
}

wgrad_block ry_wgrad_block(const wgrad_plan *plan, int64_t index)
{
    const int64_t line = index % plan->line_blocks * plan->line_block,
                  outer = index / plan->line_blocks % plan->outer_blocks * plan->outer_block;
    return (wgrad_block){.image = plan->outer_is_d ? index / plan->line_blocks / plan->outer_blocks
                                                   : outer,
                         .d = plan->outer_is_d ? outer : 0,
                         .line = line,
                         .outer = ry_min(plan->outer_block, plan->outer_extent - outer),
                         .lines = ry_min(plan->line_block, plan->shape.axis[1].out - line)};
}

/* Vectors of tiles [0, tiles) of k. */
static int64_t vectors_of(const wgrad_plan *plan, int64_t tiles)
{
    return ry_ceil_div(ry_min(tiles * plan->tile_columns, plan->shape.k), plan->width);
}

/* Cycles of one position: FMA throughput, or latency if the tile has few sums. */
static double tile_cycles(double products, const struct ry_wgrad_costs *cost)
{
    return cost->product * (products > cost->latency ? products : cost->latency);
}

/* A position of all tiles of a task with `rows` rows of sums, for one tap of each row's. */
static double rows_cycles(const wgrad_plan *plan, int64_t rows, const struct ry_wgrad_costs *cost)
{
    const int64_t full = plan->tile_columns / plan->width,
                  vectors = vectors_of(plan, plan->k_block),
                  tiles = ry_ceil_div(rows, plan->tile_rows), narrow = vectors % full;
    const double each = (double)rows / (double)tiles;
    return (double)tiles * ((double)(vectors / full) * tile_cycles(each * (double)full, cost) +
                            (narrow ? tile_cycles(each * (double)narrow, cost) : 0));
}

/* The same for all taps. */
static double position_cycles(const wgrad_plan *plan, const struct ry_wgrad_costs *cost)
{
    const int64_t along = plan->shape.axis[2].taps;
    return plan->taps_are_rows
               ? (double)(plan->c_block * plan->shape.taps / along) * rows_cycles(plan, along, cost)
               : (double)plan->shape.taps * rows_cycles(plan, plan->c_block, cost);
}

/* Floats of a block's copy of x. */
static double region_floats(const wgrad_plan *plan)
{
    double floats = (double)plan->c_block * (double)(plan->outer_is_d ? 1 : plan->outer_block);
    for (int i = 0; i < WGRAD_SPACE; i++) {
        floats *= (double)plan->region[i];
    }
    return floats;
}

static double pack_cycles(const wgrad_plan *plan, const struct ry_wgrad_costs *cost)
{
    const wgrad_operand *dy = &plan->shape.dy;
    return dy->channel == 1   ? cost->pack_row
           : dy->step[2] == 1 ? cost->pack_column
                              : cost->pack_other * (double)plan->width;
}

/* Is dy a panel where it is stored: one tile, whose positions follow each other? */
static bool is_in_place(const wgrad_shape *s, int64_t columns, int64_t width)
{
    return s->dy.channel == 1 && s->dy.step[2] == s->k && s->k <= columns && s->k % width == 0;
}

/* Floats of x that a block of a task meets: between taps that are fewer than the stride lie
 * positions, which are not read, and elements of a line, which come with their neighbours. */
static double met_floats(const wgrad_plan *plan)
{
    const int64_t block[WGRAD_SPACE] = {plan->outer_is_d ? plan->outer_block : 1, plan->line_block,
                                        plan->shape.axis[2].out};
    double floats = (double)plan->c_block * (double)(plan->outer_is_d ? 1 : plan->outer_block);
    for (int i = 0; i < WGRAD_SPACE; i++) {
        const bool neighbours = plan->shape.x.step[i] == 1;
        const double taps = (double)block[i] * (double)plan->shape.axis[i].taps;
        floats *= neighbours || taps > (double)plan->region[i] ? (double)plan->region[i] : taps;
    }
    return floats;
}

/* Cycles of the largest task. */
static double task_cycles(const wgrad_plan *plan)
{
    const struct ry_wgrad_costs *cost = &ry_costs_of(plan->costs)->wgrad;
    const wgrad_shape *s = &plan->shape;
    const double blocks = (double)ry_ceil_div(plan->blocks, plan->parts),
                 lines =
                     (double)(s->images * s->axis[0].out * s->axis[1].out) / (double)plan->parts,
                 positions = lines * (double)s->axis[2].out;
    const double vectors = (double)vectors_of(plan, plan->k_block), taps = (double)s->taps;
    const double tiles = (double)(plan->k_block * ry_ceil_div(plan->c_block, plan->tile_rows));
    const bool crowded =
        !plan->copied && s->x.channel % RY_SET_FLOATS == 0 && plan->c_block > RY_SET_LINES;
    const double products = positions * (plan->copied ? 1 : plan->inside) *
                            position_cycles(plan, cost) * (crowded ? cost->crowded : 1);
    const double copy =
        plan->copied ? blocks * region_floats(plan) / (double)plan->width * cost->copy : 0;
    const double dy = plan->in_place ? 0 : pack_cycles(plan, cost);
    const double read = blocks * met_floats(plan) / (double)plan->width *
                        (s->x.channel == 1 ? cost->read : cost->read_plane);
    const double around = taps * tiles * (lines * cost->line + blocks * cost->tile_call) +
                          blocks * taps * (double)plan->c_block * vectors * cost->tile;
    const double stored = plan->parts > 1 ? cost->part
                          : s->dense      ? cost->store
                                          : cost->store_other * (double)plan->width;
    return products + copy + read + around + positions * vectors * dy +
           taps * (double)plan->c_block * vectors * stored + cost->task;
}

/* Cycles of the whole second phase. */
static double finish_cycles(const wgrad_plan *plan)
{
    const struct ry_wgrad_costs *cost = &ry_costs_of(plan->costs)->wgrad;
    const wgrad_shape *s = &plan->shape;
    const double vectors = (double)s->groups * (double)wgrad_rows(plan) *
                           (double)vectors_of(plan, plan->k_tiles),
                 store = s->dense ? cost->store : cost->store_other * (double)plan->width;
    return plan->parts == 1 ? 0 : vectors * ((double)plan->parts * cost->part + store);
}

/* What a block meets of x along each axis. */
static void set_region(wgrad_plan *plan)
{
    const int64_t block[WGRAD_SPACE] = {plan->outer_is_d ? plan->outer_block : 1, plan->line_block,
                                        plan->shape.axis[2].out};
    for (int i = 0; i < WGRAD_SPACE; i++) {
        const ry_window_axis *axis = &plan->shape.axis[i];
        plan->region[i] = (block[i] - 1) * axis->stride + ry_window_field(axis);
    }
}

static void set_task(wgrad_plan *plan, bool copied, int64_t k_block, int64_t c_block, int64_t parts)
{
    const struct ry_wgrad_costs *cost = &ry_costs_of(plan->costs)->wgrad;
    plan->copied = copied;
    plan->k_block = k_block;
    plan->c_block = c_block;
    plan->parts = parts;
    plan->tasks[0] = (ry_task_cut){
        {{parts, 1}, {plan->shape.groups, 1}, {plan->k_tiles, k_block}, {plan->shape.c, c_block}}};
    plan->taps_are_rows = false;
    const double of_channels = position_cycles(plan, cost);
    plan->taps_are_rows = copied;
    plan->taps_are_rows = copied && position_cycles(plan, cost) < of_channels;
    plan->together = !plan->in_place && plan->shape.dy.channel == 1 && k_block > 1;
}

/* Do sums of a task and its panels stay in the second-level cache? */
static bool fits(const ry_query *query, const void *user)
{
    const wgrad_plan *plan = user;
    const double columns = (double)(plan->k_block * plan->tile_columns);
    const double sums = columns * (double)plan->c_block * (double)plan->shape.taps,
                 panel = (plan->together ? columns : (double)plan->tile_columns) *
                         (double)(plan->outer_block * plan->line_block) *
                         (double)plan->shape.axis[2].out;
    return (sums + panel + (plan->copied ? region_floats(plan) : 0)) * 4 <=
           ry_blocks_of(plan->costs)->wgrad_task *
               (double)ry_machine_core_bytes(query->target->machine, RYND_LEVEL_L2);
}

/* Does the copy of one channel of a block stay in a cache? */
static bool may_copy(const wgrad_plan *plan)
{
    wgrad_plan one = *plan;
    one.c_block = 1;
    return region_floats(&one) < ry_blocks_of(plan->costs)->wgrad_copy;
}

static void list_values(const ry_query *query, const void *user, int knob, ry_knob_values *values)
{
    const wgrad_plan *plan = user;
    const int64_t max_parts = (int64_t)ry_blocks_of(plan->costs)->wgrad_parts;
    switch (knob) {
    case WGRAD_PARTS: ry_knob_values_counts(values, ry_min(max_parts, plan->blocks)); break;
    case WGRAD_COPIED:
        *values = may_copy(plan) ? (ry_knob_values){2, {0, 1}} : (ry_knob_values){1, {0}};
        break;
    case WGRAD_K_TILES: ry_knob_values_cuts(values, plan->k_tiles, 1, INT64_MAX); break;
    case WGRAD_CHANNELS:
        ry_knob_values_cuts(values, ry_ceil_div(plan->shape.c, plan->tile_rows), plan->tile_rows,
                            plan->shape.c);
        break;
    default: ry_knob_values_around(values, usual_positions(query, plan), 1); break;
    }
}

static bool set_axis(const ry_query *query, void *user, int knob, const ry_form *form)
{
    wgrad_plan *plan = user;
    (void)query;
    if (knob == WGRAD_POSITIONS) {
        cut_blocks(plan, form->value[WGRAD_POSITIONS]);
        set_region(plan);
    } else if (knob == WGRAD_COPIED) {
        set_task(plan, form->value[WGRAD_COPIED] != 0, form->value[WGRAD_K_TILES],
                 form->value[WGRAD_CHANNELS], form->value[WGRAD_PARTS]);
    }
    return true;
}

static double cost_of(const ry_query *query, void *user, double least)
{
    const wgrad_plan *plan = user;
    (void)least;
    return wgrad_spent(query, &plan->tasks[0], task_cycles(plan), finish_cycles(plan));
}

static int64_t images_of(const wgrad_plan *plan)
{
    return plan->outer_is_d ? 1 : plan->outer_block;
}

static void set_copy(wgrad_plan *plan)
{
    enum { LINE = 16 };
    wgrad_operand *to = &plan->copy;
    const bool last = plan->shape.x.channel == 1;
    to->step[2] = last ? ry_round_up(plan->c_block, LINE) : 1;
    to->step[1] = to->step[2] * plan->region[2];
    to->step[0] = to->step[1] * plan->region[1];
    to->image = to->step[0] * plan->region[0];
    to->channel = last ? 1 : (ry_ceil_div(to->image * images_of(plan), LINE) | 1) * LINE;
}

static void lay_out(const ry_query *query, void *user)
{
    wgrad_plan *plan = user;
    (void)query;
    const wgrad_shape *s = &plan->shape;
    const int64_t rows = wgrad_rows(plan), columns = plan->tile_columns,
                  positions = plan->outer_block * plan->line_block * s->axis[2].out;
    plan->bias_floats = s->groups * plan->k_tiles * rows * columns;
    plan->part_floats = plan->bias_floats + s->groups * plan->k_tiles * columns;
    plan->tasks[1] = (ry_task_cut){
        {{s->groups, 1},
         {plan->k_tiles, 1},
         {rows, ry_max(1, (int64_t)ry_blocks_of(plan->costs)->wgrad_finish / columns)}}};
    size_t at = 0;
    plan->panel_floats = positions * columns;
    const int64_t panels = plan->in_place ? 0 : plan->together ? plan->k_block : 1;
    plan->panel = ry_room(&at, panels * plan->panel_floats, sizeof(float));
    plan->x = at;
    if (plan->copied) {
        set_copy(plan);
        const int64_t floats = s->x.channel == 1 ? plan->copy.image * images_of(plan)
                                                 : plan->copy.channel * plan->c_block;
        at += ry_aligned((size_t)floats * 4);
    }
    plan->sums = at;
    plan->bias = at;
    if (plan->parts == 1) {
        at += ry_aligned((size_t)(plan->k_block * plan->c_block * s->taps * columns) * 4);
        plan->bias = ry_room(&at, plan->k_block * columns, sizeof(float));
    }
    plan->scratch = at;
}

static bool begin(const ry_query *query, void *user)
{
    wgrad_plan *plan = user;
    const ry_simd *simd = &query->kernel->simd;
    ry_wgrad_shape_of(query->problem, &plan->shape);
    plan->width = simd->width;
    plan->costs = ry_cost_column_of(query->target->machine, simd->width);
    plan->tile_rows = simd->rows;
    plan->tile_columns = (int64_t)simd->vectors * simd->width;
    plan->k_tiles = ry_ceil_div(plan->shape.k, plan->tile_columns);
    plan->in_place = is_in_place(&plan->shape, plan->tile_columns, plan->width);
    plan->inside = ry_wgrad_share_inside(&plan->shape);
    return true;
}

static void describe(const ry_query *query, const void *user, ry_prepared *prepared)
{
    const wgrad_plan *plan = user;
    (void)query;
    const double tasks = (double)ry_cut_tasks(&plan->tasks[0]),
                 cycles[2] = {task_cycles(plan) * tasks, finish_cycles(plan)};
    wgrad_describe(plan->parts, plan->tasks, cycles, plan->width, prepared);
    prepared->workspace = plan->parts > 1 ? (size_t)(plan->parts * plan->part_floats) * 4 : 0;
    prepared->scratch = plan->scratch;
}

static const ry_form_axis axes[] = {{.knob = WGRAD_POSITIONS, .usual = usual_positions},
                                    {.knob = WGRAD_CHANNELS, .after = 1, .memory = true},
                                    {.knob = WGRAD_K_TILES, .after = 1, .memory = true},
                                    {.knob = WGRAD_PARTS, .after = 1},
                                    {.knob = WGRAD_COPIED, .after = 1, .memory = true}};
static const ry_form_method method = {
    .search = {axes, sizeof axes / sizeof *axes, list_values, set_axis, fits, cost_of},
    .size = sizeof(wgrad_plan),
    .begin = begin,
    .lay_out = lay_out,
    .describe = describe};
RY_FORM_METHOD(ry_wgrad, wgrad_plan, method)
