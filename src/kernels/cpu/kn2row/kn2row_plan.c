/* SPDX-License-Identifier: Apache-2.0 */
/* Describes the matrix product of all taps, and cuts it and the sums behind it into tasks. */
#include "kernels/cpu/kn2row/kn2row_plan.h"

#include "base/integer.h"
#include "base/room.h"
#include "kernels/common/work.h"
#include "kernels/costs.h"
#include "kernels/cpu/igemm/igemm_choose.h"
#include "kernels/cpu/igemm/igemm_layout.h"
#include "kernels/cpu/igemm/igemm_prepare.h"
#include "kernels/cpu/kn2row/kn2row_sum.h"
#include "kernels/cpu/parts/epilogue_run.h"
#include "kernels/form_least.h"
#include "kernels/knob_values.h"
#include "machine/machine.h"
#include "problem/limits.h"

#include <string.h>

void ry_kn2row_product_of(const ry_problem *problem, const kn2row_plan *plan,
                          kn2row_product *product)
{
    const ry_conv_geometry *g = &plan->geometry;
    const kn2row_row_block *row_block = &plan->row_block;
    const int64_t groups = row_block->out > 0 ? 1 : g->groups;
    ry_tensor x = problem->in[0];
    x.dim[1] = groups * g->channels_in;
    if (row_block->out > 0) {
        const int axis = x.rank - RY_SPACE + row_block->axis; /* the axis in x, if x has it */
        x.dim[0] = 1;
        if (axis >= 2) {
            x.dim[axis] = row_block->in;
        }
    }
    ry_shape y = ry_tensor_shape(&x),
             w = {.rank = x.rank, .dim = {groups * kn2row_columns(g), g->channels_in}};
    for (int i = 2; i < x.rank; i++) {
        w.dim[i] = 1;
    }
    y.dim[1] = w.dim[0];
    product->in[0] = x;
    product->in[1] = ry_tensor_row_major(ry_type_of(&problem->in[1]), &w, NULL);
    product->out = ry_tensor_row_major(RY_f32, &y, NULL);
    product->problem = (ry_problem){.op = RY_OP_conv,
                                    .accuracy = RY_ACCURACY_strict,
                                    .attrs = ry_attrs_default(RY_OP_conv),
                                    .inputs = 2,
                                    .outputs = 1,
                                    .in = product->in,
                                    .out = &product->out};
    product->problem.attrs.conv.groups = groups;
}

static int64_t pixels_of(const ry_conv_geometry *g)
{
    return g->in[0] * g->in[1] * g->in[2];
}

bool ry_kn2row_is_possible(const ry_problem *problem)
{
    ry_conv_geometry g;
    if (!ry_conv_takes_floats(problem)) {
        return false;
    }
    ry_conv_geometry_of(problem, &g, NULL, NULL);
    const bool depthwise = g.channels_in == 1 && g.channels_out == 1;
    if (depthwise || !ry_conv_has_unit_stride(&g) || g.taps < 2 ||
        g.channels_out > RY_LIMIT_KN2ROW_OUT) {
        return false;
    }
    const int64_t max = RY_LIMIT_KN2ROW_PRODUCTS / 4, columns = g.groups * kn2row_columns(&g);
    return columns <= max && g.batch <= max / columns && pixels_of(&g) <= max / columns / g.batch;
}

size_t ry_kn2row_plan_size(const ry_problem *problem)
{
    kn2row_plan plan = {.row_block = {.out = 0}};
    kn2row_product product;
    ry_conv_geometry_of(problem, &plan.geometry, NULL, NULL);
    ry_kn2row_product_of(problem, &plan, &product);
    return ry_aligned(sizeof(kn2row_plan)) +
           ry_aligned((size_t)plan.geometry.phases * sizeof(ry_conv_phase)) +
           ry_aligned((size_t)plan.geometry.taps * sizeof(ry_conv_tap)) +
           ry_igemm_plan_size(&product.problem);
}

/* Where the taps read along the row blocks' axis. */
typedef struct field {
    int axis;
    int64_t low, high;
} field;

static field find_field(const kn2row_plan *plan)
{
    const ry_conv_geometry *g = &plan->geometry;
    const ry_conv_tap *tap = (const ry_conv_tap *)(const void *)((const char *)plan + plan->taps);
    const int axis = g->in[0] == 1 && plan->grid[0] == 1 ? 1 : 0;
    field r = {axis, tap[0].at[axis], tap[0].at[axis]};
    for (int64_t t = 0; t < g->taps; t++) {
        r.low = ry_min(r.low, tap[t].at[axis]);
        r.high = ry_max(r.high, tap[t].at[axis]);
    }
    return r;
}

/* Positions of the largest row blocks whose products stay near, `tasks` of them or more where there
 * are rows enough; 0 where not even the smallest row block's do. */
static int64_t row_block_positions(const kn2row_plan *plan, int64_t tasks)
{
    const ry_conv_geometry *g = &plan->geometry;
    const field r = find_field(plan);
    const int64_t each = pixels_of(g) / g->in[r.axis] * kn2row_columns(g) * 4,
                  max = plan->sizes.l1 / each - (r.high - r.low);
    const int64_t grid = plan->grid[r.axis];
    if (max < 1) {
        return 0;
    }
    return ry_ceil_div(grid, ry_min(grid, ry_max(ry_ceil_div(grid, max),
                                                 ry_ceil_div(tasks, g->batch * g->groups))));
}

/* The row block of so many positions; none of 0. */
static kn2row_row_block find_row_block(const kn2row_plan *plan, int64_t positions)
{
    const field r = find_field(plan);
    if (positions == 0) {
        return (kn2row_row_block){.out = 0};
    }
    return (kn2row_row_block){.axis = r.axis,
                              .out = positions,
                              .low = r.low,
                              .in = ry_min(positions + r.high - r.low, plan->geometry.in[r.axis])};
}

/* Many small row blocks, few large ones, none: row blocks are the same for any number of tasks
 * where they must be that small. */
static int64_t many_positions(const kn2row_plan *plan)
{
    return row_block_positions(plan, plan->sizes.tasks);
}

static int64_t few_positions(const kn2row_plan *plan)
{
    return row_block_positions(plan, 1);
}

/* The most rows of a slice in one task. */
static int64_t task_rows(const kn2row_plan *plan)
{
    return plan->row_block.out > 0 && plan->row_block.axis == 1 ? plan->row_block.out
                                                                : plan->grid[1];
}

static ry_task_cut cut_of(const kn2row_plan *plan)
{
    const ry_cut_axis images = {plan->geometry.batch, 1}, groups = {plan->geometry.groups, 1};
    const kn2row_row_block *block = &plan->row_block;
    return block->out > 0
               ? (ry_task_cut){{images, groups, {plan->grid[block->axis], block->out}}}
               : (ry_task_cut){{images, groups, {plan->grid[0], 1}, {plan->grid[1], plan->rows}}};
}

/* Rows that are summed at a time. */
static int64_t usual_rows(const kn2row_plan *plan)
{
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t rows = task_rows(plan),
                  max = ry_min(plan->sizes.positions,
                               plan->sizes.sums / 4 / (g->channels_out * g->phases));
    const int64_t min = plan->row_block.out > 0
                            ? 1
                            : ry_ceil_div(plan->sizes.tasks, g->batch * g->groups * plan->grid[0]);
    return ry_ceil_div(rows,
                       ry_min(rows, ry_max(ry_ceil_div(rows * plan->pitch, ry_max(max, 1)), min)));
}

static void find_tasks(kn2row_plan *plan, int64_t rows)
{
    plan->rows = ry_min(rows, task_rows(plan));
    plan->row_blocks = ry_ceil_div(task_rows(plan), plan->rows);
    plan->positions = plan->rows * plan->pitch;
    plan->tasks = cut_of(plan);
    plan->packs =
        (ry_task_cut){{{plan->geometry.groups, 1}, {kn2row_product_plan(plan)->oc_blocks, 1}}};
}

static const struct ry_kn2row_costs *costs_of(const kn2row_plan *plan)
{
    return &ry_costs_of(kn2row_product_plan(plan)->sizes.costs)->kn2row;
}

/* Cycles of summing a row in all phases and storing it to y. */
static double row_cycles(const kn2row_plan *plan, int width)
{
    const ry_conv_geometry *g = &plan->geometry;
    const double vectors = (double)ry_ceil_div(plan->pitch, width),
                 outputs = (double)g->channels_out;
    const ry_conv_phase *phase =
        (const ry_conv_phase *)(const void *)((const char *)plan + plan->phases);
    const double store = plan->interleave > 1 || phase->y_step[RY_SPACE - 1] == 1
                             ? costs_of(plan)->store
                             : costs_of(plan)->apart;
    const double from_memory = (int64_t)plan->products > plan->sizes.l1
                                   ? 1 - (double)plan->sizes.l1 / (double)plan->products
                                   : 0;
    const double fetch = from_memory * costs_of(plan)->fetch * (double)plan->grid[2];
    const double tap =
        costs_of(plan)->row +
        vectors * (costs_of(plan)->edge * (double)ry_ceil_div(g->channels_out, KN2ROW_TOGETHER) +
                   outputs * costs_of(plan)->load) +
        outputs * fetch;
    return (double)g->taps * tap +
           (double)g->phases * outputs * (vectors * store + costs_of(plan)->run);
}

/* Work of all summing tasks, with their products. */
static ry_work count_sums(const kn2row_plan *plan, int width)
{
    const double rows = (double)(plan->row_blocks * plan->rows) * row_cycles(plan, width),
                 tasks = (double)ry_cut_tasks(&plan->tasks);
    if (plan->row_block.out == 0) {
        return (ry_work){tasks * (rows / (double)plan->row_blocks + costs_of(plan)->task), 0};
    }
    const double slices = plan->row_block.axis == 0 ? (double)plan->row_block.out : 1;
    return (ry_work){
        tasks * (kn2row_product_plan(plan)->count.work.all + slices * rows + costs_of(plan)->task),
        0};
}

/* Cycles of all phases on all cores, idle cores included. */
static double count_cycles(kn2row_plan *plan, int width)
{
    const igemm_plan *product = kn2row_product_plan(plan);
    const unsigned cores = (unsigned)plan->sizes.threads;
    const ry_cost_column costs = product->sizes.costs;
    plan->work = count_sums(plan, width);
    const double sums =
        ry_spread_work(&plan->work, (size_t)ry_cut_tasks(&plan->tasks), cores, costs);
    if (plan->row_block.out > 0) {
        return sums;
    }
    const bool gathers = igemm_has_gathering(product);
    return sums + ry_spread_work(&product->count.work, (size_t)product->tasks, cores, costs) +
           product->sizes.phase +
           (gathers
                ? ry_spread_work(&product->count.gather, (size_t)product->gathers, cores, costs) +
                      product->sizes.phase
                : 0);
}

static void lay_out(kn2row_plan *plan, int width)
{
    const ry_conv_geometry *g = &plan->geometry;
    const igemm_plan *product = kn2row_product_plan(plan);
    const bool banded = plan->row_block.out > 0;
    size_t at = 0;
    plan->sums = ry_room(&at, g->phases * g->channels_out * plan->positions, sizeof(float));
    plan->bias = ry_room(&at, g->phases * g->channels_out, sizeof(float));
    plan->runs = ry_room(&at, plan->rows, sizeof(epilogue_run));
    plan->interleaved_row =
        ry_room(&at, plan->interleave > 1 ? plan->interleave * (plan->positions + width) : 0,
                sizeof(float));
    plan->sources = ry_room(&at, g->taps, sizeof(kn2row_source));
    plan->row_block_products = at, at += banded ? plan->products : 0;
    plan->row_block_shared = at, at += banded ? ry_aligned(product->shared_size) : 0;
    plan->multiply = banded ? at : 0;
    plan->scratch = plan->multiply + product->scratch > at ? plan->multiply + product->scratch : at;
}

/* The matrix product's knobs that ours stand for. */
static const igemm_knob product_knobs[KN2ROW_KNOB_ROWS] = {
    [KN2ROW_KNOB_MODE] = IGEMM_KNOB_MODE,
    [KN2ROW_KNOB_INPUT] = IGEMM_KNOB_INPUT,
    [KN2ROW_KNOB_SHARED] = IGEMM_KNOB_SHARED,
    [KN2ROW_KNOB_APART] = IGEMM_KNOB_APART,
    [KN2ROW_KNOB_PIXEL_BLOCKS] = IGEMM_KNOB_PIXEL_BLOCKS,
    [KN2ROW_KNOB_CHANNEL_BLOCKS] = IGEMM_KNOB_CHANNEL_BLOCKS,
};

/* The matrix product's form, as far as ours sets it: one tap has no rows to split. */
static ry_form product_form(const ry_form *form)
{
    ry_form product = ry_form_free();
    for (int i = KN2ROW_KNOB_MODE; form && i < KN2ROW_KNOB_ROWS; i++) {
        product.value[product_knobs[i]] = form->value[i];
    }
    product.value[IGEMM_KNOB_SPLIT] = 0;
    return product;
}

/* Ours but for the rows, from the row blocks and the matrix product. */
static ry_form form_of(const kn2row_plan *plan)
{
    ry_form form = ry_form_free();
    form.value[KN2ROW_KNOB_ROW_BLOCK] = plan->row_block.out;
    for (int i = KN2ROW_KNOB_MODE; i < KN2ROW_KNOB_ROWS; i++) {
        form.value[i] = kn2row_product_plan(plan)->form.value[product_knobs[i]];
    }
    return form;
}

/* What follows from the row blocks before the matrix product, whose problem it finds. */
static void set_product(const ry_problem *problem, kn2row_plan *plan, kn2row_product *product)
{
    const ry_conv_geometry *g = &plan->geometry;
    const bool banded = plan->row_block.out > 0;
    plan->pixels =
        banded ? pixels_of(g) / g->in[plan->row_block.axis] * plan->row_block.in : pixels_of(g);
    plan->products = ry_aligned(
        (size_t)((banded ? 1 : g->batch * g->groups) * kn2row_columns(g) * plan->pixels) * 4);
    ry_kn2row_product_of(problem, plan, product);
}

static igemm_plan *product_of(kn2row_plan *plan)
{
    return RY_AT(igemm_plan, plan, plan->product);
}

static kn2row_sizes sizes_of(const ry_machine *machine, int width)
{
    const struct ry_blocks_costs *share = &ry_costs_on(machine, width)->blocks;
    const int64_t threads = ry_max(machine->cores, 1);
    return (kn2row_sizes){
        .l1 = ry_machine_core_share(machine, RYND_LEVEL_L2, share->kn2row_products),
        .sums = ry_machine_core_share(machine, RYND_LEVEL_L2, share->kn2row_sums),
        .positions = ry_machine_core_share(machine, RYND_LEVEL_L1, share->kn2row_positions) / 4,
        .kept = (int64_t)ry_machine_kept_bytes(machine),
        .threads = threads,
        .tasks = (int64_t)share->kn2row_tasks * threads};
}

/* What no form changes. */
static void begin(const ry_query *query, kn2row_plan *plan)
{
    const int width = query->kernel->simd.width;
    ry_conv_geometry g;
    ry_conv_geometry_of(query->problem, &g, NULL, NULL);
    memset(plan, 0, sizeof *plan);
    plan->sizes = sizes_of(query->target->machine, width);
    plan->phases = ry_aligned(sizeof *plan);
    plan->taps = plan->phases + ry_aligned((size_t)g.phases * sizeof(ry_conv_phase));
    plan->product = plan->taps + ry_aligned((size_t)g.taps * sizeof(ry_conv_tap));
    ry_conv_phase *phase = RY_AT(ry_conv_phase, plan, plan->phases);
    ry_conv_geometry_of(query->problem, &plan->geometry, phase,
                        RY_AT(ry_conv_tap, plan, plan->taps));
    for (int64_t p = 0; p < g.phases; p++) {
        for (int i = 0; i < RY_SPACE; i++) {
            plan->grid[i] = ry_max(plan->grid[i], phase[p].grid[i]);
        }
    }
    plan->pitch = ry_round_up(plan->grid[2], width);
    plan->interleave = ry_conv_interleaved_phases(query->problem, &g);
}

/* Completes a plan that was begun. */
static void make(const ry_query *query, const ry_form *form, kn2row_plan *plan)
{
    kn2row_product product;
    plan->row_block = find_row_block(plan, form->value[KN2ROW_KNOB_ROW_BLOCK]);
    set_product(query->problem, plan, &product);
    const ry_form inner = product_form(form);
    const ry_query of_product = {query->kernel, &product.problem, query->target, &inner};
    ry_igemm_plan_make(&of_product, plan->row_block.out > 0, product_of(plan));
    find_tasks(plan, form->value[KN2ROW_KNOB_ROWS]);
    plan->form = *form;
    lay_out(plan, query->kernel->simd.width);
}

void ry_kn2row_plan_make(const ry_query *query, kn2row_plan *plan)
{
    begin(query, plan);
    make(query, query->form, plan);
}

/* A plan that is chosen. */
typedef struct trial {
    kn2row_plan *plan;
    int64_t rows; /* the value of the knob */
    ry_form best;
    ry_work work; /* the best form's */
    igemm_count product;
} trial;

static void list_row_blocks(const kn2row_plan *plan, ry_knob_values *values)
{
    ry_knob_values_add(values, 0);
    ry_knob_values_add(values, few_positions(plan));
    ry_knob_values_add(values, many_positions(plan));
}

static void search_values(const ry_query *query, const void *user, int knob, ry_knob_values *values)
{
    const kn2row_plan *plan = ((const trial *)user)->plan;
    (void)query;
    if (knob == KN2ROW_KNOB_ROW_BLOCK) {
        list_row_blocks(plan, values);
    } else {
        ry_knob_values_add(values, usual_rows(plan));
    }
}

static bool set_axis(const ry_query *query, void *user, int knob, const ry_form *form)
{
    trial *t = user;
    (void)query;
    if (knob == KN2ROW_KNOB_ROW_BLOCK) {
        t->plan->row_block = find_row_block(t->plan, form->value[knob]);
    } else {
        t->rows = form->value[knob];
    }
    return true;
}

/* Chooses the matrix product of all taps, too. */
static double cost_of(const ry_query *query, void *user, double least)
{
    trial *t = user;
    kn2row_plan *plan = t->plan;
    kn2row_product product;
    set_product(query->problem, plan, &product);
    const ry_form inner = product_form(query->form);
    const ry_query of_product = {query->kernel, &product.problem, query->target, &inner};
    if (!ry_igemm_choose(&of_product, plan->row_block.out > 0, product_of(plan))) {
        return -1;
    }
    ry_form form = form_of(plan);
    form.value[KN2ROW_KNOB_ROWS] = t->rows;
    find_tasks(plan, t->rows);
    const double cycles = count_cycles(plan, query->kernel->simd.width);
    if (least < 0 || cycles < least) {
        t->best = form;
        t->work = plan->work;
        t->product = kn2row_product_plan(plan)->count;
    }
    return cycles;
}

static const ry_form_axis axes[] = {{.knob = KN2ROW_KNOB_ROW_BLOCK},
                                    {.knob = KN2ROW_KNOB_ROWS, .after = 1}};
static const ry_form_search search = {
    axes, sizeof axes / sizeof *axes, search_values, set_axis, NULL, cost_of};

bool ry_kn2row_plan_choose(const ry_query *query, kn2row_plan *plan)
{
    trial t = {.plan = plan};
    begin(query, plan);
    if (!ry_form_least(&search, query, &t)) {
        return false;
    }
    make(query, &t.best, plan);
    plan->work = t.work;
    product_of(plan)->count = t.product;
    return true;
}

/* Numbers of rows: the kernel's own choice for any row block, and between. */
static void list_rows(const ry_query *query, kn2row_plan *plan, ry_knob_values *values)
{
    const ry_query any = {query->kernel, query->problem, query->target, NULL};
    trial t = {.plan = plan};
    ry_form_list(&search, &any, &t, KN2ROW_KNOB_ROWS, values);
    ry_knob_values_counts(values, plan->grid[1]);
}

void ry_kn2row_list_values(const ry_query *query, kn2row_knob knob, kn2row_plan *plan,
                           ry_knob_values *values)
{
    begin(query, plan);
    if (knob == KN2ROW_KNOB_ROW_BLOCK) {
        list_row_blocks(plan, values);
        return;
    }
    if (knob == KN2ROW_KNOB_ROWS) {
        list_rows(query, plan, values);
        return;
    }
    /* the whole product, which contains the product of any row block */
    kn2row_product product;
    plan->row_block = find_row_block(plan, 0);
    set_product(query->problem, plan, &product);
    const ry_query of_product = {query->kernel, &product.problem, query->target, NULL};
    ry_igemm_list_values(&of_product, product_knobs[knob], product_of(plan), values);
}
