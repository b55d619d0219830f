/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels: convolution and transposed convolution of few channels, from staged rows. */
#include "base/integer.h"
#include "base/room.h"
#include "kernels/cpu/parts/conv_kernel.h"
#include "kernels/cpu/parts/out_rows.h"
#include "kernels/cpu/simd/lanes.h"
#include "kernels/cpu/staged/staged_stage.h"
#include "kernels/cpu/staged/staged_tile.h"

#include <math.h>
#include <string.h>

/* PLACE: the lanes of a row's first and last vector that each tap reads inside x; which of them, of
 * those that a tile has, are not whole. */
typedef struct place_masks {
    ry_vm first[STAGED_MAX_PLACE_TAPS], last[STAGED_MAX_PLACE_TAPS];
    uint8_t edges[STAGED_EDGES][STAGED_MAX_PLACE_TAPS];
} place_masks;

typedef struct task {
    const staged_plan *plan;
    out_rows rows;
    const float *packed; /* weights of the group */
    float *staged, *transposed_sums;
    ry_activation_of activation;
    bool bounds;
    float low, high;                 /* bounds of sums stored from tiles to y */
    bool started[STAGED_MAX_PHASES]; /* the phase's sums are there */
    const place_masks *masks;
} task;

/* A strip of positions, as tiles of an oc block's output channels: as even as they can be. */
typedef struct strip {
    int64_t columns, tiles, each, extra; /* vectors of a tile; of so many one more */
} strip;

static strip cut_strip(int64_t columns, int64_t channels)
{
    const int64_t vectors = ry_ceil_div(columns, RY_W),
                  tiles = ry_ceil_div(vectors, max_staged_vectors(RY_TILE_ROWS, channels));
    return (strip){columns, tiles, vectors / tiles, vectors % tiles};
}

/* `staged` and `to` are those of the strip's first position; masks: NULL: none. */
static void sum_strip(staged_tile *tile, const strip *all, const place_masks *masks,
                      int64_t channels, const float *staged, float *to)
{
    for (int64_t i = 0, at = 0; i < all->tiles; i++) {
        const int64_t vectors = all->each + (i < all->extra);
        tile->staged = staged + at;
        tile->c = to + at;
        tile->columns = ry_min(all->columns - at, vectors * RY_W);
        const bool edges = masks && (i == 0 || i == all->tiles - 1),
                   half = tile->columns <= vectors * RY_W - RY_GRAIN;
        if (edges) {
            tile->edges = masks->edges[(i == 0 ? STAGED_FIRST_EDGE : 0) +
                                       (i == all->tiles - 1 ? STAGED_LAST_EDGE : 0)];
            tile->first = vectors > 1 || i == 0 ? masks->first : masks->last;
            tile->last = masks->last;
        }
        RY_ISA_SYMBOL(staged_pixel_tiles)[edges][half][vectors - 1][channels - 1](tile);
        at += vectors * RY_W;
    }
}

/* RUNS: the sums of one phase over one k block of channels of a slice; over none: their start. */
static void sum_runs(task *t, const staged_phase *p, const staged_slice *slice, int64_t channel,
                     int64_t channels)
{
    const staged_plan *plan = t->plan;
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t number = p - plan->phase, columns = ry_round_up(t->rows.columns, RY_W);
    float *sums = t->rows.sums + number * g->channels_out * plan->positions;
    const float *weights = t->packed + p->packed + slice->first * g->channels_in * g->channels_out;
    staged_tile tile = {.outer = channels,
                        .inner = slice->count,
                        .staged_step = plan->planes * plan->plane,
                        .offset = plan->offset + p->at.first_tap + slice->first,
                        .c_step = plan->positions,
                        .low = -INFINITY,
                        .high = INFINITY};
    for (int64_t oc_block = 0; oc_block < plan->oc_blocks; oc_block++) {
        const int64_t first = staged_oc_block_first(plan, oc_block),
                      rows = staged_oc_block_first(plan, oc_block + 1) - first;
        tile.weights = weights + (first * g->channels_in + channel * rows) * slice->count;
        tile.weights_step = slice->count * rows;
        tile.bias = t->started[number] ? NULL : t->rows.bias + number * g->channels_out + first;
        const strip all = cut_strip(columns, rows);
        sum_strip(&tile, &all, NULL, rows, t->staged, sums + first * plan->positions);
    }
    t->started[number] = true;
}

/* RUNS: the sums of all phases, and their way to y. */
static void run_runs(task *t, staged_stage *stage)
{
    const staged_plan *plan = t->plan;
    const ry_conv_geometry *g = &plan->geometry;
    memset(t->started, 0, sizeof t->started);
    for (int64_t d = 0; d < plan->depths; d++) {
        stage->slice = staged_slice_of_x(plan, t->rows.slice, d);
        for (int64_t channel = 0; stage->slice >= 0 && channel < g->channels_in;
             channel += plan->k_block) {
            stage->channel = channel;
            stage->channels = ry_min(plan->k_block, g->channels_in - channel);
            RY_ISA_SYMBOL(staged_stage_k_block)(stage);
            for (int64_t p = 0; p < g->phases; p++) {
                if (plan->phase[p].slice[d].count > 0) {
                    sum_runs(t, &plan->phase[p], &plan->phase[p].slice[d], channel,
                             stage->channels);
                }
            }
        }
    }
    for (int64_t p = 0; p < g->phases; p++) {
        if (!t->started[p]) {
            sum_runs(t, &plan->phase[p], &(staged_slice){0, 0}, 0, 0);
        }
    }
    for (int64_t p = 0; p < g->phases; p += plan->interleave) {
        RY_ISA_SYMBOL(out_rows_epilogue)(&t->rows, &plan->phase[p].at, p);
    }
}

static void activate(const task *t, float *y, int64_t rows, int64_t step, int64_t columns)
{
    if (!t->bounds) {
        RY_ISA_SYMBOL(activate_rows)(t->activation, y, step, rows, columns);
    }
}

/* CHANNELS: a row of pixels of one oc block, [pixel][channel]. */
static void sum_pixels(const task *t, staged_tile *tile, float *y, int64_t y_pixel,
                       int64_t channels)
{
    const staged_plan *plan = t->plan;
    const int64_t pixels = plan->columns,
                  parts = ry_ceil_div(pixels, ry_min(RY_TILE_ROWS, STAGED_MAX_PIXELS));
    const float *staged = tile->staged;
    tile->columns = channels;
    tile->c_step = y_pixel;
    for (int64_t i = 0, q = 0; i < parts; i++) {
        const int64_t here = pixels / parts + (i < pixels % parts);
        tile->staged = staged + q * tile->pixel_step;
        tile->c = y + q * y_pixel;
        RY_ISA_SYMBOL(staged_channel_tiles)[ry_ceil_div(channels, RY_W) - 1][here - 1](tile);
        if (!plan->transposed) {
            activate(t, tile->c, here, y_pixel, channels);
        }
        q += here;
    }
}

/* A row of y whose pixels are next to each other, from [pixel][channel]. */
static void transpose_row(const task *t, float *y, int64_t channels)
{
    const staged_plan *plan = t->plan;
    const int64_t pixels = plan->columns, step = ry_round_up(pixels, RY_W);
    float *transposed = t->transposed_sums + step * RY_TILE_COLUMNS;
    RY_ISA_SYMBOL(transpose_block)
    (t->transposed_sums, RY_TILE_COLUMNS, pixels, channels, transposed, step);
    for (int64_t i = 0; i < channels; i++) {
        memcpy(y + i * plan->geometry.y_channel, transposed + i * step, (size_t)pixels * sizeof *y);
    }
    activate(t, y, channels, plan->geometry.y_channel, pixels);
}

/* A row of outputs of one oc block, from tiles to y. */
static void sum_row(const task *t, staged_tile *tile, const strip *all, float *y, int64_t channels)
{
    const staged_plan *plan = t->plan;
    const ry_conv_geometry *g = &plan->geometry;
    if (staged_ends_in_rows(plan->form)) {
        tile->c_step = g->y_channel;
        sum_strip(tile, all, t->masks, channels, tile->staged, y);
        activate(t, y, channels, g->y_channel, plan->columns);
    } else if (plan->transposed) {
        sum_pixels(t, tile, t->transposed_sums, RY_TILE_COLUMNS, channels);
        transpose_row(t, y, channels);
    } else {
        sum_pixels(t, tile, y, plan->phase[0].at.y_step[2], channels);
    }
}

/* PLACE: lanes of the vector from column `column` on that a tap reads inside x. */
static uint32_t lanes_inside(const ry_conv_geometry *g, const ry_conv_tap *tap, int64_t column)
{
    const int64_t at = column + tap->at[2], first = ry_min(ry_max(-at, 0), RY_W),
                  end = ry_max(ry_min(g->in[2] - at, RY_W), first);
    return (uint32_t)((1ull << end) - (1ull << first));
}

static void find_masks(const staged_plan *plan, place_masks *masks)
{
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t column = (plan->columns - 1) / RY_W * RY_W,
                  read = ry_round_up(plan->columns - column, RY_GRAIN);
    for (int64_t t = 0; t < g->taps; t++) {
        const uint32_t first = lanes_inside(g, &staged_taps(plan)[t], 0),
                       last = lanes_inside(g, &staged_taps(plan)[t], column);
        const uint32_t needed = RY_EVERY_LANE >> (RY_W - read);
        const int edges = (first == RY_EVERY_LANE ? 0 : STAGED_FIRST_EDGE) +
                          ((last & needed) == needed ? 0 : STAGED_LAST_EDGE);
        masks->first[t] = ry_vm_bits(first);
        masks->last[t] = ry_vm_bits(last);
        for (int i = 0; i < STAGED_EDGES; i++) {
            masks->edges[i][t] = (uint8_t)(edges & i);
        }
    }
}

/* ROWS, PLACE, CHANNELS: all channels at once. */
static void run_rows(task *t, staged_stage *stage)
{
    const staged_plan *plan = t->plan;
    const ry_conv_geometry *g = &plan->geometry;
    const ry_conv_phase *p = &plan->phase[0].at;
    const bool pixels = staged_ends_in_rows(plan->form), position = plan->form == STAGED_PLACE;
    const int64_t window = g->kernel[2] * (pixels ? 1 : g->channels_in),
                  window_row = g->dilation[1] * plan->pitch; /* steps of a row of it */
    const float *x = (const float *)(const void *)stage->x + t->rows.image * g->x_batch;
    stage->channels = g->channels_in;
    if (!position) {
        RY_ISA_SYMBOL(staged_stage_k_block)(stage);
    }
    const float *weights = t->packed;
    for (int64_t oc_block = 0; oc_block < plan->oc_blocks; oc_block++) {
        const int64_t first = staged_oc_block_first(plan, oc_block),
                      channels = staged_oc_block_first(plan, oc_block + 1) - first;
        const int64_t packed = staged_oc_block_packed(plan, oc_block);
        const strip all = cut_strip(plan->columns, channels);
        staged_tile tile = {.bias = t->rows.bias + first, .low = t->low, .high = t->high};
        for (int64_t i = 0; i < t->rows.rows; i++) {
            const int64_t row = t->rows.row + i;
            int64_t inside, end;
            staged_rows_inside(plan, row, &inside, &end);
            tile.weights = weights + inside * window * packed;
            if (pixels) {
                tile.outer = g->channels_in;
                tile.inner = (end - inside) * window;
                tile.weights_step = g->taps * packed;
                tile.staged_step = position ? g->x_channel : plan->planes * plan->plane;
                tile.offset = plan->offset + inside * window;
                tile.staged =
                    position ? x + row * g->stride[1] * g->x_step[1] : t->staged + i * plan->pitch;
            } else {
                tile.outer = end - inside;
                tile.inner = window;
                tile.weights_step = window * packed;
                tile.staged_step = window_row;
                tile.pixel_step = g->stride[2] * g->channels_in;
                tile.staged = t->staged + i * g->stride[1] * plan->pitch + inside * window_row;
            }
            float *y = (float *)t->rows.launch->out[0] + t->rows.image * g->y_batch +
                       (t->rows.group * g->channels_out + first) * g->y_channel +
                       row * p->y_step[1];
            sum_row(t, &tile, &all, y, channels);
        }
        weights += g->taps * g->channels_in * packed;
    }
}

/* The rows of x that the task's outputs read. */
static staged_stage stage_of(const task *t, char *scratch)
{
    const staged_plan *plan = t->plan;
    const out_rows *rows = &t->rows;
    return (staged_stage){.plan = plan,
                          .dtype = ry_type_of(&rows->launch->problem->in[0]),
                          .staged = t->staged,
                          .lines = RY_AT(float, scratch, plan->lines),
                          .image = rows->image,
                          .images = rows->images,
                          .row = rows->row,
                          .before = plan->before[1] - rows->column * plan->geometry.stride[2]};
}

static void run(const ry_cpu_launch *launch, size_t index)
{
    const staged_plan *plan = launch->state;
    const ry_conv_geometry *g = &plan->geometry;
    ry_cut_range range[RY_CUT_AXES];
    ry_cut_task(&plan->cut, index, range);
    const int64_t group = range[1].first, end = group + range[1].count;
    char *scratch = launch->scratch;
    place_masks masks;
    task t = {.plan = plan,
              .rows = {.launch = launch,
                       .geometry = g,
                       .image = range[0].first,
                       .images = range[0].count,
                       .slice = range[2].first,
                       .row = range[3].first,
                       .rows = range[3].count,
                       .column = range[4].first,
                       .length = plan->columns,
                       .image_rows = plan->image_rows,
                       .pitch = plan->pitch,
                       .positions = plan->positions,
                       .interleave = plan->interleave,
                       .adjacent = plan->adjacent,
                       .sums = RY_AT(float, scratch, plan->sums),
                       .interleaved_row = RY_AT(float, scratch, plan->interleaved_row),
                       .bias = RY_AT(float, scratch, plan->bias),
                       .run = RY_AT(epilogue_run, scratch, plan->runs)},
              .staged = RY_AT(float, scratch, plan->staged),
              .transposed_sums = RY_AT(float, scratch, plan->transposed_sums),
              .activation = ry_conv_activation(launch->problem)};
    out_rows *rows = &t.rows;
    rows->columns =
        ((rows->images - 1) * plan->image_rows + rows->rows - 1) * plan->pitch + plan->columns;
    t.bounds = ry_activation_bounds(t.activation, &t.low, &t.high);
    if (plan->form == STAGED_PLACE) {
        find_masks(plan, &masks);
        t.masks = &masks;
    }
    staged_stage stage = stage_of(&t, scratch);
    const int64_t x_group = g->channels_in * g->x_channel * (int64_t)ry_dtype_size(stage.dtype);
    memset(rows->bias + g->phases * g->channels_out, 0,
           (size_t)plan->max_oc_block * sizeof *rows->bias); /* full vectors are read */
    for (rows->group = group; rows->group < end; rows->group++) {
        t.packed = (const float *)launch->packed + rows->group * plan->packed_group;
        stage.x = (const char *)launch->in[0] + rows->group * x_group;
        for (int64_t p = 0; p < g->phases; p++) {
            RY_ISA_SYMBOL(out_rows_read_bias)(rows, &plan->phase[p].at, p);
        }
        if (plan->form == STAGED_RUNS) {
            run_runs(&t, &stage);
        } else {
            run_rows(&t, &stage);
        }
    }
}

/* Weights of some output channels, `first` first, by tap and channel or by channel and tap; then
 * zeros until there are `columns`. */
static float *pack_oc_block(const staged_plan *plan, const ry_cpu_launch *launch,
                            const ry_conv_tap *tap, int64_t taps, int64_t first, int64_t count,
                            int64_t columns, float *to)
{
    const ry_conv_geometry *g = &plan->geometry;
    const ry_dtype dtype = ry_type_of(&launch->problem->in[1]);
    const int64_t size = (int64_t)ry_dtype_size(dtype);
    for (int64_t j = 0; j < g->channels_in * taps; j++) {
        const bool by_tap = plan->form == STAGED_CHANNELS;
        const int64_t c = by_tap ? j % g->channels_in : j / taps,
                      t = by_tap ? j / g->channels_in : j % taps;
        const char *from =
            (const char *)launch->in[1] + (first + c * g->w_in + tap[t].weight) * size;
        for (int64_t k = 0; k < columns; k++) {
            *to++ = k < count ? ry_load_one(dtype, from + k * g->w_out * size) : 0;
        }
    }
    return to;
}

static void pack(const ry_cpu_launch *launch, size_t group)
{
    const staged_plan *plan = launch->state;
    const ry_conv_geometry *g = &plan->geometry;
    for (int64_t i = 0; i < g->phases * plan->depths; i++) {
        const staged_phase *phase = &plan->phase[i / plan->depths];
        const staged_slice *slice = &phase->slice[i % plan->depths];
        const ry_conv_tap *tap = staged_taps(plan) + phase->at.first_tap + slice->first;
        float *to = (float *)launch->packed_out + (int64_t)group * plan->packed_group +
                    phase->packed + slice->first * g->channels_in * g->channels_out;
        for (int64_t oc_block = 0; oc_block < plan->oc_blocks; oc_block++) {
            const int64_t first = staged_oc_block_first(plan, oc_block),
                          count = staged_oc_block_first(plan, oc_block + 1) - first;
            to = pack_oc_block(plan, launch, tap, slice->count,
                               (int64_t)group * g->w_group + first * g->w_out, count,
                               staged_oc_block_packed(plan, oc_block), to);
        }
    }
}

RY_CONV_KERNELS(staged, .applicable = ry_staged_is_possible, .knobs = ry_staged_knobs,
                .knob_count = STAGED_KNOBS, .values = ry_staged_values,
                .prepare = ry_staged_prepare, .initialise = ry_staged_initialise, .pack = pack,
                .run = run, .packed_inputs = 1u << 1, .packing = ry_staged_packing);
