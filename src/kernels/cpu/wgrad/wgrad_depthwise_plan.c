/* SPDX-License-Identifier: Apache-2.0 */
/* Which depthwise weight gradients are read where their rows are; blocks, parts and tasks. */
#include "kernels/cpu/wgrad/wgrad_depthwise_plan.h"

#include "base/integer.h"
#include "kernels/cpu/wgrad/wgrad_parts.h"
#include "kernels/knob_values.h"

const ry_knob ry_wgrad_depthwise_knobs[WGRAD_DEPTHWISE_KNOBS] = {
    [WGRAD_DEPTHWISE_PARTS] = {.name = "parts", .main = true},
    [WGRAD_DEPTHWISE_LINES] = {.name = "lines"},
};

bool ry_wgrad_depthwise_takes(const ry_problem *problem)
{
    if (!ry_wgrad_takes(problem)) {
        return false;
    }
    wgrad_shape s;
    ry_wgrad_shape_of(problem, &s);
    const ry_window_axis *d = &s.axis[0];
    return s.c == 1 && s.k == 1 && s.groups > 1 && s.x.channel == 1 && s.dy.channel == 1 &&
           d->in == 1 && d->out == 1 && d->taps == 1 && d->pad == 0;
}

/* Positions of a block: x and dy of it stay in the second-level cache. Data that is read once comes
 * from memory faster where vectors of channels follow each other soon. */
static int64_t usual_positions(const wgrad_depthwise_plan *plan, const ry_machine *machine)
{
    const ry_window_axis *h = &plan->shape.axis[1], *w = &plan->shape.axis[2];
    const struct ry_blocks_costs *limit = ry_blocks_of(plan->costs);
    const double floats = (double)plan->shape.groups *
                          (1 + (double)ry_min(h->stride, h->taps) * (double)w->in / (double)w->out),
                 fit = limit->wgrad_depthwise_block *
                       (double)ry_machine_core_bytes(machine, RYND_LEVEL_L2) / 4 / floats,
                 shortest = limit->wgrad_depthwise_shortest,
                 longest = limit->wgrad_depthwise_longest;
    return (int64_t)(fit < shortest ? shortest : fit < longest ? fit : longest);
}

wgrad_lines ry_wgrad_lines_of(const wgrad_depthwise_plan *plan, int64_t index, int64_t end)
{
    const int64_t out = plan->shape.axis[1].out, along = plan->shape.axis[2].out,
                  cut = index % plan->cuts, line = index / plan->cuts % out;
    return (wgrad_lines){.image = index / plan->cuts / out,
                         .line = line,
                         .lines = ry_min(plan->block, ry_min(out - line, end - index)),
                         .positions = {cut * along / plan->cuts, (cut + 1) * along / plan->cuts}};
}

static void set_piece(wgrad_depthwise_plan *plan, const ry_simd *simd)
{
    const ry_window_axis *h = &plan->shape.axis[1], *w = &plan->shape.axis[2];
    plan->columns = ry_ceil_div(w->taps, ry_ceil_div(w->taps, WGRAD_PIECE_COLUMNS));
    const int64_t most =
        ry_clamp((int64_t)simd->rows * simd->vectors / plan->columns, 1, WGRAD_PIECE_ROWS);
    plan->rows = ry_ceil_div(h->taps, ry_ceil_div(h->taps, most));
}

/* Do lines of x and of dy follow each other in memory? */
static bool is_dense(const wgrad_shape *s)
{
    return s->x.step[2] == s->groups && s->x.step[1] == s->axis[2].in * s->groups &&
           s->dy.step[2] == s->groups && s->dy.step[1] == s->axis[2].out * s->groups;
}

static int64_t usual_lines(const ry_query *query, const void *user)
{
    const wgrad_depthwise_plan *plan = user;
    const ry_window_axis *axis = plan->shape.axis;
    return ry_clamp(usual_positions(plan, query->target->machine) / axis[2].out, 1, axis[1].out);
}

/* Cuts the channels, too, if parts are fewer than what keeps the cores busy. */
static void set_parts(const ry_query *query, wgrad_depthwise_plan *plan, int64_t parts)
{
    const struct ry_blocks_costs *limit = ry_blocks_of(plan->costs);
    const int64_t wanted = (int64_t)limit->wgrad_depthwise_tasks * query->target->machine->cores,
                  pieces = ry_min(plan->vectors, ry_ceil_div(wanted, parts));
    plan->parts = parts;
    plan->tasks[0] =
        (ry_task_cut){{{parts, 1}, {plan->vectors, ry_ceil_div(plan->vectors, pieces)}}};
    plan->fetches = pieces == 1 && is_dense(&plan->shape);
}

static bool begin(const ry_query *query, void *user)
{
    wgrad_depthwise_plan *plan = user;
    wgrad_shape *s = &plan->shape;
    const ry_machine *machine = query->target->machine;
    ry_wgrad_shape_of(query->problem, s);
    plan->width = query->kernel->simd.width;
    plan->vectors = ry_ceil_div(s->groups, plan->width);
    plan->costs = ry_cost_column_of(machine, plan->width);
    plan->cuts = ry_ceil_div(s->axis[2].out, usual_positions(plan, machine));
    plan->lines = s->images * s->axis[1].out * plan->cuts;
    set_piece(plan, &query->kernel->simd);
    plan->vector_floats = (s->taps + 1) * plan->width;
    plan->part_floats = plan->vectors * plan->vector_floats;
    plan->far =
        ry_machine_exceeds_cache(machine, (double)ry_tensor_bytes(&query->problem->in[0]) +
                                              (double)ry_tensor_bytes(&query->problem->in[1]));
    const int64_t floats = (int64_t)ry_blocks_of(plan->costs)->wgrad_finish;
    plan->tasks[1] =
        (ry_task_cut){{{plan->vectors, ry_clamp(floats / plan->vector_floats, 1, plan->vectors)}}};
    return true;
}

/* Multiply-adds of a vector, or what takes as long, of all tasks. */
static double cycles_of(const wgrad_depthwise_plan *plan)
{
    const struct ry_wgrad_depthwise_costs *cost = &ry_costs_of(plan->costs)->wgrad_depthwise;
    const wgrad_shape *s = &plan->shape;
    const int64_t rows = s->axis[1].taps, columns = s->axis[2].taps;
    const double pieces = (double)ry_ceil_div(rows, plan->rows) *
                          (double)ry_ceil_div(columns, plan->columns),
                 taps = (double)s->taps, lines = (double)plan->lines,
                 positions = (double)s->images * (double)s->positions;
    /* runs of lines with the same taps: inside the image, and what reaches over its ends */
    const double edges = (double)ry_min(rows - 1, s->axis[1].out),
                 runs =
                     lines / (double)plan->block + (double)s->images * (double)plan->cuts * edges;
    const double latency = cost->latency * pieces;
    const double products = taps * cost->tap * ry_wgrad_share_inside(s);
    const double vector = positions * ((products > latency ? products : latency) +
                                       pieces * cost->position + (s->bias ? cost->bias : 0)) +
                          lines * pieces * cost->line +
                          runs * (pieces * cost->call + taps * cost->sum) +
                          taps * (plan->parts > 1 ? (double)plan->parts * cost->sum : cost->store);
    return (double)plan->vectors * vector + (double)ry_cut_tasks(&plan->tasks[0]) * cost->task;
}

/* Extra cycles of tasks that read pieces of positions from memory. */
static double piece_cycles(const wgrad_depthwise_plan *plan)
{
    const wgrad_shape *s = &plan->shape;
    const bool pieces = plan->far && ry_cut_parts(&plan->tasks[0].axis[1]) > 1;
    return pieces ? (double)(plan->vectors * s->images) * (double)s->positions *
                        ry_costs_of(plan->costs)->wgrad_depthwise.piece_memory
                  : 0;
}

/* Extra cycles of lines that the second-level cache does not hold: a vector of a position is a line,
 * and the next position's is not beside it, unless all its channels are two vectors. */
static double line_cycles(const wgrad_depthwise_plan *plan, const ry_machine *machine)
{
    const wgrad_shape *s = &plan->shape;
    const ry_window_axis *h = &s->axis[1], *w = &s->axis[2];
    const double lines = (double)(s->images * plan->vectors) *
                         ((double)s->positions + (double)h->in * (double)w->in),
                 bytes = lines * (double)plan->width * sizeof(float),
                 apart = plan->vectors > 2 ? 1 - 2 / (double)plan->vectors : 0;
    return bytes > (double)ry_machine_core_bytes(machine, RYND_LEVEL_L2)
               ? lines * apart * ry_costs_of(plan->costs)->wgrad_depthwise.far_line
               : 0;
}

static double finish_cycles(const wgrad_depthwise_plan *plan)
{
    const struct ry_wgrad_depthwise_costs *cost = &ry_costs_of(plan->costs)->wgrad_depthwise;
    return plan->parts == 1 ? 0
                            : (double)(plan->vectors * plan->shape.taps) *
                                  ((double)plan->parts * cost->part + cost->store);
}

static void list_values(const ry_query *query, const void *user, int knob, ry_knob_values *values)
{
    const wgrad_depthwise_plan *plan = user;
    if (knob == WGRAD_DEPTHWISE_PARTS) {
        const int64_t max = ry_min((int64_t)ry_blocks_of(plan->costs)->wgrad_parts, plan->lines);
        ry_knob_values_counts(values, max);
        ry_knob_values_add(values, max);
        return;
    }
    for (int64_t lines = 1; plan->cuts == 1 && lines <= plan->shape.axis[1].out; lines *= 2) {
        ry_knob_values_add(values, lines);
    }
    ry_knob_values_add(values, usual_lines(query, plan));
}

static bool set_axis(const ry_query *query, void *user, int knob, const ry_form *form)
{
    wgrad_depthwise_plan *plan = user;
    if (knob == WGRAD_DEPTHWISE_LINES) {
        plan->block = form->value[WGRAD_DEPTHWISE_LINES];
    } else {
        set_parts(query, plan, form->value[WGRAD_DEPTHWISE_PARTS]);
    }
    return true;
}

static double cost_of(const ry_query *query, void *user, double least)
{
    const wgrad_depthwise_plan *plan = user;
    (void)least;
    return wgrad_spent_on_parts(query, plan->tasks,
                                (double[2]){cycles_of(plan) + piece_cycles(plan) +
                                                line_cycles(plan, query->target->machine),
                                            finish_cycles(plan)});
}

static void describe(const ry_query *query, const void *user, ry_prepared *prepared)
{
    const wgrad_depthwise_plan *plan = user;
    const double cycles[2] = {cycles_of(plan) + line_cycles(plan, query->target->machine),
                              finish_cycles(plan)};
    wgrad_describe(plan->parts, plan->tasks, cycles, plan->width, prepared);
    prepared->workspace = (size_t)(plan->parts * plan->part_floats) * sizeof(float);
}

static const ry_form_axis axes[] = {{.knob = WGRAD_DEPTHWISE_LINES, .usual = usual_lines},
                                    {.knob = WGRAD_DEPTHWISE_PARTS}};
static const ry_form_method method = {
    .search = {axes, sizeof axes / sizeof *axes, list_values, set_axis, NULL, cost_of},
    .size = sizeof(wgrad_depthwise_plan),
    .begin = begin,
    .describe = describe};
RY_FORM_METHOD(ry_wgrad_depthwise, wgrad_depthwise_plan, method)
