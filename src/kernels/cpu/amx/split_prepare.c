/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels by tiles of split bfloat16 are asked before they run. */
#include "kernels/cpu/amx/split_prepare.h"

#include "kernels/common/work.h"
#include "kernels/cpu/amx/split_cost.h"
#include "kernels/cpu/matmul/matmul_as_conv.h"
#include "kernels/cpu/parts/conv_packing.h"
#include "kernels/packing.h"

const ry_knob ry_split_knobs[SPLIT_KNOBS] = {[SPLIT_FLAT] = {.name = "flat", .main = true},
                                             [SPLIT_BLOCK] = {.name = "block"},
                                             [SPLIT_OC_BLOCKS] = {.name = "oc_blocks"}};

/* Equal blocks of `max` pixels at most. */
static int64_t equal_blocks(const split_plan *plan, int64_t max)
{
    return ry_round_up(ry_ceil_div(plan->segment, ry_ceil_div(plan->segment, max)), SPLIT_OC_BLOCK);
}

static const struct ry_blocks_costs *limits_of(const ry_machine *machine)
{
    return &ry_costs_on(machine, SPLIT_LANES)->blocks;
}

static bool begin(const ry_query *query, void *user)
{
    split_plan *plan = user;
    const ry_conv_geometry *g = &plan->geometry;
    ry_split_start(query->problem, split_parts_of(query->kernel->accuracy), plan);
    const int64_t row = plan->extent[2] * g->channels_in,
                  least = (int64_t)limits_of(query->target->machine)->split_row_elements;
    plan->row_tasks = (ry_task_cut){{{g->batch * g->groups * plan->rows, ry_ceil_div(least, row)}}};
    return true;
}

static void list_values(const ry_query *query, const void *user, int knob, ry_knob_values *values)
{
    const split_plan *plan = user;
    const struct ry_blocks_costs *limit = limits_of(query->target->machine);
    const int64_t least = (int64_t)limit->split_least_block, most = (int64_t)limit->split_block;
    if (knob == SPLIT_FLAT) {
        *values = (ry_knob_values){plan->geometry.out[1] > 1 ? 2 : 1, {0, 1}};
    }
    for (int64_t max = least; knob == SPLIT_BLOCK && max <= most; max *= 2) {
        ry_knob_values_add(values, equal_blocks(plan, max));
    }
    for (int64_t parts = 1; knob == SPLIT_OC_BLOCKS && parts < 2 * plan->oc_blocks; parts *= 2) {
        ry_knob_values_add(values, ry_ceil_div(plan->oc_blocks, ry_min(parts, plan->oc_blocks)));
    }
}

static bool set_axis(const ry_query *query, void *user, int knob, const ry_form *form)
{
    split_plan *plan = user;
    (void)query;
    if (knob == SPLIT_FLAT) {
        ry_split_set_segments(plan, form->value[SPLIT_FLAT] != 0);
    } else if (knob == SPLIT_OC_BLOCKS) {
        plan->block = form->value[SPLIT_BLOCK];
        plan->tasks = (ry_task_cut){{{plan->geometry.batch, 1},
                                     {plan->geometry.groups, 1},
                                     {plan->segments, 1},
                                     {plan->segment, plan->block},
                                     {plan->oc_blocks, form->value[SPLIT_OC_BLOCKS]}}};
    }
    return true;
}

/* Does a task's copy of x stay in a second-level cache? */
static bool fits(const ry_query *query, const void *user)
{
    const split_plan *plan = user;
    const ry_machine *machine = query->target->machine;
    return plan->block * plan->pitch * 2 <=
           ry_machine_core_share(machine, RYND_LEVEL_L2, limits_of(machine)->split_copy);
}

static double cost_of(const ry_query *query, void *user, double least)
{
    const split_plan *plan = user;
    const ry_machine *machine = query->target->machine;
    ry_work work[2];
    (void)least;
    ry_split_count(plan, machine, work);
    return ry_spread_work(&work[1], (size_t)ry_cut_tasks(&plan->tasks), machine->cores,
                          ry_cost_column_of(machine, SPLIT_LANES));
}

static void describe(const ry_query *query, const void *user, ry_prepared *prepared)
{
    const split_plan *plan = user;
    const ry_machine *machine = query->target->machine;
    prepared->phases = 2;
    prepared->tasks[0] = (size_t)ry_cut_tasks(&plan->row_tasks);
    prepared->tasks[1] = (size_t)ry_cut_tasks(&plan->tasks);
    prepared->state_size = ry_aligned(plan->size);
    prepared->packed = plan->packed;
    prepared->pack_tasks = (size_t)(plan->geometry.groups * plan->oc_blocks);
    prepared->scratch = ry_aligned(plan->scratch);
    prepared->workspace = plan->workspace;
    prepared->pack_work = ry_split_pack_work(plan, machine);
    ry_split_count(plan, machine, prepared->work);
    /* the copies go from core to core: writing and reading them comes on top of x, read once */
    prepared->counts = (ry_counts){ry_problem_flop(query->problem),
                                   ry_problem_bytes(query->problem) + (double)plan->workspace};
}

static const ry_form_axis axes[] = {
    {.knob = SPLIT_FLAT},
    {.knob = SPLIT_BLOCK, .after = 1, .largest_first = true, .memory = true},
    {.knob = SPLIT_OC_BLOCKS, .largest_first = true}};
static const ry_form_method method = {
    .search = {axes, sizeof axes / sizeof *axes, list_values, set_axis, fits, cost_of},
    .size = sizeof(split_plan),
    .begin = begin,
    .lay_out = ry_split_lay_out,
    .describe = describe,
    .make_tables = ry_split_make_tables};
RY_FORM_METHOD(ry_split, split_plan, method)

bool ry_matmul_split_is_possible(const ry_problem *problem)
{
    return ry_matmul_as_conv_takes(problem, ry_split_is_possible);
}

void ry_matmul_split_values(const ry_query *query, int knob, ry_knob_values *values)
{
    ry_matmul_as_conv_values(query, knob, values, ry_split_values);
}

rynd_status ry_matmul_split_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    return ry_matmul_as_conv_prepare(query, prepared, error, ry_split_prepare);
}

void ry_matmul_split_initialise(const ry_query *query, void *state)
{
    ry_matmul_as_conv_initialise(query, state, ry_split_initialise);
}

static void packing_of(const split_plan *plan, ry_text *key)
{
    ry_conv_packing_add(&plan->geometry, split_taps(plan), key);
    RY_PACKING_NUMBERS(key, plan->parts, plan->steps, plan->oc_blocks, plan->oc_block_packed,
                       (int64_t)plan->weights);
}

void ry_split_packing(const ry_prepared *prepared, ry_text *key)
{
    packing_of(prepared->state, key);
}

void ry_matmul_split_packing(const ry_prepared *prepared, ry_text *key)
{
    packing_of(ry_matmul_as_conv_state(prepared->state), key);
}
