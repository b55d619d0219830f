/* SPDX-License-Identifier: Apache-2.0 */
/* Which groups the direct weight gradient takes, its frames, parts and tasks. */
#include "kernels/cpu/wgrad/wgrad_direct_plan.h"

#include "base/integer.h"
#include "base/room.h"
#include "kernels/cpu/wgrad/wgrad_parts.h"
#include "kernels/knob_values.h"
#include "problem/limits.h"

const ry_knob ry_wgrad_direct_knobs[WGRAD_DIRECT_KNOBS] = {
    [WGRAD_DIRECT_PARTS] = {.name = "parts", .main = true},
    [WGRAD_DIRECT_PLACES] = {.name = "places"},
};

static int64_t field_of(const ry_window_axis *axis)
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
        frame *= (double)field_of(axis) + (i == WGRAD_SPACE - 1 ? (double)axis->out : 1);
        residues *= (double)residues_of(axis);
    }
    return s.c <= RY_LIMIT_WGRAD_PAIRS && s.k <= RY_LIMIT_WGRAD_PAIRS &&
           s.c * s.k <= RY_LIMIT_WGRAD_PAIRS && residues <= RY_LIMIT_WGRAD_RESIDUES &&
           frame * (residues * (double)s.c + (double)s.k) <= RY_LIMIT_WGRAD_FRAME;
}

static int64_t task_units(const wgrad_direct_plan *plan)
{
    return plan->tasks[1].axis[0].part;
}

/* Floats of a task's frames for each place. */
static int64_t place_floats(const wgrad_direct_plan *plan)
{
    return plan->lanes > 1 ? task_units(plan) * plan->lanes * (plan->frames * plan->shape.c + 1)
                           : plan->shape.c * plan->frames + plan->shape.k;
}

/* Frames of at most so many places, but at least one line. */
static void cut_frames(wgrad_direct_plan *plan, int64_t positions)
{
    const wgrad_shape *s = &plan->shape;
    int64_t field[WGRAD_SPACE];
    plan->frames = 1;
    for (int i = 0; i < WGRAD_SPACE; i++) {
        field[i] = field_of(&s->axis[i]);
        plan->residues[i] = residues_of(&s->axis[i]);
        plan->frames *= plan->residues[i];
    }
    plan->extent[2] = s->axis[2].out;
    plan->positions[2] = plan->extent[2] + field[2];
    int64_t inside = plan->positions[2];
    for (int i = WGRAD_SPACE - 2; i >= 0; i--) {
        const int64_t below = i == 0 ? inside : inside * (1 + field[0]);
        const int64_t fit = ry_clamp(positions / below - field[i], 1, s->axis[i].out);
        const bool broken = i == 0 && plan->extent[1] < s->axis[1].out;
        const int64_t cuts = ry_ceil_div(s->axis[i].out, broken ? 1 : fit);
        plan->extent[i] = ry_ceil_div(s->axis[i].out, cuts);
        plan->positions[i] = plan->extent[i] + field[i];
        inside *= plan->positions[i];
    }
    plan->image_positions = inside;
    const bool whole = plan->extent[0] == s->axis[0].out && plan->extent[1] == s->axis[1].out;
    const int64_t images = whole ? ry_clamp(positions / inside, 1, s->images) : 1;
    plan->images = ry_ceil_div(s->images, ry_ceil_div(s->images, images));
    plan->blocks = (ry_task_cut){{{s->images, plan->images},
                                  {s->axis[0].out, plan->extent[0]},
                                  {s->axis[1].out, plan->extent[1]},
                                  {s->axis[2].out, plan->extent[2]}}};
    /* the last vector reads over the last place */
    plan->frame = ry_round_up(plan->images * inside * plan->lanes + 2 * plan->width, plan->width);
}

static int64_t shift_of(const wgrad_direct_plan *plan, int64_t tap)
{
    int64_t at[WGRAD_SPACE], frame = 0, position = 0;
    wgrad_tap_at(&plan->shape, tap, at);
    for (int i = 0; i < WGRAD_SPACE; i++) {
        const ry_window_axis *axis = &plan->shape.axis[i];
        const int64_t met = at[i] * axis->dilation;
        frame = frame * plan->residues[i] + met % axis->stride;
        position = position * plan->positions[i] + met / axis->stride;
    }
    return frame * plan->frame + position * plan->lanes;
}

wgrad_frame ry_wgrad_frame_of(const wgrad_direct_plan *plan, int64_t index)
{
    ry_cut_range range[RY_CUT_AXES];
    ry_cut_task(&plan->blocks, (size_t)index, range);
    wgrad_frame frame = {.image = range[0].first, .images = range[0].count};
    for (int i = 0; i < WGRAD_SPACE; i++) {
        frame.from[i] = range[i + 1].first;
        frame.count[i] = range[i + 1].count;
    }
    return frame;
}

static int64_t usual_positions(const ry_query *query, const void *user)
{
    const wgrad_direct_plan *plan = user;
    const ry_machine *machine = query->target->machine;
    const struct ry_blocks_costs *share = ry_blocks_of(plan->costs);
    const int64_t bytes =
        plan->lanes > 1 ? ry_machine_core_share(machine, RYND_LEVEL_L2, share->wgrad_direct_lanes)
                        : ry_machine_core_share(machine, RYND_LEVEL_L1, share->wgrad_direct_frames);
    return ry_max((int64_t)share->wgrad_direct_positions, bytes / 4 / place_floats(plan));
}

/* Multiply-adds of a vector, or what takes as long, of all tasks. */
static double cycles_of(const wgrad_direct_plan *plan)
{
    const struct ry_wgrad_direct_costs *cost = &ry_costs_of(plan->costs)->wgrad_direct;
    const wgrad_shape *s = &plan->shape;
    const int64_t inputs = s->c, outputs = wgrad_unit_outputs(plan);
    const double vectors =
        (double)ry_ceil_div(plan->images * plan->image_positions * plan->lanes, plan->width);
    const double pairs = (double)(inputs * outputs), taps = (double)s->taps;
    const bool vector = plan->lanes > 1;
    const double tap = vector ? cost->tap_channels : cost->tap, stride = (double)s->axis[2].stride,
                 copy = vector                  ? cost->copy_channels
                        : s->x.step[2] != 1     ? cost->copy_element * (double)plan->width
                        : s->axis[2].stride < 3 ? cost->copy * (stride > 1 ? 2 : 1)
                                                : cost->copy_element * (double)plan->width;
    const double lines = (double)(plan->images * plan->positions[0] * plan->positions[1]);
    const double copied = (double)(inputs * plan->frames + outputs);
    const double block =
        vectors * (pairs * (taps * tap + cost->dy * (double)ry_ceil_div(s->taps, WGRAD_MAX_TAPS)) +
                   copied * copy) +
        lines * copied * cost->line + pairs * taps * cost->sum;
    const double end = pairs * taps * cost->end * (double)plan->parts;
    return (double)wgrad_direct_units(plan) * ((double)ry_cut_tasks(&plan->blocks) * block + end) +
           (double)ry_cut_tasks(&plan->tasks[0]) * cost->task;
}

static double finish_cycles(const wgrad_direct_plan *plan)
{
    return plan->parts > 1 ? (double)(plan->parts * plan->part_floats) : 0;
}

static void list_values(const ry_query *query, const void *user, int knob, ry_knob_values *values)
{
    const wgrad_direct_plan *plan = user;
    if (knob == WGRAD_DIRECT_PARTS) {
        const int64_t max =
            ry_min((int64_t)ry_blocks_of(plan->costs)->wgrad_parts, ry_cut_tasks(&plan->blocks));
        ry_knob_values_counts(values, max);
        ry_knob_values_add(values, max);
    } else {
        ry_knob_values_around(values, usual_positions(query, plan), 1);
    }
}

static bool set_axis(const ry_query *query, void *user, int knob, const ry_form *form)
{
    wgrad_direct_plan *plan = user;
    (void)query;
    if (knob == WGRAD_DIRECT_PLACES) {
        cut_frames(plan, form->value[WGRAD_DIRECT_PLACES]);
    } else {
        plan->parts = form->value[WGRAD_DIRECT_PARTS];
        plan->tasks[0] = (ry_task_cut){{{plan->parts, 1}, plan->tasks[1].axis[0]}};
    }
    return true;
}

static double cost_of(const ry_query *query, void *user, double least)
{
    const wgrad_direct_plan *plan = user;
    (void)least;
    return wgrad_spent_on_parts(query, plan->tasks,
                                (double[2]){cycles_of(plan), finish_cycles(plan)});
}

static void lay_out(const ry_query *query, void *user)
{
    wgrad_direct_plan *plan = user;
    const wgrad_shape *s = &plan->shape;
    (void)query;
    const int64_t side = plan->lanes > 1 ? task_units(plan) : 1, inputs = side * s->c,
                  outputs = side * wgrad_unit_outputs(plan),
                  pairs = side * s->c * wgrad_unit_outputs(plan);
    size_t at = 0;
    plan->x = ry_room(&at, inputs * plan->frames * plan->frame, sizeof(float));
    plan->dy = ry_room(&at, outputs * plan->frame, sizeof(float));
    plan->sums = ry_room(&at, pairs * s->taps * plan->width, sizeof(float));
    plan->bias = ry_room(&at, outputs * plan->width, sizeof(float));
    plan->scratch = at;
}

static bool begin(const ry_query *query, void *user)
{
    wgrad_direct_plan *plan = user;
    wgrad_shape *s = &plan->shape;
    ry_wgrad_shape_of(query->problem, s);
    plan->width = query->kernel->simd.width;
    plan->costs = ry_cost_column_of(query->target->machine, plan->width);
    const bool together = s->x.channel == 1 && s->dy.channel == 1 && s->groups > 1;
    plan->lanes = together && s->c == s->k && plan->width % s->k == 0 ? plan->width : 1;
    plan->frames = 1;
    for (int i = 0; i < WGRAD_SPACE; i++) {
        plan->frames *= residues_of(&s->axis[i]);
    }
    const struct ry_blocks_costs *limit = ry_blocks_of(plan->costs);
    const int64_t tasks = (int64_t)limit->wgrad_direct_group_tasks * query->target->machine->cores,
                  units = plan->lanes > 1 ? ry_ceil_div(s->groups * s->k, plan->lanes) : s->groups;
    plan->tasks[1] =
        (ry_task_cut){{{units, plan->lanes > 1 ? ry_min(units, (int64_t)limit->wgrad_direct_vectors)
                                               : ry_clamp(units / tasks, 1,
                                                          (int64_t)limit->wgrad_direct_groups)}}};
    plan->outputs = s->groups * s->k * s->c * s->taps;
    plan->part_floats = plan->outputs + s->groups * s->k;
    return true;
}

static void describe(const ry_query *query, const void *user, ry_prepared *prepared)
{
    const wgrad_direct_plan *plan = user;
    (void)query;
    const double cycles[2] = {cycles_of(plan), finish_cycles(plan)};
    wgrad_describe(plan->parts, plan->tasks, cycles, plan->width, prepared);
    prepared->state_size = ry_aligned(sizeof *plan + (size_t)plan->shape.taps * sizeof(int64_t));
    prepared->workspace = (size_t)(plan->parts * plan->part_floats) * 4;
    prepared->scratch = plan->scratch;
}

static void make_tables(const ry_query *query, void *state)
{
    wgrad_direct_plan *plan = state;
    int64_t *shift = (int64_t *)(void *)(plan + 1);
    (void)query;
    for (int64_t tap = 0; tap < plan->shape.taps; tap++) {
        shift[tap] = shift_of(plan, tap);
    }
}

static const ry_form_axis axes[] = {{.knob = WGRAD_DIRECT_PLACES, .usual = usual_positions},
                                    {.knob = WGRAD_DIRECT_PARTS, .after = 1}};
static const ry_form_method method = {
    .search = {axes, sizeof axes / sizeof *axes, list_values, set_axis, NULL, cost_of},
    .size = sizeof(wgrad_direct_plan),
    .begin = begin,
    .lay_out = lay_out,
    .describe = describe,
    .make_tables = make_tables};
RY_FORM_METHOD(ry_wgrad_direct, wgrad_direct_plan, method)
