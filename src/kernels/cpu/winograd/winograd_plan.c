/* SPDX-License-Identifier: Apache-2.0 */
/* Lays a plan out for a form. */
#include "kernels/cpu/winograd/winograd_plan.h"
#include "base/integer.h"
#include "base/room.h"
#include "machine/machine.h"

#include <string.h>

enum {
    LINE = RY_LINE_FLOATS,
    MAX_DEPTH_8 = 512, /* longer sums of products at eight points would leave the class near32 */
    MAX_PHASES = 16,
    MAX_INTERLEAVED = 128 << 10 /* channels and tiles that are transformed together at least */
};

/* The floats that a share of a cache holds. */
static int64_t floats_of(int64_t bytes, double share)
{
    return (int64_t)((double)bytes * share) / (int64_t)sizeof(float);
}

static const struct ry_blocks_costs *shares_of(const winograd_plan *plan)
{
    return ry_blocks_of(plan->limits.costs);
}

const double *ry_winograd_magnitudes(int64_t points)
{
    static const double four[] = {1}, six[] = {WINOGRAD_6_A, WINOGRAD_6_B},
                        eight[] = {WINOGRAD_8_A, WINOGRAD_8_B, WINOGRAD_8_C};
    return points == 4 ? four : points == 6 ? six : eight;
}

/* Vectors must be along channels or along positions of a row. */
static bool is_near(const ry_tensor *tensor)
{
    return tensor->stride[1] == 1 || tensor->stride[tensor->rank - 1] == 1;
}

static bool is_f32(const ry_problem *problem, int input)
{
    return !ry_problem_has_input(problem, input) || ry_type_of(&problem->in[input]) == RY_f32;
}

/* Points, `max` at most, that an axis of so many taps may have; returns how many, 0: it cannot be
 * transformed. */
static int axis_choices(int64_t taps, int64_t max, int64_t points[WINOGRAD_CHOICES])
{
    int count = 0;
    if (taps == 1) {
        points[count++] = 1;
    }
    for (int64_t t = 4; t <= max && taps > 1; t += 2) {
        if (t - taps + 1 >= 2 && t - taps + 1 <= WINOGRAD_MAX_OUTPUTS) {
            points[count++] = t;
        }
    }
    return count;
}

/* The taps of each phase, and how phases are numbered: phase p's tap j is tap + p - j * spread of
 * the window's, where `tap` is free as long as every tap has a phase; the least lead wins. */
static void find_phases(const ry_conv_geometry *g, int i, winograd_axis *axis)
{
    axis->window = g->kernel[i];
    axis->output_stride = g->forward ? 1 : g->output_stride[i];
    axis->stride = g->stride[i];
    axis->classes = ry_min(axis->stride, axis->window);
    axis->taps = ry_ceil_div(axis->window, axis->output_stride * axis->stride);
    axis->dilation = axis->taps == 1 ? 1 : g->dilation[i];
    axis->step = axis->dilation * axis->stride;
    axis->pad = g->before[i];
    axis->tap_step = axis->stride;
    if (g->forward) {
        return;
    }
    axis->tap_step = -axis->output_stride;
    axis->output_offset = axis->output_stride;
    const int64_t last = axis->output_stride * (axis->taps - 1);
    for (int64_t tap = axis->window > axis->output_stride ? axis->window - axis->output_stride : 0;
         tap <= last; tap++) {
        const int64_t output_offset =
            ((g->before[i] - tap) % axis->output_stride + axis->output_stride) %
            axis->output_stride;
        if (output_offset < axis->output_offset) {
            axis->output_offset = output_offset;
            axis->tap = tap;
            axis->pad = (tap + output_offset - g->before[i]) / axis->output_stride;
        }
    }
}

/* Points that an axis may have in an accuracy class (bench/winograd_points.py measures them): the
 * strict one holds with four, and with six for two outputs of 5 taps. */
static int64_t max_points(const ry_conv_geometry *g, const winograd_axis *axis,
                          ry_accuracy accuracy)
{
    if (accuracy == RY_ACCURACY_strict) {
        return axis->taps == 5 ? 6 : 4;
    }
    return g->channels_in * g->kernel[0] * axis->classes > MAX_DEPTH_8 ? 6 : 8;
}

/* Phases of the width whose tiles are interleaved: all, where strips of positions pass. */
static int64_t count_interleaved(const ry_conv_geometry *g, const winograd_axis *width)
{
    return g->x_channel == 1 && g->y_channel == 1 ? 1 : ry_min(width->dilation, g->out[2]);
}

/* Strides 1 and 2; or a transposed convolution of one or two axes. Windows with strides have no
 * gaps. */
static bool has_form(const ry_conv_geometry *g)
{
    if (g->forward) {
        bool narrow = g->kernel[0] == 1 || (g->stride[1] == 1 && g->stride[2] == 1);
        for (int i = 1; i < RY_SPACE; i++) {
            narrow = narrow && (g->stride[i] == 1 ||
                                (g->stride[i] == 2 && (g->dilation[i] == 1 || g->kernel[i] == 1)));
        }
        return narrow;
    }
    bool narrow = g->kernel[0] == 1 && g->output_stride[0] == 1 && g->before[0] == 0;
    for (int i = 1; i < RY_SPACE; i++) {
        narrow = narrow && (g->dilation[i] == 1 || g->kernel[i] == 1);
    }
    return narrow && g->output_stride[1] <= MAX_PHASES &&
           g->output_stride[1] * g->output_stride[2] <= MAX_PHASES;
}

static int64_t tile_positions(const ry_conv_geometry *g, const winograd_axis *axis,
                              ry_accuracy accuracy)
{
    return axis->classes * (axis->taps == 1 ? 1 : max_points(g, axis, accuracy));
}

bool ry_winograd_is_possible(const ry_problem *problem, ry_accuracy accuracy)
{
    if (!ry_conv_is_spatial(problem)) {
        return false;
    }
    const ry_tensor *y = &problem->out[0];
    if (!is_f32(problem, 0) || !is_f32(problem, 1) || !is_f32(problem, 2) || !is_f32(problem, 3) ||
        ry_type_of(y) != RY_f32 || !is_near(&problem->in[0]) || !is_near(y)) {
        return false;
    }
    const bool along_channels = y->stride[1] == 1;
    if (ry_problem_has_input(problem, 3) &&
        problem->in[3].stride[along_channels ? 1 : y->rank - 1] != 1) {
        return false;
    }
    ry_conv_geometry g;
    ry_conv_geometry_of(problem, &g, NULL, NULL);
    winograd_axis h = {0}, w = {0};
    find_phases(&g, 1, &h);
    find_phases(&g, 2, &w);
    int64_t points[WINOGRAD_CHOICES];
    return has_form(&g) &&
           count_interleaved(&g, &w) * g.channels_in * g.kernel[0] <= MAX_INTERLEAVED &&
           h.taps * w.taps > 1 && axis_choices(h.taps, max_points(&g, &h, accuracy), points) > 0 &&
           axis_choices(w.taps, max_points(&g, &w, accuracy), points) > 0 && g.out[1] < 1 << 20 &&
           g.out[2] < 1 << 20 &&
           ry_winograd_is_even(&h, &w,
                               tile_positions(&g, &h, accuracy) * tile_positions(&g, &w, accuracy),
                               accuracy);
}

/* Tiles of an axis of `out` outputs; their table is written where it is not NULL. */
static int64_t cut_axis(const winograd_axis *axis, int64_t out, winograd_tile *tile)
{
    const int64_t extent = ry_ceil_div(out + axis->output_offset, axis->output_stride),
                  phases = ry_min(axis->dilation, extent);
    int64_t count = 0;
    for (int64_t begin = 0; begin < phases; begin += axis->interleave) {
        /* outputs of the longest phase */
        const int64_t max = ry_ceil_div(extent - begin, axis->dilation);
        for (int64_t first = 0; first < max; first += axis->outputs) {
            for (int64_t phase = begin; phase < begin + axis->interleave; phase++, count++) {
                const int64_t left = ry_max(ry_ceil_div(extent - phase, axis->dilation) - first, 0);
                if (tile) {
                    tile[count] = (winograd_tile){(int32_t)(phase + first * axis->dilation),
                                                  (int32_t)ry_min(left, axis->outputs)};
                }
            }
        }
    }
    return count;
}

winograd_range ry_winograd_inside(const winograd_plan *plan, int axis, const winograd_tile *tile,
                                  int64_t phase)
{
    const winograd_axis *a = &plan->axis[axis];
    winograd_range range = {.end = tile->outputs};
    if (a->output_stride > 1) {
        const int64_t end =
            ry_ceil_div(plan->geometry.out[axis + 1] + a->output_offset - phase, a->output_stride) -
            tile->origin;
        range.first = tile->origin == 0 && phase < a->output_offset;
        range.end = end < range.end ? end : range.end;
    }
    return range;
}

/* Points, phases and classes of an axis with weights. */
static int64_t count_products(const winograd_axis *axis)
{
    int64_t count = 0;
    for (int64_t i = 0; i < axis->points * axis->output_stride; i++) {
        for (int64_t j = 0; j < axis->classes; j++) {
            count += !winograd_is_zero(axis, i / axis->output_stride, i % axis->output_stride, j);
        }
    }
    return count;
}

/* Floats from row to row: an odd number of cache lines, so that rows that are read together are in
 * different sets of a cache. */
static int64_t odd_lines(int64_t floats)
{
    return (floats + LINE - 1) / LINE * LINE + (ry_ceil_div(floats, LINE) % 2 == 0 ? LINE : 0);
}

void ry_winograd_set_points(winograd_plan *plan, const int64_t points[2])
{
    const ry_conv_geometry *g = &plan->geometry;
    plan->points = points[0] * points[1];
    for (int i = 0; i < 2; i++) {
        winograd_axis *axis = &plan->axis[i];
        axis->points = points[i];
        axis->outputs = points[i] - axis->taps + 1;
        axis->tiles = cut_axis(axis, g->out[i + 1], NULL);
        ry_winograd_find_groups(axis);
    }
    plan->products = count_products(&plan->axis[0]) * count_products(&plan->axis[1]);
    plan->tiles = g->batch * g->out[0] * plan->axis[0].tiles * plan->axis[1].tiles;
    plan->packed_oc_block = plan->points * plan->phases * plan->depth * plan->tile_columns;
    plan->packed_group =
        plan->points * plan->phases * plan->depth * ry_round_up(g->channels_out, plan->width);
}

void ry_winograd_set_tiles(winograd_plan *plan, int64_t block)
{
    plan->block = block;
    plan->blocks = ry_ceil_div(plan->tiles, block);
    plan->v_point = odd_lines(block * plan->v_row);
}

void ry_winograd_set_oc_blocks(winograd_plan *plan, int64_t oc_blocks_per_task)
{
    plan->oc_blocks_per_task = oc_blocks_per_task;
    plan->oc_block_ranges = ry_ceil_div(plan->oc_blocks, oc_blocks_per_task);
    plan->m_phase = oc_blocks_per_task * plan->tile_columns;
    plan->m_row = odd_lines(plan->phases * plan->m_phase);
    plan->m_point = odd_lines(plan->block * plan->m_row);
}

bool ry_winograd_fits(const winograd_plan *plan)
{
    const winograd_limits *l = &plan->limits;
    const struct ry_blocks_costs *share = shares_of(plan);
    const int64_t v = plan->points * plan->v_point, m = plan->points * plan->m_point;
    const bool rows = !plan->y_channels_last || plan->width < LINE;
    if (plan->block == plan->axis[1].interleave && plan->oc_blocks_per_task == 1) {
        return true; /* there is no less */
    }
    return m <= floats_of(l->l2, rows ? share->winograd_m_rows : share->winograd_m) &&
           (plan->shared ? ry_product(ry_product(v, plan->blocks), plan->geometry.groups) <=
                               floats_of(l->kept, share->winograd_v_shared)
                         : v <= floats_of(l->l2, share->winograd_v));
}

/* Floats for the sums over taps of tiles that are fixed up: as many input channels at once as fit.
 */
static int64_t size_fixup(winograd_plan *plan)
{
    const winograd_axis *h = &plan->axis[0], *w = &plan->axis[1];
    const int64_t weights = h->taps * h->classes * w->taps * w->classes * plan->tile_columns,
                  inputs = plan->points * plan->classes;
    const int64_t l2 = plan->limits.l2,
                  max = floats_of(l2, shares_of(plan)->winograd_fixup_weights) / weights;
    const int64_t fit =
        ry_max(ry_min(max, floats_of(l2, shares_of(plan)->winograd_fixup_inputs) / inputs), 1);
    plan->fixup_channels = ry_min(fit, plan->geometry.channels_in);
    plan->fixup_weights = plan->fixup_channels * weights;
    return plan->fixup_weights + plan->fixup_channels * inputs;
}

static void lay_out(winograd_plan *plan)
{
    const winograd_axis *h = &plan->axis[0], *w = &plan->axis[1];
    const int64_t read_span = (w->points - 1) * w->step + w->stride + w->interleave - 1,
                  all = plan->geometry.out[2] * w->stride + 2 * read_span;
    const int64_t strip =
        floats_of(plan->limits.l2, shares_of(plan)->winograd_strips) / (WINOGRAD_MAX_POINTS * LINE);
    const bool strips_pass = plan->x_staged || !plan->y_channels_last;
    const int64_t max = ry_min(
        all, strips_pass ? strip : strip / (int64_t)shares_of(plan)->winograd_fixup_positions);
    const int64_t span = ry_max(read_span, max);
    const int64_t written = ry_max(span / w->output_stride, w->outputs) * w->output_stride;
    const int64_t strips =
        ry_max(h->points * (ry_round_up(span, plan->width) + plan->width) + plan->width,
               h->outputs * (w->output_offset + ry_round_up(written, plan->width)));
    const int64_t stage = ry_max(strips * plan->width, size_fixup(plan));
    size_t at = 0;
    plan->run_span = span;
    plan->v = ry_room(&at, plan->shared ? 0 : plan->points * plan->v_point, sizeof(float));
    plan->m = ry_room(&at, plan->points * plan->m_point, sizeof(float));
    plan->stage = ry_room(&at, stage, sizeof(float));
    plan->squares = ry_room(&at, plan->block * winograd_tile_squares(plan), sizeof(float));
    plan->uneven = ry_room(&at, plan->block, sizeof(bool));
    plan->outputs = ry_room(&at, plan->block * plan->phases, sizeof(winograd_outputs));
    const int64_t biases = plan->geometry.phase_bias ? plan->phases : 1;
    plan->bias =
        ry_room(&at, biases * (plan->oc_blocks_per_task + 1) * plan->tile_columns, sizeof(float));
    plan->scratch = at;
    const int64_t vectors = ry_ceil_div(plan->geometry.channels_in, plan->width),
                  part = (int64_t)shares_of(plan)->winograd_part_vectors;
    const int64_t channels =
        plan->tiles < (int64_t)shares_of(plan)->winograd_tiles * plan->limits.cores
            ? ry_ceil_div(vectors, ry_ceil_div(vectors, part)) * plan->width
            : vectors * plan->width;
    const ry_cut_axis groups = {plan->geometry.groups, 1}, tiles = {plan->tiles, plan->block};
    plan->transforms = (ry_task_cut){{groups, tiles, {plan->geometry.channels_in, channels}}};
    plan->channel_parts = ry_cut_parts(&plan->transforms.axis[2]);
    plan->tasks = plan->shared
                      ? (ry_task_cut){{{plan->oc_blocks, plan->oc_blocks_per_task}, groups, tiles}}
                      : (ry_task_cut){{groups, tiles}};
    plan->packs = (ry_task_cut){{groups, {plan->oc_blocks, 1}}};
}

/* Is a tensor that mostly is in memory read, or written, in pieces that memory's prefetchers do not
 * follow: pixel by pixel, or by parts of rows? */
static bool is_fetched(const winograd_plan *plan, bool near, int64_t channels,
                       const int64_t extent[RY_SPACE])
{
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t floats = g->batch * g->groups * channels * extent[0] * extent[1] * extent[2];
    return (near || plan->block < plan->axis[1].tiles) &&
           (double)floats * sizeof(float) >=
               shares_of(plan)->winograd_prefetch * (double)plan->limits.kept;
}

/* Steps of y and the residual from position to position. */
static void find_steps(const ry_problem *problem, ry_conv_phase *steps)
{
    const ry_tensor *y = &problem->out[0];
    for (int i = 0; i < y->rank - 2; i++) {
        const int at = RY_SPACE - (y->rank - 2) + i;
        steps->y_step[at] = y->stride[i + 2];
        steps->r_step[at] = ry_problem_has_input(problem, 3) ? problem->in[3].stride[i + 2] : 0;
    }
}

/* Makes columns of the phases, where their outputs are stored so that vectors of channels may go on
 * from a phase to its neighbour. */
static void fold_phases(const ry_problem *problem, winograd_plan *plan)
{
    ry_conv_geometry *g = &plan->geometry;
    const bool has_residual = ry_problem_has_input(problem, 3);
    const int64_t channels = g->channels_out, y_pixel = plan->steps.y_step[2],
                  r_pixel = plan->steps.r_step[2];
    bool folds = !g->forward && g->groups == 1 && (g->y_channel == 1 || channels == 1) &&
                 y_pixel == channels &&
                 (!has_residual || ((g->r_channel == 1 || channels == 1) && r_pixel == channels));
    for (int i = 0; i < 2; i++) {
        const winograd_axis *axis = &plan->axis[i];
        folds = folds && axis->output_offset == 0 &&
                axis->window == axis->taps * axis->output_stride &&
                g->out[i + 1] % axis->output_stride == 0;
    }
    if (!folds) {
        return;
    }
    winograd_fold *f = &plan->fold;
    *f = (winograd_fold){.channels = channels,
                         .row = channels * plan->axis[1].output_stride,
                         .y_row = plan->steps.y_step[1],
                         .r_row = plan->steps.r_step[1]};
    f->room = ry_round_up(f->row, plan->width);
    g->channels_out = (plan->axis[0].output_stride - 1) * f->room + f->row;
    g->y_channel = 1;
    g->r_channel = has_residual;
    for (int i = 0; i < 2; i++) {
        winograd_axis *axis = &plan->axis[i];
        g->out[i + 1] /= axis->output_stride;
        plan->steps.y_step[i + 1] *= axis->output_stride;
        plan->steps.r_step[i + 1] *= axis->output_stride;
        axis->output_stride = 1;
    }
}

/* What the machine has, as far as it is known. */
static winograd_limits limits_of(const ry_query *query)
{
    const ry_machine *m = query->target->machine;
    const ry_simd *simd = &query->kernel->simd;
    winograd_limits l = {.cores = m->cores,
                         .l1 = ry_machine_core_bytes(m, RYND_LEVEL_L1),
                         .l2 = ry_machine_core_bytes(m, RYND_LEVEL_L2),
                         .kept = (int64_t)ry_machine_kept_bytes(m),
                         .costs = ry_cost_column_of(m, simd->width)};
    const double rate = m->f32.one / (2.0 * simd->width),
                 all = m->level[RYND_LEVEL_DRAM].bandwidth.all;
    l.kept = l.kept > 0 ? l.kept : l.l2;
    l.memory = all > 0 ? rate * sizeof(float) * m->cores / all : 1;
    l.task = rate * m->task_seconds;
    l.region = rate * m->region_seconds * m->cores;
    return l;
}

void ry_winograd_plan_start(const ry_query *query, winograd_plan *plan)
{
    memset(plan, 0, sizeof *plan);
    ry_conv_geometry *g = &plan->geometry;
    const ry_problem *problem = query->problem;
    const ry_simd *simd = &query->kernel->simd;
    ry_conv_geometry_of(problem, g, NULL, NULL);
    plan->limits = limits_of(query);
    find_steps(problem, &plan->steps);
    plan->contrast = ry_winograd_contrast(query->kernel->accuracy);
    plan->width = simd->width;
    plan->tile_rows = ry_min(simd->rows, (int64_t)shares_of(plan)->strided_rows);
    plan->tile_columns = plan->width * simd->vectors;
    find_phases(g, 1, &plan->axis[0]);
    find_phases(g, 2, &plan->axis[1]);
    fold_phases(problem, plan);
    plan->oc_blocks = ry_ceil_div(g->channels_out, plan->tile_columns);
    plan->x_channels_last = g->x_channel == 1;
    plan->y_channels_last = g->y_channel == 1;
    plan->x_staged =
        !plan->x_channels_last ||
        (g->channels_in <= (int64_t)shares_of(plan)->winograd_staged_channels &&
         g->x_step[2] >= floats_of(plan->limits.l1, shares_of(plan)->winograd_staged_step));
    plan->axis[0].interleave = 1;
    plan->axis[1].interleave = count_interleaved(g, &plan->axis[1]);
    plan->phases = plan->axis[0].output_stride * plan->axis[1].output_stride;
    plan->classes = plan->axis[0].classes * plan->axis[1].classes;
    plan->channel_step = g->kernel[0] * plan->classes == 1
                             ? g->channels_in
                             : ry_ceil_div(g->channels_in, plan->width) * plan->width;
    plan->depth = plan->channel_step * g->kernel[0] * plan->classes;
    plan->v_row =
        odd_lines(ry_round_up(g->channels_in, plan->width) - plan->channel_step + plan->depth);
}

int ry_winograd_choices(const ry_query *query, const winograd_plan *plan, int axis,
                        int64_t points[WINOGRAD_CHOICES])
{
    const winograd_axis *a = &plan->axis[axis];
    return axis_choices(a->taps, max_points(&plan->geometry, a, query->kernel->accuracy), points);
}

void ry_winograd_plan_finish(winograd_plan *plan)
{
    const ry_conv_geometry *g = &plan->geometry;
    const winograd_limits *l = &plan->limits;
    plan->prefetch_x = is_fetched(plan, plan->x_channels_last, g->channels_in, g->in);
    plan->prefetch_y = is_fetched(plan, plan->y_channels_last, g->channels_out, g->out);
    plan->v_fetched =
        plan->points * plan->v_point > floats_of(l->l2, shares_of(plan)->winograd_v_cached) &&
        plan->v_row <= (int64_t)shares_of(plan)->winograd_v_row;
    plan->u_fetched = plan->packed_group > floats_of(l->l2, shares_of(plan)->winograd_u_cached);
    plan->point_cached = floats_of(l->l1, shares_of(plan)->winograd_point);
    lay_out(plan);
    plan->axis[0].tile = ry_aligned(sizeof(winograd_plan));
    plan->axis[1].tile = plan->axis[0].tile + ry_aligned((size_t)g->out[1] * sizeof(winograd_tile));
    plan->size = plan->axis[1].tile + ry_aligned((size_t)g->out[2] * sizeof(winograd_tile));
}

void ry_winograd_initialise(const ry_query *query, void *state)
{
    winograd_plan *plan = state;
    const int64_t *value = query->form->value;
    ry_winograd_plan_start(query, plan);
    ry_winograd_set_points(plan, (int64_t[]){value[WINOGRAD_POINTS_H], value[WINOGRAD_POINTS_W]});
    ry_winograd_set_tiles(plan, value[WINOGRAD_TILES]);
    ry_winograd_set_oc_blocks(plan, value[WINOGRAD_OC_BLOCKS]);
    plan->shared = value[WINOGRAD_SHARED] != 0;
    ry_winograd_plan_finish(plan);
    for (int i = 0; i < 2; i++) {
        cut_axis(&plan->axis[i], plan->geometry.out[i + 1],
                 (winograd_tile *)(void *)((char *)plan + plan->axis[i].tile));
    }
}
