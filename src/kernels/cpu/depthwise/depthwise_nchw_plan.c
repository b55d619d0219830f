/* SPDX-License-Identifier: Apache-2.0 */
/* Masks and tasks of the depthwise convolution along rows. */
#include "kernels/cpu/depthwise/depthwise_nchw_plan.h"

#include "base/integer.h"
#include "kernels/costs.h"
#include "kernels/cpu/depthwise/depthwise_problem.h"
#include "kernels/form_least.h"
#include "machine/machine.h"
#include "problem/limits.h"

#include <string.h>

ry_window_range ry_depthwise_nchw_passes(const ry_conv_geometry *g, int64_t z)
{
    return ry_window_inside(g->in[0], z * g->stride[0] - g->before[0], g->dilation[0],
                            g->kernel[0]);
}

/* Planning looks at each slice of the output and at each vector beside x. Other kernels take
 * convolutions with more. */
static bool has_few_edges(const ry_conv_geometry *g)
{
    const int64_t end = (g->out[2] - 1) * g->stride[2] + (g->kernel[2] - 1) * g->dilation[2];
    return g->out[0] <= RY_LIMIT_DEPTHWISE_SLICES && g->before[2] <= RY_LIMIT_DEPTHWISE_BESIDE &&
           end - g->before[2] - g->in[2] <= RY_LIMIT_DEPTHWISE_BESIDE;
}

/* Passes over all slices of y, or 0 if a slice has none. */
static int64_t count_passes(const ry_conv_geometry *g)
{
    int64_t count = 0;
    for (int64_t z = 0; z < g->out[0]; z++) {
        const ry_window_range passes = ry_depthwise_nchw_passes(g, z);
        if (passes.end == passes.begin) {
            return 0;
        }
        count += passes.end - passes.begin;
    }
    return count;
}

bool ry_depthwise_nchw_suits(const ry_problem *problem)
{
    if (!ry_depthwise_is(problem, 1) || !ry_conv_reads_forward(problem) ||
        ry_type_of(&problem->in[0]) != RY_f32 || ry_type_of(&problem->out[0]) != RY_f32) {
        return false;
    }
    depthwise_nchw_plan plan;
    ry_depthwise_read(problem, &plan.geometry, &plan.phase);
    const ry_conv_geometry *g = &plan.geometry;
    const bool near =
        (g->x_step[2] == 1 || g->in[2] == 1) && (plan.phase.y_step[2] == 1 || g->out[2] == 1);
    const bool residual =
        !ry_problem_has_input(problem, 3) ||
        (ry_type_of(&problem->in[3]) == RY_f32 && (plan.phase.r_step[2] == 1 || g->out[2] == 1));
    const bool steps =
        g->stride[1] == g->stride[2] &&
        (g->stride[2] == 1 || (g->stride[2] == 2 && g->dilation[1] == 1 && g->dilation[2] == 1));
    return near && residual && steps && g->dilation[2] * g->kernel[2] <= RY_LIMIT_DEPTHWISE_REACH &&
           has_few_edges(g) && count_passes(g) > 0;
}

/* Pixels that a load may read, relative to the vector's first output pixel at column 0: `span` of
 * them from `at` on. */
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

const int ry_depthwise_nchw_heights[DEPTHWISE_HEIGHTS] = {7, 4, 1};

int ry_depthwise_nchw_form(int64_t left)
{
    int form = 0; /* the last one is of one row */
    while (form < DEPTHWISE_HEIGHTS - 1 && ry_depthwise_nchw_heights[form] > left) {
        form++;
    }
    return form;
}

/* Which of `span` pixels from `at` on are inside x. */
static uint32_t inside_row(const ry_conv_geometry *g, int64_t at, int64_t span)
{
    const ry_window_range inside = ry_window_inside(g->in[2], at, 1, span);
    return (uint32_t)((1ull << inside.end) - (1ull << inside.begin));
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
        plain = mask_of(plan, width, vector, i) ==
                (uint32_t)((1ull << load_of(plan, width, i).span) - 1);
    }
    return plain;
}

/* Windows of 3x3 that reach at most a pixel over each end of x. */
static bool can_rotate(const ry_conv_geometry *g)
{
    bool rotates = g->kernel[0] == 1 && g->stride[1] == g->stride[2];
    for (int i = 1; i <= 2; i++) {
        const int64_t behind = (g->out[i] - 1) * g->stride[i] + 3 - g->before[i] - g->in[i];
        rotates = rotates && g->kernel[i] == 3 && g->dilation[i] == 1 && g->before[i] >= 0 &&
                  g->before[i] <= 1 && behind <= 1;
    }
    return rotates;
}

/* The masks of a row's first vector and of its last one, which ends with the row. */
static void find_ends(int width, depthwise_nchw_plan *plan)
{
    const ry_conv_geometry *g = &plan->geometry;
    /* from the first pixel that a vector reads to each of its loads */
    const int64_t at[2][ROTATING_LOADS] = {{0, 1, 2}, {0, width, 1, width + 1}};
    for (int64_t end = 0; end < 2; end++) {
        const int64_t column = end ? ry_max(0, g->out[2] - width) : 0;
        for (int64_t i = 0; i < plan->loads; i++) {
            plan->mask[end * plan->loads + i] = inside_row(
                g, column * g->stride[2] - g->before[2] + at[g->stride[2] - 1][i], width);
        }
    }
}

/* Joins rows without gaps into one row, if the window has one tap. */
static void join_rows(const ry_problem *problem, depthwise_nchw_plan *plan)
{
    ry_conv_geometry *g = &plan->geometry;
    ry_conv_phase *at = &plan->phase;
    const int64_t rows = g->in[1], columns = g->in[2];
    const bool same = g->kernel[1] * g->kernel[2] == 1 && g->stride[1] == 1 && g->stride[2] == 1 &&
                      g->before[1] == 0 && g->before[2] == 0 && g->out[1] == rows &&
                      g->out[2] == columns && rows * columns < 1 << 20;
    if (same && g->x_step[1] == columns && at->y_step[1] == columns &&
        (!ry_problem_has_input(problem, 3) || at->r_step[1] == columns)) {
        g->in[1] = g->out[1] = 1;
        g->in[2] = g->out[2] = rows * columns;
    }
}

static void read_problem(const ry_query *query, depthwise_nchw_plan *plan)
{
    const ry_conv_geometry *g = &plan->geometry;
    memset(plan, 0, sizeof *plan);
    ry_depthwise_read(query->problem, &plan->geometry, &plan->phase);
    join_rows(query->problem, plan);
    plan->multiplier = g->channels_out;
    plan->outputs = g->groups * g->channels_out;
    plan->vectors = ry_ceil_div(g->out[2], query->kernel->simd.width);
}

static bool can_pair(const depthwise_nchw_plan *plan, int width)
{
    const ry_conv_geometry *g = &plan->geometry;
    return 2 * g->out[2] <= width && g->in[2] <= width && plan->outputs > 1;
}

/* Planes of seven rows or more without gaps, of two rows a vector to two vectors a row, which
 * writes no more than the next row behind its own. */
static bool can_seven(const ry_problem *problem, const depthwise_nchw_plan *plan, int width)
{
    const ry_conv_geometry *g = &plan->geometry;
    float low, high;
    const bool window = g->kernel[1] == 3 && g->kernel[2] == 3 && g->stride[1] == 1 &&
                        g->dilation[1] == 1 && g->dilation[2] == 1;
    const bool same =
        g->in[1] == g->out[1] && g->before[1] == 1 && g->in[2] == g->out[2] && g->before[2] == 1;
    const bool dense = g->x_step[1] == g->in[2] && plan->phase.y_step[1] == g->out[2],
               pairs = can_pair(plan, width);
    const bool rows =
        pairs ? g->out[1] == STRIP_ROWS : plan->vectors <= 2 && g->out[1] > STRIP_ROWS;
    const bool lanes = 2 * g->out[2] >= (pairs ? width / 2 : width);
    return plan->multiplier == 1 && g->kernel[0] == 1 && window && same && dense && rows && lanes &&
           !ry_problem_has_input(problem, 3) &&
           ry_activation_bounds(ry_conv_activation(problem), &low, &high);
}

static bool can_window(const ry_conv_geometry *g)
{
    return g->stride[2] == 1 && g->dilation[1] == 1 && g->kernel[1] == g->kernel[2] &&
           (g->kernel[1] == 5 || g->kernel[1] == 7);
}

static bool has_variant(const ry_query *query, const depthwise_nchw_plan *plan,
                        depthwise_nchw_variant variant)
{
    const int width = query->kernel->simd.width;
    switch (variant) {
    case NCHW_SEVEN_ROWS: return can_seven(query->problem, plan, width);
    case NCHW_TWO_PLANES: return can_pair(plan, width);
    case NCHW_ROTATING: return can_rotate(&plan->geometry);
    case NCHW_WINDOW: return can_window(&plan->geometry);
    default: return true;
    }
}

bool ry_depthwise_nchw_has(const ry_query *query, depthwise_nchw_variant variant)
{
    depthwise_nchw_plan plan;
    read_problem(query, &plan);
    return has_variant(query, &plan, variant);
}

static bool has_two_strips(const depthwise_nchw_plan *plan, int width)
{
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t last = g->out[2] - (plan->vectors - 1) * width;
    return 2 * last <= width && (g->stride[2] == 1 || (g->kernel[1] == 3 && g->kernel[2] == 3));
}

bool ry_depthwise_nchw_has_two_strips(const ry_query *query)
{
    depthwise_nchw_plan plan;
    read_problem(query, &plan);
    return has_two_strips(&plan, query->kernel->simd.width);
}

static bool is_strip(depthwise_nchw_variant variant)
{
    return variant == NCHW_STRIP || variant == NCHW_WINDOW;
}

/* Variants that keep strips and weights in registers, and the one for machines whose registers do
 * not hold them. */
static bool pays(const ry_simd *simd, depthwise_nchw_variant variant)
{
    const bool many = depthwise_many_registers(simd);
    return variant == NCHW_ROTATING
               ? !many
               : many || (variant != NCHW_SEVEN_ROWS && variant != NCHW_WINDOW);
}

/* Takes a variant. False: it does not compute the problem, or not in tasks of so many rows. */
static bool set_variant(const ry_query *query, depthwise_nchw_plan *plan,
                        depthwise_nchw_variant variant)
{
    plan->variant = variant;
    plan->seven_rows = variant == NCHW_SEVEN_ROWS;
    plan->two_planes = variant == NCHW_TWO_PLANES ||
                       (plan->seven_rows && can_pair(plan, query->kernel->simd.width));
    plan->rotates = variant == NCHW_ROTATING;
    plan->windows = variant == NCHW_WINDOW;
    return has_variant(query, plan, variant) &&
           (!plan->seven_rows || plan->rows == plan->geometry.out[1]);
}

/* Prefetch? Single joined rows are long runs, which the hardware prefetches. Rotating rows of
 * stride 2 are prefetched from memory; other rows from anywhere beyond a core's own caches. */
static bool fetches(const ry_query *query, const depthwise_nchw_plan *plan)
{
    const ry_machine *machine = query->target->machine;
    const double bytes = ry_problem_bytes(query->problem);
    const bool two = plan->rotates && plan->geometry.stride[2] == 2;
    return plan->geometry.out[1] > 1 &&
           (two ? ry_machine_exceeds_cache(machine, bytes)
                : bytes > (double)ry_machine_core_bytes(machine, RYND_LEVEL_L2));
}

static void find_edges(int width, depthwise_nchw_plan *plan)
{
    const ry_conv_geometry *g = &plan->geometry;
    if (plan->two_planes || plan->seven_rows) {
        plan->loads = g->kernel[2];
        plan->size =
            sizeof *plan +
            (plan->two_planes ? (size_t)(plan->loads * (1 + width)) * sizeof *plan->mask : 0);
        return;
    }
    if (plan->rotates) {
        plan->loads = g->stride[2] == 1 ? 3 : ROTATING_LOADS;
        plan->size = sizeof *plan + (size_t)(2 * plan->loads) * sizeof *plan->mask;
        return;
    }
    plan->loads = g->stride[2] == 1 ? g->kernel[2] : ry_ceil_div(g->kernel[2], 2);
    while (plan->left < plan->vectors && !is_plain(plan, width, plan->left)) {
        plan->left++;
    }
    while (plan->left + plan->right < plan->vectors &&
           !is_plain(plan, width, plan->vectors - 1 - plan->right)) {
        plan->right++;
    }
    plan->size =
        sizeof *plan + (size_t)((plan->left + plan->right) * plan->loads) * sizeof *plan->mask;
}

/* Multiply-adds of a plane of y. */
static int64_t plane_work_of(const depthwise_nchw_plan *plan, int width)
{
    const ry_conv_geometry *g = &plan->geometry;
    return plan->vectors * width * g->taps * g->out[0] * g->out[1];
}

/* Channels of a task: enough work, and even numbers of tasks for all cores. */
static int64_t usual_channels(const depthwise_nchw_plan *plan, const ry_machine *machine, int width)
{
    const int64_t task_work = ry_machine_task_products(
                      machine, ry_costs_on(machine, width)->depthwise_nchw.task),
                  enough = depthwise_tasks_enough(machine, &ry_costs_on(machine, width)->blocks);
    const int64_t planes = plan->geometry.batch * plan->outputs,
                  plane_work = plane_work_of(plan, width);
    int64_t channels = ry_min(plan->outputs, ry_ceil_div(task_work, plane_work));
    if (planes / channels < enough && plane_work * planes > task_work * enough) {
        channels = ry_max(1, planes / enough);
    }
    const int64_t parts = depthwise_even_tasks(ry_ceil_div(plan->outputs, channels), machine);
    channels = ry_ceil_div(plan->outputs, ry_min(plan->outputs, parts));
    return channels + (can_pair(plan, width) && channels % 2);
}

/* Few planes: parts of them, full strips. */
static int64_t usual_rows(const depthwise_nchw_plan *plan, const ry_machine *machine, int width)
{
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t task_work = ry_machine_task_products(
                      machine, ry_costs_on(machine, width)->depthwise_nchw.task),
                  enough = depthwise_tasks_enough(machine, &ry_costs_on(machine, width)->blocks);
    const int64_t parts =
        ry_min(ry_ceil_div(enough, g->batch * ry_ceil_div(plan->outputs, plan->channels)),
               ry_max(1, plane_work_of(plan, width) / task_work));
    const int64_t strips = ry_ceil_div(ry_ceil_div(g->out[1], parts), STRIP_ROWS);
    return plan->channels > 1 ? g->out[1] : ry_min(g->out[1], strips * STRIP_ROWS);
}

/* Taps of a window that meet x, on average: rows outside x are left out. */
static double taps_inside(const ry_conv_geometry *g)
{
    double rows = 0;
    for (int64_t r = 0; r < g->kernel[1]; r++) {
        const ry_window_range inside =
            ry_window_inside(g->in[1], r * g->dilation[1] - g->before[1], g->stride[1], g->out[1]);
        rows += (double)(inside.end - inside.begin);
    }
    return (double)g->kernel[2] * rows / (double)g->out[1];
}

/* Cycles of a vector of a row: of a tap, and of its start and end. Rows that are left over when
 * strips are full load their vectors for one row alone. */
static double count_cycles(const ry_query *query, const depthwise_nchw_plan *plan)
{
    const struct ry_depthwise_nchw_costs *cost = &ry_costs_asked(query)->depthwise_nchw;
    const int width = query->kernel->simd.width;
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t rows = ry_ceil_div(g->out[1], g->dilation[1]), last = rows % STRIP_ROWS;
    const int64_t alone =
        last < ry_depthwise_nchw_heights[1] ? last : last - ry_depthwise_nchw_heights[1];
    const int64_t planes_at_once = plan->two_planes ? ry_ceil_div(plan->outputs, 2) : plan->outputs;
    const double planes = (double)(g->batch * planes_at_once * plan->passes),
                 vectors = planes * (double)plan->vectors;
    const int two = g->stride[2] > 1;
    const double rotating[][2] = {{cost->rotating, cost->rotate_strided},
                                  {cost->rotate_alone, cost->rotate_alone_strided}};
    const double tap[][2] = {{cost->tap, cost->tap_strided},
                             {cost->tap_two_planes, cost->tap_two_planes_strided}};
    const double end[][2] = {{cost->end, cost->end_strided},
                             {cost->end_two_planes, cost->end_two_planes_strided}};
    if (plan->seven_rows) {
        return vectors * (double)ry_round_up(g->out[1], STRIP_ROWS) *
               (plan->two_planes ? cost->seven_two_planes : cost->seven);
    }
    if (plan->rotates) {
        return vectors * (double)g->out[1] * rotating[plan->vectors == 1][two] +
               planes * cost->plane;
    }
    const double wide =
        depthwise_is_long(width) && two && !plan->two_planes ? cost->long_parting : 1.0;
    const double each =
        taps_inside(g) * wide * (plan->windows ? cost->tap_window : tap[plan->two_planes][two]);
    const double adds = plan->passes > g->out[0] ? cost->add : 0;
    /* the weights of 3x3 stay in registers */
    const double square =
        !plan->two_planes && !two && g->kernel[1] == 3 && g->kernel[2] == 3 ? cost->square : 0.0;
    const double narrow = plan->vectors == 1 && !plan->two_planes ? cost->narrow : 0.0;
    const double share = (double)alone / (double)rows;
    return vectors * (double)g->out[1] *
               (each * (1.0 + cost->alone_tap * share) +
                (end[plan->two_planes][two] + adds - square + narrow) *
                    (1.0 + cost->alone_end * share)) +
           planes * cost->plane;
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

static void list_values(const ry_query *query, const void *user, int knob, ry_knob_values *values)
{
    const depthwise_nchw_plan *plan = user;
    const ry_machine *machine = query->target->machine;
    const int width = query->kernel->simd.width;
    switch (knob) {
    case NCHW_CHANNELS: ry_knob_values_add(values, usual_channels(plan, machine, width)); break;
    case NCHW_ROWS:
        ry_knob_values_add(values, ry_form_wanted(query, NCHW_VARIANT) == NCHW_SEVEN_ROWS
                                       ? plan->geometry.out[1]
                                       : usual_rows(plan, machine, width));
        break;
    case NCHW_VARIANT:
        for (int v = 0; v < NCHW_VARIANTS; v++) {
            if (pays(&query->kernel->simd, (depthwise_nchw_variant)v)) {
                ry_knob_values_add(values, v);
            }
        }
        break;
    default: ry_knob_values_add(values, 0); ry_knob_values_add(values, 1);
    }
}

static bool set_axis(const ry_query *query, void *user, int knob, const ry_form *form)
{
    depthwise_nchw_plan *plan = user;
    const int64_t value = form->value[knob];
    switch (knob) {
    case NCHW_CHANNELS: plan->channels = value; return true;
    case NCHW_ROWS: plan->rows = value; return true;
    case NCHW_VARIANT: return set_variant(query, plan, (depthwise_nchw_variant)value);
    default:
        plan->two_strips = value != 0;
        return value == 0 ||
               (is_strip(plan->variant) && has_two_strips(plan, query->kernel->simd.width));
    }
}

static double cost_of(const ry_query *query, void *user, double least)
{
    depthwise_nchw_plan *plan = user;
    (void)least;
    return plan->cycles = count_cycles(query, plan);
}

/* Ties go to the most special variant. */
static const ry_form_axis axes[] = {{.knob = NCHW_CHANNELS},
                                    {.knob = NCHW_ROWS, .after = 1},
                                    {.knob = NCHW_VARIANT, .after = 2, .largest_first = true},
                                    {.knob = NCHW_TWO_STRIPS, .after = 3, .largest_first = true}};
static const ry_form_search search = {
    axes, sizeof axes / sizeof *axes, list_values, set_axis, NULL, cost_of};

bool ry_depthwise_nchw_plan_choose(const ry_query *query, depthwise_nchw_plan *plan)
{
    const ry_conv_geometry *g = &plan->geometry;
    read_problem(query, plan);
    plan->passes = count_passes(g);
    if (!ry_form_least(&search, query, plan)) {
        return false;
    }
    plan->cycles = count_cycles(query, plan);
    plan->cut =
        (ry_task_cut){{{g->batch, 1}, {plan->outputs, plan->channels}, {g->out[1], plan->rows}}};
    plan->fetches = fetches(query, plan);
    find_edges(query->kernel->simd.width, plan);
    return true;
}

void ry_depthwise_nchw_initialise(const ry_query *query, void *state)
{
    depthwise_nchw_plan *plan = state;
    const int width = query->kernel->simd.width;
    ry_depthwise_nchw_plan_choose(query, plan);
    if (plan->two_planes) {
        find_lanes(width, plan);
    } else if (plan->rotates) {
        find_ends(width, plan);
    }
    for (int64_t e = 0; e < plan->left + plan->right; e++) {
        const int64_t vector = e < plan->left ? e : plan->vectors - plan->right + e - plan->left;
        for (int64_t i = 0; i < plan->loads; i++) {
            plan->mask[e * plan->loads + i] = mask_of(plan, width, vector, i);
        }
    }
}
