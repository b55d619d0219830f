/* SPDX-License-Identifier: Apache-2.0 */
/* Plans convolutions whose lanes are images. */
#include "kernels/cpu/images/images_plan.h"

#include "base/integer.h"
#include "base/room.h"
#include "kernels/common/work.h"
#include "kernels/cpu/parts/conv_packing.h"
#include "kernels/packing.h"
#include "machine/machine.h"
#include "problem/limits.h"

typedef struct ry_images_costs costs;

/* Are an image's elements next to each other in memory? */
static bool is_dense(const ry_tensor *tensor)
{
    int64_t last = 0, count = 1;
    for (int i = 1; i < tensor->rank; i++) {
        if (tensor->dim[i] > 1 && (tensor->stride[i] < 1 || last > RY_LIMIT_IMAGES_ELEMENTS)) {
            return false;
        }
        last += tensor->dim[i] > 1 ? (tensor->dim[i] - 1) * tensor->stride[i] : 0;
        count = ry_product(count, tensor->dim[i]);
    }
    return last + 1 == count;
}

/* Is an image of `a` stored in the order of one of `b`? */
static bool is_alike(const ry_tensor *a, const ry_tensor *b)
{
    bool alike = true;
    for (int i = 1; i < a->rank; i++) {
        alike = alike && (a->dim[i] == 1 || a->stride[i] == b->stride[i]);
    }
    return alike;
}

/* Elements of a dense image. */
static int64_t elements_of(const ry_tensor *tensor)
{
    return ry_tensor_count(tensor) / tensor->dim[0];
}

bool ry_images_takes(const ry_problem *problem)
{
    const ry_tensor *x = &problem->in[0], *y = &problem->out[0];
    ry_conv_geometry g;
    if (!ry_conv_takes_floats(problem) || x->dim[0] < 2 || !is_dense(x) || !is_dense(y) ||
        elements_of(x) + elements_of(y) > RY_LIMIT_IMAGES_ELEMENTS ||
        (ry_problem_has_input(problem, 3) && !is_alike(&problem->in[3], y))) {
        return false;
    }
    ry_conv_geometry_of(problem, &g, NULL, NULL);
    return elements_of(y) / (g.groups * g.channels_out) * g.taps <= RY_LIMIT_IMAGES_STEPS;
}

/* Patterns of a phase at most: on each axis, one more than positions where a tap comes in or goes
 * out. */
static int64_t most_patterns(const ry_conv_phase *p, const ry_conv_tap *tap)
{
    int64_t patterns = 1;
    for (int i = 0; i < RY_SPACE; i++) {
        int64_t here = 1;
        for (int64_t q = 1; q < p->grid[i]; q++) {
            bool changes = false;
            for (int64_t t = 0; t < p->taps && !changes; t++) {
                changes = tap[t].first[i] == q || tap[t].end[i] == q;
            }
            here += changes;
        }
        patterns *= here;
    }
    return patterns;
}

/* Taps inside x, over all positions of a phase. */
static double taps_inside(const ry_conv_phase *p, const ry_conv_tap *tap)
{
    double all = 0;
    for (int64_t t = 0; t < p->taps; t++) {
        double positions = 1;
        for (int i = 0; i < RY_SPACE; i++) {
            positions *= (double)ry_max(tap[t].end[i] - tap[t].first[i], 0);
        }
        all += positions;
    }
    return all;
}

/* Cycles of the sums of one group, of as many images as a vector has lanes. */
static double sum_cycles(const images_plan *plan, const costs *cost)
{
    const ry_conv_geometry *g = &plan->geometry;
    const ry_conv_phase *phase = images_phases(plan);
    const double rows = (double)g->channels_out / (double)plan->tiles, step = rows + cost->step;
    double cycles = 0;
    for (const ry_conv_phase *p = phase; p < phase + g->phases; p++) {
        cycles += taps_inside(p, images_taps(plan) + p->first_tap) *
                      (step * (double)g->channels_in + cost->tap) +
                  (double)p->pixels * (cost->position + rows * cost->sum) + cost->tile;
    }
    return cycles * (double)plan->tiles;
}

/* Cycles of as many images as a vector has lanes. */
static double block_cycles(const ry_query *query, const images_plan *plan)
{
    const costs *cost = &ry_costs_asked(query)->images;
    const double in = (double)ry_round_up(plan->x_size, plan->width),
                 out = (double)ry_round_up(plan->y_size, plan->width);
    float low, high;
    const bool bounds = ry_activation_bounds(ry_conv_activation(query->problem), &low, &high);
    const bool stays = (in + out) * (double)plan->width * 4 <=
                       (double)ry_machine_core_share(query->target->machine, RYND_LEVEL_L2, 1);
    return (double)plan->geometry.groups * sum_cycles(plan, cost) +
           in * (cost->in + (stays ? 0 : cost->spilled)) +
           out * (cost->out + (bounds ? 0 : cost->activation) + (stays ? 0 : cost->spilled));
}

static void cut(const ry_query *query, images_plan *plan)
{
    const costs *cost = &ry_costs_asked(query)->images;
    const double block = block_cycles(query, plan);
    const int64_t blocks = ry_ceil_div(plan->geometry.batch, plan->width);
    const int64_t each = ry_clamp((int64_t)(cost->min_task / block), 1, blocks);
    plan->images = (ry_cut_axis){plan->geometry.batch, each * plan->width};
    const double tasks = (double)ry_cut_parts(&plan->images);
    plan->work =
        (ry_work){(double)blocks * block + tasks * cost->task, (double)each * block + cost->task};
}

static void make_rooms(images_plan *plan)
{
    const ry_conv_geometry *g = &plan->geometry;
    const size_t vector = (size_t)plan->width * sizeof(float);
    plan->scratch = 0;
    plan->x = ry_room(&plan->scratch, ry_round_up(plan->x_size, plan->width), vector);
    plan->sums = ry_room(&plan->scratch, ry_round_up(plan->y_size, plan->width), vector);
    plan->bias = ry_room(&plan->scratch, g->groups * g->phases * g->channels_out, sizeof(float));
}

/* Everything but the tables behind the taps, for which it makes room. */
static void make(const ry_query *query, images_plan *plan)
{
    const ry_problem *problem = query->problem;
    const ry_simd *simd = &query->kernel->simd;
    ry_conv_geometry *g = &plan->geometry;
    ry_conv_geometry_of(problem, g, NULL, NULL);
    size_t at = ry_aligned(sizeof *plan);
    plan->phases = ry_room(&at, g->phases, sizeof(ry_conv_phase));
    plan->taps = ry_room(&at, g->taps, sizeof(ry_conv_tap));
    ry_conv_geometry_of(problem, g, RY_AT(ry_conv_phase, plan, plan->phases),
                        RY_AT(ry_conv_tap, plan, plan->taps));
    plan->width = simd->width;
    plan->tiles = ry_ceil_div(g->channels_out, ry_min(IMAGES_MAX_ROWS, simd->rows * simd->vectors));
    plan->x_size = elements_of(&problem->in[0]);
    plan->y_size = elements_of(&problem->out[0]);
    plan->packed_group = g->channels_in * g->channels_out * g->taps;
    int64_t positions = 0, patterns = 0, steps = 0;
    const ry_conv_phase *phase = images_phases(plan);
    for (const ry_conv_phase *p = phase; p < phase + g->phases; p++) {
        const int64_t here = ry_min(most_patterns(p, images_taps(plan) + p->first_tap), p->pixels);
        positions += p->pixels;
        patterns += here;
        steps += here * p->taps;
    }
    plan->positions = ry_room(&at, positions, sizeof(images_position));
    plan->patterns = ry_room(&at, patterns, sizeof(images_pattern));
    /* the taps of a position are listed before its pattern is looked for */
    plan->steps = ry_room(&at, steps + g->taps, sizeof(images_step));
    plan->size = at;
    make_rooms(plan);
    cut(query, plan);
}

/* Bytes of the plan without tables behind the taps. */
static size_t made_size(const ry_problem *problem)
{
    ry_conv_geometry g;
    ry_conv_geometry_of(problem, &g, NULL, NULL);
    size_t size = ry_aligned(sizeof(images_plan));
    ry_room(&size, g.phases, sizeof(ry_conv_phase));
    ry_room(&size, g.taps, sizeof(ry_conv_tap));
    return size;
}

rynd_status ry_images_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    images_plan *plan = ry_allocate(&ry_system_allocator, made_size(query->problem));
    if (!plan) {
        return ry_fail_memory(error);
    }
    make(query, plan);
    const int64_t groups = plan->geometry.groups;
    *prepared =
        (ry_prepared){.phases = 1,
                      .tasks = {(size_t)ry_cut_parts(&plan->images)},
                      .state_size = plan->size,
                      .packed = ry_aligned((size_t)(plan->packed_group * groups) * sizeof(float)),
                      .pack_tasks = (size_t)groups,
                      .scratch = plan->scratch,
                      .work = {ry_work_of_cycles(plan->work, plan->width)}};
    ry_release(&ry_system_allocator, plan);
    return RYND_OK;
}

/* Tables of a plan that is being made, and their ends. */
typedef struct tables {
    images_position *position;
    images_pattern *pattern;
    images_step *step;
    int32_t patterns, steps;
} tables;

static bool is_inside(const ry_conv_tap *tap, const int64_t q[RY_SPACE])
{
    bool inside = true;
    for (int i = 0; i < RY_SPACE; i++) {
        inside = inside && q[i] >= tap->first[i] && q[i] < tap->end[i];
    }
    return inside;
}

/* The pattern of position q, among those of its phase from number `first` on. Taps inside x are a
 * box of the window, which its first and last tap tell. */
static int32_t find_pattern(const images_plan *plan, const ry_conv_phase *p,
                            const int64_t q[RY_SPACE], int32_t first, tables *to)
{
    const ry_conv_tap *tap = images_taps(plan) + p->first_tap;
    images_pattern pattern = {to->steps, to->steps};
    for (int64_t t = 0; t < p->taps; t++) {
        if (is_inside(&tap[t], q)) {
            to->step[pattern.end++] =
                (images_step){(int32_t)(tap[t].offset * plan->width), (int32_t)t};
        }
    }
    const int32_t count = pattern.end - pattern.first;
    for (int32_t i = first; i < to->patterns; i++) {
        const images_pattern *old = &to->pattern[i];
        if (old->end - old->first == count &&
            (count == 0 || (to->step[old->first].tap == to->step[pattern.first].tap &&
                            to->step[old->end - 1].tap == to->step[pattern.end - 1].tap))) {
            return i;
        }
    }
    to->pattern[to->patterns] = pattern;
    to->steps = pattern.end;
    return to->patterns++;
}

static void fill_phase(const images_plan *plan, const ry_conv_phase *p, tables *to)
{
    const ry_conv_geometry *g = &plan->geometry;
    const int32_t first = to->patterns;
    for (int64_t i = 0; i < p->pixels; i++) {
        const int64_t q[RY_SPACE] = {i / p->grid[2] / p->grid[1], i / p->grid[2] % p->grid[1],
                                     i % p->grid[2]};
        int64_t x = 0, y = p->y_offset;
        for (int a = 0; a < RY_SPACE; a++) {
            x += q[a] * g->stride[a] * g->x_step[a];
            y += q[a] * p->y_step[a];
        }
        *to->position++ = (images_position){(int32_t)(x * plan->width), (int32_t)(y * plan->width),
                                            find_pattern(plan, p, q, first, to)};
    }
}

void ry_images_initialise(const ry_query *query, void *state)
{
    images_plan *plan = state;
    make(query, plan);
    tables to = {RY_AT(images_position, plan, plan->positions),
                 RY_AT(images_pattern, plan, plan->patterns), RY_AT(images_step, plan, plan->steps),
                 0, 0};
    const ry_conv_phase *phase = images_phases(plan);
    for (const ry_conv_phase *p = phase; p < phase + plan->geometry.phases; p++) {
        fill_phase(plan, p, &to);
    }
}

void ry_images_packing(const ry_prepared *prepared, ry_text *key)
{
    const images_plan *plan = prepared->state;
    const ry_conv_phase *phase = images_phases(plan);
    ry_conv_packing_add(&plan->geometry, images_taps(plan), key);
    RY_PACKING_NUMBERS(key, plan->tiles);
    for (const ry_conv_phase *p = phase; p < phase + plan->geometry.phases; p++) {
        RY_PACKING_NUMBERS(key, p->first_tap, p->taps);
    }
}
