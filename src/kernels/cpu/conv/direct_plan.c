/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes of the staged convolution's planes and tasks. */
#include "kernels/cpu/conv/direct_plan.h"

#include "base/whole.h"
#include "kernels/cpu/conv/direct_costs.h"
#include "kernels/form.h"
#include "machine/machine.h"

#include <string.h>

_Static_assert(sizeof direct_costs.part / sizeof direct_costs.part[0] == DIRECT_STRIDE_MOST, "a cost for each stride");

/* Tasks that keep all cores busy to the end. */
static int64_t tasks_least(const ry_machine *machine)
{
    return 16 * (int64_t)machine->cores;
}

/* An absent input is as good. */
static bool is_float(const ry_problem *problem, int i)
{
    if (!ry_problem_has_input(problem, i)) {
        return true;
    }
    const ry_dtype dtype = ry_type_of(&problem->in[i]);
    return dtype == RY_f32 || dtype == RY_f16 || dtype == RY_bf16;
}

bool direct_plan_suits(const ry_problem *problem)
{
    ry_conv_geometry g;
    const ry_dtype y = ry_type_of(&problem->out[0]);
    const bool floats =
        is_float(problem, 0) && is_float(problem, 1) && is_float(problem, 3) && (y == RY_f32 || y == RY_f16 || y == RY_bf16);
    const bool bias = !ry_problem_has_input(problem, 2) || ry_dtype_is_float(ry_type_of(&problem->in[2]));
    if (!floats || !bias || !ry_conv_is_spatial(problem) || !ry_conv_reads_forward(problem)) {
        return false;
    }
    ry_conv_geometry_of(problem, &g, NULL, NULL);
    const bool flat = ry_conv_is_flat(&g);
    /* with more channels the parting of staged rows costs more than it gives */
    const int64_t most = g.stride[2] == 1 ? DIRECT_OUT_MOST : DIRECT_OUT_MOST / 2;
    const bool few = g.groups > 1 ? g.channels_in <= most && g.channels_out <= most : g.channels_in <= 64 && g.channels_out <= 2;
    const bool near = g.x_step[2] == 1 || g.in[2] == 1;
    return flat && few && near && g.stride[1] <= DIRECT_STRIDE_MOST && g.stride[2] <= DIRECT_STRIDE_MOST && g.taps <= 1024;
}

size_t direct_plan_size(const ry_problem *problem)
{
    ry_conv_geometry g;
    ry_conv_geometry_of(problem, &g, NULL, NULL);
    return ry_aligned(sizeof(direct_plan) + (size_t)g.taps * sizeof(int64_t)) + ry_aligned(2 * (size_t)g.taps * sizeof(ry_conv_tap));
}

static int64_t staged_rows(const direct_plan *plan, int64_t rows)
{
    const ry_conv_geometry *g = &plan->geometry;
    return rows + (g->kernel[1] - 1) * plan->dilation[0] / g->stride[1];
}

/* Rows of a task where x is staged: it and the sums share a first-level cache. */
static int64_t staged_task(const direct_plan *plan, const ry_machine *machine)
{
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t height = plan->phase.grid[1], row = g->channels_in * g->stride[1] * g->stride[2] * plan->pitch * 4;
    const int64_t most = ry_machine_core_bytes(machine, RYND_LEVEL_L1) / 8 * 5;
    int64_t blocks = 1;
    while (blocks < height && staged_rows(plan, ry_parts(height, blocks)) * row > most) {
        blocks++;
    }
    /* a block whose rows are mostly reach stages more than it computes: wide windows get more of the second-level cache */
    const int64_t rows = ry_most(ry_parts(height, blocks), ry_least(2 * staged_rows(plan, 1), height));
    return ry_parts(height, ry_parts(height, rows));
}

static int64_t task_products(const ry_machine *machine)
{
    return ry_machine_task_products(machine, direct_costs.task);
}

static int64_t choose_rows(const direct_plan *plan, const ry_machine *machine)
{
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t height = plan->phase.grid[1];
    if (!plan->in_place) {
        return staged_task(plan, machine);
    }
    const int64_t products = height * plan->phase.grid[2] * g->taps * g->channels_in * g->channels_out;
    const int64_t pays = ry_parts(products, task_products(machine)), wanted = ry_parts(tasks_least(machine), g->batch * g->groups);
    const int64_t rows = ry_parts(height, ry_least(ry_least(wanted, pays), height));
    return ry_parts(height, ry_parts(height, rows));
}

static int64_t choose_groups(const direct_plan *plan, const ry_machine *machine)
{
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t work = plan->rows * plan->pitch * g->taps * g->channels_in * g->channels_out;
    const int64_t all = g->batch * g->groups * plan->row_blocks, least = tasks_least(machine);
    const int64_t pays = ry_most(1, ry_parts(task_products(machine), work));
    const int64_t each = all / pays < least ? ry_most(1, all / least) : pays;
    return ry_parts(g->groups, ry_parts(g->groups, ry_least(each, g->groups)));
}

static void choose_tasks(const ry_query *query, direct_plan *plan)
{
    const ry_conv_geometry *g = &plan->geometry;
    const ry_machine *machine = query->target->machine;
    plan->rows = ry_form_wanted(query, DIRECT_ROWS);
    plan->rows = plan->rows == RY_KNOB_FREE ? choose_rows(plan, machine) : plan->rows;
    plan->row_blocks = ry_parts(plan->phase.grid[1], plan->rows);
    plan->groups_a_task = ry_form_wanted(query, DIRECT_GROUPS);
    plan->groups_a_task = plan->groups_a_task == RY_KNOB_FREE ? choose_groups(plan, machine) : plan->groups_a_task;
    plan->group_blocks = ry_parts(g->groups, plan->groups_a_task);
    plan->tasks = g->batch * plan->group_blocks * plan->row_blocks;
}

/* Taps of a column of the window that read rows of one plane are neighbours: [tap row % stride][tap column][tap row / stride]. */
static void order_taps(const ry_conv_geometry *g, ry_conv_tap *tap)
{
    int64_t to = 0;
    for (int64_t i = 0; i < g->stride[1]; i++) {
        for (int64_t s = 0; s < g->kernel[2]; s++) {
            for (int64_t r = i; r < g->kernel[1]; r += g->stride[1]) {
                /* the row-major list is kept behind the ordered one */
                tap[to++] = tap[g->taps + r * g->kernel[2] + s];
            }
        }
    }
}

static bool is_direct(const ry_problem *problem, const direct_plan *plan)
{
    return plan->by_rows && ry_type_of(&problem->out[0]) == RY_f32 && (plan->phase.y_step[2] == 1 || plan->phase.grid[2] == 1) &&
           !ry_problem_has_input(problem, 3);
}

/* Depthwise, without vertical dilation. */
static bool has_columns(const direct_plan *plan)
{
    const ry_conv_geometry *g = &plan->geometry;
    return g->channels_in == 1 && g->channels_out == 1 && (plan->dilation[0] == 1 || g->kernel[1] == 1) &&
           ry_parts(g->kernel[1], g->stride[1]) <= DIRECT_COLUMN_MOST;
}

/* Rows of floats without horizontal stride. */
static bool reads_rows(const ry_problem *problem, const direct_plan *plan)
{
    const ry_conv_geometry *g = &plan->geometry;
    const bool has_residual = ry_problem_has_input(problem, 3);
    return g->stride[2] == 1 && g->kernel[2] <= DIRECT_WIDTH_MOST && ry_type_of(&problem->in[0]) == RY_f32 && g->x_step[2] == 1 &&
           ry_type_of(&problem->out[0]) == RY_f32 && plan->phase.y_step[2] == 1 &&
           (!has_residual || (ry_type_of(&problem->in[3]) == RY_f32 && plan->phase.r_step[2] == 1));
}

static double far_cycles(const direct_plan *plan, const ry_machine *machine)
{
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t y = g->taps * g->channels_in == 1 ? g->channels_out * g->out[1] * g->out[2] : 0;
    const double floats = (double)(g->batch * g->groups * (g->channels_in * g->in[1] * g->in[2] + y));
    return ry_machine_is_far(machine, floats * sizeof(float)) ? floats * direct_costs.far : 0;
}

/* Cycles of a vector of a row's sums, column by column of the window and row by row modulo the stride. */
static double column_cycles(const direct_plan *plan)
{
    const ry_conv_geometry *g = &plan->geometry;
    const double columns = (double)(g->kernel[2] * ry_least(g->stride[1], g->kernel[1])), taps = direct_costs.tap * (double)g->taps;
    const double least = columns * (plan->phase.grid[1] == 1 ? direct_costs.chain : direct_costs.column);
    return taps > least ? taps : least;
}

/* Cycles of a staged row and its vectors, which are parted where there is a stride, of sums and of their way to y. */
static double count_staged(const ry_query *query, const direct_plan *plan)
{
    const direct_cycles *cost = &direct_costs;
    const ry_conv_geometry *g = &plan->geometry;
    const int width = query->kernel->simd.width;
    const double outputs = (double)g->channels_out, grid = (double)plan->phase.grid[1];
    const double tasks = (double)(g->batch * g->groups), blocks = tasks * (double)plan->row_blocks;
    const double near = blocks * (double)(g->channels_in * __builtin_popcount(plan->planes_used) * staged_rows(plan, plan->rows)) *
                        (cost->row + (double)ry_parts(plan->pitch, width) * cost->part[g->stride[2] - 1]);
    const double taps = (double)(g->taps * g->channels_in), staged = near + far_cycles(plan, query->target->machine);
    if (plan->by_rows) {
        const double vectors = grid * (double)ry_parts(plan->phase.grid[2], width);
        return staged + tasks * vectors * (column_cycles(plan) + cost->column_end) + blocks * cost->column_block;
    }
    const double vectors = (double)ry_parts(plan->rows * plan->pitch, width), loads = (double)ry_parts(g->channels_out, DIRECT_BLOCK_MOST);
    return staged + blocks * vectors * (taps * (loads + cost->product * outputs) + cost->end * outputs) +
           tasks * grid * outputs * cost->way + blocks * cost->block;
}

int64_t direct_vectors(const direct_plan *plan, int64_t width, int64_t first)
{
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t vectors = ry_parts(plan->phase.grid[2], width);
    const int64_t count = ry_least(ry_parts(vectors, ry_parts(vectors, plan->registers)), vectors - first);
    const int64_t begin = (first + 1) * width, end = (first + count - 1) * width;
    const bool inside = begin >= plan->before[1] && end + (g->kernel[2] - 1) * plan->dilation[1] - plan->before[1] <= g->in[2];
    return count > 2 && !inside ? 2 : count;
}

/* Cycles of sums in place: of a tap's multiply-adds or of its loads, those of x lying across the ends of cache lines. */
static double count_in_place(const ry_query *query, const direct_plan *plan)
{
    const direct_cycles *cost = &direct_costs;
    const ry_conv_geometry *g = &plan->geometry;
    const int width = query->kernel->simd.width, grain = query->kernel->simd.grain;
    const int64_t columns = plan->phase.grid[2], vectors = ry_parts(columns, width);
    const double steps = (double)(g->taps * g->channels_in);
    double row = 0;
    for (int64_t first = 0, count; first < vectors; first += count) {
        count = direct_vectors(plan, width, first);
        const int64_t lanes = columns - (first + count - 1) * width;
        const double whole = (double)count - (lanes <= grain ? (double)(width - grain) / width : 0.0);
        for (int64_t k = 0; k < g->channels_out; k += DIRECT_BLOCK_MOST) {
            const double out = (double)ry_least(g->channels_out - k, DIRECT_BLOCK_MOST), loads = out + 2.0 * (double)count;
            row += steps * ((out * whole > loads ? out * whole : loads) + cost->step) + cost->vector * out * (double)count + cost->start;
        }
    }
    return (double)(g->batch * g->groups * plan->phase.grid[1]) * row + far_cycles(plan, query->target->machine);
}

/* Of the planes of residues of the position modulo the stride, the one that a tap reads. */
static int64_t plane_of(const direct_plan *plan, const ry_conv_tap *tap)
{
    const ry_conv_geometry *g = &plan->geometry;
    return (tap->at[1] + plan->before[0]) % g->stride[1] * g->stride[2] + (tap->at[2] + plan->before[1]) % g->stride[2];
}

/* Geometry, taps, row-major, and what they reach. */
static void read_problem(const ry_query *query, direct_plan *plan)
{
    ry_conv_geometry g;
    ry_conv_geometry_of(query->problem, &g, NULL, NULL);
    memset(plan, 0, sizeof *plan);
    plan->taps = ry_aligned(sizeof(direct_plan) + (size_t)g.taps * sizeof(int64_t));
    plan->size = plan->taps + ry_aligned(2 * (size_t)g.taps * sizeof(ry_conv_tap));
    ry_conv_tap *tap = (ry_conv_tap *)((char *)plan + plan->taps);
    memset(tap + g.taps, 0, (size_t)g.taps * sizeof *tap);
    ry_conv_geometry_of(query->problem, &plan->geometry, &plan->phase, tap);
    /* tap 0 is the window's corner, the last one the opposite corner */
    int64_t reach = 0;
    for (int i = 0; i < 2; i++) {
        const int64_t k = g.kernel[i + 1];
        plan->before[i] = -tap[0].at[i + 1];
        plan->dilation[i] = k > 1 ? (tap[g.taps - 1].at[i + 1] - tap[0].at[i + 1]) / (k - 1) : 1;
        reach = (k - 1) * plan->dilation[i] / g.stride[i + 1];
    }
    plan->pitch = plan->phase.grid[2] + reach;
    for (int64_t t = 0; t < g.taps; t++) {
        plan->planes_used |= 1u << plane_of(plan, &tap[t]);
    }
    /* few registers: so many pixels at least share the load of a weight */
    const ry_simd *simd = &query->kernel->simd;
    const bool few = simd->rows * simd->vectors <= DIRECT_BLOCK_MOST * DIRECT_VECTORS_MOST && g.channels_out > 2;
    plan->registers = few ? ry_least(DIRECT_PIXELS_LEAST / simd->width, DIRECT_VECTORS_MOST) : DIRECT_VECTORS_MOST;
    plan->registers = ry_most(2, plan->registers);
}

static bool has_text(const ry_problem *problem, const direct_plan *plan, direct_text text)
{
    return text == DIRECT_BY_ROWS ? has_columns(plan) : text == DIRECT_IN_PLACE ? reads_rows(problem, plan) : true;
}

bool direct_has(const ry_query *query, direct_text text)
{
    direct_plan *plan = ry_allocate(&ry_system_allocator, direct_plan_size(query->problem));
    if (!plan) {
        return text == DIRECT_STAGED;
    }
    read_problem(query, plan);
    const bool has = has_text(query->problem, plan, text);
    ry_release(&ry_system_allocator, plan);
    return has;
}

static void set_text(const ry_query *query, direct_plan *plan, direct_text text)
{
    plan->by_rows = text == DIRECT_BY_ROWS;
    plan->in_place = text == DIRECT_IN_PLACE;
    plan->direct = is_direct(query->problem, plan);
    plan->fetches = plan->in_place && ry_machine_is_far(query->target->machine, ry_problem_bytes(query->problem));
    choose_tasks(query, plan);
    plan->cycles = plan->in_place ? count_in_place(query, plan) : count_staged(query, plan);
}

/* By columns of the window where it can, else the faster one of the others. */
static void choose_text(const ry_query *query, direct_plan *plan)
{
    const int64_t wanted = ry_form_wanted(query, DIRECT_TEXT);
    if (wanted != RY_KNOB_FREE) {
        set_text(query, plan, (direct_text)wanted);
        return;
    }
    const bool columns = has_columns(plan);
    set_text(query, plan, columns ? DIRECT_BY_ROWS : DIRECT_STAGED);
    if (!columns && reads_rows(query->problem, plan)) {
        const double staged = plan->cycles;
        set_text(query, plan, DIRECT_IN_PLACE);
        if (plan->cycles >= staged) {
            set_text(query, plan, DIRECT_STAGED);
        }
    }
}

static void place(const ry_conv_geometry *g, int width, direct_plan *plan)
{
    if (plan->in_place) {
        return;
    }
    size_t at = 0;
    plan->staged = at, at += ry_aligned((size_t)(plan->channel * g->channels_in + 2 * width) * 4);
    plan->sums = at, at += plan->direct ? 0 : ry_aligned((size_t)(plan->sum_step * g->channels_out) * 4);
    plan->runs = at, at += ry_aligned((size_t)plan->rows * 6 * sizeof(int64_t));
    plan->scratch = at;
}

void direct_plan_make(const ry_query *query, direct_plan *plan)
{
    const int width = query->kernel->simd.width;
    read_problem(query, plan);
    choose_text(query, plan);
    const ry_conv_geometry *g = &plan->geometry;
    ry_conv_tap *tap = (ry_conv_tap *)((char *)plan + plan->taps);
    if (plan->by_rows) {
        memcpy(tap + g->taps, tap, (size_t)g->taps * sizeof *tap);
        order_taps(g, tap);
    }
    plan->plane = staged_rows(plan, plan->rows) * plan->pitch;
    plan->channel = plan->plane * g->stride[1] * g->stride[2];
    for (int64_t t = 0; t < g->taps; t++) {
        const int64_t y = tap[t].at[1] + plan->before[0], x = tap[t].at[2] + plan->before[1];
        plan->offset[t] = plane_of(plan, &tap[t]) * plan->plane + y / g->stride[1] * plan->pitch + x / g->stride[2];
    }
    plan->sum_step = ry_parts((plan->rows - 1) * plan->pitch + plan->phase.grid[2], width) * width;
    place(g, width, plan);
}
