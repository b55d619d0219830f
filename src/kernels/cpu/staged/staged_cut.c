/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts a staged convolution into rows of outputs and k blocks of input channels. */
#include "kernels/cpu/staged/staged_plan.h"

#include "base/integer.h"
#include "base/room.h"
#include "kernels/common/work.h"
#include "kernels/costs.h"
#include "kernels/cpu/parts/epilogue_run.h"
#include "kernels/cpu/parts/tile_lines.h"
#include "kernels/cpu/staged/staged_cost.h"
#include "kernels/form_least.h"
#include "machine/machine.h"

#include <string.h>

static size_t taps_at(const ry_conv_geometry *g)
{
    return ry_aligned(sizeof(staged_plan) + (size_t)g->taps * sizeof(int32_t));
}

size_t ry_staged_plan_size(const ry_problem *problem)
{
    ry_conv_geometry g;
    ry_conv_geometry_of(problem, &g, NULL, NULL);
    return taps_at(&g) + ry_aligned((size_t)g.taps * sizeof(ry_conv_tap));
}

/* The slices that windows reach, and each phase's taps in them. */
static void find_slices(staged_plan *plan)
{
    const ry_conv_geometry *g = &plan->geometry;
    const ry_conv_tap *tap = staged_taps(plan);
    plan->slices = 1;
    for (int64_t p = 0; p < g->phases; p++) {
        staged_phase *phase = &plan->phase[p];
        plan->slices = ry_max(plan->slices, phase->at.grid[0]);
        for (int64_t t = 0; t < phase->at.taps; t++) {
            const int64_t at = tap[phase->at.first_tap + t].at[0];
            int64_t d = 0;
            while (d < plan->depths && plan->depth[d] != at) {
                d++;
            }
            if (d == plan->depths) {
                plan->depth[plan->depths++] = at;
            }
            phase->slice[d].first = phase->slice[d].count == 0 ? (int32_t)t : phase->slice[d].first;
            phase->slice[d].count++;
        }
    }
}

/* Zeros before x, and what the taps reach. */
static void find_field(staged_plan *plan)
{
    const ry_conv_geometry *g = &plan->geometry;
    const ry_conv_tap *tap = staged_taps(plan);
    for (int i = 0; i < 2; i++) {
        int64_t low = tap[0].at[i + 1], high = low;
        plan->grid[i] = 1;
        for (int64_t t = 0; t < g->taps; t++) {
            low = ry_min(low, tap[t].at[i + 1]);
            high = ry_max(high, tap[t].at[i + 1]);
        }
        for (int64_t p = 0; p < g->phases; p++) {
            plan->grid[i] = ry_max(plan->grid[i], plan->phase[p].at.grid[i + 1]);
        }
        plan->before[i] = -low;
        plan->span[i] = high - low;
        plan->field[i] = plan->span[i] / g->stride[i + 1];
    }
}

/* Finds the planes of each residue. Larger strides have none: CHANNELS. */
static void find_planes(staged_plan *plan)
{
    const ry_conv_geometry *g = &plan->geometry;
    const ry_conv_tap *tap = staged_taps(plan);
    memset(plan->slot, -1, sizeof plan->slot);
    for (int64_t t = 0;
         t < g->taps && g->stride[1] <= STAGED_MAX_STRIDE && g->stride[2] <= STAGED_MAX_STRIDE;
         t++) {
        int64_t *slot = &plan->slot[(tap[t].at[1] + plan->before[0]) % g->stride[1]]
                                   [(tap[t].at[2] + plan->before[1]) % g->stride[2]];
        *slot = *slot < 0 ? plan->planes++ : *slot;
    }
}

/* Channels that vectors can interleaves. */
static bool is_adjacent(const ry_problem *problem, const ry_conv_geometry *g,
                        const ry_conv_phase *phase)
{
    const int64_t channels = g->channels_out;
    const bool y = g->y_channel == 1 && phase->y_step[RY_SPACE - 1] == channels;
    const bool r = !ry_problem_has_input(problem, 3) ||
                   (g->r_channel == 1 && phase->r_step[RY_SPACE - 1] == channels);
    return g->phases == 1 && g->groups == 1 && channels > 1 && channels <= 4 && y && r;
}

static void read_problem(const ry_query *query, staged_plan *plan)
{
    const ry_problem *problem = query->problem;
    ry_conv_geometry g;
    ry_conv_phase phase[STAGED_MAX_PHASES];
    ry_conv_geometry_of(problem, &g, NULL, NULL);
    memset(plan, 0, sizeof *plan);
    plan->taps = taps_at(&g);
    plan->size = plan->taps + ry_aligned((size_t)g.taps * sizeof(ry_conv_tap));
    ry_conv_geometry_of(problem, &plan->geometry, phase,
                        (ry_conv_tap *)((char *)plan + plan->taps));
    for (int64_t p = 0; p < g.phases; p++) {
        plan->phase[p].at = phase[p];
    }
    plan->width = query->kernel->simd.width;
    plan->costs = ry_cost_column_of(query->target->machine, plan->width);
    plan->interleave = ry_conv_interleaved_phases(problem, &g);
    plan->adjacent = is_adjacent(problem, &g, &phase[0]);
    find_slices(plan);
    find_field(plan);
    find_planes(plan);
}

static const struct ry_blocks_costs *shares_of(const staged_plan *plan)
{
    return ry_blocks_of(plan->costs);
}

/* Tasks with runs, where there are rows and images enough; of other tasks. */
static int64_t min_run_tasks(const staged_plan *plan, const ry_machine *machine)
{
    return (int64_t)shares_of(plan)->staged_run_tasks * machine->cores;
}

static int64_t min_tasks(const staged_plan *plan, const ry_machine *machine)
{
    return (int64_t)shares_of(plan)->staged_tasks * machine->cores;
}

/* Positions of a task, so that its sums stay in a second-level cache. */
static int64_t positions_of(const staged_plan *plan, const ry_machine *machine)
{
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t sums =
        ry_machine_core_share(machine, RYND_LEVEL_L2, shares_of(plan)->staged_sums);
    return ry_min((int64_t)shares_of(plan)->staged_positions,
                  ry_max(1, sums / 4 / (g->channels_out * g->phases)));
}

/* Images of a task with runs: several small images, as long as tasks suffice for all cores. */
static int64_t usual_images(const staged_plan *plan, const ry_machine *machine)
{
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t image = (plan->grid[0] + plan->field[0]) * plan->pitch,
                  planes = g->batch * g->groups * plan->slices;
    const int64_t many =
        ry_min(positions_of(plan, machine) / 2 / image, planes / min_run_tasks(plan, machine));
    const int64_t images = plan->form != STAGED_RUNS || plan->column_blocks > 1
                               ? 1
                               : ry_min(ry_max(1, many), g->batch);
    return ry_ceil_div(g->batch, ry_ceil_div(g->batch, images));
}

/* Rows of a task with runs: enough rows that staging the halo costs little, few enough that all
 * threads have tasks. */
static int64_t usual_run_rows(const staged_plan *plan, const ry_machine *machine)
{
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t rows = plan->grid[0], planes = g->batch * g->groups * plan->slices;
    const int64_t wanted = ry_max(ry_ceil_div(rows * plan->pitch, positions_of(plan, machine)),
                                  ry_ceil_div(min_run_tasks(plan, machine), planes));
    const int64_t max =
        rows / ry_max(1, ry_min(2 * plan->field[0], (int64_t)shares_of(plan)->staged_halo_rows));
    return ry_ceil_div(rows, plan->images > 1 ? 1 : ry_max(1, ry_min(wanted, max)));
}

static int64_t image_rows(const staged_plan *plan, int64_t rows)
{
    return plan->form == STAGED_CHANNELS ? (rows - 1) * plan->geometry.stride[1] + plan->span[0] + 1
                                         : rows + plan->field[0];
}

/* Few enough that all cores are busy to the end, and that what they read stays in a first-level
 * cache, or a share of a second-level one where blocks could not be smaller without more of them
 * than are expected. */
static int64_t usual_rows(const staged_plan *plan, const ry_machine *machine)
{
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t height = plan->grid[0], few = ry_ceil_div(height, min_tasks(plan, machine));
    const int64_t cached = ry_machine_core_bytes(machine, RYND_LEVEL_L1);
    const int64_t max =
        ry_min(ry_machine_core_share(machine, RYND_LEVEL_L2, shares_of(plan)->staged_rows),
               (int64_t)shares_of(plan)->staged_rows_firsts * cached);
    const int64_t row = plan->pitch *
                        (plan->form == STAGED_CHANNELS ? 1 : g->channels_in * plan->planes) *
                        (int64_t)sizeof(float);
    int64_t rows = ry_ceil_div(height, ry_ceil_div(min_tasks(plan, machine), g->batch * g->groups));
    while (plan->form != STAGED_PLACE && rows > 1 &&
           image_rows(plan, rows) * row > (rows > few ? cached : max)) {
        rows = rows / 2;
    }
    return rows;
}

/* Channels of a run: their planes and the sums stay in a second-level cache. Fewer channels than
 * are transposed at once take up to 1.5 times as long. */
static int64_t usual_k_block(const staged_plan *plan, const ry_machine *machine)
{
    const struct ry_blocks_costs *share = shares_of(plan);
    const int64_t cached = ry_min(
        ry_machine_core_share(machine, RYND_LEVEL_L2, share->staged_k_block),
        (int64_t)share->staged_k_block_firsts * ry_machine_core_bytes(machine, RYND_LEVEL_L1));
    const int64_t channels = plan->geometry.channels_in,
                  channel = ry_max(1, plan->planes * plan->plane * 4);
    const int64_t transposed =
        plan->geometry.x_channel == 1
            ? ry_min(plan->width,
                     ry_machine_core_share(machine, RYND_LEVEL_L2, share->staged_transposed) /
                         channel)
            : 1;
    const int64_t max = ry_max(cached / channel, ry_max(1, transposed));
    return plan->form == STAGED_RUNS ? ry_ceil_div(channels, ry_ceil_div(channels, max)) : channels;
}

/* Groups of a task: several small groups. */
static int64_t usual_groups(const staged_plan *plan, const ry_machine *machine)
{
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t tasks = ry_ceil_div(g->batch, plan->images) * plan->slices *
                          ry_ceil_div(plan->grid[0], plan->rows) * plan->column_blocks * g->groups;
    const int64_t work =
        plan->images * plan->rows * plan->columns * g->taps * g->channels_in * g->channels_out;
    const int64_t pays = ry_ceil_div(
        ry_machine_task_products(machine, ry_costs_of(plan->costs)->staged.min_task), work);
    const int64_t each = tasks / pays < min_tasks(plan, machine)
                             ? ry_max(1, tasks / min_tasks(plan, machine))
                             : pays;
    return ry_ceil_div(g->groups, ry_ceil_div(g->groups, ry_min(each, g->groups)));
}

/* Whole rows, or parts of rows: of pixels with their channels. Planes' rows are read whole, as
 * memory likes them: parts took 1.04 to 1.2 times as long. */
static void list_columns(const staged_plan *plan, ry_knob_values *values)
{
    const bool cuts =
        plan->form == STAGED_RUNS && plan->geometry.phases == 1 && plan->geometry.x_step[2] != 1;
    const int64_t least = (int64_t)shares_of(plan)->staged_columns;
    ry_knob_values_add(values, plan->grid[1]);
    for (int64_t blocks = 2; cuts && plan->grid[1] / blocks >= least; blocks++) {
        ry_knob_values_add(values, ry_round_up(ry_ceil_div(plan->grid[1], blocks), plan->width));
    }
}

/* Output channels of an oc block at most: RUNS: as the registers allow where its tiles have three
 * vectors; ROWS, PLACE: those with which a row has the fewest tiles; PLACE: of several the most, as
 * x comes from further away for each oc block. */
static int64_t choose_oc_block(const staged_plan *plan, const ry_simd *simd)
{
    const int64_t channels = plan->geometry.channels_out,
                  vectors = ry_ceil_div(plan->grid[1], plan->width);
    int64_t best = simd->rows == 14 ? 8 : 6;
    int64_t min = INT64_MAX;
    for (int64_t max = 1;
         staged_ends_in_rows(plan->form) && max <= ry_min(simd->rows, STAGED_MAX_PIXELS); max++) {
        const int64_t oc_blocks = ry_ceil_div(channels, max);
        const int64_t tiles =
            oc_blocks *
            ry_ceil_div(vectors, max_staged_vectors(simd->rows, ry_ceil_div(channels, oc_blocks)));
        best = tiles < min || (tiles == min && plan->form == STAGED_PLACE) ? max : best;
        min = ry_min(tiles, min);
    }
    return plan->form == STAGED_CHANNELS ? (int64_t)simd->width * simd->vectors : best;
}

static void set_form(const ry_query *query, staged_plan *plan, staged_form form)
{
    const ry_simd *simd = &query->kernel->simd;
    plan->form = form;
    plan->transposed = form == STAGED_CHANNELS && query->problem->out[0].stride[1] != 1;
    plan->fetches =
        form == STAGED_RUNS ||
        ry_machine_exceeds_cache(query->target->machine, ry_problem_bytes(query->problem));
    plan->max_oc_block = choose_oc_block(plan, simd);
    plan->oc_blocks = ry_ceil_div(plan->geometry.channels_out, plan->max_oc_block);
}

/* Does the form use every knob that the query sets? */
static bool goes_with(const ry_query *query, const ry_conv_geometry *g, staged_form form)
{
    return form == STAGED_RUNS ||
           (ry_form_allows(query, STAGED_COLUMNS, g->out[2]) &&
            ry_form_allows(query, STAGED_IMAGES, 1) &&
            ry_form_allows(query, STAGED_K_BLOCK, g->channels_in) &&
            (staged_ends_in_rows(form) || ry_form_allows(query, STAGED_GROUPS, 1)));
}

static void list_values(const ry_query *query, const void *user, int knob, ry_knob_values *values)
{
    const staged_plan *plan = user;
    const ry_machine *machine = query->target->machine;
    switch (knob) {
    case STAGED_TILE: ry_staged_list_forms(query, values); break;
    case STAGED_COLUMNS: list_columns(plan, values); break;
    case STAGED_IMAGES: ry_knob_values_add(values, usual_images(plan, machine)); break;
    case STAGED_TASK_ROWS:
        ry_knob_values_add(values, plan->form == STAGED_RUNS ? usual_run_rows(plan, machine)
                                                             : usual_rows(plan, machine));
        break;
    case STAGED_GROUPS: ry_knob_values_add(values, usual_groups(plan, machine)); break;
    default: ry_knob_values_add(values, usual_k_block(plan, machine));
    }
}

static void set_columns(staged_plan *plan, int64_t columns)
{
    const ry_conv_geometry *g = &plan->geometry;
    plan->columns = columns;
    plan->column_blocks = ry_ceil_div(plan->grid[1], columns);
    plan->pitch =
        plan->form == STAGED_CHANNELS
            ? ry_round_up(((columns - 1) * g->stride[2] + plan->span[1] + 1) * g->channels_in, 16)
            : columns + plan->field[1];
}

static void set_rows(staged_plan *plan, int64_t rows)
{
    plan->rows = rows;
    plan->image_rows = image_rows(plan, rows);
    /* a vector behind the last row may be overwritten; steps of whole pages would crowd a few sets
     * of the cache */
    plan->plane = ry_round_up(plan->images * plan->image_rows * plan->pitch + plan->width, 16);
    plan->plane += plan->plane % 64 == 0 ? RY_ROW_GAP : 0;
    plan->positions = ry_round_up(((plan->images - 1) * plan->image_rows + rows - 1) * plan->pitch +
                                      plan->columns,
                                  plan->width);
}

static bool set_axis(const ry_query *query, void *user, int knob, const ry_form *form)
{
    staged_plan *plan = user;
    const int64_t value = form->value[knob];
    switch (knob) {
    case STAGED_TILE:
        set_form(query, plan, (staged_form)value);
        return ry_staged_has(query->problem, plan->form, plan->width) &&
               goes_with(query, &plan->geometry, plan->form);
    case STAGED_COLUMNS: set_columns(plan, value); return true;
    case STAGED_IMAGES: plan->images = value; return true;
    case STAGED_TASK_ROWS: set_rows(plan, value); return true;
    case STAGED_GROUPS: plan->groups = value; return true;
    default: plan->k_block = value; return true;
    }
}

static double cost_of(const ry_query *query, void *user, double least)
{
    staged_plan *plan = user;
    const ry_conv_geometry *g = &plan->geometry;
    (void)least;
    plan->cut = (ry_task_cut){{{g->batch, plan->images},
                               {g->groups, plan->groups},
                               {plan->slices, 1},
                               {plan->grid[0], plan->rows},
                               {plan->grid[1], plan->columns}}};
    plan->tasks = ry_cut_tasks(&plan->cut);
    plan->work = ry_staged_work(query, plan);
    return ry_spread_work(&plan->work, (size_t)plan->tasks, query->target->machine->cores,
                          plan->costs);
}

static const ry_form_axis axes[] = {{.knob = STAGED_TILE},
                                    {.knob = STAGED_COLUMNS, .after = 1, .largest_first = true},
                                    {.knob = STAGED_IMAGES, .after = 2},
                                    {.knob = STAGED_TASK_ROWS, .after = 3},
                                    {.knob = STAGED_GROUPS, .after = 4},
                                    {.knob = STAGED_K_BLOCK, .after = 5}};
static const ry_form_search search = {
    axes, sizeof axes / sizeof *axes, list_values, set_axis, NULL, cost_of};

static void place_weights(staged_plan *plan)
{
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t columns =
        plan->form == STAGED_CHANNELS ? ry_round_up(g->channels_out, plan->width) : g->channels_out;
    for (int64_t p = 0; p < g->phases; p++) {
        plan->phase[p].packed = plan->packed_group;
        plan->packed_group += plan->phase[p].at.taps * g->channels_in * columns;
    }
}

static void lay_out(staged_plan *plan)
{
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t width = plan->width,
                  line = ry_round_up((plan->pitch + width) * g->stride[2], width);
    const bool runs = plan->form == STAGED_RUNS, channels = plan->form == STAGED_CHANNELS,
               position = plan->form == STAGED_PLACE;
    size_t at = 0;
    const int64_t floats = channels   ? plan->plane
                           : position ? 0
                                      : plan->k_block * plan->planes * plan->plane;
    plan->staged = ry_room(&at, floats + 8 * width, sizeof(float));
    plan->lines = ry_room(&at, channels || position ? 0 : line * (g->x_channel == 1 ? width : 1),
                          sizeof(float));
    plan->sums =
        ry_room(&at, runs ? g->phases * g->channels_out * plan->positions : 0, sizeof(float));
    plan->transposed_sums = ry_room(
        &at, plan->transposed ? 2 * ry_round_up(plan->columns, width) * plan->max_oc_block : 0,
        sizeof(float));
    plan->bias = ry_room(&at, g->phases * g->channels_out + plan->max_oc_block, sizeof(float));
    plan->runs = ry_room(&at, runs ? plan->images * plan->rows : 0, sizeof(epilogue_run));
    const int64_t interleave = plan->adjacent ? g->channels_out : plan->interleave;
    plan->interleaved_row = ry_room(
        &at, runs && interleave > 1 ? interleave * (plan->positions + width) : 0, sizeof(float));
    plan->scratch = at;
}

bool ry_staged_plan_make(const ry_query *query, staged_plan *plan)
{
    read_problem(query, plan);
    if (!ry_form_least(&search, query, plan) || plan->planes * plan->plane > INT32_MAX) {
        return false;
    }
    (void)cost_of(query, plan, -1); /* tasks and work: the last plan weighed need not be the best */
    const ry_conv_geometry *g = &plan->geometry;
    const ry_conv_tap *tap = staged_taps(plan);
    for (int64_t t = 0; t < g->taps && plan->form != STAGED_CHANNELS; t++) {
        if (plan->form == STAGED_PLACE) {
            plan->offset[t] = (int32_t)(tap[t].at[1] * g->x_step[1] + tap[t].at[2]);
            continue;
        }
        const int64_t row = tap[t].at[1] + plan->before[0], column = tap[t].at[2] + plan->before[1];
        const int64_t slot = plan->slot[row % g->stride[1]][column % g->stride[2]];
        plan->offset[t] = (int32_t)(slot * plan->plane + row / g->stride[1] * plan->pitch +
                                    column / g->stride[2]);
    }
    place_weights(plan);
    lay_out(plan);
    return true;
}
