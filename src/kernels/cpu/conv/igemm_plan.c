/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts a convolution into tasks of matrix products: the cheapest by a count of cycles, in units of one vector's multiply-add. */
#include "base/whole.h"
#include "kernels/cpu/conv/gather_program.h"
#include "kernels/cpu/conv/igemm_alive.h"
#include "kernels/cpu/conv/igemm_copy.h"
#include "kernels/cpu/conv/igemm_cost.h"

#include <string.h>

enum {
    SHARED_MOST = 8 << 20,   /* bytes of shared panels: they come back from the last-level cache */
    STREAM_LEAST = 32 << 10, /* bytes of a plane of x */
    STREAM_PIXELS = 1024,
    ROW_LEAST = 6,         /* pixels of a tile that ends with its row: fewer cost more than passing the sums through scratch */
    NEAR_BYTES = 32 << 10, /* of the first-level cache */
    SHORT_LEAST = 96,      /* steps of a chunk that is cut to fit there */
    SLIVER_STEPS = 256,    /* the same where a sliver of a small tile stays there, beside a unit of weights that passes */
};

static bool x_has_mode(const ry_conv_geometry *g, igemm_mode mode)
{
    const bool rows = g->x_channel == 1 || (g->channels_in == 1 && g->groups == 1);
    return mode == IGEMM_ROWS ? rows : true;
}

size_t igemm_plan_size(const ry_problem *problem)
{
    ry_conv_geometry g;
    ry_conv_geometry_of(problem, &g, NULL, NULL);
    return ry_aligned(sizeof(igemm_plan) + (size_t)g.phases * sizeof(igemm_phase)) + ry_aligned((size_t)g.taps * sizeof(ry_conv_tap));
}

/* Do the pixels of the grid lie with one step in memory? steps in elements a position; batch: the step from image to image, where they count. */
static bool uniform(const ry_conv_phase *p, const int64_t step[RY_SPACE], int64_t images, int64_t batch, int64_t *pixel_step)
{
    int64_t expected = 0;
    bool known = false;
    for (int i = RY_SPACE - 1; i >= -1; i--) {
        const int64_t count = i < 0 ? images : p->grid[i], here = i < 0 ? batch : step[i];
        if (count > 1) {
            if (known && here != expected) {
                return false;
            }
            if (!known) {
                /* inner dimensions have extent 1 */
                *pixel_step = here;
                expected = here;
                known = true;
            }
        }
        expected *= count;
    }
    if (!known) {
        *pixel_step = 1;
    }
    return true;
}

static bool is_direct(const ry_problem *problem, const igemm_plan *plan, igemm_phase *p)
{
    const ry_conv_geometry *g = &plan->geometry;
    const ry_dtype dtype = ry_type_of(&problem->out[0]);
    const bool has_residual = ry_problem_has_input(problem, 3);
    const int64_t images = p->images == 1 ? g->batch : 1; /* images that a block may span */
    p->y_pixel = p->r_pixel = 1;
    p->by_rows = false;
    if ((dtype != RY_f32 && dtype != RY_i32) || (has_residual && ry_type_of(&problem->in[3]) != RY_f32)) {
        return false;
    }
    if (plan->woven > 1 || memcmp(p->inside, p->at.grid, sizeof p->inside) != 0) {
        return false;
    }
    const bool same_step = p->beside == 1 && uniform(&p->at, p->at.y_step, images, g->y_batch, &p->y_pixel) &&
                           (!has_residual || uniform(&p->at, p->at.r_step, images, g->r_batch, &p->r_pixel));
    p->by_rows = !same_step && plan->mode == IGEMM_ROWS && p->at.grid[RY_SPACE - 1] >= ROW_LEAST;
    if (p->by_rows) {
        p->y_pixel = p->at.y_step[RY_SPACE - 1];
        p->r_pixel = p->at.r_step[RY_SPACE - 1];
    } else if (!same_step) {
        return false;
    }
    if (plan->mode == IGEMM_PIXELS) {
        return (p->y_pixel == 1 || p->pixels == 1) && (p->r_pixel == 1 || p->pixels == 1);
    }
    return g->y_channel == 1 && (!has_residual || g->r_channel == 1);
}

/* Do the pixels of a block lie next to each other in y, as the channels do in a block of sums? */
static bool is_turned(const ry_problem *problem, const igemm_plan *plan, const igemm_phase *p)
{
    const ry_conv_geometry *g = &plan->geometry;
    const bool has_residual = ry_problem_has_input(problem, 3);
    const int64_t images = p->images == 1 ? g->batch : 1;
    int64_t y_pixel = 1, r_pixel = 1;
    float low, high;
    return !p->direct && p->beside == 1 && plan->woven == 1 && memcmp(p->inside, p->at.grid, sizeof p->inside) == 0 &&
           plan->mode != IGEMM_PIXELS && ry_type_of(&problem->out[0]) == RY_f32 &&
           (!has_residual || ry_type_of(&problem->in[3]) == RY_f32) && uniform(&p->at, p->at.y_step, images, g->y_batch, &y_pixel) &&
           (!has_residual || uniform(&p->at, p->at.r_step, images, g->r_batch, &r_pixel)) && y_pixel == 1 && r_pixel == 1 &&
           ry_activation_bounds(ry_conv_activation(problem), &low, &high);
}

static void find_pads(const ry_problem *problem, const igemm_plan *plan, const ry_conv_tap *tap, igemm_phase *p)
{
    const ry_dtype dtype = ry_type_of(&problem->in[0]);
    const ry_conv_geometry *g = &plan->geometry;
    int64_t reads[RY_SPACE];
    p->any_pad = false;
    for (int64_t t = p->at.first_tap; t < p->at.first_tap + p->at.taps; t++) {
        for (int i = 0; i < RY_SPACE; i++) {
            p->any_pad = p->any_pad || tap[t].first[i] > 0 || tap[t].end[i] < p->at.grid[i];
        }
    }
    for (int i = 0; i < RY_SPACE; i++) {
        reads[i] = g->x_step[i] * g->stride[i];
    }
    const bool even = !plan->pairs && (dtype == RY_f32 || dtype == RY_i32) && p->at.taps == 1 && !p->any_pad && p->beside == 1 &&
                      uniform(&p->at, reads, p->images == 1 ? g->batch : 1, g->x_batch, &p->x_pixel) &&
                      (plan->mode == IGEMM_ROWS || p->x_pixel == 1 || p->pixels == 1);
    p->in_place = even && !plan->gathered;
    p->plain = even && plan->gathered;
}

/* Pixels of a gathered vector. For GATHERED they are a tile's rows: as many as fit, and whole rows of the grid or whole parts of one if that
 * costs few of them, for then one load fills the vector. */
static void find_lanes(const igemm_plan *plan, igemm_phase *p)
{
    p->lanes = plan->width;
    if (plan->mode != IGEMM_GATHERED) {
        return;
    }
    const int64_t most = ry_least(plan->tile_rows, plan->width), row = p->at.grid[RY_SPACE - 1];
    if (p->in_place) {
        p->lanes = most;
        return;
    }
    p->lanes = ry_parts(p->pixels, ry_parts(p->pixels, most));
    const int64_t vectors = plan->tile_columns / plan->width;
    for (int64_t lanes = most; lanes >= most * 3 / 4 && lanes * vectors > IGEMM_LATENCY; lanes--) {
        if (row % lanes == 0 || lanes % row == 0) {
            p->lanes = lanes;
            return;
        }
    }
}

/* Of the reduction. A small tile reads more operands for each product: what stays in the first-level cache while others pass by must fit there. Where x
 * in place has so few pixels that they and a unit of weights do, a chunk is as short as that takes. */
static int64_t chunk_most(const igemm_plan *plan, const igemm_phase *p)
{
    const int64_t near = NEAR_BYTES / 4 / (p->pixels + plan->tile_columns);
    if (p->slivers_first) {
        return SLIVER_STEPS;
    }
    return p->in_place && plan->mode == IGEMM_GATHERED && igemm_is_small(plan) && near >= SHORT_LEAST ? ry_least(near, IGEMM_CHUNK_MOST)
                                                                                                      : IGEMM_CHUNK_MOST;
}

static void find_chunks(const igemm_plan *plan, igemm_phase *p)
{
    const int64_t channels = plan->geometry.channels_in, taps = plan->split ? igemm_tap_row(plan, p) : p->at.taps;
    const int64_t most = chunk_most(plan, p);
    p->depth = channels * p->at.taps;
    p->tap_row = taps;
    p->skips = plan->split && p->any_pad;
    p->chunk_channels = channels;
    p->chunk_taps = taps;
    if (p->streams) {
        p->chunk_channels = IGEMM_STREAM_CHANNELS;
    } else if (channels * taps <= most) {
        /* one chunk */
    } else if (plan->mode == IGEMM_ROWS) {
        if (channels <= most) {
            p->chunk_taps = ry_parts(taps, ry_parts(taps, most / channels));
        } else {
            p->chunk_taps = 1;
            p->chunk_channels = ry_parts(channels, ry_parts(channels, most));
        }
    } else if (taps <= most) {
        p->chunk_channels = ry_parts(channels, ry_parts(channels, most / taps));
    } else {
        p->chunk_channels = 1;
        p->chunk_taps = ry_parts(taps, ry_parts(taps, most));
    }
    p->chunks = taps == 0 ? 1 : ry_parts(channels, p->chunk_channels) * (p->at.taps / taps) * ry_parts(taps, p->chunk_taps);
    igemm_chunk chunk = {0};
    p->steps = 0;
    for (int64_t i = 0; i < p->chunks; i++) {
        igemm_next_chunk(plan, p, &chunk);
        p->steps += chunk.steps;
    }
    p->last_chunk = chunk.first;
}

/* Rows of the grid that the lanes of one gathered vector lie in at most. */
static int64_t segments_most(const igemm_phase *p)
{
    const int64_t row = p->at.grid[RY_SPACE - 1];
    return ry_least(p->lanes, (p->lanes + row - 2) / row + 1);
}

/* The same of loads for one tap: a segment's lanes may take several. */
static int64_t loads_most(const igemm_plan *plan, const igemm_phase *p)
{
    const int64_t lanes = igemm_pick_lanes(igemm_lane_step(&plan->geometry), plan->width);
    return segments_most(p) + (lanes > 0 ? p->lanes / lanes : 0);
}

/* Bytes of the panels that a bundle's task has at once. */
static int64_t panels_of(const igemm_plan *plan, const igemm_phase *first, int64_t block)
{
    int64_t panels = 0;
    for (int64_t i = 0; i < first->bundle; i++) {
        const int64_t panel = first[i].in_place ? 0 : igemm_panel_floats(plan, &first[i], block) * 4;
        panels = first->passes == 1 && first->source < 0 ? panels + panel : panel > panels ? panel : panels;
    }
    return panels;
}

/* Bytes of sums that pass through scratch. */
static int64_t sums_of(const igemm_plan *plan, const igemm_phase *first, int64_t block, int64_t units)
{
    return first->direct ? 0 : first->bundle * (first->passes == 1 ? 1 : units) * plan->unit_most * block * 4;
}

/* 1, 2, 3, 4, 6, 8, 12, ...: next number of parts to try. */
static int64_t next_parts(int64_t parts)
{
    return parts < 4 ? parts + 1 : (parts & (parts - 1)) == 0 ? parts * 3 / 2 : parts * 4 / 3;
}

/* How a bundle's pixels and units are cut; all its phases are cut alike. */
static double find_blocks(const igemm_plan *plan, igemm_phase *p)
{
    const int64_t grain = p->streams                     ? STREAM_PIXELS
                          : plan->mode == IGEMM_PIXELS   ? plan->tile_columns
                          : plan->mode == IGEMM_GATHERED ? p->lanes
                                                         : plan->tile_rows;
    const int64_t cut = p->in_place && plan->mode != IGEMM_PIXELS ? 1 : grain; /* rows of pixels fall into tiles of like size */
    double best = -1;
    for (int64_t blocks = 1; blocks <= ry_parts(p->pixels, grain); blocks = next_parts(blocks)) {
        const int64_t block = ry_least(p->pixels, ry_parts(ry_parts(p->pixels, blocks), cut) * cut);
        const int64_t real = ry_parts(p->pixels, block);
        if (panels_of(plan, p, block) > IGEMM_PANEL_MOST && block > grain) {
            continue;
        }
        for (int64_t parts = 1; parts <= plan->units; parts = next_parts(parts)) {
            const int64_t units = ry_parts(plan->units, parts);
            if (p->in_place && plan->mode != IGEMM_ROWS && units > 1 && block > grain &&
                igemm_panel_floats(plan, p, block) * 4 > IGEMM_PANEL_MOST) {
                continue;
            }
            if (sums_of(plan, p, block, units) > 2 * IGEMM_PANEL_MOST && next_parts(parts) <= plan->units) {
                continue;
            }
            const double cost = igemm_cost_of(plan, p, block, units);
            if (best < 0 || cost < best) {
                best = cost;
                p->block = block;
                p->blocks = real;
                p->units_a_task = units;
                p->unit_blocks = ry_parts(plan->units, units);
            }
        }
    }
    for (int64_t i = 1; i < p->bundle; i++) {
        p[i].block = p->block;
        p[i].blocks = p->blocks;
        p[i].units_a_task = p->units_a_task;
        p[i].unit_blocks = p->unit_blocks;
    }
    return best;
}

/* A window that covers all of x, whose elements lie in memory as the weights do, is one tap of as many channels. */
static void unite_window(ry_conv_geometry *g, ry_conv_phase *p, ry_conv_tap *tap)
{
    const int64_t taps = p->taps;
    bool dense = g->phases == 1 && p->pixels == 1 && taps > 1 && g->x_channel == taps && g->w_in == taps;
    for (int64_t t = 0; dense && t < taps; t++) {
        dense = tap[t].offset == t && tap[t].weight == t;
        for (int i = 0; i < RY_SPACE; i++) {
            dense = dense && tap[t].first[i] == 0 && tap[t].end[i] == 1;
        }
    }
    if (!dense) {
        return;
    }
    g->channels_in *= taps;
    g->x_channel = g->w_in = g->taps = p->taps = 1;
    for (int i = 0; i < RY_SPACE; i++) {
        g->in[i] = g->kernel[i] = g->stride[i] = 1;
    }
}

#define SPLIT_MOST 0.9 /* of all rows of taps, those that read x: where more do, leaving out the others gains nothing */

#define COPY_MARGIN 1.05 /* a copy drives other things out of the caches: what it gains must be worth that */

/* Bits of a number: what may be chosen beside the mode. */
enum { WAY_SHARED = 1, WAY_APART = 2, WAY_SPLIT = 4, WAY_COPIED = 8, WAY_GATHERED = 16, WAYS = 32 };

static void set_mode(igemm_plan *plan, igemm_mode mode, int way, int tile_rows, ry_conv_tap *taps)
{
    if (plan->copied != ((way & WAY_COPIED) != 0)) {
        igemm_copy_set(plan, taps, !plan->copied);
    }
    plan->mode = mode;
    plan->shared = way & WAY_SHARED;
    plan->apart = way & WAY_APART;
    plan->split = way & WAY_SPLIT;
    plan->gathered = way & WAY_GATHERED;
    /* rows that lie along k need an address each: with 14 of them some of the tile's sums leave the registers */
    plan->tile_rows = mode == IGEMM_ROWS && tile_rows > 13 ? 13 : tile_rows;
    plan->unit_most = mode == IGEMM_PIXELS ? plan->tile_rows : plan->tile_columns;
    plan->units = ry_parts(plan->geometry.channels_out, plan->unit_most);
}

/* Is x in place better read a few channels at a time? A single output channel needs so little time for a plane's pixels that fetching the next tiles' does
 * not keep up with it, where planes are many and large. */
static bool streams(const igemm_plan *plan, const igemm_phase *p)
{
    const int64_t channels = plan->geometry.channels_in;
    return p->in_place && plan->mode == IGEMM_PIXELS && plan->geometry.channels_out == 1 && channels > 2 * IGEMM_STREAM_CHANNELS &&
           p->at.pixels * 4 >= STREAM_LEAST && igemm_is_far(plan, p);
}

/* Where a tile is wider than high, its pixels are more than its weights: each step of a unit of weights that stayed would read more from the second-level
 * cache than small tiles have time for. */
static bool slivers_first(const igemm_plan *plan, const igemm_phase *p)
{
    return plan->mode == IGEMM_PIXELS && igemm_is_small(plan) && plan->tile_columns > plan->tile_rows && p->direct && !p->in_place &&
           p->bundle == 1;
}

/* Everything that follows from the mode; returns the cost. */
static double fill_phases(const ry_problem *problem, igemm_plan *plan, const ry_conv_tap *taps)
{
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t columns = plan->mode == IGEMM_PIXELS
                                ? g->channels_out
                                : ry_parts(g->channels_out, plan->width) * plan->width; /* vectors of weights are whole */
    double cost = 0;
    plan->tasks = plan->gathers = 0;
    plan->packed_group = 0;
    plan->shared_size = 0;
    for (int64_t i = 0; i < g->phases; i++) {
        igemm_phase *p = &plan->phase[i];
        const bool together = g->batch > 1 && !plan->apart && p->at.pixels < 8 * plan->tile_columns;
        p->images = together ? 1 : g->batch;
        p->pixels = together ? p->at.pixels * g->batch : p->at.pixels;
        p->beside = together && plan->split ? g->batch : 1;
        find_pads(problem, plan, taps, p);
        find_lanes(plan, p);
        p->streams = streams(plan, p);
        p->direct = is_direct(problem, plan, p);
        p->slivers_first = slivers_first(plan, p);
        find_chunks(plan, p);
        p->turned = is_turned(problem, plan, p);
    }
    for (int64_t i = 0; i < g->phases; i++) {
        igemm_phase *p = &plan->phase[i];
        if (p->bundle > 0) {
            igemm_count_passes(p);
            cost += find_blocks(plan, p);
        }
        p->first_task = plan->tasks;
        p->tasks = p->bundle > 0 ? p->images * g->groups * p->blocks * p->unit_blocks : 0;
        plan->tasks += p->tasks;
        p->blocks_first = g->groups == 1 && p->depth * g->channels_out > g->channels_in * p->pixels * p->images;
        p->panel = p->in_place ? 0 : igemm_panel_floats(plan, p, p->block);
        p->first_gather = plan->gathers;
        p->gathers = plan->shared && !p->in_place && (p->source < 0 || i == p->source) ? p->images * g->groups * p->blocks * p->chunks : 0;
        plan->gathers += p->gathers;
        p->shared_at = (int64_t)(plan->shared_size / sizeof(float));
        plan->shared_size += ry_aligned((size_t)(p->gathers * p->panel) * sizeof(float));
        p->packed = plan->packed_group;
        plan->packed_group += (columns * p->steps + 15) / 16 * 16;
    }
    return plan->copied ? COPY_MARGIN * cost + igemm_copy_tasks(plan) : cost + (plan->shared && !plan->alone ? IGEMM_PHASE_OVERHEAD : 0);
}

/* May x, read in place, be better gathered? Rows of a small tile's pixels that lie planes apart touch two cache lines each, and a page. */
static bool gathering_suits(const igemm_plan *plan)
{
    return igemm_is_small(plan) && plan->geometry.taps == 1 && plan->geometry.x_channel != 1;
}

/* Can x be read so, and are these all words that go together? */
static bool way_is_open(const igemm_plan *plan, igemm_mode mode, int way, int barred)
{
    if ((way & barred) || ((way & WAY_GATHERED) && mode != IGEMM_PIXELS)) {
        return false;
    }
    if (way & WAY_COPIED) {
        return mode == IGEMM_ROWS && !(way & WAY_SHARED);
    }
    return x_has_mode(&plan->as_is, mode);
}

static size_t most(size_t a, size_t b)
{
    return a > b ? a : b;
}

static void lay_out_scratch(igemm_plan *plan)
{
    size_t panel = 0, block = 0, turned = 0, woven_row = 0, bias = 0, segments = 0, program = 0, runs = 0;
    int64_t biases = 1;
    for (int64_t i = 0; i < plan->geometry.phases; i++) {
        igemm_phase *p = &plan->phase[i];
        const int64_t vectors = ry_parts(p->block, p->lanes), whole = vectors * plan->width;
        const int64_t channels = ry_parts(p->units_a_task * plan->unit_most, plan->width) * plan->width;
        if (p->bundle > 0) {
            int64_t panels, blocks;
            igemm_place_bundle(plan, p, &panels, &blocks);
            panel = most(panel, (size_t)panels * sizeof(float));
            block = most(block, (size_t)blocks * sizeof(float) + 64);
        }
        if (!p->direct) {
            if (plan->mode != IGEMM_PIXELS && plan->geometry.y_channel != 1) {
                turned = most(turned, (size_t)(plan->woven * whole * (plan->unit_most + plan->width)) * 4 + 64);
            }
            woven_row = most(woven_row, plan->woven > 1 ? (size_t)(plan->woven * (whole + plan->width)) * 4 : 0);
        }
        runs = most(runs, (size_t)((p->block + 1) * p->bundle) * sizeof(igemm_run));
        bias = most(bias, (size_t)(channels + plan->tile_columns) * 4);
        biases = plan->geometry.phase_bias ? ry_most(biases, p->bundle) : 1;
        if (plan->mode != IGEMM_ROWS) {
            segments = most(segments, (size_t)(vectors * segments_most(p)) * sizeof(igemm_segment));
            program = most(program, (size_t)(vectors * loads_most(plan, p) * p->chunk_taps) * sizeof(igemm_entry));
        }
    }
    size_t at = 0;
    plan->panel = at, at += ry_aligned(panel);
    plan->block = at, at += ry_aligned(block);
    plan->turned = at, at += ry_aligned(turned);
    plan->woven_row = at, at += ry_aligned(woven_row);
    plan->bias_step = biases > 1 ? (int64_t)ry_aligned(bias) / 4 : 0;
    plan->bias = at, at += ry_aligned(bias) * (size_t)biases;
    plan->segments = at, at += ry_aligned(segments);
    plan->program = at, at += ry_aligned(program);
    plan->runs = at, at += ry_aligned(runs);
    plan->scratch = at;
}

void igemm_plan_make(const ry_problem *problem, const igemm_tile *tile, igemm_plan *plan)
{
    ry_conv_geometry g;
    ry_conv_geometry_of(problem, &g, NULL, NULL);
    memset(plan, 0, sizeof *plan);
    plan->width = tile->width;
    plan->grain = tile->grain;
    plan->pairs = tile->pairs;
    plan->alone = tile->alone;
    plan->tile_rows = tile->rows;
    plan->tile_columns = (int64_t)tile->vectors * tile->width;
    plan->taps = ry_aligned(sizeof(igemm_plan) + (size_t)g.phases * sizeof(igemm_phase));
    plan->size = plan->taps + ry_aligned((size_t)g.taps * sizeof(ry_conv_tap));
    ry_conv_tap *taps = (ry_conv_tap *)((char *)plan + plan->taps);
    /* The geometry's phases are written behind one another first, then spread into ours from the last on. */
    ry_conv_phase *packed = (ry_conv_phase *)plan->phase;
    ry_conv_geometry_of(problem, &plan->geometry, packed, taps);
    unite_window(&plan->geometry, packed, taps);
    for (int64_t i = g.phases - 1; i >= 0; i--) {
        const ry_conv_phase phase = packed[i];
        memset(&plan->phase[i], 0, sizeof plan->phase[i]);
        plan->phase[i].at = phase;
    }
    igemm_bundle_phases(problem, plan, taps);
    plan->as_is = plan->geometry;
    const int barred = (g.batch == 1 ? WAY_APART : 0) | (igemm_rows_alive(plan) > SPLIT_MOST ? WAY_SPLIT : 0) |
                       (igemm_copy_suits(plan, ry_type_of(&problem->in[0])) ? 0 : WAY_COPIED) | (gathering_suits(plan) ? 0 : WAY_GATHERED);
    igemm_mode best = IGEMM_MODES;
    int best_way = 0;
    double least_cost = 0;
    for (int i = 0; i < WAYS * IGEMM_MODES; i++) {
        const igemm_mode mode = (igemm_mode)(i / WAYS);
        if (!way_is_open(plan, mode, i % WAYS, barred)) {
            continue;
        }
        set_mode(plan, mode, i % WAYS, tile->rows, taps);
        const double cost = fill_phases(problem, plan, taps);
        if (best == IGEMM_MODES || (cost < least_cost && (plan->copied || plan->shared_size <= SHARED_MOST))) {
            best = mode;
            best_way = i % WAYS;
            least_cost = cost;
        }
    }
    set_mode(plan, best, best_way, tile->rows, taps);
    plan->cycles = fill_phases(problem, plan, taps);
    lay_out_scratch(plan);
}
