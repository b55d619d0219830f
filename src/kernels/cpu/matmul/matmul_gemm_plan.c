/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts a matrix product into tasks: the cheapest by a count of cycles, in units of one vector's
 * multiply-add. */
#include "kernels/cpu/matmul/matmul_gemm_plan.h"

#include "base/integer.h"
#include "base/room.h"
#include "kernels/common/work.h"
#include "kernels/cpu/parts/tile_lines.h"
#include "machine/machine.h"

const ry_knob ry_gemm_knobs[GEMM_KNOBS] = {
    [GEMM_PACKED_A] = {.name = "packed_a", .main = true},
    [GEMM_ROWS] = {.name = "rows"},
    [GEMM_COLUMNS] = {.name = "columns"},
    [GEMM_K_BLOCK] = {.name = "k_block"},
};

static int64_t share_of(const ry_machine *machine, rynd_level level, double share)
{
    return ry_machine_core_share(machine, level, share) / (int64_t)sizeof(float);
}

static int64_t min_k_block(const gemm_plan *plan)
{
    return (int64_t)ry_blocks_of(plan->costs)->gemm_k_block;
}

/* Largest k block: the rows of a tile take a share of the first-level cache. */
static int64_t max_k_block(const gemm_plan *plan, const ry_machine *machine)
{
    return ry_max(min_k_block(plan),
                  share_of(machine, RYND_LEVEL_L1, ry_blocks_of(plan->costs)->gemm_rows));
}

/* Most columns of b. */
static int64_t max_columns(const gemm_plan *plan, const ry_machine *machine)
{
    const int64_t panel = share_of(machine, RYND_LEVEL_L2, ry_blocks_of(plan->costs)->gemm_panel);
    return ry_max(1, panel / plan->k_block / plan->tile_columns) * plan->tile_columns;
}

/* A block of sums in scratch stays in the second-level cache. */
static int64_t max_rows(const gemm_plan *plan, const ry_machine *machine)
{
    const int64_t rows =
        share_of(machine, RYND_LEVEL_L2, ry_blocks_of(plan->costs)->gemm_sums) / plan->tile_columns;
    return plan->direct ? plan->shape.m : ry_max(rows, plan->tile_rows);
}

/* Length of a part in whole grains, if `length` is cut into `parts`. */
static int64_t part_of(int64_t length, int64_t parts, int64_t multiple)
{
    return ry_min(length, ry_ceil_div(ry_ceil_div(length, parts), multiple) * multiple);
}

static bool may_lie(const gemm_plan *plan)
{
    const matmul_operand *a = &plan->shape.of[MATMUL_A];
    return !plan->pairs && (a->dtype == RY_f32 || a->dtype == RY_i32) &&
           (a->column == 1 || a->row == 1);
}

static gemm_a as_it_lies(const gemm_plan *plan)
{
    return plan->shape.of[MATMUL_A].column == 1 ? GEMM_A_ALONG_K : GEMM_A_ALONG_M;
}

/* A matrix c that is added as it is and by itself, where tiles may be written to y, is a residual.
 */
static void name_residual(gemm_plan *plan)
{
    matmul_shape *s = &plan->shape;
    matmul_operand *c = &s->of[MATMUL_C], *r = &s->of[MATMUL_RESIDUAL];
    const matmul_operand *y = &s->of[MATMUL_Y];
    const bool along = s->n == 1 || (y->column == 1 && c->column == 1);
    plan->residual = MATMUL_RESIDUAL;
    if (c->dtype == RY_f32 && y->dtype == RY_f32 && c->row != 0 && along && s->alpha == 1 &&
        s->beta == 1 && r->dtype == RY_NONE) {
        plan->residual = MATMUL_C;
        *r = *c;
        c->dtype = RY_NONE;
    }
}

static bool begin(const ry_query *query, void *user)
{
    gemm_plan *plan = user;
    const ry_simd *simd = &query->kernel->simd;
    matmul_shape *s = &plan->shape;
    if (!ry_matmul_shape_of(query->problem, s)) {
        return false;
    }
    name_residual(plan);
    const matmul_operand *c = &s->of[MATMUL_C], *r = &s->of[MATMUL_RESIDUAL], *y = &s->of[MATMUL_Y];
    plan->width = simd->width;
    plan->costs = ry_cost_column_of(query->target->machine, simd->width);
    plan->tile_rows = simd->rows;
    plan->tile_columns = (int64_t)simd->vectors * simd->width;
    plan->pairs = query->kernel->accuracy == RY_ACCURACY_bf16;
    plan->integer = y->dtype == RY_i32;
    plan->column_bias = c->dtype == RY_f32 && c->row == 0;
    plan->direct = (y->dtype == RY_f32 || y->dtype == RY_i32) && (y->column == 1 || s->n == 1) &&
                   s->alpha == 1.0f && (c->dtype == RY_NONE || plan->column_bias) &&
                   (r->dtype == RY_NONE || (r->dtype == RY_f32 && (r->column == 1 || s->n == 1)));
    return true;
}

static int64_t usual_k_block(const ry_query *query, const void *user)
{
    const gemm_plan *plan = user;
    const int64_t k = plan->shape.k;
    return ry_ceil_div(k, ry_ceil_div(k, max_k_block(plan, query->target->machine)));
}

/* Cycles per element of a, without its products. */
static double a_cycles(const gemm_plan *plan)
{
    const bool crowded = plan->a == GEMM_A_ALONG_K &&
                         plan->shape.of[MATMUL_A].row % RY_SET_FLOATS == 0 && plan->rows > 1;
    const double tiles = (double)ry_ceil_div(plan->columns, plan->tile_columns);
    return plan->a == GEMM_A_PACKED ? ry_costs_of(plan->costs)->matmul.pack_a
           : crowded                ? tiles * ry_costs_of(plan->costs)->matmul.crowded
                                    : 0;
}

/* Cycles for the pages of y, if y is larger than a core's caches: narrow tasks touch each page many
 * times. */
static double page_cycles(const gemm_plan *plan, const ry_machine *machine)
{
    enum { PAGE = 4096 };
    const matmul_shape *s = &plan->shape;
    const matmul_operand *y = &s->of[MATMUL_Y];
    const double size = (double)ry_dtype_size(y->dtype),
                 bytes = size * (double)s->m * (double)s->n * (double)s->batches;
    if (y->column != 1 || bytes <= (double)ry_machine_core_bytes(machine, RYND_LEVEL_L2)) {
        return 0;
    }
    return ry_costs_of(plan->costs)->matmul.page_memory * (double)plan->rows *
           (1 + size * (double)plan->columns / PAGE);
}

/* Multiply-adds of a vector, or what takes as long, of a task. */
static double cycles_of(const gemm_plan *plan, const ry_machine *machine)
{
    const struct ry_matmul_costs *cost = &ry_costs_of(plan->costs)->matmul;
    const matmul_shape *s = &plan->shape;
    const matmul_operand *b = &s->of[MATMUL_B];
    const bool from_memory = ry_machine_exceeds_cache(
        machine, 4 * (double)s->k * (double)s->n * (b->batch[0] ? (double)s->batches : 1));
    const double pack = b->column == 1 ? (from_memory ? cost->pack_row_memory : cost->pack_row)
                        : b->row == 1  ? cost->pack_column
                                       : cost->pack_element * (double)plan->width;
    const double vectors = (double)ry_ceil_div(plan->columns, plan->width),
                 k_blocks = (double)ry_ceil_div(s->k, plan->k_block);
    const double rows = (double)plan->rows;
    const double tiles = (double)(ry_ceil_div(plan->rows, plan->tile_rows) *
                                  ry_ceil_div(plan->columns, plan->tile_columns));
    return (double)s->k * (vectors * (rows * cost->product + pack) + rows * a_cycles(plan)) +
           k_blocks * (vectors * rows * cost->tile + tiles * cost->tile_call +
                       page_cycles(plan, machine)) +
           cost->task;
}

/* Cycles of all cores, waiting for the last task included. */
static double spent(const gemm_plan *plan, const ry_machine *machine, double task)
{
    return task * ((double)ry_cut_tasks(&plan->tasks) + machine->cores - 1);
}

static void set_blocks(gemm_plan *plan, int64_t rows, int64_t columns)
{
    plan->rows = rows;
    plan->columns = columns;
    plan->tasks =
        (ry_task_cut){{{plan->shape.batches, 1}, {plan->shape.m, rows}, {plan->shape.n, columns}}};
}

/* The lengths of `length` cut into 1, 2, 3, 4, 6, 8, 12, ... parts, and into max_parts. */
static void list_parts(int64_t length, int64_t max_parts, int64_t multiple, int64_t max,
                       ry_knob_values *values)
{
    for (int64_t parts = 1; parts <= max_parts;
         parts = parts == max_parts ? max_parts + 1 : ry_min(ry_next_parts(parts), max_parts)) {
        const int64_t part = part_of(length, parts, multiple);
        if (part <= max) {
            ry_knob_values_add(values, part);
        }
    }
}

static void list_values(const ry_query *query, const void *user, int knob, ry_knob_values *values)
{
    const gemm_plan *plan = user;
    const ry_machine *machine = query->target->machine;
    const matmul_shape *s = &plan->shape;
    switch (knob) {
    case GEMM_PACKED_A:
        *values = may_lie(plan) ? (ry_knob_values){2, {0, 1}} : (ry_knob_values){1, {1}};
        break;
    case GEMM_ROWS:
        list_parts(s->m, ry_ceil_div(s->m, plan->tile_rows), 1, max_rows(plan, machine), values);
        break;
    case GEMM_COLUMNS:
        list_parts(s->n, ry_ceil_div(s->n, plan->tile_columns), plan->tile_columns,
                   max_columns(plan, machine), values);
        break;
    default:
        list_parts(s->k, ry_max(1, s->k / min_k_block(plan)), 1, 2 * max_k_block(plan, machine),
                   values);
        break;
    }
}

static bool set_axis(const ry_query *query, void *user, int knob, const ry_form *form)
{
    gemm_plan *plan = user;
    (void)query;
    if (knob == GEMM_K_BLOCK) {
        plan->k_block = form->value[GEMM_K_BLOCK];
    } else if (knob == GEMM_PACKED_A) {
        plan->a = form->value[GEMM_PACKED_A] ? GEMM_A_PACKED : as_it_lies(plan);
    } else if (knob == GEMM_COLUMNS) {
        set_blocks(plan, form->value[GEMM_ROWS], form->value[GEMM_COLUMNS]);
    }
    return true;
}

static double cost_of(const ry_query *query, void *plan, double least)
{
    (void)least;
    return spent(plan, query->target->machine, cycles_of(plan, query->target->machine));
}

static void lay_out(const ry_query *query, void *user)
{
    gemm_plan *plan = user;
    const ry_machine *machine = query->target->machine;
    const int64_t full = ry_ceil_div(plan->columns, plan->width) * plan->width;
    plan->a_step = plan->k_block + plan->width;
    const int64_t tiles =
        share_of(machine, RYND_LEVEL_L2, ry_blocks_of(plan->costs)->gemm_packed_rows) /
        plan->a_step / plan->tile_rows;
    plan->a_block = ry_min(plan->rows, ry_max(1, tiles) * plan->tile_rows);
    size_t at = 0;
    plan->panel = ry_room(&at, plan->k_block * full, sizeof(float));
    plan->a_rows =
        ry_room(&at, plan->a == GEMM_A_PACKED ? plan->a_block * plan->a_step : 0, sizeof(float));
    plan->block = ry_room(&at, plan->direct ? 0 : plan->rows * full, sizeof(float));
    plan->bias = ry_room(&at, plan->column_bias ? full + plan->tile_columns : 0, sizeof(float));
    plan->scratch = at;
}

static void describe(const ry_query *query, const void *user, ry_prepared *prepared)
{
    const gemm_plan *plan = user;
    const int64_t tasks = ry_cut_tasks(&plan->tasks);
    const double cycles = (double)tasks * cycles_of(plan, query->target->machine);
    prepared->tasks[0] = (size_t)tasks;
    prepared->scratch = plan->scratch;
    prepared->work[0] = ry_work_of_cycles((ry_work){cycles, 0}, plan->width);
}

static const ry_form_axis axes[] = {{.knob = GEMM_K_BLOCK, .usual = usual_k_block},
                                    {.knob = GEMM_PACKED_A},
                                    {.knob = GEMM_ROWS, .largest_first = true},
                                    {.knob = GEMM_COLUMNS, .after = 1, .largest_first = true}};
static const ry_form_method method = {
    .search = {axes, sizeof axes / sizeof *axes, list_values, set_axis, NULL, cost_of},
    .size = sizeof(gemm_plan),
    .begin = begin,
    .lay_out = lay_out,
    .describe = describe};
RY_FORM_METHOD(ry_gemm, gemm_plan, method)

static bool is_float(const ry_problem *problem, int i, bool wide)
{
    if (!ry_problem_has_input(problem, i)) {
        return i >= 2;
    }
    const ry_dtype dtype = (ry_dtype)problem->in[i].dtype;
    return dtype == RY_f32 || dtype == RY_f16 || dtype == RY_bf16 ||
           (wide && ry_dtype_is_float(dtype));
}

bool ry_gemm_takes_floats(const ry_problem *problem)
{
    matmul_shape shape;
    const ry_dtype y = (ry_dtype)problem->out[0].dtype;
    return is_float(problem, 0, false) && is_float(problem, 1, false) &&
           is_float(problem, 2, true) && is_float(problem, 3, false) &&
           (y == RY_f32 || y == RY_f16 || y == RY_bf16) && ry_matmul_shape_of(problem, &shape);
}

bool ry_gemm_takes(const ry_problem *problem)
{
    matmul_shape shape;
    const ry_matmul_attrs *attrs = &problem->attrs.matmul;
    const bool integers = problem->out[0].dtype == RYND_DTYPE_I32 &&
                          problem->in[0].dtype == RYND_DTYPE_I32 &&
                          problem->in[1].dtype == RYND_DTYPE_I32 &&
                          !ry_problem_has_input(problem, 2) && !ry_problem_has_input(problem, 3) &&
                          attrs->alpha == 1 && attrs->activation == RY_activation_none;
    return integers ? ry_matmul_shape_of(problem, &shape) : ry_gemm_takes_floats(problem);
}
