/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses points, blocks and tasks by a count of cycles. */
#include "base/whole.h"
#include "kernels/cpu/winograd/winograd_cost.h"

#include <string.h>

enum {
    LINE = 16,            /* floats of a cache line */
    DEPTH_MOST_8 = 512,   /* longer sums of products at eight points would leave the class near32 */
    BLOCK_ROWS_MOST = 16, /* tiles of products that a block of tiles fills */
    ROW_PARTS_MOST = 8,   /* parts of a row of tiles that a block is, or rows */
    PHASES_MOST = 16,
    V_MOST = 2048 * 1024,
    M_MOST = 384 * 1024,
    M_MOST_ROWS = 512 * 1024, /* where rows of positions are written */
    SHARED_MOST = 64 << 20,
    POSITIONS_AT_ONCE = 384, /* of a row that is transposed */
    STAGED_CHANNELS = 32,    /* of a group whose pixels lie so many floats apart, which meet in few sets of a first-level cache */
    STAGED_STEP = 256,
    WOVEN_MOST = 128 << 10,    /* channels and tiles that are transformed together at least */
    AHEAD_LEAST = 1536 << 10,  /* floats of a tensor that mostly lies in memory when a step begins */
    MENDED_AT_ONCE = 128,      /* positions of a row where strips are for tiles only that are mended */
    MENDED_WEIGHTS = 16 << 10, /* floats of weights, and of a tile's inputs, whose products are summed at once */
    MENDED_INPUTS = 8 << 10
};

const double *winograd_magnitudes(int64_t points)
{
    static const double four[] = {1}, six[] = {WINOGRAD_6_A, WINOGRAD_6_B}, eight[] = {WINOGRAD_8_A, WINOGRAD_8_B, WINOGRAD_8_C};
    return points == 4 ? four : points == 6 ? six : eight;
}

/* Vectors must lie along channels or along positions of a row. */
static bool is_near(const ry_tensor *tensor)
{
    return tensor->stride[1] == 1 || tensor->stride[tensor->rank - 1] == 1;
}

static bool is_f32(const ry_problem *problem, int input)
{
    return !ry_problem_has_input(problem, input) || ry_type_of(&problem->in[input]) == RY_f32;
}

/* Points, `most` at most, that an axis of so many taps may have; returns how many, 0: it cannot be transformed. */
static int axis_choices(int64_t taps, int64_t most, int64_t points[3])
{
    int count = 0;
    if (taps == 1) {
        points[count++] = 1;
    }
    for (int64_t t = 4; t <= most && taps > 1; t += 2) {
        if (t - taps + 1 >= 2 && t - taps + 1 <= WINOGRAD_OUTPUTS_MOST) {
            points[count++] = t;
        }
    }
    return count;
}

/* The taps of each phase, and how phases are numbered: phase p's tap j is tap + p - j * spread of the window's, where `tap` is free as long as
 * every tap has a phase; the least lead wins. */
static void find_phases(const ry_conv_geometry *g, int i, winograd_axis *axis)
{
    axis->window = g->kernel[i];
    axis->spread = g->forward ? 1 : g->spread[i];
    axis->stride = g->stride[i];
    axis->classes = ry_least(axis->stride, axis->window);
    axis->taps = ry_parts(axis->window, axis->spread * axis->stride);
    axis->dilation = axis->taps == 1 ? 1 : g->dilation[i];
    axis->step = axis->dilation * axis->stride;
    axis->pad = g->before[i];
    axis->tap_step = axis->stride;
    if (g->forward) {
        return;
    }
    axis->tap_step = -axis->spread;
    axis->lead = axis->spread;
    const int64_t last = axis->spread * (axis->taps - 1);
    for (int64_t tap = axis->window > axis->spread ? axis->window - axis->spread : 0; tap <= last; tap++) {
        const int64_t lead = ((g->before[i] - tap) % axis->spread + axis->spread) % axis->spread;
        if (lead < axis->lead) {
            axis->lead = lead;
            axis->tap = tap;
            axis->pad = (tap + lead - g->before[i]) / axis->spread;
        }
    }
}

/* Points that an axis may have in an accuracy class (bench/winograd_points.py measures them): the strict one holds with four, and with six for two
 * outputs of 5 taps. */
static int64_t points_most(const ry_conv_geometry *g, const winograd_axis *axis, ry_accuracy accuracy)
{
    if (accuracy == RY_ACCURACY_strict) {
        return axis->taps == 5 ? 6 : 4;
    }
    return g->channels_in * g->kernel[0] * axis->classes > DEPTH_MOST_8 ? 6 : 8;
}

/* Phases of the width whose tiles are woven: all, where strips of positions pass. */
static int64_t count_woven(const ry_conv_geometry *g, const winograd_axis *width)
{
    return g->x_channel == 1 && g->y_channel == 1 ? 1 : ry_least(width->dilation, g->out[2]);
}

/* Strides 1 and 2; or a transposed convolution of one or two axes. Windows with strides have no gaps. */
static bool has_form(const ry_conv_geometry *g)
{
    if (g->forward) {
        bool narrow = g->kernel[0] == 1 || (g->stride[1] == 1 && g->stride[2] == 1);
        for (int i = 1; i < RY_SPACE; i++) {
            narrow = narrow && (g->stride[i] == 1 || (g->stride[i] == 2 && (g->dilation[i] == 1 || g->kernel[i] == 1)));
        }
        return narrow;
    }
    bool narrow = g->kernel[0] == 1 && g->spread[0] == 1 && g->before[0] == 0;
    for (int i = 1; i < RY_SPACE; i++) {
        narrow = narrow && (g->dilation[i] == 1 || g->kernel[i] == 1);
    }
    return narrow && g->spread[1] <= PHASES_MOST && g->spread[1] * g->spread[2] <= PHASES_MOST;
}

bool winograd_is_possible(const ry_problem *problem, ry_accuracy accuracy)
{
    if (!ry_conv_is_spatial(problem)) {
        return false;
    }
    const ry_tensor *y = &problem->out[0];
    if (!is_f32(problem, 0) || !is_f32(problem, 1) || !is_f32(problem, 2) || !is_f32(problem, 3) || ry_type_of(y) != RY_f32 ||
        !is_near(&problem->in[0]) || !is_near(y)) {
        return false;
    }
    const bool along_channels = y->stride[1] == 1;
    if (ry_problem_has_input(problem, 3) && problem->in[3].stride[along_channels ? 1 : y->rank - 1] != 1) {
        return false;
    }
    ry_conv_geometry g;
    ry_conv_geometry_of(problem, &g, NULL, NULL);
    winograd_axis h = {0}, w = {0};
    find_phases(&g, 1, &h);
    find_phases(&g, 2, &w);
    int64_t points[3];
    return has_form(&g) && count_woven(&g, &w) * g.channels_in * g.kernel[0] <= WOVEN_MOST && h.taps * w.taps > 1 &&
           axis_choices(h.taps, points_most(&g, &h, accuracy), points) > 0 &&
           axis_choices(w.taps, points_most(&g, &w, accuracy), points) > 0 && g.out[1] < 1 << 20 && g.out[2] < 1 << 20;
}

/* Tiles of an axis of `out` outputs; their table is written where it is not NULL. */
static int64_t cut_axis(const winograd_axis *axis, int64_t out, winograd_tile *tile)
{
    const int64_t extent = ry_parts(out + axis->lead, axis->spread), phases = ry_least(axis->dilation, extent);
    int64_t count = 0;
    for (int64_t begin = 0; begin < phases; begin += axis->weave) {
        const int64_t most = ry_parts(extent - begin, axis->dilation); /* outputs of the longest phase */
        for (int64_t first = 0; first < most; first += axis->outputs) {
            for (int64_t phase = begin; phase < begin + axis->weave; phase++, count++) {
                const int64_t left = ry_most(ry_parts(extent - phase, axis->dilation) - first, 0);
                if (tile) {
                    tile[count] = (winograd_tile){(int32_t)(phase + first * axis->dilation), (int32_t)ry_least(left, axis->outputs)};
                }
            }
        }
    }
    return count;
}

winograd_range winograd_inside(const winograd_plan *plan, int axis, const winograd_tile *tile, int64_t phase)
{
    const winograd_axis *a = &plan->axis[axis];
    winograd_range range = {.end = tile->outputs};
    if (a->spread > 1) {
        const int64_t end = ry_parts(plan->geometry.out[axis + 1] + a->lead - phase, a->spread) - tile->origin;
        range.first = tile->origin == 0 && phase < a->lead;
        range.end = end < range.end ? end : range.end;
    }
    return range;
}

static int64_t next_parts(int64_t parts)
{
    return parts < 4 ? parts + 1 : (parts & (parts - 1)) == 0 ? parts * 3 / 2 : parts * 4 / 3;
}

/* Points, phases and classes of an axis with weights. */
static int64_t count_products(const winograd_axis *axis)
{
    int64_t count = 0;
    for (int64_t i = 0; i < axis->points * axis->spread; i++) {
        for (int64_t j = 0; j < axis->classes; j++) {
            count += !winograd_is_zero(axis, i / axis->spread, i % axis->spread, j);
        }
    }
    return count;
}

static void set_points(winograd_plan *plan, const int64_t points[2])
{
    const ry_conv_geometry *g = &plan->geometry;
    plan->points = points[0] * points[1];
    for (int i = 0; i < 2; i++) {
        winograd_axis *axis = &plan->axis[i];
        axis->points = points[i];
        axis->outputs = points[i] - axis->taps + 1;
        axis->tiles = cut_axis(axis, g->out[i + 1], NULL);
    }
    plan->products = count_products(&plan->axis[0]) * count_products(&plan->axis[1]);
    plan->tiles = g->batch * g->out[0] * plan->axis[0].tiles * plan->axis[1].tiles;
}

/* Floats from row to row: an odd number of cache lines, so that rows that are read together lie in different sets of a cache. */
static int64_t odd_lines(int64_t floats)
{
    return (floats + LINE - 1) / LINE * LINE + (ry_parts(floats, LINE) % 2 == 0 ? LINE : 0);
}

/* Everything that follows from points, block and units_a_task. */
static void set_blocks(winograd_plan *plan, int64_t block, int64_t units_a_task, bool shared)
{
    plan->shared = shared;
    plan->block = block;
    plan->blocks = ry_parts(plan->tiles, block);
    plan->units_a_task = units_a_task;
    plan->unit_blocks = ry_parts(plan->units, units_a_task);
    const int64_t room = ry_parts(plan->geometry.channels_in, plan->width) * plan->width - plan->channel_step + plan->depth;
    plan->packed_unit = plan->points * plan->phases * plan->depth * plan->tile_columns;
    plan->packed_group = plan->points * plan->phases * plan->depth * ry_parts(plan->geometry.channels_out, plan->width) * plan->width;
    plan->v_row = odd_lines(room);
    plan->v_point = odd_lines(block * plan->v_row);
    plan->m_phase = units_a_task * plan->tile_columns;
    plan->m_row = odd_lines(plan->phases * plan->m_phase);
    plan->m_point = odd_lines(block * plan->m_row);
}

static bool fits(const winograd_plan *plan)
{
    const int64_t v = plan->points * plan->v_point * 4, m = plan->points * plan->m_point * 4;
    if (plan->shared && v * plan->blocks * plan->geometry.groups > SHARED_MOST) {
        return false;
    }
    return m <= (plan->y_near && plan->width > 8 ? M_MOST : M_MOST_ROWS) && (plan->shared || v <= V_MOST);
}

/* The best units and sharing for the plan's points and tiles of a block, in whole groups of woven ones. */
static void find_units(winograd_plan *plan, int64_t tiles, winograd_plan *best)
{
    const int64_t block = ry_whole(tiles, plan->axis[1].weave);
    for (int64_t parts = 1; parts <= plan->units; parts = next_parts(parts)) {
        for (int shared = 0; shared < 2; shared++) {
            set_blocks(plan, block, ry_parts(plan->units, parts), shared);
            plan->cycles = winograd_cost(plan);
            const bool least = block == plan->axis[1].weave && plan->units_a_task == 1;
            if ((least || fits(plan)) && (best->cycles < 0 || plan->cycles < best->cycles)) {
                *best = *plan;
            }
        }
    }
}

/* Blocks of tiles that are whole tiles of products, and blocks of fewer tiles that keep two threads busy; where rows of positions are read or
 * written, whole rows of tiles and equal parts of them. */
static void find_blocks(winograd_plan *plan, winograd_plan *best)
{
    for (int64_t rows = 0; rows <= BLOCK_ROWS_MOST; rows++) {
        const int64_t block = rows > 0 ? rows * plan->tile_rows : 1, blocks = ry_parts(plan->tiles, block);
        find_units(plan, ry_parts(plan->tiles, blocks), best);
        if (blocks < plan->tiles) {
            find_units(plan, ry_parts(plan->tiles, blocks + 1), best);
        }
        if (block >= plan->tiles) {
            break;
        }
    }
    const int64_t columns = plan->axis[1].tiles, most = BLOCK_ROWS_MOST * plan->tile_rows;
    for (int64_t parts = 1; !(plan->x_near && plan->y_near) && parts <= ROW_PARTS_MOST; parts++) {
        if (columns % parts == 0) {
            find_units(plan, columns / parts, best);
        }
        if (columns * parts <= most && columns * parts <= plan->tiles) {
            find_units(plan, columns * parts, best);
        }
    }
}

/* Floats for the sums over taps of tiles that are mended: as many input channels at once as fit. */
static int64_t size_mended(winograd_plan *plan)
{
    const winograd_axis *h = &plan->axis[0], *w = &plan->axis[1];
    const int64_t weights = h->taps * h->classes * w->taps * w->classes * plan->tile_columns, inputs = plan->points * plan->classes;
    const int64_t fit = ry_most(ry_least(MENDED_WEIGHTS / weights, MENDED_INPUTS / inputs), 1);
    plan->mended_channels = ry_least(fit, plan->geometry.channels_in);
    plan->mended_weights = plan->mended_channels * weights;
    return plan->mended_weights + plan->mended_channels * inputs;
}

static void lay_out(winograd_plan *plan)
{
    const winograd_axis *h = &plan->axis[0], *w = &plan->axis[1];
    const int64_t reach = (w->points - 1) * w->step + w->stride + w->weave - 1, all = plan->geometry.out[2] * w->stride + 2 * reach;
    const int64_t most = ry_least(all, plan->x_staged || !plan->y_near ? POSITIONS_AT_ONCE : MENDED_AT_ONCE), span = ry_most(reach, most);
    const int64_t written = ry_most(span / w->spread, w->outputs) * w->spread;
    const int64_t strips = ry_most(h->points * (ry_whole(span, plan->width) + plan->width) + plan->width,
                                   h->outputs * (w->lead + ry_whole(written, plan->width)));
    const int64_t stage = ry_most(strips * plan->width, size_mended(plan));
    size_t at = 0;
    plan->run_span = span;
    plan->v = at, at += plan->shared ? 0 : ry_aligned((size_t)(plan->points * plan->v_point) * 4);
    plan->m = at, at += ry_aligned((size_t)(plan->points * plan->m_point) * 4);
    plan->stage = at, at += ry_aligned((size_t)stage * 4);
    plan->outputs = at, at += ry_aligned((size_t)(plan->block * plan->phases) * sizeof(winograd_outputs));
    const int64_t biases = plan->geometry.phase_bias ? plan->phases : 1;
    plan->bias = at, at += ry_aligned((size_t)(biases * (plan->units_a_task + 1) * plan->tile_columns) * 4);
    plan->scratch = at;
    const int64_t vectors = ry_parts(plan->geometry.channels_in, plan->width);
    plan->channels_a_part = plan->tiles < 64 ? ry_parts(vectors, ry_parts(vectors, 4)) * plan->width : vectors * plan->width;
    plan->channel_parts = ry_parts(plan->geometry.channels_in, plan->channels_a_part);
}

/* Is a tensor that mostly lies in memory read, or written, in pieces that memory's prefetchers do not follow: pixel by pixel, or by parts of rows? */
static bool is_fetched(const winograd_plan *plan, bool near, int64_t channels, const int64_t extent[RY_SPACE])
{
    const ry_conv_geometry *g = &plan->geometry;
    return (near || plan->block < plan->axis[1].tiles) &&
           g->batch * g->groups * channels * extent[0] * extent[1] * extent[2] >= AHEAD_LEAST;
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

/* Makes columns of the phases, where their outputs lie so that vectors of channels may go on from a phase to its neighbour. */
static void fold_phases(const ry_problem *problem, winograd_plan *plan)
{
    ry_conv_geometry *g = &plan->geometry;
    const bool has_residual = ry_problem_has_input(problem, 3);
    const int64_t channels = g->channels_out, y_pixel = plan->steps.y_step[2], r_pixel = plan->steps.r_step[2];
    bool folds = !g->forward && g->groups == 1 && (g->y_channel == 1 || channels == 1) && y_pixel == channels &&
                 (!has_residual || ((g->r_channel == 1 || channels == 1) && r_pixel == channels));
    for (int i = 0; i < 2; i++) {
        const winograd_axis *axis = &plan->axis[i];
        folds = folds && axis->lead == 0 && axis->window == axis->taps * axis->spread && g->out[i + 1] % axis->spread == 0;
    }
    if (!folds) {
        return;
    }
    winograd_fold *f = &plan->fold;
    *f = (winograd_fold){
        .channels = channels, .row = channels * plan->axis[1].spread, .y_row = plan->steps.y_step[1], .r_row = plan->steps.r_step[1]};
    f->room = ry_whole(f->row, plan->width);
    g->channels_out = (plan->axis[0].spread - 1) * f->room + f->row;
    g->y_channel = 1;
    g->r_channel = has_residual;
    for (int i = 0; i < 2; i++) {
        winograd_axis *axis = &plan->axis[i];
        g->out[i + 1] /= axis->spread;
        plan->steps.y_step[i + 1] *= axis->spread;
        plan->steps.r_step[i + 1] *= axis->spread;
        axis->spread = 1;
    }
}

static void start_plan(const ry_problem *problem, const winograd_limits *limits, winograd_plan *plan)
{
    memset(plan, 0, sizeof *plan);
    ry_conv_geometry *g = &plan->geometry;
    ry_conv_geometry_of(problem, g, NULL, NULL);
    find_steps(problem, &plan->steps);
    plan->width = limits->width;
    plan->tile_rows = limits->tile_rows > 13 ? 13 : limits->tile_rows; /* rows that lie along the reduction need an address each */
    plan->tile_columns = plan->width * limits->tile_vectors;
    find_phases(g, 1, &plan->axis[0]);
    find_phases(g, 2, &plan->axis[1]);
    fold_phases(problem, plan);
    plan->units = ry_parts(g->channels_out, plan->tile_columns);
    plan->x_near = g->x_channel == 1;
    plan->y_near = g->y_channel == 1;
    plan->x_staged = !plan->x_near || (g->channels_in <= STAGED_CHANNELS && g->x_step[2] >= STAGED_STEP);
    plan->axis[0].weave = 1;
    plan->axis[1].weave = count_woven(g, &plan->axis[1]);
    plan->phases = plan->axis[0].spread * plan->axis[1].spread;
    plan->classes = plan->axis[0].classes * plan->axis[1].classes;
    plan->channel_step = g->kernel[0] * plan->classes == 1 ? g->channels_in : ry_parts(g->channels_in, plan->width) * plan->width;
    plan->depth = plan->channel_step * g->kernel[0] * plan->classes;
}

void winograd_plan_choose(const ry_problem *problem, const winograd_limits *limits, winograd_plan *plan)
{
    winograd_plan trial;
    start_plan(problem, limits, &trial);
    plan->cycles = -1;
    int64_t points[2][3];
    int counts[2];
    for (int i = 0; i < 2; i++) {
        counts[i] = axis_choices(trial.axis[i].taps, points_most(&trial.geometry, &trial.axis[i], limits->accuracy), points[i]);
    }
    for (int i = 0; i < counts[0]; i++) {
        for (int j = 0; j < counts[1]; j++) {
            const int64_t chosen[2] = {points[0][i], points[1][j]};
            set_points(&trial, chosen);
            find_blocks(&trial, plan);
        }
    }
    plan->x_ahead = is_fetched(plan, plan->x_near, plan->geometry.channels_in, plan->geometry.in);
    plan->y_ahead = is_fetched(plan, plan->y_near, plan->geometry.channels_out, plan->geometry.out);
    lay_out(plan);
    plan->axis[0].tile = ry_aligned(sizeof(winograd_plan));
    plan->axis[1].tile = plan->axis[0].tile + ry_aligned((size_t)plan->geometry.out[1] * sizeof(winograd_tile));
    plan->size = plan->axis[1].tile + ry_aligned((size_t)plan->geometry.out[2] * sizeof(winograd_tile));
}

void winograd_plan_make(const ry_problem *problem, const winograd_limits *limits, winograd_plan *plan)
{
    winograd_plan_choose(problem, limits, plan);
    for (int i = 0; i < 2; i++) {
        cut_axis(&plan->axis[i], plan->geometry.out[i + 1], (winograd_tile *)(void *)((char *)plan + plan->axis[i].tile));
    }
}
