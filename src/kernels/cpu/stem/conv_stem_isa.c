/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel: convolution of few input channels, straight from rows of x. */
#include "kernels/cpu/conv/activation.h"
#include "kernels/cpu/conv/conv_kernel.h"
#include "kernels/cpu/conv/finish.h"
#include "kernels/cpu/conv/part_row.h"
#include "kernels/cpu/stem/stem_plan.h"
#include "kernels/cpu/stem/stem_tile.h"

typedef struct task {
    const stem_plan *plan;
    const ry_cpu_launch *launch;
    const float *x; /* of the image */
    float *y;       /* of the task's first row */
    float *stage, *bias, *block;
    int64_t rows, top; /* of outputs; the first row that is read */
    ry_activation_of activation;
    bool bounds;
    float low, high;
} task;

/* Positions i with 0 <= start + i * step < extent, as bits. */
static uint32_t inside(int64_t start, int64_t step, int64_t extent)
{
    const int64_t first = start < 0 ? (step - 1 - start) / step : 0, end = start >= extent ? 0 : (extent - start + step - 1) / step;
    const uint32_t below = end >= RY_W ? RY_EVERY_LANE : end <= 0 ? 0 : (1u << end) - 1u;
    return first >= RY_W ? 0 : below >> first << first;
}

/* Elements start + i * stride of a row, i < count; those outside are 0. */
RY_INLINE void stage_strip(const int near, const float *x, int64_t step, int64_t start, int64_t stride, int64_t extent, int64_t count,
                           float *to)
{
    for (int64_t i = 0; i < count; i += RY_W) {
        const int64_t at = start + i * stride;
        const bool whole = at >= 0 && at + (RY_W - 1) * stride < extent;
        const uint32_t bits = whole ? RY_EVERY_LANE : inside(at, stride, extent);
        ry_vf_store(to + i, bits ? ry_load_lanes(RY_f32, near, (const char *)(x + at * (step / stride)), step, bits) : ry_vf_zero());
    }
}

/* All strips of one channel's row of x, whose pixels lie next to each other. */
static void part_strips(const stem_plan *plan, const float *x, float *strips)
{
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t pad = plan->pad[1];
    const ry_row_of_x row = {(const char *)(x - pad), pad < 0 ? 0 : pad, g->in[2] + pad};
    float *to[RY_PART_MOST] = {NULL};
    for (int64_t i = 0; i < g->stride[2]; i++) {
        to[i] = strips + i * plan->strip;
    }
    switch (g->stride[2]) {
    case 2: ry_part_row(RY_f32, 2, &row, plan->strip, to); break;
    case 3: ry_part_row(RY_f32, 3, &row, plan->strip, to); break;
    default: ry_part_row(RY_f32, 4, &row, plan->strip, to); break;
    }
}

/* PIXELS: every strip of one row of x; NULL: of zeros. */
static void stage_strips(const stem_plan *plan, const float *x, float *to)
{
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t stride = g->stride[2], step = stride * g->x_step[2];
    const int near = ry_lane_steps(step);
    if (!x) {
        memset(to, 0, (size_t)plan->row * sizeof *to);
        return;
    }
    if (g->x_step[2] == 1 && stride > 1 && stride <= RY_PART_MOST) {
        for (int64_t c = 0; c < g->channels_in; c++, to += stride * plan->strip) {
            part_strips(plan, x + c * g->x_channel, to);
        }
        return;
    }
    for (int64_t strip = 0; strip < g->channels_in * stride; strip++, to += plan->strip) {
        const float *from = x + strip / stride * g->x_channel;
        const int64_t start = strip % stride - plan->pad[1];
        if (near == RY_NEAR) {
            stage_strip(RY_NEAR, from, 1, start, 1, g->in[2], plan->strip, to);
        } else {
            stage_strip(near, from, step, start, stride, g->in[2], plan->strip, to);
        }
    }
}

/* Of each vector of [position][channel], what it takes from a vector of positions of channels 0 and 1, and of 2 and 3. */
typedef struct weave {
    ry_vi at[STEM_WOVEN_MOST][STEM_WOVEN_MOST / 2];
    ry_vm keep[STEM_WOVEN_MOST][STEM_WOVEN_MOST / 2];
} weave;

static void find_weave(int64_t channels, weave *w)
{
    for (int64_t v = 0; v < channels; v++) {
        for (int64_t pair = 0; pair < STEM_WOVEN_MOST / 2; pair++) {
            int32_t at[RY_W];
            uint32_t keep = 0;
            for (int64_t lane = 0; lane < RY_W; lane++) {
                const int64_t position = (v * RY_W + lane) / channels, channel = (v * RY_W + lane) % channels;
                const bool here = channel / 2 == pair;
                at[lane] = (int32_t)(here ? channel % 2 * RY_W + position : 0);
                keep |= here ? 1u << lane : 0;
            }
            w->at[v][pair] = ry_vi_load(at);
            w->keep[v][pair] = ry_vm_bits(keep);
        }
    }
}

/* Rows of channels, whose positions lie next to each other, as [position][channel]; returns how many positions, in whole vectors. */
RY_INLINE int64_t weave_positions(const weave *w, const int channels, const float *x, int64_t x_channel, int64_t count, float *to)
{
    int64_t i = 0;
    for (; i + RY_W <= count; i += RY_W) {
        ry_vf row[STEM_WOVEN_MOST];
#pragma GCC unroll 4
        for (int c = 0; c < STEM_WOVEN_MOST; c++) {
            row[c] = ry_vf_load(x + (c < channels ? c : 0) * x_channel + i);
        }
#pragma GCC unroll 4
        for (int v = 0; v < channels; v++) {
            ry_vf woven = ry_vf_pick(row[0], row[1], w->at[v][0], w->keep[v][0]);
            if (channels > 2) {
                woven = ry_vf_add(woven, ry_vf_pick(row[2], row[3], w->at[v][1], w->keep[v][1]));
            }
            ry_vf_store(to + i * channels + v * RY_W, woven);
        }
    }
    return i;
}

/* CHANNELS: one row of x as [position][channel]; NULL: zeros. */
static void stage_positions(const stem_plan *plan, const weave *w, const float *x, float *to)
{
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t channels = g->channels_in, room = plan->strip / channels, pad = plan->pad[1];
    const int64_t first = pad < 0 ? 0 : pad < room ? pad : room, end = g->in[2] + pad < room ? g->in[2] + pad : room;
    memset(to, 0, (size_t)plan->strip * sizeof *to);
    if (!x || end <= first) {
        return;
    }
    x += (first - pad) * g->x_step[2];
    to += first * channels;
    if (g->x_step[2] == channels && (g->x_channel == 1 || channels == 1)) {
        memcpy(to, x, (size_t)((end - first) * channels) * sizeof *to);
        return;
    }
    int64_t woven = 0;
    if (stem_weaves(g)) {
        woven = channels == 2   ? weave_positions(w, 2, x, g->x_channel, end - first, to)
                : channels == 3 ? weave_positions(w, 3, x, g->x_channel, end - first, to)
                                : weave_positions(w, 4, x, g->x_channel, end - first, to);
    }
    for (int64_t c = 0; c < channels; c++) {
        for (int64_t i = woven; i < end - first; i++) {
            to[i * channels + c] = x[c * g->x_channel + i * g->x_step[2]];
        }
    }
}

static void stage_rows(const task *t)
{
    const stem_plan *plan = t->plan;
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t rows = (t->rows - 1) * g->stride[1] + (g->kernel[1] - 1) * plan->dilation + 1;
    weave w;
    if (!plan->pixels && stem_weaves(g)) {
        find_weave(g->channels_in, &w);
    }
    for (int64_t i = 0; i < rows; i++) {
        const int64_t row = t->top + i;
        const float *x = row >= 0 && row < g->in[1] ? t->x + row * g->x_step[1] : NULL;
        if (plan->pixels) {
            stage_strips(plan, x, t->stage + i * plan->row);
        } else {
            stage_positions(plan, &w, x, t->stage + i * plan->row);
        }
    }
}

static void activate(const task *t, float *y, int64_t rows, int64_t step, int64_t columns)
{
    if (!t->bounds) {
        RY_ISA_SYMBOL(ry_activate_rows)(t->activation, y, step, rows, columns);
    }
}

/* One row of outputs of one unit of channels. */
static void row_of_pixels(const task *t, stem_tile *tile, float *y, int64_t channels)
{
    const stem_plan *plan = t->plan;
    const float *staged = tile->staged;
    tile->c_step = plan->geometry.y_channel;
    for (int64_t q = 0; q < plan->geometry.out[2]; q += RY_TILE_COLUMNS) {
        const int64_t left = plan->geometry.out[2] - q;
        tile->columns = left < RY_TILE_COLUMNS ? left : RY_TILE_COLUMNS;
        tile->staged = staged + q;
        tile->c = y + q;
        RY_ISA_SYMBOL(stem_tiles)[true][(tile->columns + RY_W - 1) / RY_W - 1][channels - 1](tile);
    }
    activate(t, y, channels, plan->geometry.y_channel, plan->geometry.out[2]);
}

static void row_of_channels(const task *t, stem_tile *tile, float *y, int64_t y_pixel, int64_t channels)
{
    const stem_plan *plan = t->plan;
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t parts = (g->out[2] + plan->rows_most - 1) / plan->rows_most;
    const float *staged = tile->staged;
    tile->columns = channels;
    tile->c_step = y_pixel;
    for (int64_t i = 0, q = 0; i < parts; i++) {
        const int64_t pixels = g->out[2] / parts + (i < g->out[2] % parts);
        tile->staged = staged + q * tile->pixel_step;
        tile->c = y + q * y_pixel;
        RY_ISA_SYMBOL(stem_tiles)[false][(channels + RY_W - 1) / RY_W - 1][pixels - 1](tile);
        if (!plan->turned) {
            activate(t, tile->c, pixels, y_pixel, channels);
        }
        q += pixels;
    }
}

/* A row of y whose pixels lie next to each other, from [pixel][channel]. */
static void turn_row(const task *t, float *y, int64_t channels)
{
    const stem_plan *plan = t->plan;
    const int64_t pixels = plan->geometry.out[2], step = (pixels + RY_W - 1) / RY_W * RY_W;
    float *turned = t->block + step * RY_TILE_COLUMNS;
    RY_ISA_SYMBOL(igemm_turn)(t->block, RY_TILE_COLUMNS, pixels, channels, turned, step);
    for (int64_t i = 0; i < channels; i++) {
        memcpy(y + i * plan->geometry.y_channel, turned + i * step, (size_t)pixels * sizeof *y);
    }
    activate(t, y, channels, plan->geometry.y_channel, pixels);
}

static void multiply(const task *t)
{
    const stem_plan *plan = t->plan;
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t row = g->kernel[2] * g->channels_in; /* of the window */
    stem_tile tile = {.taps = 1, .low = t->low, .high = t->high};
    if (!plan->pixels) {
        tile.depth = row;
        tile.tap_step = plan->dilation * plan->row;
        tile.pixel_step = g->stride[2] * g->channels_in;
    }
    tile.weights = t->launch->packed;
    for (int64_t unit = 0; unit < plan->units; unit++) {
        const int64_t first = stem_unit_first(plan, unit), channels = stem_unit_first(plan, unit + 1) - first;
        const float *weights = tile.weights;
        tile.bias = t->bias + first;
        for (int64_t i = 0; i < t->rows; i++) {
            float *y = t->y + i * plan->y_row + first * g->y_channel;
            int64_t inside, end;
            stem_rows_inside(plan, t->top + i * g->stride[1], &inside, &end);
            tile.weights = weights + inside * row * stem_unit_packed(plan, unit);
            tile.staged = t->stage + i * g->stride[1] * plan->row;
            if (plan->pixels) {
                tile.depth = (end - inside) * row;
                tile.offset = plan->offset + inside * row;
                row_of_pixels(t, &tile, y, channels);
                continue;
            }
            tile.taps = end - inside;
            tile.staged += inside * tile.tap_step;
            if (plan->turned) {
                row_of_channels(t, &tile, t->block, RY_TILE_COLUMNS, channels);
                turn_row(t, y, channels);
            } else {
                row_of_channels(t, &tile, y, plan->y_pixel, channels);
            }
        }
        tile.weights = weights + plan->depth * stem_unit_packed(plan, unit);
    }
}

static void read_bias(const ry_cpu_launch *launch, const stem_plan *plan, float *bias)
{
    const int64_t channels = plan->geometry.channels_out;
    const float *from = ry_problem_has_input(launch->problem, 2) ? launch->in[2] : NULL;
    const int64_t step = from ? launch->problem->in[2].stride[0] : 0, given = from ? channels : 0;
    if (step == 1) {
        memcpy(bias, from, (size_t)channels * sizeof *bias);
    } else {
        for (int64_t i = 0; i < given; i++) {
            bias[i] = from[i * step];
        }
    }
    memset(bias + given, 0, (size_t)(channels - given + plan->columns_most) * sizeof *bias);
}

static void run(const ry_cpu_launch *launch, size_t index)
{
    const stem_plan *plan = launch->state;
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t image = (int64_t)index / plan->blocks, first = (int64_t)index % plan->blocks * plan->rows_a_task;
    const int64_t left = g->out[1] - first;
    char *scratch = launch->scratch;
    task t = {.plan = plan,
              .launch = launch,
              .x = (const float *)launch->in[0] + image * g->x_batch,
              .y = (float *)launch->out[0] + image * g->y_batch + first * plan->y_row,
              .stage = (float *)(void *)(scratch + plan->stage),
              .bias = (float *)(void *)(scratch + plan->bias),
              .block = (float *)(void *)(scratch + plan->block),
              .rows = left < plan->rows_a_task ? left : plan->rows_a_task,
              .top = first * g->stride[1] - plan->pad[0],
              .activation = ry_conv_activation(launch->problem)};
    t.bounds = ry_activation_bounds(t.activation, &t.low, &t.high);
    read_bias(launch, plan, t.bias);
    stage_rows(&t);
    multiply(&t);
}

static void pack(const ry_cpu_launch *launch, size_t index)
{
    (void)index;
    stem_pack(launch->state, launch->in[1], launch->packed_out);
}

RY_CONV_KERNELS(stem, .applicable = stem_is_possible, .knobs = stem_knobs, .knob_count = STEM_KNOBS, .values = stem_values,
                .prepare = stem_prepare, .initialise = stem_initialise, .pack = pack, .run = run, .packed_inputs = 1u << 1);
