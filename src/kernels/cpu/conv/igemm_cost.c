/* SPDX-License-Identifier: Apache-2.0 */
/* What a way to cut a convolution into matrix products costs, by a count of cycles. */
#include "kernels/cpu/conv/igemm_cost.h"

#include "base/whole.h"
#include "kernels/cpu/conv/igemm_alive.h"
#include "kernels/cpu/conv/tile_lines.h"

enum {
    TASK_OVERHEAD = 3000,    /* cycles: taking a task, its program and offsets */
    NEAR_OVERHEAD = 800,     /* the same without a program */
    PANEL_LEAST = 16 * 1024, /* bytes of a panel that stays in the first-level cache */
    THREADS_MOST = 4,        /* idle time at the end is weighed as with two and with this many threads */
};

#define PAIR_CYCLES   1.0 /* a vector that is rounded and joined with its neighbour */
#define PICK_CYCLES   4.0 /* two loads and a permutation */
#define JOIN_CYCLES   6.0 /* the same of another row of the grid, whose lanes join those of the rows before */
#define COPY_CYCLES   6.0 /* a vector that is copied to its sliver, from a cache line that holds more of them */
#define COPY_FETCHES  2.0 /* what the line's own way costs then: cores with such tiles begin two multiply-adds in the time of one long one */
#define GATHER_CYCLES 20.0 /* a run of a pixel's taps, beside its vectors */

/* Of the loads of one gathered vector whose lanes lie in so many rows of the grid. */
static double load_cycles(const igemm_plan *plan, const igemm_phase *p, double segments)
{
    const int64_t step = igemm_lane_step(&plan->geometry), lanes = igemm_pick_lanes(step, plan->width);
    if (step == 1 || plan->geometry.in[RY_SPACE - 1] == 1) {
        return segments;
    }
    if (lanes == 0) {
        return segments * 2.0 * (double)plan->width;
    }
    return p->at.grid[RY_SPACE - 1] <= lanes ? PICK_CYCLES + (segments - 1) * JOIN_CYCLES
                                             : PICK_CYCLES * ((double)ry_parts(p->lanes, lanes) + segments - 1);
}

/* Cycles that a float from the outer caches costs, where half of it hides behind the arithmetic. */
#define STREAM_CYCLES   (4.0 / 24.0)
#define NEAR_CYCLES     (1.0 / 32.0) /* the same of the second-level cache */
#define SPLIT_VECTORS   0.19         /* the same of vectors that lie in two cache lines */
#define SPLIT_ROWS      0.13         /* the same of a tile's rows */
#define FAR_CYCLES      1.5          /* the same of memory, in pieces of as many planes as there are channels */
#define FAR_AHEAD       0.5          /* the same where the tiles before fetch it */
#define RUN_FAR         0.3          /* the same in long runs of few planes */
#define FETCH_FAR       0.6          /* the same where it is gathered */
#define FETCH_FAR_APART 0.45         /* and what lies between counts, too */

/* Of x's own way to the core, where it does not stay near: in pieces, which memory likes less than long runs. What lies between the pixels of a
 * row comes along. */
static double fetch_cycles(const igemm_plan *plan, int64_t block)
{
    const ry_conv_geometry *g = &plan->geometry;
    double all = (double)g->channels_in, each = 1;
    for (int i = 0; i < RY_SPACE; i++) {
        all *= (double)g->in[i];
        each *= (double)(i == RY_SPACE - 1 && g->x_step[i] == 1 ? g->stride[i] : ry_least(g->stride[i], g->kernel[i]));
    }
    const bool far = all * (double)(g->batch * g->groups) * 4 > RY_CONV_FAR_LEAST;
    const double cycles = far ? (each > 1 ? FETCH_FAR_APART : FETCH_FAR) : all * 4 <= 2 * IGEMM_PANEL_MOST ? 0 : 1.5 * STREAM_CYCLES;
    return (double)(g->channels_in * block) * each * cycles;
}

static double gather_cycles(const igemm_plan *plan, const igemm_phase *p, int64_t block)
{
    const ry_conv_geometry *g = &plan->geometry;
    const double vectors = (double)ry_parts(block, p->lanes), fetch = fetch_cycles(plan, block);
    if (p->in_place) {
        return 0;
    }
    if (p->plain) {
        return vectors * (double)p->depth * COPY_CYCLES + COPY_FETCHES * fetch;
    }
    if (plan->mode == IGEMM_ROWS) {
        /* a row of the window is one run where nothing lies between its pixels */
        const int64_t along =
            g->x_step[RY_SPACE - 1] == g->channels_in && p->at.taps % g->kernel[RY_SPACE - 1] == 0 ? g->kernel[RY_SPACE - 1] : 1;
        const int64_t runs = p->at.taps / along;
        const double copy = plan->pairs ? 2.0 + PAIR_CYCLES : 2.0;
        return fetch + (double)block * (double)runs * (GATHER_CYCLES + copy * (double)ry_parts(g->channels_in * along, plan->width));
    }
    const double row = (double)p->at.grid[RY_SPACE - 1];
    const double segments = p->at.grid[RY_SPACE - 1] % p->lanes == 0 ? 1 : 1 + (double)(p->lanes - 1) / row;
    const double store = plan->pairs ? 3.5 + PAIR_CYCLES : 3.5;
    const double programs = p->chunk_taps < p->at.taps ? (double)ry_parts(g->channels_in, p->chunk_channels) : 1.0;
    return fetch +
           vectors * ((double)p->depth * (store + load_cycles(plan, p, segments)) + (double)p->at.taps * programs * 15.0 * segments);
}

#define RUN_CYCLES  12.0                    /* a run of pixels of one channel, beside its vectors */
#define TILE_CYCLES 30.0                    /* a tile, beside its vectors */
#define TILE_LEAST  ((double)IGEMM_LATENCY) /* cycles of a step of a tile: its sums wait for themselves, and its operands are loaded */

/* Cycles of a step of k of all tiles of `rows` rows and `columns` elements along the vectors. */
static double step_cycles(const igemm_plan *plan, int64_t rows, int64_t most, int64_t columns)
{
    const int64_t whole = columns / plan->tile_columns, rest = columns % plan->tile_columns;
    const double tiles = (double)ry_parts(rows, most), each = (double)rows / tiles, width = (double)plan->width;
    const double full = each * (double)plan->tile_columns / width,
                 last = each * (double)(ry_parts(rest, plan->grain) * plan->grain) / width;
    return tiles * ((double)whole * (full > TILE_LEAST ? full : TILE_LEAST) + (rest == 0 ? 0 : last > TILE_LEAST ? last : TILE_LEAST));
}

/* Pixels next to each other in y, as sums from scratch are stored. */
static int64_t run_pixels(const igemm_phase *p)
{
    int64_t pixels = p->at.grid[RY_SPACE - 1];
    for (int i = RY_SPACE - 2; i >= 0 && p->beside == 1 && p->at.y_step[i] == pixels * p->at.y_step[RY_SPACE - 1]; i--) {
        pixels *= p->at.grid[i];
    }
    return pixels;
}

/* `alive`: of the chunks, those that are not left out. */
static double product_cycles(const igemm_plan *plan, const igemm_phase *p, int64_t block, int64_t channels, double alive)
{
    const bool pixels = plan->mode == IGEMM_PIXELS;
    const int64_t rows = pixels ? channels : block, columns = pixels ? block : channels;
    const int64_t most = pixels ? plan->tile_rows : igemm_pixel_rows(plan, p);
    const double vectors = (double)rows * (double)ry_parts(columns, plan->width), chunks = (double)p->chunks;
    const double tiles = (double)(ry_parts(rows, most) * ry_parts(columns, plan->tile_columns));
    /* a tile's start and end cost about four cycles a vector in every chunk; what is not direct passes once more, and turned again */
    double cycles = alive * (step_cycles(plan, rows, most, columns) * (double)p->steps + (vectors * 4.0 + tiles * TILE_CYCLES) * chunks);
    if (!p->direct) {
        cycles += vectors * (p->turned ? 10.0 : pixels || plan->geometry.y_channel == 1 ? 8.0 : 50.0);
        cycles += pixels ? (double)channels * (double)block / (double)run_pixels(p) * RUN_CYCLES : 0;
    }
    return cycles;
}

int64_t igemm_panel_floats(const igemm_plan *plan, const igemm_phase *p, int64_t block)
{
    const int64_t chunk = p->chunk_channels * p->chunk_taps;
    return plan->mode == IGEMM_ROWS ? block * (chunk + 16) : ry_parts(block, p->lanes) * plan->width * chunk;
}

#define PAGE_FLOATS   1024.0
#define PAGES_NEAR    64.0 /* whose addresses the core has at hand */
#define PAGE_ROWS     2.5  /* the broadcasts from a page that it has not */
#define PAGE_VECTORS  1.0  /* a small tile's vectors from one */
#define CROWDED_STEP  8.0  /* a step of a small tile where the lines of all planes meet in one set of the first-level cache */
#define CROWDED_LEAST 10   /* planes, that it has no room for */

/* Cycles of the pages that tiles turn to, step by step, where a chunk of x in place lies in too many. */
static double page_cycles(const igemm_plan *plan, const igemm_phase *p, int64_t block, int64_t units)
{
    const double pages = (double)plan->geometry.x_channel / PAGE_FLOATS, each = pages < 1 ? pages : 1;
    if (!p->in_place || plan->mode == IGEMM_ROWS) {
        return 0;
    }
    const bool small = igemm_is_small(plan);
    const bool crowded = small && plan->geometry.x_channel % IGEMM_CROWDED == 0 && p->chunk_channels > CROWDED_LEAST;
    if (plan->mode == IGEMM_GATHERED) {
        const bool near = !crowded && pages * (double)p->chunk_channels <= PAGES_NEAR;
        return near ? 0 : (double)(ry_parts(block, p->lanes) * units * p->steps) * (crowded ? CROWDED_STEP : PAGE_ROWS * each);
    }
    const bool near = !crowded && (!small || each * (double)p->chunk_channels < PAGES_NEAR);
    return near ? 0 : (double)(ry_parts(block, plan->tile_columns) * units * p->steps) * (crowded ? CROWDED_STEP : PAGE_VECTORS * each);
}

bool igemm_is_far(const igemm_plan *plan, const igemm_phase *p)
{
    const ry_conv_geometry *g = &plan->geometry;
    return g->batch * g->groups * g->channels_in * p->at.pixels * 4 > RY_CONV_FAR_LEAST;
}

/* Cycles of reading a unit's weights for all pixels of a block, or all units' for each sliver. */
static double weights_cycles(const igemm_plan *plan, const igemm_phase *p, int64_t block, int64_t channels)
{
    const bool stay = p->steps * plan->geometry.channels_out * 4 <= 2 * IGEMM_PANEL_MOST;
    const double first = stay ? NEAR_CYCLES : STREAM_CYCLES;
    if (!p->slivers_first) {
        return (double)p->steps * (double)channels * first;
    }
    const double next = channels * p->chunk_channels * p->chunk_taps * 4 <= IGEMM_PANEL_MOST ? NEAR_CYCLES : STREAM_CYCLES;
    return (double)p->steps * (double)channels * (first + (double)(ry_parts(block, plan->tile_columns) - 1) * next);
}

/* Cycles a float of x in place that small tiles read from two cache lines, where its planes do not end with one. */
static double split_cycles(const igemm_plan *plan)
{
    const bool split = igemm_is_small(plan) && plan->mode != IGEMM_ROWS && plan->geometry.x_channel % RY_LINE_FLOATS != 0;
    return !split ? 0 : plan->mode == IGEMM_PIXELS ? SPLIT_VECTORS : SPLIT_ROWS;
}

/* Cycles of reading x in place: a block passes by for every unit, and stays in the caches near the core where it is small. */
static double passes_cycles(const igemm_plan *plan, const igemm_phase *p, int64_t block, int64_t units)
{
    const int64_t floats = block * p->chunk_channels * p->chunk_taps, all = plan->geometry.channels_in * p->pixels;
    const bool far = plan->mode != IGEMM_ROWS && igemm_is_far(plan, p), near = floats * 4 < PANEL_LEAST;
    const double away = p->streams ? RUN_FAR : plan->mode == IGEMM_PIXELS ? FAR_AHEAD : FAR_CYCLES;
    const double split = near && plan->mode == IGEMM_PIXELS ? 0 : split_cycles(plan);
    const double first = far ? away : all * 4 <= 2 * IGEMM_PANEL_MOST ? NEAR_CYCLES : STREAM_CYCLES;
    const double next = near ? 0 : floats * 4 <= 2 * IGEMM_PANEL_MOST ? NEAR_CYCLES : STREAM_CYCLES;
    return p->in_place ? (double)(block * p->depth) * (first + (double)(units - 1) * next + (double)units * split) : 0;
}

/* Cycles of all threads, idle ones included, for `tasks` tasks of `each` cycles at most and `all` together: the mean over numbers of threads. */
static double spent_cycles(const igemm_plan *plan, double tasks, double each, double all)
{
    if (plan->alone) {
        return all;
    }
    double sum = 0;
    int counts = 0;
    for (int threads = 2; threads <= THREADS_MOST; threads *= 2, counts++) {
        const double rounds = (double)ry_parts((int64_t)tasks, threads) * threads * each, idle = all + (threads - 1) * each;
        sum += (rounds < idle ? rounds : idle) + each / 2; /* threads are never quite alike */
    }
    return sum / counts;
}

double igemm_cost_of(const igemm_plan *plan, const igemm_phase *first, int64_t block, int64_t units)
{
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t channels = ry_least(units * plan->unit_most, g->channels_out);
    const double blocks = (double)(first->images * g->groups * ry_parts(first->pixels, block)),
                 tasks = blocks * (double)ry_parts(plan->units, units);
    /* of the tasks' pixels and sums, those that are there */
    const double whole = (double)first->pixels / (double)(ry_parts(first->pixels, block) * block);
    const double filled = whole * (double)g->channels_out / (double)(ry_parts(plan->units, units) * channels);
    double fixed = first->in_place ? NEAR_OVERHEAD : TASK_OVERHEAD, product = 0, gather = 0, stream = 0;
    for (int64_t i = 0; i < first->bundle; i++) {
        const igemm_phase *p = &first[i];
        const double alive = igemm_chunks_alive(plan, p, block);
        product += product_cycles(plan, p, block, channels, alive);
        fixed +=
            alive * weights_cycles(plan, p, block, channels) + passes_cycles(plan, p, block, units) + page_cycles(plan, p, block, units);
        if (p->source < 0 || i == p->source) {
            gather += alive * gather_cycles(plan, p, block);
            stream += alive * (double)(igemm_panel_floats(plan, p, block) * p->chunks) * STREAM_CYCLES;
        }
    }
    if (!plan->shared) {
        return spent_cycles(plan, tasks, product + gather + fixed, tasks * (product * filled + gather * whole + fixed));
    }
    /* written once, read by every task of other channels */
    return blocks * (gather + stream) +
           spent_cycles(plan, tasks, product + stream + fixed, tasks * (product * filled + stream * whole + fixed));
}
