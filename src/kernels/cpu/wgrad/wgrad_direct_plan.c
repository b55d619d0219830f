/* SPDX-License-Identifier: Apache-2.0 */
/* Which groups the direct weight gradient takes, its frames, parts and tasks. */
#include "kernels/cpu/wgrad/wgrad_direct_plan.h"

#include "base/integer.h"
#include "base/room.h"
#include "kernels/common/work.h"
#include "kernels/costs.h"
#include "kernels/form.h"
#include "kernels/knob_values.h"
#include "machine/machine.h"
#include "problem/limits.h"

#include <string.h>

const ry_knob ry_wgrad_direct_knobs[WGRAD_DIRECT_KNOBS] = {
    [WGRAD_DIRECT_PARTS] = {.name = "parts", .main = true},
    [WGRAD_DIRECT_PLACES] = {.name = "places"},
};

static int64_t reach_of(const ry_window_axis *axis)
{
    return (axis->taps - 1) * axis->dilation / axis->stride;
}

static int64_t residues_of(const ry_window_axis *axis)
{
    return ry_min(axis->stride, (axis->taps - 1) * axis->dilation + 1);
}

bool ry_wgrad_direct_takes(const ry_problem *problem)
{
    if (!ry_wgrad_takes(problem)) {
        return false;
    }
    wgrad_shape s;
    ry_wgrad_shape_of(problem, &s);
    /* in floating point: reach and extent may each be large */
    double frame = 1, residues = 1;
    for (int i = 0; i < WGRAD_SPACE; i++) {
        const ry_window_axis *axis = &s.axis[i];
        frame *= (double)reach_of(axis) + (i == WGRAD_SPACE - 1 ? (double)axis->out : 1);
        residues *= (double)residues_of(axis);
    }
    return s.c <= RY_LIMIT_WGRAD_PAIRS && s.k <= RY_LIMIT_WGRAD_PAIRS &&
           s.c * s.k <= RY_LIMIT_WGRAD_PAIRS && residues <= RY_LIMIT_WGRAD_RESIDUES &&
           frame * (residues * (double)s.c + (double)s.k) <= RY_LIMIT_WGRAD_FRAME;
}

/* Floats of a task's frames for each place. */
static int64_t place_floats(const wgrad_direct_plan *plan)
{
    return plan->lanes > 1 ? plan->task_units * plan->lanes * (plan->frames * plan->shape.c + 1)
                           : plan->shape.c * plan->frames + plan->shape.k;
}

/* Frames of at most so many places, but at least one line. */
static void cut_frames(wgrad_direct_plan *plan, int64_t places)
{
    const wgrad_shape *s = &plan->shape;
    int64_t reach[WGRAD_SPACE];
    plan->frames = 1;
    for (int i = 0; i < WGRAD_SPACE; i++) {
        reach[i] = reach_of(&s->axis[i]);
        plan->residues[i] = residues_of(&s->axis[i]);
        plan->frames *= plan->residues[i];
    }
    plan->extent[2] = s->axis[2].out;
    plan->places[2] = plan->extent[2] + reach[2];
    int64_t inside = plan->places[2];
    for (int i = WGRAD_SPACE - 2; i >= 0; i--) {
        const int64_t below = i == 0 ? inside : inside * (1 + reach[0]);
        const int64_t fit = ry_clamp(places / below - reach[i], 1, s->axis[i].out);
        const bool broken = i == 0 && plan->extent[1] < s->axis[1].out;
        const int64_t cuts = ry_ceil_div(s->axis[i].out, broken ? 1 : fit);
        plan->extent[i] = ry_ceil_div(s->axis[i].out, cuts);
        plan->places[i] = plan->extent[i] + reach[i];
        inside *= plan->places[i];
    }
    plan->image_places = inside;
    int64_t of_image = 1;
    for (int i = 0; i < WGRAD_SPACE; i++) {
        plan->space_blocks[i] = ry_ceil_div(s->axis[i].out, plan->extent[i]);
        of_image *= plan->space_blocks[i];
    }
    const int64_t images = of_image > 1 ? 1 : ry_clamp(places / inside, 1, s->images);
    plan->image_blocks = ry_ceil_div(s->images, images);
    plan->images = ry_ceil_div(s->images, plan->image_blocks);
    plan->blocks = plan->image_blocks * of_image;
    /* the last vector reads over the last place */
    plan->frame = ry_round_up(plan->images * inside * plan->lanes + 2 * plan->width, plan->width);
}

static int64_t shift_of(const wgrad_direct_plan *plan, int64_t tap)
{
    int64_t at[WGRAD_SPACE], frame = 0, place = 0;
    wgrad_tap_at(&plan->shape, tap, at);
    for (int i = 0; i < WGRAD_SPACE; i++) {
        const ry_window_axis *axis = &plan->shape.axis[i];
        const int64_t met = at[i] * axis->dilation;
        frame = frame * plan->residues[i] + met % axis->stride;
        place = place * plan->places[i] + met / axis->stride;
    }
    return frame * plan->frame + place * plan->lanes;
}

wgrad_frame ry_wgrad_frame_of(const wgrad_direct_plan *plan, int64_t index)
{
    wgrad_frame frame;
    for (int i = WGRAD_SPACE - 1; i >= 0; i--) {
        frame.from[i] = index % plan->space_blocks[i] * plan->extent[i];
        frame.count[i] = ry_min(plan->extent[i], plan->shape.axis[i].out - frame.from[i]);
        index /= plan->space_blocks[i];
    }
    frame.image = index * plan->images;
    frame.images = ry_min(plan->images, plan->shape.images - frame.image);
    return frame;
}

static int64_t usual_places(const wgrad_direct_plan *plan, const ry_machine *machine)
{
    const struct ry_blocks_costs *share = ry_blocks_of(plan->costs);
    const int64_t bytes =
        plan->lanes > 1 ? ry_machine_core_share(machine, RYND_LEVEL_L2, share->wgrad_direct_lanes)
                        : ry_machine_core_share(machine, RYND_LEVEL_L1, share->wgrad_direct_frames);
    return ry_max((int64_t)ry_blocks_of(plan->costs)->wgrad_direct_places,
                  bytes / 4 / place_floats(plan));
}

/* Multiply-adds of a vector, or what takes as long, of all tasks. */
static double cycles_of(const wgrad_direct_plan *plan)
{
    const struct ry_wgrad_direct_costs *cost = &ry_costs_of(plan->costs)->wgrad_direct;
    const wgrad_shape *s = &plan->shape;
    const int64_t inputs = s->c, outputs = wgrad_unit_outputs(plan);
    const double vectors =
        (double)ry_ceil_div(plan->images * plan->image_places * plan->lanes, plan->width);
    const double pairs = (double)(inputs * outputs), taps = (double)s->taps;
    const bool vector = plan->lanes > 1;
    const double tap = vector ? cost->tap_channels : cost->tap, stride = (double)s->axis[2].stride,
                 copy = vector                  ? cost->copy_channels
                        : s->x.step[2] != 1     ? cost->copy_element * (double)plan->width
                        : s->axis[2].stride < 3 ? cost->copy * (stride > 1 ? 2 : 1)
                                                : cost->copy_element * (double)plan->width;
    const double lines = (double)(plan->images * plan->places[0] * plan->places[1]);
    const double copied = (double)(inputs * plan->frames + outputs);
    const double block =
        vectors * (pairs * (taps * tap + cost->dy * (double)ry_ceil_div(s->taps, WGRAD_MAX_TAPS)) +
                   copied * copy) +
        lines * copied * cost->line + pairs * taps * cost->sum;
    const double end = pairs * taps * cost->end * (double)plan->parts;
    return (double)plan->units * ((double)plan->blocks * block + end) +
           (double)(plan->unit_tasks * plan->parts) * cost->task;
}

/* Parts only where channels do not keep the cores busy. */
static int64_t usual_parts(const wgrad_direct_plan *plan, const ry_machine *machine)
{
    const struct ry_blocks_costs *limit = ry_blocks_of(plan->costs);
    const int64_t wanted = (int64_t)limit->wgrad_direct_tasks * machine->cores,
                  max = ry_min(plan->blocks, (int64_t)limit->wgrad_parts);
    return plan->unit_tasks >= wanted ? 1 : ry_clamp(ry_ceil_div(wanted, plan->unit_tasks), 1, max);
}

static void lay_out(wgrad_direct_plan *plan)
{
    const wgrad_shape *s = &plan->shape;
    const int64_t side = plan->lanes > 1 ? plan->task_units : 1, inputs = side * s->c,
                  outputs = side * wgrad_unit_outputs(plan),
                  pairs = side * s->c * wgrad_unit_outputs(plan);
    plan->outputs = s->groups * s->k * s->c * s->taps;
    plan->part_floats = plan->outputs + s->groups * s->k;
    size_t at = 0;
    plan->x = ry_room(&at, inputs * plan->frames * plan->frame, sizeof(float));
    plan->dy = ry_room(&at, outputs * plan->frame, sizeof(float));
    plan->sums = ry_room(&at, pairs * s->taps * plan->width, sizeof(float));
    plan->bias = ry_room(&at, outputs * plan->width, sizeof(float));
    plan->scratch = at;
}

static void read_problem(const ry_query *query, wgrad_direct_plan *plan)
{
    memset(plan, 0, sizeof *plan);
    wgrad_shape *s = &plan->shape;
    ry_wgrad_shape_of(query->problem, s);
    plan->width = query->kernel->simd.width;
    plan->costs = ry_cost_column_of(query->target->machine, plan->width);
    const bool together = s->x.channel == 1 && s->dy.channel == 1 && s->groups > 1;
    plan->lanes = together && s->c == s->k && plan->width % s->k == 0 ? plan->width : 1;
    plan->units = plan->lanes > 1 ? ry_ceil_div(s->groups * s->k, plan->lanes) : s->groups;
    plan->frames = 1;
    for (int i = 0; i < WGRAD_SPACE; i++) {
        plan->frames *= residues_of(&s->axis[i]);
    }
    const struct ry_blocks_costs *limit = ry_blocks_of(plan->costs);
    const int64_t tasks =
        (int64_t)limit->wgrad_direct_group_tasks * (int64_t)query->target->machine->cores;
    plan->task_units = plan->lanes > 1
                           ? ry_min(plan->units, (int64_t)limit->wgrad_direct_vectors)
                           : ry_clamp(plan->units / tasks, 1, (int64_t)limit->wgrad_direct_groups);
    plan->unit_tasks = ry_ceil_div(plan->units, plan->task_units);
}

static int64_t make_plan(const ry_query *query, wgrad_direct_plan *plan)
{
    const ry_machine *machine = query->target->machine;
    read_problem(query, plan);
    const int64_t places = ry_form_or(query, WGRAD_DIRECT_PLACES, usual_places(plan, machine));
    cut_frames(plan, places);
    plan->parts = ry_form_or(query, WGRAD_DIRECT_PARTS, usual_parts(plan, machine));
    lay_out(plan);
    return places;
}

void ry_wgrad_direct_values(const ry_query *query, int knob, ry_knob_values *values)
{
    wgrad_direct_plan plan;
    const ry_query freely = {query->kernel, query->problem, query->target, NULL};
    make_plan(&freely, &plan);
    *values = (ry_knob_values){0};
    if (knob == WGRAD_DIRECT_PARTS) {
        ry_knob_values_counts(values,
                              ry_min((int64_t)ry_blocks_of(plan.costs)->wgrad_parts, plan.blocks));
        ry_knob_values_add(values, plan.parts);
    } else {
        ry_knob_values_around(values, usual_places(&plan, query->target->machine), 1);
    }
}

rynd_status ry_wgrad_direct_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    (void)error;
    wgrad_direct_plan plan;
    const int64_t places = make_plan(query, &plan);
    const double added = plan.parts > 1 ? (double)(plan.parts * plan.part_floats) : 0;
    *prepared = (ry_prepared){
        .phases = plan.parts > 1 ? 2 : 1,
        .tasks = {(size_t)(plan.unit_tasks * plan.parts),
                  plan.parts > 1 ? (size_t)plan.unit_tasks : 0},
        .state_size = ry_aligned(sizeof plan + (size_t)plan.shape.taps * sizeof(int64_t)),
        .workspace = (size_t)(plan.parts * plan.part_floats) * 4,
        .scratch = plan.scratch,
        .work = {ry_work_of_cycles((ry_work){cycles_of(&plan), 0}, plan.width),
                 ry_work_of_cycles((ry_work){added, 0}, plan.width)},
        .form = {{plan.parts, places}}};
    return RYND_OK;
}

void ry_wgrad_direct_initialise(const ry_query *query, void *state)
{
    wgrad_direct_plan *plan = state;
    make_plan(query, plan);
    int64_t *shift = (int64_t *)(void *)(plan + 1);
    for (int64_t tap = 0; tap < plan->shape.taps; tap++) {
        shift[tap] = shift_of(plan, tap);
    }
}
