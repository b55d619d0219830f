/* SPDX-License-Identifier: Apache-2.0 */
/* Which depthwise weight gradients are read where their rows are; blocks, parts and tasks. */
#include "kernels/cpu/wgrad/wgrad_depthwise_plan.h"

#include "base/integer.h"
#include "kernels/common/work.h"
#include "kernels/costs.h"
#include "kernels/form.h"
#include "kernels/knob_values.h"
#include "machine/machine.h"

#include <string.h>

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

/* Parts, and where lines are fewer than what keeps the cores busy, pieces of the channels. */
static void set_tasks(const ry_query *query, wgrad_depthwise_plan *plan)
{
    const struct ry_blocks_costs *limit = ry_blocks_of(plan->costs);
    const int64_t wanted = (int64_t)limit->wgrad_depthwise_tasks * query->target->machine->cores;
    plan->parts = ry_form_or(query, WGRAD_DEPTHWISE_PARTS,
                             ry_clamp(wanted, 1, ry_min(plan->lines, (int64_t)limit->wgrad_parts)));
    plan->task_vectors =
        ry_ceil_div(plan->vectors, ry_min(plan->vectors, ry_ceil_div(wanted, plan->parts)));
    plan->tasks = ry_ceil_div(plan->vectors, plan->task_vectors);
    plan->fetches = plan->tasks == 1 && is_dense(&plan->shape);
    plan->vector_floats = (plan->shape.taps + 1) * plan->width;
    plan->part_floats = plan->vectors * plan->vector_floats;
    plan->finish_vectors =
        ry_clamp((int64_t)limit->wgrad_finish / plan->vector_floats, 1, plan->vectors);
    plan->finishes = ry_ceil_div(plan->vectors, plan->finish_vectors);
}

static void make_plan(const ry_query *query, wgrad_depthwise_plan *plan)
{
    memset(plan, 0, sizeof *plan);
    wgrad_shape *s = &plan->shape;
    const ry_machine *machine = query->target->machine;
    ry_wgrad_shape_of(query->problem, s);
    plan->width = query->kernel->simd.width;
    plan->vectors = ry_ceil_div(s->groups, plan->width);
    plan->costs = ry_cost_column_of(machine, plan->width);
    const int64_t positions = usual_positions(plan, machine), along = s->axis[2].out;
    plan->cuts = ry_ceil_div(along, positions);
    plan->lines = s->images * s->axis[1].out * plan->cuts;
    set_piece(plan, &query->kernel->simd);
    plan->block =
        ry_form_or(query, WGRAD_DEPTHWISE_LINES, ry_clamp(positions / along, 1, s->axis[1].out));
    set_tasks(query, plan);
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
    return (double)plan->vectors * vector + (double)(plan->parts * plan->tasks) * cost->task;
}

static double finish_cycles(const wgrad_depthwise_plan *plan)
{
    const struct ry_wgrad_depthwise_costs *cost = &ry_costs_of(plan->costs)->wgrad_depthwise;
    return plan->parts == 1 ? 0
                            : (double)(plan->vectors * plan->shape.taps) *
                                  ((double)plan->parts * cost->part + cost->store);
}

void ry_wgrad_depthwise_values(const ry_query *query, int knob, ry_knob_values *values)
{
    wgrad_depthwise_plan plan;
    const ry_query freely = {query->kernel, query->problem, query->target, NULL};
    make_plan(&freely, &plan);
    *values = (ry_knob_values){0};
    if (knob == WGRAD_DEPTHWISE_PARTS) {
        ry_knob_values_counts(values,
                              ry_min((int64_t)ry_blocks_of(plan.costs)->wgrad_parts, plan.lines));
        ry_knob_values_add(values, plan.parts);
        return;
    }
    for (int64_t lines = 1; plan.cuts == 1 && lines <= plan.shape.axis[1].out; lines *= 2) {
        ry_knob_values_add(values, lines);
    }
    ry_knob_values_add(values, plan.block);
}

rynd_status ry_wgrad_depthwise_prepare(const ry_query *query, ry_prepared *prepared,
                                       ry_error *error)
{
    (void)error;
    wgrad_depthwise_plan plan;
    make_plan(query, &plan);
    *prepared = (ry_prepared){
        .phases = plan.parts > 1 ? 2 : 1,
        .tasks = {(size_t)(plan.parts * plan.tasks), plan.parts > 1 ? (size_t)plan.finishes : 0},
        .state_size = sizeof plan,
        .workspace = (size_t)(plan.parts * plan.part_floats) * sizeof(float),
        .work = {ry_work_of_cycles((ry_work){cycles_of(&plan), 0}, plan.width),
                 ry_work_of_cycles((ry_work){finish_cycles(&plan), 0}, plan.width)},
        .form = {{plan.parts, plan.block}}};
    return RYND_OK;
}

void ry_wgrad_depthwise_initialise(const ry_query *query, void *state)
{
    make_plan(query, state);
}
