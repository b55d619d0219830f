/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts a weight gradient by tiles of split bfloat16 into shares and tasks: the cheapest by a count
 * of cycles, in units of one vector's multiply-add. */
#include "base/integer.h"
#include "base/room.h"
#include "kernels/cpu/amx/wgrad_split_plan.h"
#include "kernels/cpu/wgrad/wgrad_parts.h"
#include "kernels/knob_values.h"

const ry_knob ry_wgrad_split_knobs[WGRAD_SPLIT_KNOBS] = {
    [WGRAD_SPLIT_PARTS] = {.name = "parts", .main = true},
    [WGRAD_SPLIT_K_TILES] = {.name = "k_tiles"},
    [WGRAD_SPLIT_CHANNELS] = {.name = "channels"},
    [WGRAD_SPLIT_POSITIONS] = {.name = "positions"},
};

/* 32 channels of dy of a block stay in the first-level cache. */
static int64_t usual_positions(const ry_query *query, const void *user)
{
    (void)user;
    const ry_machine *machine = query->target->machine;
    const int64_t bytes = ry_machine_core_share(
                      machine, RYND_LEVEL_L1,
                      ry_costs_on(machine, SPLIT_LANES)->blocks.wgrad_split_dy),
                  position = WGRAD_SPLIT_PAIR * 2 * split_parts_of(query->kernel->accuracy);
    return ry_max(2 * WGRAD_SPLIT_PAIR, bytes / position);
}

/* Channels of so many pairs from the first one on, in vectors. */
static double vectors_of(int64_t channels, int64_t pairs)
{
    return (double)ry_ceil_div(ry_min(channels, pairs * WGRAD_SPLIT_PAIR), SPLIT_LANES);
}

static double rows_of(const wgrad_split_plan *plan)
{
    return (double)(plan->shape.k * plan->shape.taps);
}

/* Packing of a block's places of one operand, of so many vectors of channels. */
static double pack_cycles(const wgrad_split_plan *plan, const wgrad_operand *operand,
                          double vectors, double positions, bool transposed)
{
    const struct ry_wgrad_split_costs *cost = &ry_costs_of(plan->costs)->wgrad_split;
    const double lines = positions / (double)plan->axis[WGRAD_SPLIT_LEVELS - 1].pitch,
                 staged = operand->channel == 1 ? 0 : lines * SPLIT_LANES * cost->run;
    return vectors *
           (staged + positions * (cost->pack + cost->pack_part * (double)(plan->splits - 1) +
                                  (transposed ? cost->transpose : 0)));
}

/* Cycles of all blocks of a task. */
static double task_cycles(const wgrad_split_plan *plan, const ry_machine *machine)
{
    const struct ry_wgrad_split_costs *cost = &ry_costs_of(plan->costs)->wgrad_split;
    const wgrad_shape *s = &plan->shape;
    const double c = vectors_of(s->c, plan->c_block), k = vectors_of(s->k, plan->k_block),
                 positions = (double)(plan->steps * WGRAD_SPLIT_PAIR),
                 blocks = (double)ry_ceil_div(plan->blocks, plan->parts);
    const double sums = 2.0 * SPLIT_LANES * SPLIT_LANES * WGRAD_SPLIT_PAIR,
                 peak = machine->bf16.one > 0 ? machine->f32.one / machine->bf16.one : 1,
                 product = sums * peak / (2.0 * SPLIT_LANES) / cost->efficiency;
    const double products = (double)(plan->splits * (plan->splits + 1) / 2 * plan->steps) * product;
    const double tiles = c * k * (double)s->taps;
    const double packed =
        pack_cycles(plan, &s->x, c, (double)(plan->positions * plan->residues), s->x.channel != 1) +
        pack_cycles(plan, &s->dy, k, positions, s->dy.channel == 1);
    return blocks * (packed + tiles * (products + SPLIT_LANES * cost->sum + cost->tap / 4) +
                     cost->block) +
           cost->task;
}

/* Cycles of the whole second phase. */
static double finish_cycles(const wgrad_split_plan *plan)
{
    const struct ry_wgrad_split_costs *cost = &ry_costs_of(plan->costs)->wgrad_split;
    const wgrad_shape *s = &plan->shape;
    const double vectors = (double)s->groups * rows_of(plan) * vectors_of(s->c, plan->c_pairs),
                 store = s->dense || s->dw_c == 1 ? cost->store : cost->store_other * SPLIT_LANES;
    return vectors * ((double)(plan->parts - 1) * cost->share + store);
}

static int64_t x_elements(const wgrad_split_plan *plan)
{
    return plan->residues * plan->shifts * plan->splits * plan->c_block * 2 * plan->plane;
}

static int64_t dy_elements(const wgrad_split_plan *plan)
{
    return plan->splits * plan->k_block * WGRAD_SPLIT_PAIR * plan->row;
}

/* Do sums of a task and its operands stay in the second-level cache? */
static bool fits(const ry_query *query, const void *user)
{
    const wgrad_split_plan *plan = user;
    const double sums = (double)(plan->c_block * plan->k_block * WGRAD_SPLIT_PAIR *
                                 WGRAD_SPLIT_PAIR * plan->shape.taps) *
                        sizeof(float),
                 operands = 2.0 * (double)(x_elements(plan) + dy_elements(plan));
    return sums + operands <=
           ry_blocks_of(plan->costs)->wgrad_split_task *
               (double)ry_machine_core_bytes(query->target->machine, RYND_LEVEL_L2);
}

static void list_values(const ry_query *query, const void *user, int knob, ry_knob_values *values)
{
    const wgrad_split_plan *plan = user;
    switch (knob) {
    case WGRAD_SPLIT_PARTS:
        ry_knob_values_counts(
            values, ry_min((int64_t)ry_blocks_of(plan->costs)->wgrad_parts, plan->blocks));
        break;
    case WGRAD_SPLIT_K_TILES: ry_knob_values_cuts(values, plan->k_pairs, 1, INT64_MAX); break;
    case WGRAD_SPLIT_CHANNELS: ry_knob_values_cuts(values, plan->c_pairs, 1, INT64_MAX); break;
    default: ry_knob_values_around(values, usual_positions(query, plan), WGRAD_SPLIT_PAIR); break;
    }
}

static bool set_axis(const ry_query *query, void *user, int knob, const ry_form *form)
{
    wgrad_split_plan *plan = user;
    if (knob == WGRAD_SPLIT_POSITIONS) {
        ry_wgrad_split_cut(query->problem, split_parts_of(query->kernel->accuracy),
                           form->value[WGRAD_SPLIT_POSITIONS], plan);
        plan->costs = ry_cost_column_of(query->target->machine, SPLIT_LANES);
    } else if (knob == WGRAD_SPLIT_PARTS) {
        plan->parts = form->value[WGRAD_SPLIT_PARTS];
        plan->k_block = form->value[WGRAD_SPLIT_K_TILES];
        plan->c_block = form->value[WGRAD_SPLIT_CHANNELS];
        plan->tasks[0] = (ry_task_cut){{{plan->parts, 1},
                                        {plan->shape.groups, 1},
                                        {plan->k_pairs, plan->k_block},
                                        {plan->c_pairs, plan->c_block}}};
    }
    return true;
}

static double cost_of(const ry_query *query, void *user, double least)
{
    const wgrad_split_plan *plan = user;
    (void)least;
    return wgrad_spent(query, &plan->tasks[0], task_cycles(plan, query->target->machine),
                       finish_cycles(plan));
}

/* Lays out the sums of all channels, or of the task's own channels if a task has all positions. */
static void lay_out_share(wgrad_split_plan *plan)
{
    const wgrad_shape *s = &plan->shape;
    const bool own = plan->parts == 1;
    const int64_t c = own ? ry_min(s->c, plan->c_block * WGRAD_SPLIT_PAIR) : s->c,
                  k = own ? ry_min(s->k, plan->k_block * WGRAD_SPLIT_PAIR) : s->k,
                  groups = own ? 1 : s->groups;
    /* an odd number of cache lines, as between rows of dy */
    plan->pitch = (ry_ceil_div(c, SPLIT_LANES) | 1) * SPLIT_LANES;
    size_t at = 0;
    at += ry_aligned((size_t)(groups * k * s->taps * plan->pitch) * sizeof(float));
    plan->bias = ry_room(&at, groups * k, sizeof(float));
    plan->x_ranges = ry_room(&at, groups * c, sizeof(split_range));
    plan->dy_ranges = ry_room(&at, groups * k, sizeof(split_range));
    plan->share = at;
    const int64_t floats = (int64_t)ry_blocks_of(plan->costs)->wgrad_split_finish,
                  channels = own ? k : ry_clamp(floats / plan->parts / plan->pitch / s->taps, 1, k);
    plan->tasks[1] = (ry_task_cut){{{s->groups, 1}, {s->k, channels}}};
}

static void lay_out_scratch(wgrad_split_plan *plan)
{
    const wgrad_shape *s = &plan->shape;
    const int64_t channels = ry_max(plan->c_block, plan->k_block) * WGRAD_SPLIT_PAIR,
                  stage = ry_max(SPLIT_LANES * plan->positions, channels);
    int64_t runs = plan->axis[0].block;
    for (int i = 1; i < WGRAD_SPLIT_LEVELS - 1; i++) {
        runs *= plan->axis[i].block + plan->axis[i].span;
    }
    size_t at = 0;
    plan->x = ry_room(&at, x_elements(plan), sizeof(uint16_t));
    plan->dy = ry_room(&at, dy_elements(plan), sizeof(uint16_t));
    plan->stage = ry_room(&at, stage, sizeof(float));
    plan->from = ry_room(&at, plan->positions, sizeof(float *));
    plan->runs = ry_room(&at, runs, sizeof(wgrad_split_run));
    plan->tile = ry_room_bytes(&at, 2 * SPLIT_TILE * sizeof(float));
    plan->merged = ry_room(&at, s->c + plan->tasks[1].axis[1].part, sizeof(split_range));
    plan->sums = at, at += plan->parts == 1 ? plan->share : 0;
    plan->scratch = at;
}

static void lay_out(const ry_query *query, void *plan)
{
    (void)query;
    lay_out_share(plan);
    lay_out_scratch(plan);
}

static void describe(const ry_query *query, const void *user, ry_prepared *prepared)
{
    const wgrad_split_plan *plan = user;
    const double task = task_cycles(plan, query->target->machine), finish = finish_cycles(plan),
                 all = task * (double)ry_cut_tasks(&plan->tasks[0]);
    const bool adds = plan->parts > 1;
    const double cycles[2] = {adds ? all : all + finish, adds ? finish : 0};
    wgrad_describe(plan->parts, plan->tasks, cycles, SPLIT_LANES, prepared);
    prepared->workspace = adds ? (size_t)plan->parts * plan->share : 0;
    prepared->scratch = plan->scratch;
}

static const ry_form_axis axes[] = {{.knob = WGRAD_SPLIT_POSITIONS, .usual = usual_positions},
                                    {.knob = WGRAD_SPLIT_CHANNELS, .after = 1, .memory = true},
                                    {.knob = WGRAD_SPLIT_K_TILES, .after = 1, .memory = true},
                                    {.knob = WGRAD_SPLIT_PARTS, .after = 1}};
static const ry_form_method method = {
    .search = {axes, sizeof axes / sizeof *axes, list_values, set_axis, fits, cost_of},
    .size = sizeof(wgrad_split_plan),
    .lay_out = lay_out,
    .describe = describe};
RY_FORM_METHOD(ry_wgrad_split, wgrad_split_plan, method)
