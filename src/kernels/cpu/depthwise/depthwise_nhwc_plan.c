/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks, tasks and scratch of the depthwise convolution along channels. */
#include "kernels/cpu/depthwise/depthwise_nhwc_plan.h"

#include "base/integer.h"
#include "base/room.h"
#include "kernels/costs.h"
#include "kernels/cpu/depthwise/depthwise_problem.h"
#include "kernels/form_least.h"
#include "machine/machine.h"
#include "problem/limits.h"

#include <string.h>

enum {
    RING_SUITS = 4 << 20 /* bytes of a worker's scratch at least that a vector's slices may take */
};

static const struct ry_blocks_costs *shares_of(const depthwise_nhwc_plan *plan)
{
    return ry_blocks_of(plan->costs);
}

/* The last of the channels that a vector of outputs reads, from the first channel of its first
 * group on: vectors without gaps. */
static int64_t last_lane(const ry_conv_geometry *g, int width)
{
    const int64_t each = g->channels_out, turn = each % width == 0   ? each - width
                                                 : width % each == 0 ? 0
                                                                     : each - 1;
    return (turn + width - 1) / each * g->channels_in;
}

/* How many of x's vectors those of `lanes` outputs are picked from, for one channel of each group:
 * 1 or 2; 0: more. */
static int sources_of(const ry_conv_geometry *g, int64_t lanes, int width)
{
    const int64_t last =
        lanes == width ? last_lane(g, width) : (lanes / g->channels_out - 1) * g->channels_in;
    return last < width ? 1 : last + g->channels_in <= 2 * width ? 2 : 0;
}

/* In x, from the first to the last line that a line of y reads, and one. */
static int64_t field_of(const depthwise_axis *axis)
{
    return axis->high - axis->low + 1;
}

static bool is_flat(const ry_conv_geometry *g)
{
    return g->in[0] == 1 && g->out[0] == 1;
}

/* Where the channels of x and of y are stored: side by side, or in planes whose rows have their
 * pixels side by side. */
static bool find_layout(const ry_problem *problem, depthwise_nhwc_plan *plan)
{
    const ry_conv_geometry *g = &plan->geometry;
    const ry_conv_phase *at = &plan->phase;
    const bool residual = ry_problem_has_input(problem, 3);
    plan->planes_in = g->x_channel != 1;
    plan->planes_out = g->y_channel != 1 || (residual && g->r_channel != 1);
    plan->dense_in = g->x_step[1] == g->in[2] || g->in[1] == 1;
    plan->dense_out = (at->y_step[1] == g->out[2] || g->out[1] == 1) &&
                      (at->y_step[0] == g->out[1] * g->out[2] || g->out[0] == 1);
    if (residual) {
        plan->dense_out = plan->dense_out && (at->r_step[1] == g->out[2] || g->out[1] == 1) &&
                          (at->r_step[0] == g->out[1] * g->out[2] || g->out[0] == 1);
    }
    if (plan->planes_in && g->x_step[2] != 1 && g->in[2] > 1) {
        return false;
    }
    return !plan->planes_out || ((at->y_step[2] == 1 || g->out[2] == 1) &&
                                 (!residual || at->r_step[2] == 1 || g->out[2] == 1));
}

static bool find_axes(const ry_conv_geometry *g, depthwise_nhwc_plan *plan)
{
    plan->taps = 1;
    for (int i = 0; i < RY_SPACE; i++) {
        if (!ry_depthwise_axis_make(g, i, &plan->axis[i])) {
            return false;
        }
        plan->taps *= plan->axis[i].taps;
    }
    return true;
}

static bool has_lanes(const ry_conv_geometry *g, int width)
{
    return sources_of(g, width, width) > 0 || g->channels_out < width;
}

bool ry_depthwise_nhwc_suits(const ry_problem *problem, int width)
{
    if (!ry_depthwise_is(problem, NHWC_DEPTH)) {
        return false;
    }
    depthwise_nhwc_plan plan;
    memset(&plan, 0, sizeof plan);
    ry_conv_geometry *g = &plan.geometry;
    ry_depthwise_read(problem, g, &plan.phase);
    if (!find_axes(g, &plan) || !find_layout(problem, &plan)) {
        return false;
    }
    const int64_t slices =
        is_flat(g) ? 0
                   : field_of(&plan.axis[0]) * g->in[1] * g->in[2] * width * (int64_t)sizeof(float);
    return g->kernel[0] * g->kernel[1] * g->kernel[2] <= RY_LIMIT_DEPTHWISE_TAPS &&
           has_lanes(g, width) && slices <= RING_SUITS;
}

#define TAKES(width)                                                \
    bool ry_depthwise_nhwc_takes_##width(const ry_problem *problem) \
    {                                                               \
        return ry_depthwise_nhwc_suits(problem, width);             \
    }
TAKES(4)
TAKES(8)
TAKES(16)

/* Windows that have variants: of 3, 5, ... 11 neighbours in a row, or of such where a row is cut
 * into interleaved ones. The axis so cut; false: there is no such variant. */
static bool part_window(const depthwise_nhwc_plan *plan, depthwise_axis *parted)
{
    *parted = plan->axis[2];
    const int64_t taps = parted->taps;
    return parted->same && taps >= 3 && taps <= MAX_NHWC_WINDOW && taps % 2 == 1 &&
           ry_depthwise_axis_part(parted) && parted->move <= 2 * parted->apart;
}

/* Taps of the window, if a variant is compiled for it; else 0. */
static int64_t own_window(const depthwise_nhwc_plan *plan)
{
    depthwise_axis parted;
    return part_window(plan, &parted) ? parted.taps : 0;
}

static int64_t common_divisor(int64_t a, int64_t b)
{
    return b == 0 ? a : common_divisor(b, a % b);
}

/* Parts the rows of a dilated window, if two lines share rows then. Those that are staged, or held
 * until they are transposed, follow each other. */
static bool take_turns(const depthwise_nhwc_plan *plan, depthwise_axis *rows)
{
    depthwise_axis parted = *rows;
    if (!rows->same || rows->apart == 1 || !is_flat(&plan->geometry) || plan->staged ||
        plan->planes_out || !ry_depthwise_axis_part(&parted) ||
        parted.move != plan->stride * parted.apart ||
        rows->out <= (int64_t)shares_of(plan)->nhwc_turn * parted.classes) {
        return false;
    }
    *rows = parted;
    return true;
}

/* Does the window have a variant for two lines, which shares loads? */
static bool has_two(const depthwise_nhwc_plan *plan)
{
    const int64_t taps = plan->axis[1].taps;
    const bool wide =
        (plan->window == 5 || plan->window == 7) && taps >= plan->stride && !plan->sources;
    return plan->geometry.out[1] > 1 && (wide || (plan->window == 3 && taps == 3));
}

/* Two lines that fill 14 registers with sums: interleaved ones, or neighbours. */
static bool find_two(depthwise_nhwc_plan *plan)
{
    depthwise_axis *rows = &plan->axis[1];
    plan->line_interleave = has_two(plan) && take_turns(plan, rows) ? rows->classes : 1;
    return plan->line_interleave > 1 ||
           (has_two(plan) && rows->apart == 1 && rows->move == plan->stride);
}

static bool set_height(depthwise_nhwc_plan *plan, int64_t height)
{
    (void)ry_depthwise_axis_make(&plan->geometry, 1, &plan->axis[1]);
    plan->height = height;
    plan->line_interleave = 1;
    return height == 1 || find_two(plan);
}

/* Where the pixels of a block and their taps read. */
static void set_pixels(depthwise_nhwc_plan *plan, int64_t pixels)
{
    const depthwise_axis *rows = &plan->axis[1], *columns = &plan->axis[2];
    int64_t max = 1;
    for (int64_t r = 0; r < columns->classes; r++) {
        max = ry_max(max, columns->class[r].taps);
    }
    plan->pixels = pixels;
    plan->unit = max == 1 ? columns->move : common_divisor(columns->move, columns->apart);
    plan->pixel_step = columns->move / plan->unit;
    plan->tap_step = max == 1 ? 1 : columns->apart / plan->unit;
    plan->field = (plan->pixels - 1) * plan->pixel_step + (max - 1) * plan->tap_step + 1;
    plan->table_rows = plan->height == 2 ? plan->stride + rows->taps : rows->taps;
}

/* Output channels of a vector, all of its lanes or those of whole groups: whichever costs less. */
static void choose_lanes(int width, depthwise_nhwc_plan *plan)
{
    const ry_conv_geometry *g = &plan->geometry;
    double best = -1;
    for (int64_t lanes = width; lanes > 0;
         lanes = lanes == width ? (width - 1) / plan->multiplier * plan->multiplier
                                : lanes - plan->multiplier) {
        const int sources = sources_of(g, lanes, width);
        const double cost =
            ry_depthwise_nhwc_tap_cycles(plan, sources) * (double)ry_ceil_div(plan->outputs, lanes);
        if (sources > 0 && (best < 0 || cost < best)) {
            best = cost;
            plan->lanes = lanes;
            plan->sources = sources;
        }
    }
}

/* Channels of x that `channels` neighbouring outputs read, at most, full vectors. */
static int64_t inputs_of(const depthwise_nhwc_plan *plan, int64_t channels, int width)
{
    return plan->sources
               ? ry_round_up((ry_ceil_div(channels - 1, plan->multiplier) + 1) * plan->depth, width)
               : channels;
}

static void choose_ring(int width, const ry_machine *machine, depthwise_nhwc_plan *plan)
{
    const ry_conv_geometry *g = &plan->geometry;
    plan->slices = g->in[0] == 1 ? 1 : field_of(&plan->axis[0]);
    plan->ring = (plan->height - 1) * plan->axis[1].move + field_of(&plan->axis[1]);
    const bool full =
        plan->planes_in && plan->dense_in &&
        g->in[1] * g->in[2] * width * (int64_t)sizeof(float) <=
            ry_machine_core_share(machine, RYND_LEVEL_L2, shares_of(plan)->nhwc_plane);
    if (!is_flat(g) || plan->ring > g->in[1] || full) {
        plan->ring = g->in[1];
    }
}

/* Channels of a part that go through the rows together: as many as have what a block needs, and
 * what is staged, in their caches. */
static int64_t cached_channels(int width, const ry_machine *machine,
                               const depthwise_nhwc_plan *plan)
{
    const depthwise_axis *columns = &plan->axis[2];
    const int64_t size = (int64_t)sizeof(float),
                  field = (plan->pixels - 1) * columns->move + field_of(columns);
    /* a vector's pixels that a block reads and writes, and weights */
    const int64_t read = ry_ceil_div(ry_min(field, plan->field) * plan->table_rows *
                                         plan->axis[0].taps * plan->depth,
                                     plan->multiplier);
    const int64_t each = read + plan->taps * plan->depth + plan->height * plan->pixels;
    int64_t channels =
        ry_max(1, ry_machine_core_share(machine, RYND_LEVEL_L1, shares_of(plan)->nhwc_block) /
                      size / (each * width)) *
        plan->lanes;
    if (plan->staged) {
        const int64_t staged =
            plan->slices * plan->ring * plan->geometry.in[2] * inputs_of(plan, plan->lanes, width);
        channels = ry_min(channels, ry_max(1, ry_machine_core_share(machine, RYND_LEVEL_L2,
                                                                    shares_of(plan)->nhwc_rows) /
                                                  size / staged) *
                                        plan->lanes);
    }
    channels = ry_min(plan->part, channels);
    return ry_round_up(ry_ceil_div(plan->part, ry_ceil_div(plan->part, channels)), plan->lanes);
}

static bool set_channels(int width, depthwise_nhwc_plan *plan, int64_t channels)
{
    plan->channels = channels;
    plan->inputs = inputs_of(plan, channels, width);
    return channels <= ry_round_up(plan->part, plan->lanes);
}

/* The variant for a window of so many taps; 0: for any window. */
static bool set_window(int width, depthwise_nhwc_plan *plan, int64_t window)
{
    depthwise_axis *columns = &plan->axis[2];
    (void)ry_depthwise_axis_make(&plan->geometry, 2, columns);
    plan->window = 0;
    plan->stride = 1;
    if (window > 0) {
        depthwise_axis parted;
        if (!part_window(plan, &parted) || parted.taps != window) {
            return false;
        }
        *columns = parted;
        plan->window = window;
        plan->stride = parted.move / parted.apart;
    }
    if (plan->sources) {
        choose_lanes(width, plan);
    }
    plan->packed_step = ry_ceil_div(plan->outputs, plan->lanes) * width;
    return true;
}

static void position(int width, depthwise_nhwc_plan *plan)
{
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t size = (int64_t)sizeof(float),
                  lines = ry_ceil_div((int64_t)shares_of(plan)->nhwc_hold, g->out[2]);
    plan->hold = plan->planes_out && plan->dense_out
                     ? ry_max(plan->height, ry_min(plan->rows, ry_round_up(lines, plan->height)))
                     : plan->height;
    const int64_t held =
        plan->planes_out ? plan->hold * g->out[2] + width : plan->height * plan->pixels;
    plan->sum_step = ry_round_up(plan->channels, width);
    plan->plane = plan->ring * g->in[2] * plan->inputs;
    size_t at =
        ry_aligned((size_t)((plan->sources ? plan->inputs + NHWC_DEPTH : plan->channels) * size));
    plan->dump = ry_room(&at, plan->channels, (size_t)size);
    plan->sums = ry_room(&at, plan->through ? held * plan->sum_step : 0, (size_t)size);
    plan->ring_at = ry_room(&at, plan->staged ? plan->slices * plan->plane : 0, (size_t)size);
    plan->table =
        ry_room(&at, plan->axis[0].taps * plan->table_rows * plan->field, sizeof(float *));
    plan->vectors = ry_room(&at, plan->sources ? ry_ceil_div(plan->channels, plan->lanes) : 0,
                            sizeof(depthwise_reading));
    plan->at = ry_room(&at, plan->sources ? plan->multiplier * width : 0, sizeof(int32_t));
    plan->scratch = at;
}

static void read_problem(const ry_query *query, depthwise_nhwc_plan *plan)
{
    const ry_problem *problem = query->problem;
    memset(plan, 0, sizeof *plan);
    ry_conv_geometry *g = &plan->geometry;
    ry_depthwise_read(problem, g, &plan->phase);
    find_axes(g, plan);
    find_layout(problem, plan);
    plan->depth = g->channels_in;
    plan->multiplier = g->channels_out;
    plan->outputs = g->groups * g->channels_out;
    plan->lanes = query->kernel->simd.width;
    plan->lines = g->out[0] * g->out[1];
    plan->costs = ry_cost_column_of(query->target->machine, query->kernel->simd.width);
    plan->sources = plan->depth > 1 || plan->multiplier > 1;
    float low, high;
    plan->staged = plan->planes_in || ry_type_of(&problem->in[0]) != RY_f32;
    plan->through = plan->planes_out || ry_type_of(&problem->out[0]) != RY_f32 ||
                    ry_problem_has_input(problem, 3);
    plan->activated =
        !plan->through && !ry_activation_bounds(ry_conv_activation(problem), &low, &high);
}

/* Prefetch? If a core's share of the last cache holds the tensors, prefetching costs more than it
 * gains. */
static bool fetches(const ry_query *query, const depthwise_nhwc_plan *plan)
{
    const double last = (double)ry_machine_core_bytes(query->target->machine, RYND_LEVEL_L3);
    return plan->slides && is_flat(&plan->geometry) && !plan->staged && plan->window > 0 &&
           ry_problem_bytes(query->problem) > last;
}

static void list_values(const ry_query *query, const void *user, int knob, ry_knob_values *values)
{
    const depthwise_nhwc_plan *plan = user;
    switch (knob) {
    case NHWC_WINDOW:
        ry_knob_values_add(values, 0);
        ry_knob_values_add(values, own_window(plan));
        break;
    case NHWC_HEIGHT: {
        depthwise_nhwc_plan two = *plan;
        const bool pays =
            depthwise_many_registers(&query->kernel->simd) && set_height(&two, NHWC_ROWS);
        ry_knob_values_add(values, pays ? NHWC_ROWS : 1);
        break;
    }
    case NHWC_BLOCK_PIXELS:
        for (int64_t pixels = NHWC_FEWEST; pixels <= NHWC_PIXELS; pixels++) {
            ry_knob_values_add(values, pixels);
        }
        break;
    case NHWC_TASK_ROWS:
        ry_knob_values_add(values, ry_depthwise_nhwc_task_rows(query, plan));
        break;
    case NHWC_PART: ry_knob_values_add(values, ry_depthwise_nhwc_part(query, plan)); break;
    default:
        ry_knob_values_add(
            values, cached_channels(query->kernel->simd.width, query->target->machine, plan));
    }
}

static bool set_axis(const ry_query *query, void *user, int knob, const ry_form *form)
{
    depthwise_nhwc_plan *plan = user;
    const int width = query->kernel->simd.width;
    const int64_t value = form->value[knob];
    switch (knob) {
    case NHWC_WINDOW: return set_window(width, plan, value);
    case NHWC_HEIGHT:
        if (!set_height(plan, value)) {
            return false;
        }
        choose_ring(width, query->target->machine, plan);
        return true;
    case NHWC_BLOCK_PIXELS: set_pixels(plan, value); return true;
    case NHWC_TASK_ROWS: plan->rows = value; return true;
    case NHWC_PART: plan->part = value; return true;
    default: return set_channels(width, plan, value);
    }
}

/* Tables do not count: the channels that share one, which follow from the block, would decide. */
static double cost_of(const ry_query *query, void *user, double least)
{
    const depthwise_nhwc_plan *plan = user;
    (void)query;
    (void)least;
    return ry_depthwise_nhwc_sum_cycles(plan);
}

static const ry_form_axis axes[] = {{.knob = NHWC_WINDOW},
                                    {.knob = NHWC_HEIGHT, .after = 1},
                                    {.knob = NHWC_TASK_ROWS, .after = 2},
                                    {.knob = NHWC_PART, .after = 3},
                                    {.knob = NHWC_BLOCK_PIXELS, .after = 4, .largest_first = true},
                                    {.knob = NHWC_CHANNELS, .after = 5}};
static const ry_form_search search = {
    axes, sizeof axes / sizeof *axes, list_values, set_axis, NULL, cost_of};

bool ry_depthwise_nhwc_plan_make(const ry_query *query, depthwise_nhwc_plan *plan)
{
    read_problem(query, plan);
    if (!ry_form_least(&search, query, plan)) {
        return false;
    }
    plan->cycles = ry_depthwise_nhwc_cycles(query, plan);
    plan->packed = (plan->depth * plan->taps + 1) * plan->packed_step;
    /* what goes through scratch ends pixel by pixel */
    plan->slides =
        (!plan->through || plan->planes_out) && plan->axis[1].same && plan->axis[2].classes == 1;
    plan->cut = (ry_task_cut){
        {{plan->geometry.batch, 1}, {plan->lines, plan->rows}, {plan->outputs, plan->part}}};
    plan->fetches = fetches(query, plan);
    position(query->kernel->simd.width, plan);
    return true;
}

int64_t ry_depthwise_nhwc_window(const ry_query *query)
{
    depthwise_nhwc_plan plan;
    read_problem(query, &plan);
    return own_window(&plan);
}
