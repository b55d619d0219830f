/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes of the staged convolution's planes and tasks. */
#include "kernels/cpu/conv/direct_plan.h"

#include "base/whole.h"

#include <string.h>

enum {
    STAGED_MOST = 20 * 1024, /* bytes of one group's staged rows: they and the sums share a first-level cache of 32 KiB */
    TASKS_LEAST = 32,
    TASK_WORK = 150000, /* multiply-adds a task at least, where there is so much: some ten microseconds */
};

bool direct_plan_suits(const ry_problem *problem)
{
    ry_conv_geometry g;
    if (!ry_conv_is_spatial(problem) || !ry_conv_reads_forward(problem)) {
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

/* Rows of a task where x is staged. */
static void choose_rows(direct_plan *plan)
{
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t height = plan->phase.grid[1], planes = g->stride[1] * g->stride[2];
    int64_t blocks = 1;
    while (blocks < height && g->channels_in * planes * staged_rows(plan, ry_parts(height, blocks)) * plan->pitch * 4 > STAGED_MOST) {
        blocks++;
    }
    /* a block whose rows are mostly reach stages more than it computes: wide windows get more of the second-level cache */
    const int64_t reach = staged_rows(plan, 1);
    plan->rows = ry_parts(height, blocks);
    if (plan->rows < 2 * reach) {
        plan->rows = 2 * reach < height ? 2 * reach : height;
    }
}

static void choose_tasks(direct_plan *plan)
{
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t height = plan->phase.grid[1];
    if (plan->in_place) {
        const int64_t pays = ry_parts(height * plan->phase.grid[2] * g->taps * g->channels_in * g->channels_out, TASK_WORK);
        plan->rows = ry_parts(height, ry_least(ry_least(ry_parts(TASKS_LEAST, g->batch * g->groups), pays), height));
    } else {
        choose_rows(plan);
    }
    plan->rows = ry_parts(height, ry_parts(height, plan->rows));
    plan->row_blocks = ry_parts(height, plan->rows);
    const int64_t work = plan->rows * plan->pitch * g->taps * g->channels_in * g->channels_out;
    const int64_t all = g->batch * g->groups * plan->row_blocks;
    int64_t each = work < TASK_WORK ? ry_parts(TASK_WORK, work) : 1;
    if (all / each < TASKS_LEAST) {
        each = all / TASKS_LEAST > 0 ? all / TASKS_LEAST : 1;
    }
    each = each < g->groups ? each : g->groups;
    plan->groups_a_task = ry_parts(g->groups, ry_parts(g->groups, each));
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

/* Rows of floats without horizontal stride. */
static bool reads_rows(const ry_problem *problem, const direct_plan *plan)
{
    const ry_conv_geometry *g = &plan->geometry;
    const bool has_residual = ry_problem_has_input(problem, 3);
    return !plan->by_rows && g->stride[2] == 1 && g->kernel[2] <= DIRECT_WIDTH_MOST && ry_type_of(&problem->in[0]) == RY_f32 &&
           g->x_step[2] == 1 && ry_type_of(&problem->out[0]) == RY_f32 && plan->phase.y_step[2] == 1 &&
           (!has_residual || (ry_type_of(&problem->in[3]) == RY_f32 && plan->phase.r_step[2] == 1));
}

/* Of a float of x that comes from memory, row by row of many planes; of y, too, which takes as long where one tap is all. */
#define FAR_CYCLES 1.0

static double far_cycles(const direct_plan *plan)
{
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t y = g->taps * g->channels_in == 1 ? g->channels_out * g->out[1] * g->out[2] : 0;
    const double floats = (double)(g->batch * g->groups * (g->channels_in * g->in[1] * g->in[2] + y));
    return floats * sizeof(float) > RY_CONV_FAR_LEAST ? floats * FAR_CYCLES : 0;
}

#define TAP_CYCLES    1.2
#define COLUMN_CYCLES 3.6 /* of a column of the window, however few taps it has */
#define CHAIN_CYCLES  6.0 /* the same where one row is all, and sums wait for themselves (Zen 5) */

/* Cycles of a vector of a row's sums, column by column of the window and row by row modulo the stride. */
static double column_cycles(const direct_plan *plan)
{
    const ry_conv_geometry *g = &plan->geometry;
    const double columns = (double)(g->kernel[2] * ry_least(g->stride[1], g->kernel[1])), taps = TAP_CYCLES * (double)g->taps;
    const double least = columns * (plan->phase.grid[1] == 1 ? CHAIN_CYCLES : COLUMN_CYCLES);
    return taps > least ? taps : least;
}

/* Cycles as they were measured on Zen 4, of vectors and rows that are in the caches: of a staged row and its vectors, which are parted where there
 * is a stride, of sums and of their way to y. */
static double count_cycles(const direct_plan *plan, int width)
{
    static const double part[DIRECT_STRIDE_MOST] = {9.0, 17.0, 38.0, 36.0}; /* [stride - 1] */
    const ry_conv_geometry *g = &plan->geometry;
    const double outputs = (double)g->channels_out, grid = (double)plan->phase.grid[1];
    const double tasks = (double)(g->batch * g->groups), blocks = tasks * (double)plan->row_blocks;
    const double near = blocks * (double)(g->channels_in * __builtin_popcount(plan->planes_used) * staged_rows(plan, plan->rows)) *
                        (6.0 + (double)ry_parts(plan->pitch, width) * part[g->stride[2] - 1]);
    const double taps = (double)(g->taps * g->channels_in), staged = near + far_cycles(plan);
    if (plan->by_rows) {
        return staged + tasks * grid * (double)ry_parts(plan->phase.grid[2], width) * (column_cycles(plan) + 3.0) + blocks * 115.0;
    }
    const double vectors = (double)ry_parts(plan->rows * plan->pitch, width), loads = (double)ry_parts(g->channels_out, DIRECT_BLOCK_MOST);
    return staged + blocks * vectors * (taps * (loads + 0.63 * outputs) + 7.5 * outputs) + tasks * grid * outputs * 22.0 + blocks * 24.0;
}

int64_t direct_vectors(const direct_plan *plan, int64_t width, int64_t first)
{
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t vectors = ry_parts(plan->phase.grid[2], width), registers = width == 8 && g->channels_out > 2 ? 2 : DIRECT_VECTORS_MOST;
    const int64_t count = ry_least(ry_parts(vectors, ry_parts(vectors, registers)), vectors - first);
    const int64_t begin = (first + 1) * width, end = (first + count - 1) * width;
    const bool inside = begin >= plan->before[1] && end + (g->kernel[2] - 1) * plan->dilation[1] - plan->before[1] <= g->in[2];
    return count > 2 && !inside ? 2 : count;
}

/* Cycles of sums in place: of a tap's multiply-adds or of its loads, those of x lying across the ends of cache lines. */
static double count_in_place(const direct_plan *plan, int width)
{
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t columns = plan->phase.grid[2], vectors = ry_parts(columns, width);
    const double steps = (double)(g->taps * g->channels_in);
    double row = 0;
    for (int64_t first = 0, count; first < vectors; first += count) {
        count = direct_vectors(plan, width, first);
        const int64_t lanes = columns - (first + count - 1) * width;
        const double whole = (double)count - (width == 16 && lanes <= width / 2 ? 0.5 : 0.0);
        for (int64_t k = 0; k < g->channels_out; k += DIRECT_BLOCK_MOST) {
            const double out = (double)ry_least(g->channels_out - k, DIRECT_BLOCK_MOST), loads = out + 2.0 * (double)count;
            row += steps * ((out * whole > loads ? out * whole : loads) + 1.0) + 3.0 * out * (double)count + 20.0;
        }
    }
    return (double)(g->batch * g->groups * plan->phase.grid[1]) * row + far_cycles(plan);
}

/* Of the planes of residues of the position modulo the stride, the one that a tap reads. */
static int64_t plane_of(const direct_plan *plan, const ry_conv_tap *tap)
{
    const ry_conv_geometry *g = &plan->geometry;
    return (tap->at[1] + plan->before[0]) % g->stride[1] * g->stride[2] + (tap->at[2] + plan->before[1]) % g->stride[2];
}

void direct_plan_make(const ry_problem *problem, int width, direct_plan *plan)
{
    ry_conv_geometry g;
    ry_conv_geometry_of(problem, &g, NULL, NULL);
    memset(plan, 0, sizeof *plan);
    plan->taps = ry_aligned(sizeof(direct_plan) + (size_t)g.taps * sizeof(int64_t));
    plan->size = plan->taps + ry_aligned(2 * (size_t)g.taps * sizeof(ry_conv_tap));
    ry_conv_tap *tap = (ry_conv_tap *)((char *)plan + plan->taps);
    ry_conv_geometry_of(problem, &plan->geometry, &plan->phase, tap);
    /* tap 0 is the window's corner, the last one the opposite corner */
    int64_t reach[2];
    for (int i = 0; i < 2; i++) {
        const int64_t k = g.kernel[i + 1];
        plan->before[i] = -tap[0].at[i + 1];
        plan->dilation[i] = k > 1 ? (tap[g.taps - 1].at[i + 1] - tap[0].at[i + 1]) / (k - 1) : 1;
        reach[i] = (k - 1) * plan->dilation[i] / g.stride[i + 1];
    }
    plan->by_rows = g.channels_in == 1 && g.channels_out == 1 && (plan->dilation[0] == 1 || g.kernel[1] == 1) &&
                    ry_parts(g.kernel[1], g.stride[1]) <= DIRECT_COLUMN_MOST;
    plan->direct = is_direct(problem, plan);
    if (plan->by_rows) {
        memcpy(tap + g.taps, tap, (size_t)g.taps * sizeof *tap);
        order_taps(&g, tap);
    }
    plan->pitch = plan->phase.grid[2] + reach[1];
    for (int64_t t = 0; t < g.taps; t++) {
        plan->planes_used |= 1u << plane_of(plan, &tap[t]);
    }
    choose_tasks(plan);
    plan->cycles = count_cycles(plan, width);
    const double in_place = reads_rows(problem, plan) ? count_in_place(plan, width) : plan->cycles;
    if (in_place < plan->cycles) {
        plan->in_place = true;
        plan->fetches = ry_problem_bytes(problem) > RY_CONV_FAR_LEAST;
        plan->cycles = in_place;
        choose_tasks(plan);
    }
    plan->plane = staged_rows(plan, plan->rows) * plan->pitch;
    plan->channel = plan->plane * g.stride[1] * g.stride[2];
    for (int64_t t = 0; t < g.taps; t++) {
        const int64_t y = tap[t].at[1] + plan->before[0], x = tap[t].at[2] + plan->before[1];
        plan->offset[t] = plane_of(plan, &tap[t]) * plan->plane + y / g.stride[1] * plan->pitch + x / g.stride[2];
    }
    plan->sum_step = ry_parts((plan->rows - 1) * plan->pitch + plan->phase.grid[2], width) * width;
    size_t at = 0;
    plan->staged = at, at += ry_aligned((size_t)(plan->channel * g.channels_in + 2 * width) * 4);
    plan->sums = at, at += plan->direct ? 0 : ry_aligned((size_t)(plan->sum_step * g.channels_out) * 4);
    plan->runs = at, at += ry_aligned((size_t)plan->rows * 6 * sizeof(int64_t));
    plan->scratch = at;
}
