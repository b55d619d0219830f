/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a task of the implicit GEMM (igemm_plan.h). */
#include "kernels/cpu/conv/finish.h"
#include "kernels/cpu/conv/gather.h"
#include "kernels/cpu/conv/igemm.h"
#include "kernels/cpu/conv/tile.h"

typedef struct task {
    const igemm_plan *plan;
    const igemm_phase *phase;
    const ry_cpu_launch *launch;
    const ry_tile_pairs *pairs;         /* NULL: products are of the elements themselves */
    int64_t group, image, first, count; /* pixels */
    int64_t unit, units;
    int64_t channel, channels; /* output channels, in the group */
    bool integer;
    ry_activation_of activation;
    float low, high;
    bool bounds; /* the activation is these bounds */
    const float *packed;
    float *panel, *block, *turned, *bias; /* panel: of the chunk at hand */
    const float *shared;                  /* the panels of all chunks, one after another; NULL: gathered by the task */
    int64_t block_step;
    igemm_segment *segment;
    igemm_entry *program;
    igemm_run *run;
    int64_t segments;
    char *y;
    const char *residual; /* direct only: moves with y */
} task;

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* x of the task's group; the batch is reached by the offsets of segments and rows. */
static const char *x_of(const task *t)
{
    const ry_conv_geometry *g = &t->plan->geometry;
    return (const char *)t->launch->in[0] +
           t->group * g->channels_in * g->x_channel * (int64_t)ry_dtype_size(ry_type_of(&t->launch->problem->in[0]));
}

/* The pixels of block number `index` of a phase, counted over images, groups, blocks. */
static void decode_block(const igemm_plan *plan, const igemm_phase *p, const ry_cpu_launch *launch, int64_t index, char *scratch, task *t)
{
    *t = (task){.plan = plan, .phase = p, .launch = launch};
    t->first = index % p->blocks * p->block;
    t->count = least(p->block, p->pixels - t->first);
    t->group = index / p->blocks % plan->geometry.groups;
    t->image = index / p->blocks / plan->geometry.groups;
    t->segment = (igemm_segment *)(scratch + plan->segments);
    t->program = (igemm_entry *)(scratch + plan->program);
}

static void decode(const igemm_plan *plan, const ry_cpu_launch *launch, const float *shared, int64_t index, char *scratch, task *t)
{
    const igemm_phase *p = plan->phase;
    while (index >= p->first_task + p->tasks) {
        p++;
    }
    index -= p->first_task;
    /* neighbouring tasks, which run at the same time, share what is larger: the weights of a unit, or the pixels of a block */
    const int64_t all = p->tasks / p->unit_blocks, unit_block = p->blocks_first ? index / all : index % p->unit_blocks;
    const int64_t block = p->blocks_first ? index % all : index / p->unit_blocks;
    decode_block(plan, p, launch, block, scratch, t);
    if (p->gathers > 0) {
        t->shared = shared + p->shared_at + block * p->chunks * p->panel;
    }
    t->unit = unit_block * p->units_a_task;
    t->units = least(p->units_a_task, plan->units - t->unit);
    t->channel = igemm_unit_first(plan, t->unit);
    t->channels = igemm_unit_first(plan, t->unit + t->units - 1) + igemm_unit_count(plan, t->unit + t->units - 1) - t->channel;
    t->integer = ry_type_of(&launch->problem->out[0]) == RY_i32;
    t->activation = ry_conv_activation(launch->problem);
    t->bounds = ry_activation_bounds(t->activation, &t->low, &t->high);
    t->panel = (float *)(scratch + plan->panel);
    t->block = (float *)(scratch + plan->block);
    t->turned = (float *)(scratch + plan->turned);
    t->bias = (float *)(scratch + plan->bias);
    t->run = (igemm_run *)(scratch + plan->runs);
    t->block_step = plan->mode == IGEMM_PIXELS ? (t->count + RY_W - 1) / RY_W * RY_W : (t->channels + RY_W - 1) / RY_W * RY_W;
}

/* The channels' bias as the tile's elements, zeros where there is none and behind the last. */
static void read_bias(task *t)
{
    const ry_problem *problem = t->launch->problem;
    const int64_t room = t->channels + t->plan->tile_columns;
    memset(t->bias, 0, (size_t)room * sizeof *t->bias);
    if (!ry_problem_has_input(problem, 2)) {
        return;
    }
    const ry_tensor *bias = &problem->in[2];
    const int64_t first = t->group * t->plan->geometry.channels_out + t->channel;
    for (int64_t i = 0; i < t->channels; i++) {
        const int64_t at = (first + i) * bias->stride[0];
        if (ry_type_of(bias) == RY_f32 || ry_type_of(bias) == RY_i32) {
            memcpy(t->bias + i, (const char *)t->launch->in[2] + at * 4, 4);
        } else {
            t->bias[i] = (float)ry_get_f64(ry_type_of(bias), t->launch->in[2], at);
        }
    }
}

/* y and residual of a direct task: its first channel and pixel. */
static void place_direct(task *t)
{
    const ry_conv_geometry *g = &t->plan->geometry;
    const igemm_phase *p = t->phase;
    const int64_t channel = t->group * g->channels_out + t->channel;
    t->y = (char *)t->launch->out[0] + (p->at.y_offset + t->image * g->y_batch + t->first * p->y_pixel + channel * g->y_channel) * 4;
    if (ry_problem_has_input(t->launch->problem, 3)) {
        t->residual =
            (const char *)t->launch->in[3] + (p->at.r_offset + t->image * g->r_batch + t->first * p->r_pixel + channel * g->r_channel) * 4;
    }
}

/* A gathered panel as the tiles' operands. */
static void pair(const task *t, const igemm_chunk *chunk)
{
    const igemm_phase *p = t->phase;
    if (t->plan->mode == IGEMM_ROWS) {
        for (int64_t i = 0; i < t->count; i++) {
            t->pairs->row(t->panel + i * (p->chunk_channels * p->chunk_taps + 16), chunk->depth);
        }
        return;
    }
    const int64_t vectors = (t->count + p->lanes - 1) / p->lanes, sliver = t->plan->mode == IGEMM_PIXELS ? RY_TILE_VECTORS : 1;
    for (int64_t v = 0; v < vectors; v += sliver) {
        t->pairs->sliver(t->panel + v * RY_W * chunk->depth, chunk->depth, least(sliver, vectors - v) * RY_W);
    }
}

/* into t->panel */
static void gather(task *t, const igemm_chunk *chunk, bool write_program)
{
    const igemm_plan *plan = t->plan;
    const igemm_phase *p = t->phase;
    const ry_dtype dtype = ry_type_of(&t->launch->problem->in[0]);
    if (plan->mode == IGEMM_ROWS) {
        if (!p->in_place) {
            RY_ISA_SYMBOL(igemm_gather_rows)
            (plan, p, chunk, t->image, t->first, t->count, dtype, x_of(t), t->panel, p->chunk_channels * p->chunk_taps + 16);
        }
    } else {
        const int64_t vectors = (t->count + p->lanes - 1) / p->lanes, sliver = plan->mode == IGEMM_PIXELS ? RY_TILE_VECTORS : 1;
        if (write_program) {
            igemm_write_program(plan, p, t->segment, t->segments, vectors, sliver, chunk->tap, chunk->taps, t->program);
        }
        RY_ISA_SYMBOL(igemm_gather)(plan, chunk, t->program, vectors, sliver, dtype, x_of(t), t->panel);
    }
    if (t->pairs) {
        pair(t, chunk);
    }
}

/* Rows of y that have just been finished, and are still in the first-level cache. */
static void activate(const task *t, int64_t row, int64_t rows, int64_t column, int64_t columns)
{
    const int64_t step = t->plan->mode == IGEMM_PIXELS ? t->plan->geometry.y_channel : t->phase->y_pixel;
    if (!t->phase->direct || t->bounds) {
        return;
    }
    for (int64_t i = 0; i < rows; i++) {
        RY_ISA_SYMBOL(ry_activate)(t->activation, (float *)(void *)t->y + (row + i) * step + column, columns);
    }
}

/* One tile: rows and columns from `row` and `column` of the task's block. */
static void run_tile(const task *t, ry_tile *tile, int64_t row, int64_t rows, int64_t column, bool a_along_k, bool last)
{
    const int64_t vectors = (tile->columns + RY_W - 1) / RY_W;
    const igemm_phase *p = t->phase;
    const ry_conv_geometry *g = &t->plan->geometry;
    const bool pixels = t->plan->mode == IGEMM_PIXELS;
    if (p->direct) {
        tile->c_step = pixels ? g->y_channel : p->y_pixel;
        tile->c = t->y + (row * tile->c_step + column) * 4;
        if (t->residual && last) {
            tile->residual_step = pixels ? g->r_channel : p->r_pixel;
            tile->residual = (const float *)t->residual + row * tile->residual_step + column;
        }
    } else {
        tile->c_step = t->block_step;
        tile->c = t->block + row * t->block_step + column;
    }
    const ry_tile_table *table = &RY_ISA_SYMBOL(ry_tiles);
    const ry_tile_set *tiles = t->pairs ? t->pairs->tiles : t->integer ? &table->i32 : &table->f32;
    (*tiles)[a_along_k][vectors - 1][rows - 1](tile);
}

static ry_tile start_tile(const task *t, const igemm_chunk *chunk, bool last)
{
    ry_tile tile = {.depth = chunk->steps, .low = -__builtin_inff(), .high = __builtin_inff(), .start = RY_TILE_FROM_C};
    if (chunk->first == 0) {
        tile.start = t->plan->mode == IGEMM_PIXELS ? RY_TILE_FROM_ROW_BIAS : RY_TILE_FROM_COLUMN_BIAS;
    }
    if (last && t->phase->direct && t->bounds) {
        tile.low = t->low;
        tile.high = t->high;
    }
    return tile;
}

/* PIXELS: units of weights are the rows; each stays in the first-level cache while the panel's slivers pass. */
static void multiply_pixels(const task *t, const float *panel, const igemm_chunk *chunk, bool last)
{
    const igemm_plan *plan = t->plan;
    for (int64_t u = t->unit; u < t->unit + t->units; u++) {
        const int64_t first = igemm_unit_first(plan, u), rows = igemm_unit_count(plan, u);
        const float *a = t->packed + first * t->phase->steps + chunk->first * rows;
        for (int64_t j = 0; j < t->count; j += RY_TILE_COLUMNS) {
            ry_tile tile = start_tile(t, chunk, last);
            tile.columns = least(RY_TILE_COLUMNS, t->count - j);
            tile.a = a;
            tile.a_step = rows;
            tile.b = panel + j * chunk->depth;
            tile.b_step = tile.columns > RY_TILE_COLUMNS - RY_W ? RY_TILE_COLUMNS : (tile.columns + RY_W - 1) / RY_W * RY_W;
            tile.bias = t->bias + (first - t->channel);
            run_tile(t, &tile, first - t->channel, rows, j, false, last);
        }
        if (last) {
            activate(t, first - t->channel, rows, 0, t->count);
        }
    }
}

/* GATHERED and ROWS: pixels are the rows; a unit of weights stays in the cache while the panel's rows pass. */
static void multiply_channels(const task *t, const float *panel, const igemm_chunk *chunk, bool last)
{
    const igemm_plan *plan = t->plan;
    const igemm_phase *p = t->phase;
    const bool along_k = plan->mode == IGEMM_ROWS;
    const int64_t row_step = p->chunk_channels * p->chunk_taps + 16, most = along_k ? plan->tile_rows : p->lanes;
    const int64_t parts = (t->count + most - 1) / most, each = t->count / parts, extra = t->count % parts;
    const float *in_place = NULL;
    if (p->in_place) {
        const ry_conv_tap *tap = (const ry_conv_tap *)((const char *)plan + plan->taps) + p->at.first_tap;
        in_place =
            (const float *)(const void *)x_of(t) + t->image * plan->geometry.x_batch + tap->offset + t->first * p->x_pixel + chunk->channel;
    }
    for (int64_t u = t->unit; u < t->unit + t->units; u++) {
        const int64_t first = igemm_unit_first(plan, u), count = igemm_unit_count(plan, u), width = (count + RY_W - 1) / RY_W * RY_W;
        for (int64_t i = 0, row = 0; i < parts; i++) {
            const int64_t rows = along_k ? each + (i < extra) : least(most, t->count - row);
            ry_tile tile = start_tile(t, chunk, last);
            tile.columns = count;
            tile.a = in_place ? in_place + row * p->x_pixel : panel + (along_k ? row * row_step : i * chunk->depth * RY_W);
            tile.a_step = in_place ? p->x_pixel : along_k ? row_step : RY_W;
            tile.b = t->packed + first * p->steps + chunk->first * width;
            tile.b_step = width;
            tile.bias = t->bias + (first - t->channel);
            run_tile(t, &tile, row, rows, first - t->channel, along_k, last);
            if (last) {
                activate(t, row, rows, first - t->channel, count);
            }
            row += rows;
        }
    }
}

/* The task's pixels as runs in y and the residual. */
static int64_t find_runs(const task *t)
{
    const ry_conv_geometry *g = &t->plan->geometry;
    const igemm_phase *p = t->phase;
    const int64_t *grid = p->at.grid;
    int64_t n = t->image + t->first / p->at.pixels, rest = t->first % p->at.pixels;
    int64_t q[RY_SPACE] = {rest / (grid[1] * grid[2]), rest / grid[2] % grid[1], rest % grid[2]};
    int64_t runs = 0;
    for (int64_t column = 0; column < t->count;) {
        const int64_t length = least(grid[2] - q[2], t->count - column);
        igemm_run run = {column,         length, p->at.y_offset + n * g->y_batch, p->at.y_step[2], p->at.r_offset + n * g->r_batch,
                         p->at.r_step[2]};
        for (int i = 0; i < RY_SPACE; i++) {
            run.y += q[i] * p->at.y_step[i];
            run.r += q[i] * p->at.r_step[i];
        }
        t->run[runs++] = run;
        column += length;
        q[2] += length;
        for (int i = RY_SPACE - 1; i > 0 && q[i] == grid[i]; i--) {
            q[i] = 0;
            q[i - 1]++;
        }
        if (q[0] == grid[0]) {
            q[0] = 0;
            n++;
        }
    }
    return runs;
}

static void finish(task *t)
{
    const ry_problem *problem = t->launch->problem;
    const ry_conv_geometry *g = &t->plan->geometry;
    const bool has_residual = ry_problem_has_input(problem, 3);
    const int64_t channel = t->group * g->channels_out + t->channel;
    const int64_t y_size = (int64_t)ry_dtype_size(ry_type_of(&problem->out[0]));
    const int64_t r_size = has_residual ? (int64_t)ry_dtype_size(ry_type_of(&problem->in[3])) : 0;
    igemm_finish f = {.rows = t->channels,
                      .columns = t->count,
                      .block = t->block,
                      .block_step = t->block_step,
                      .run = t->run,
                      .runs = find_runs(t),
                      .y = (char *)t->launch->out[0] + channel * g->y_channel * y_size,
                      .y_row = g->y_channel,
                      .dtype = ry_type_of(&problem->out[0]),
                      .residual = has_residual ? (const char *)t->launch->in[3] + channel * g->r_channel * r_size : NULL,
                      .r_row = g->r_channel,
                      .r_dtype = has_residual ? ry_type_of(&problem->in[3]) : RY_NONE,
                      .activation = t->activation};
    if (t->plan->mode == IGEMM_PIXELS) {
        RY_ISA_SYMBOL(igemm_finish_rows)(&f);
        return;
    }
    if (g->y_channel != 1) {
        f.block = t->turned;
        f.block_step = (t->count + RY_W - 1) / RY_W * RY_W;
        RY_ISA_SYMBOL(igemm_turn)(t->block, t->block_step, t->count, t->channels, f.block, f.block_step);
        RY_ISA_SYMBOL(igemm_finish_rows)(&f);
        return;
    }
    /* pixels are rows: each is one run of channels */
    int64_t row = 0;
    for (int64_t r = 0; r < f.runs; r++) {
        const igemm_run pixels = t->run[r];
        igemm_run channels = {0, t->channels, 0, 1, 0, g->r_channel};
        igemm_finish part = f;
        part.rows = pixels.length;
        part.columns = t->channels;
        part.block = t->block + row * t->block_step;
        part.run = &channels;
        part.runs = 1;
        part.y = (char *)f.y + pixels.y * y_size;
        part.y_row = pixels.y_step;
        part.residual = has_residual ? (const char *)f.residual + pixels.r * r_size : NULL;
        part.r_row = pixels.r_step;
        RY_ISA_SYMBOL(igemm_finish_rows)(&part);
        row += pixels.length;
    }
}

void RY_ISA_SYMBOL(igemm_share)(const igemm_plan *plan, const ry_cpu_launch *launch, const ry_tile_pairs *pairs, float *shared,
                                int64_t index, char *scratch)
{
    const igemm_phase *p = plan->phase;
    while (index >= p->first_gather + p->gathers) {
        p++;
    }
    index -= p->first_gather;
    task t;
    decode_block(plan, p, launch, index / p->chunks, scratch, &t);
    t.pairs = pairs;
    t.panel = shared + p->shared_at + index * p->panel;
    igemm_chunk chunk = {0};
    for (int64_t i = 0; i <= index % p->chunks; i++) {
        igemm_next_chunk(plan, p, &chunk);
    }
    if (plan->mode != IGEMM_ROWS) {
        t.segments = igemm_cut_segments(plan, p, t.image, t.first, t.count, t.segment);
    }
    gather(&t, &chunk, true);
}

void RY_ISA_SYMBOL(igemm_run)(const igemm_plan *plan, const ry_cpu_launch *launch, const ry_tile_pairs *pairs, const float *packed,
                              const float *shared, int64_t index, char *scratch)
{
    task t;
    decode(plan, launch, shared, index, scratch, &t);
    t.pairs = pairs;
    const igemm_phase *p = t.phase;
    t.packed = packed + t.group * plan->packed_group + p->packed;
    read_bias(&t);
    if (p->direct) {
        place_direct(&t);
    }
    if (plan->mode != IGEMM_ROWS && !t.shared) {
        t.segments = igemm_cut_segments(plan, p, t.image, t.first, t.count, t.segment);
    }
    igemm_chunk chunk = {0};
    for (int64_t i = 0; i < p->chunks; i++) {
        igemm_next_chunk(plan, p, &chunk);
        const bool last = i + 1 == p->chunks;
        const float *panel = t.shared ? t.shared + i * p->panel : t.panel;
        if (!t.shared) {
            gather(&t, &chunk, i == 0 || p->chunk_taps < p->at.taps);
        }
        if (plan->mode == IGEMM_PIXELS) {
            multiply_pixels(&t, panel, &chunk, last);
        } else {
            multiply_channels(&t, panel, &chunk, last);
        }
    }
    if (!p->direct) {
        finish(&t);
    }
}
