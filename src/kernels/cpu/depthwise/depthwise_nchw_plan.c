/* SPDX-License-Identifier: Apache-2.0 */
/* Masks and tasks of the depthwise convolution along rows. */
#include "kernels/cpu/depthwise/depthwise_nchw_plan.h"

#include "base/whole.h"
#include "kernels/cpu/depthwise/depthwise_problem.h"

#include <string.h>

enum {
    TASK_WORK = 120000, /* multiply-adds a task at least, where there is so much: some five microseconds */
    TASKS_ENOUGH = 32,
    PLANE_CYCLES = 70,       /* beside its rows: weights, addresses */
    ADD_CYCLES = 3,          /* of a vector of sums that y has, of the passes before */
    FETCH_LEAST = 1 << 20,   /* bytes of a problem that a second-level cache does not keep: lines are fetched ahead, */
    FETCH_ROLL_TWO = 8 << 20 /* those that roll down by two rows where a last-level cache does not, either */
};

depthwise_passes depthwise_nchw_passes(const ry_conv_geometry *g, int64_t z)
{
    const int64_t at = z * g->stride[0] - g->before[0], step = g->dilation[0];
    const int64_t first = at < 0 ? ry_parts(-at, step) : 0, end = g->in[0] > at ? ry_parts(g->in[0] - at, step) : 0;
    return (depthwise_passes){first, ry_least(end, g->kernel[0])};
}

/* Of all slices of y; 0 where one of them has none. */
static int64_t count_passes(const ry_conv_geometry *g)
{
    int64_t count = 0;
    for (int64_t z = 0; z < g->out[0]; z++) {
        const depthwise_passes passes = depthwise_nchw_passes(g, z);
        if (passes.end <= passes.first) {
            return 0;
        }
        count += passes.end - passes.first;
    }
    return count;
}

bool depthwise_nchw_suits(const ry_problem *problem)
{
    if (!depthwise_is(problem, 1) || !ry_conv_reads_forward(problem) || ry_type_of(&problem->in[0]) != RY_f32 ||
        ry_type_of(&problem->out[0]) != RY_f32) {
        return false;
    }
    depthwise_nchw_plan plan;
    depthwise_read(problem, &plan.geometry, &plan.phase);
    const ry_conv_geometry *g = &plan.geometry;
    const bool near = (g->x_step[2] == 1 || g->in[2] == 1) && (plan.phase.y_step[2] == 1 || g->out[2] == 1);
    const bool residual =
        !ry_problem_has_input(problem, 3) || (ry_type_of(&problem->in[3]) == RY_f32 && (plan.phase.r_step[2] == 1 || g->out[2] == 1));
    const bool steps =
        g->stride[1] == g->stride[2] && (g->stride[2] == 1 || (g->stride[2] == 2 && g->dilation[1] == 1 && g->dilation[2] == 1));
    return near && residual && steps && count_passes(g) > 0 && g->kernel[1] <= STRIP_WINDOW && g->kernel[2] <= STRIP_WINDOW &&
           g->dilation[2] * g->kernel[2] <= 256;
}

/* Pixels that a load may read, relative to the vector's first output pixel at column 0: `span` of them from `at` on. */
typedef struct load {
    int64_t at, span;
} load;

static load load_of(const depthwise_nchw_plan *plan, int width, int64_t i)
{
    const ry_conv_geometry *g = &plan->geometry;
    if (g->stride[2] == 1) {
        return (load){i * g->dilation[2] - g->before[2], width};
    }
    const int64_t odd = g->kernel[2] > 1 && g->kernel[2] % 2;
    return odd && i == 0 ? (load){-g->before[2], 1} : (load){2 * i - odd - g->before[2], 2 * width};
}

const int depthwise_nchw_heights[DEPTHWISE_HEIGHTS] = {7, 4, 1};

int depthwise_nchw_form(int64_t left)
{
    int form = 0; /* the last one is of one row */
    while (form < DEPTHWISE_HEIGHTS - 1 && depthwise_nchw_heights[form] > left) {
        form++;
    }
    return form;
}

uint64_t depthwise_nchw_inside(const depthwise_nchw_plan *plan, int64_t first, int64_t count)
{
    const int64_t step = plan->geometry.dilation[1], rows = plan->geometry.in[1];
    const int64_t begin = first < 0 ? ry_parts(-first, step) : 0, end = rows > first ? ry_least(count, ry_parts(rows - first, step)) : 0;
    return begin >= end ? 0 : ((1ull << end) - 1) & ~((1ull << begin) - 1);
}

/* Which of `span` pixels from `at` on are inside x. */
static uint32_t inside_row(const ry_conv_geometry *g, int64_t at, int64_t span)
{
    const int64_t first = ry_least(span, ry_most(0, -at)), end = ry_most(first, ry_least(span, g->in[2] - at));
    return (uint32_t)((1ull << end) - (1ull << first));
}

static uint32_t mask_of(const depthwise_nchw_plan *plan, int width, int64_t vector, int64_t i)
{
    const load l = load_of(plan, width, i);
    return inside_row(&plan->geometry, vector * width * plan->geometry.stride[2] + l.at, l.span);
}

static bool is_plain(const depthwise_nchw_plan *plan, int width, int64_t vector)
{
    bool plain = (vector + 1) * width <= plan->geometry.out[2];
    for (int64_t i = 0; plain && i < plan->loads; i++) {
        plain = mask_of(plan, width, vector, i) == (uint32_t)((1ull << load_of(plan, width, i).span) - 1);
    }
    return plain;
}

/* Windows of 3x3 that reach at most a pixel over each end of x. */
static bool can_roll(const ry_conv_geometry *g, int width)
{
    bool rolls = width == 8 && g->kernel[0] == 1 && g->stride[1] == g->stride[2];
    for (int i = 1; i <= 2; i++) {
        const int64_t behind = (g->out[i] - 1) * g->stride[i] + 3 - g->before[i] - g->in[i];
        rolls = rolls && g->kernel[i] == 3 && g->dilation[i] == 1 && g->before[i] >= 0 && g->before[i] <= 1 && behind <= 1;
    }
    return rolls;
}

/* The masks of a row's first vector and of its last one, which ends with the row. */
static void find_ends(int width, depthwise_nchw_plan *plan)
{
    const ry_conv_geometry *g = &plan->geometry;
    /* from the first pixel that a vector reads to each of its loads */
    const int64_t at[2][ROLL_LOADS] = {{0, 1, 2}, {0, width, 1, width + 1}};
    for (int64_t end = 0; end < 2; end++) {
        const int64_t column = end ? ry_most(0, g->out[2] - width) : 0;
        for (int64_t i = 0; i < plan->loads; i++) {
            plan->mask[end * plan->loads + i] = inside_row(g, column * g->stride[2] - g->before[2] + at[g->stride[2] - 1][i], width);
        }
    }
}

/* With one tap, rows without gaps between them are one. */
static void join_rows(const ry_problem *problem, depthwise_nchw_plan *plan)
{
    ry_conv_geometry *g = &plan->geometry;
    ry_conv_phase *at = &plan->phase;
    const int64_t rows = g->in[1], columns = g->in[2];
    const bool same = g->kernel[1] * g->kernel[2] == 1 && g->stride[1] == 1 && g->stride[2] == 1 && g->before[1] == 0 &&
                      g->before[2] == 0 && g->out[1] == rows && g->out[2] == columns && rows * columns < 1 << 20;
    if (same && g->x_step[1] == columns && at->y_step[1] == columns && (!ry_problem_has_input(problem, 3) || at->r_step[1] == columns)) {
        g->in[1] = g->out[1] = 1;
        g->in[2] = g->out[2] = rows * columns;
    }
}

static void find_edges(const ry_problem *problem, int width, depthwise_nchw_plan *plan)
{
    ry_conv_geometry *g = &plan->geometry;
    depthwise_read(problem, g, &plan->phase);
    join_rows(problem, plan);
    plan->multiplier = g->channels_out;
    plan->outputs = g->groups * g->channels_out;
    plan->paired = 2 * g->out[2] <= width && g->in[2] <= width && plan->outputs > 1;
    if (plan->paired) {
        plan->vectors = 1;
        plan->loads = g->kernel[2];
        plan->size = sizeof *plan + (size_t)(plan->loads * (1 + width)) * sizeof *plan->mask;
        return;
    }
    plan->vectors = ry_parts(g->out[2], width);
    plan->rolls = can_roll(g, width);
    /* rows of one are long runs, which the hardware follows */
    plan->fetches = g->out[1] > 1 && ry_problem_bytes(problem) > (plan->rolls && g->stride[2] == 2 ? FETCH_ROLL_TWO : FETCH_LEAST);
    if (plan->rolls) {
        plan->loads = g->stride[2] == 1 ? 3 : ROLL_LOADS;
        plan->size = sizeof *plan + (size_t)(2 * plan->loads) * sizeof *plan->mask;
        return;
    }
    plan->loads = g->stride[2] == 1 ? g->kernel[2] : ry_parts(g->kernel[2], 2);
    plan->left = plan->right = 0;
    while (plan->left < plan->vectors && !is_plain(plan, width, plan->left)) {
        plan->left++;
    }
    while (plan->left + plan->right < plan->vectors && !is_plain(plan, width, plan->vectors - 1 - plan->right)) {
        plan->right++;
    }
    const int64_t last = g->out[2] - (plan->vectors - 1) * width;
    plan->halves = 2 * last <= width && (g->stride[2] == 1 || (g->kernel[1] == 3 && g->kernel[2] == 3));
    plan->windows =
        width == 16 && g->stride[2] == 1 && g->dilation[1] == 1 && g->kernel[1] == g->kernel[2] && (g->kernel[1] == 5 || g->kernel[1] == 7);
    plan->size = sizeof *plan + (size_t)((plan->left + plan->right) * plan->loads) * sizeof *plan->mask;
}

/* Planes of seven rows or more without gaps, of two rows a vector to two vectors a row, which writes no more than the next row behind its own. */
static bool is_seven(const ry_problem *problem, const depthwise_nchw_plan *plan, int width)
{
    const ry_conv_geometry *g = &plan->geometry;
    float low, high;
    const bool window = g->kernel[1] == 3 && g->kernel[2] == 3 && g->stride[1] == 1 && g->dilation[1] == 1 && g->dilation[2] == 1;
    const bool same = g->in[1] == g->out[1] && g->before[1] == 1 && g->in[2] == g->out[2] && g->before[2] == 1;
    const bool dense = g->x_step[1] == g->in[2] && plan->phase.y_step[1] == g->out[2];
    const bool rows = plan->paired ? g->out[1] == 7 : plan->vectors <= 2 && g->out[1] > 7 && plan->rows == g->out[1];
    const bool lanes = 2 * g->out[2] >= (plan->paired ? width / 2 : width);
    return width == 16 && plan->multiplier == 1 && g->kernel[0] == 1 && window && same && dense && rows && lanes &&
           !ry_problem_has_input(problem, 3) && ry_activation_bounds(ry_conv_activation(problem), &low, &high);
}

static void choose_tasks(int width, depthwise_nchw_plan *plan)
{
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t row_work = plan->vectors * width * g->taps * g->out[0], planes = g->batch * plan->outputs;
    plan->channels = ry_least(plan->outputs, ry_parts(TASK_WORK, row_work * g->out[1]));
    if (planes / plan->channels < TASKS_ENOUGH && row_work * g->out[1] * planes > TASK_WORK * TASKS_ENOUGH) {
        plan->channels = ry_most(1, planes / TASKS_ENOUGH);
    }
    plan->channels = ry_parts(plan->outputs, ry_least(plan->outputs, depthwise_even_tasks(ry_parts(plan->outputs, plan->channels))));
    plan->channels += plan->paired && plan->channels % 2;
    plan->channel_blocks = ry_parts(plan->outputs, plan->channels);
    /* few planes: parts of them, whole strips */
    const int64_t parts = ry_least(ry_parts(TASKS_ENOUGH, g->batch * plan->channel_blocks), ry_most(1, row_work * g->out[1] / TASK_WORK));
    plan->rows = plan->channels > 1 ? g->out[1] : ry_least(g->out[1], ry_parts(ry_parts(g->out[1], parts), STRIP_ROWS) * STRIP_ROWS);
    plan->row_blocks = ry_parts(g->out[1], plan->rows);
    plan->tasks = g->batch * plan->channel_blocks * plan->row_blocks;
}

/* Of long vectors that are parted into even and odd pixels, beside short ones. */
#define WIDE_PAIRS 0.84

/* Cycles of a vector of a row as they were measured on Zen 4: of a tap (long vectors with a stride: there 2.5, 1.9 on Zen 5), and of its start and end. Rows that are left over when strips are
 * full load their vectors for one row alone. */
static double count_cycles(const depthwise_nchw_plan *plan, int width)
{
    static const double seven[2] = {12.0, 15.0}, roll[2][2] = {{13.0, 24.0}, {18.0, 36.0}};             /* [one vector a row][stride - 1] */
    static const double tap[2][2] = {{1.05, 2.5}, {1.4, 2.5}}, end[2][2] = {{7.0, 10.0}, {20.0, 22.0}}; /* [paired][stride - 1] */
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t rows = ry_parts(g->out[1], g->dilation[1]), last = rows % STRIP_ROWS, alone = last < 4 ? last : last - 4;
    const int64_t passes = count_passes(g), planes_at_once = plan->paired ? ry_parts(plan->outputs, 2) : plan->outputs;
    const double vectors = (double)(g->batch * planes_at_once * passes * plan->vectors);
    const int two = g->stride[2] > 1;
    if (plan->sevens) {
        return vectors * (double)ry_whole(g->out[1], STRIP_ROWS) * seven[plan->paired];
    }
    if (plan->rolls) {
        return vectors * (double)g->out[1] * roll[plan->vectors == 1][two] + (double)(g->batch * plan->outputs * passes) * PLANE_CYCLES;
    }
    const double wide = width == 16 && two && !plan->paired ? WIDE_PAIRS : 1.0;
    const double each = (double)(g->kernel[1] * g->kernel[2]) * tap[plan->paired][two] * wide, adds = passes > g->out[0] ? ADD_CYCLES : 0;
    /* the weights of 3x3 stay in registers */
    const double square = !plan->paired && !two && g->kernel[1] == 3 && g->kernel[2] == 3 ? 4.0 : 0.0;
    const double narrow = plan->vectors == 1 && !plan->paired ? 4.0 : 0.0;
    const double share = (double)alone / (double)rows;
    const double planes = vectors / (double)plan->vectors;
    return vectors * (double)g->out[1] *
               (each * (1.0 + 1.2 * share) + (end[plan->paired][two] + adds - square + narrow) * (1.0 + 0.3 * share)) +
           planes * PLANE_CYCLES;
}

static void find_lanes(int width, depthwise_nchw_plan *plan)
{
    const ry_conv_geometry *g = &plan->geometry;
    int32_t *lanes = (int32_t *)(plan->mask + plan->loads);
    for (int64_t s = 0; s < plan->loads; s++) {
        plan->mask[s] = 0;
        for (int64_t i = 0; i < width; i++) {
            const int64_t half = i / (width / 2), column = i % (width / 2);
            const int64_t at = column * g->stride[2] + s * g->dilation[2] - g->before[2];
            const bool inside = at >= 0 && at < g->in[2];
            plan->mask[s] |= inside ? 1u << i : 0;
            lanes[s * width + i] = (int32_t)(inside ? half * width + at : 0);
        }
    }
}

size_t depthwise_nchw_plan_size(const ry_problem *problem, int width)
{
    depthwise_nchw_plan plan;
    find_edges(problem, width, &plan);
    return plan.size;
}

void depthwise_nchw_plan_make(const ry_problem *problem, int width, depthwise_nchw_plan *plan)
{
    memset(plan, 0, sizeof *plan);
    find_edges(problem, width, plan);
    choose_tasks(width, plan);
    plan->sevens = is_seven(problem, plan, width);
    plan->cycles = count_cycles(plan, width);
    if (plan->paired) {
        find_lanes(width, plan);
        return;
    }
    if (plan->rolls) {
        find_ends(width, plan);
        return;
    }
    for (int64_t e = 0; e < plan->left + plan->right; e++) {
        const int64_t vector = e < plan->left ? e : plan->vectors - plan->right + e - plan->left;
        for (int64_t i = 0; i < plan->loads; i++) {
            plan->mask[e * plan->loads + i] = mask_of(plan, width, vector, i);
        }
    }
}
