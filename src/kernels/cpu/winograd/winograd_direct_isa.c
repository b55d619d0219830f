/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over taps of tiles' outputs, where Winograd's form does not hold. */
#include "base/whole.h"
#include "kernels/cpu/conv/tile.h"
#include "kernels/cpu/winograd/winograd_mend.h"

#include <math.h>

/* Infinities of both signs soon meet in a sum, which then is NaN: a first part of few terms ends most of them. */
enum { FIRST_CHANNELS = 8 };

/* Some input channels of one depth tap. */
typedef struct part {
    const winograd_plan *plan;
    const winograd_unit *unit;
    winograd_range reach[2];
    int64_t tap, channel, channels; /* of the depth; first input channel, how many */
    float *weights;                 /* [tap of the height][tap of the width][input channel][column] */
    float *inputs;                  /* of one tile: [row][position][input channel] */
} part;

static int64_t taps_along(const part *p)
{
    return p->reach[1].end - p->reach[1].first;
}

static void copy_weights(const part *p)
{
    const ry_conv_geometry *g = &p->plan->geometry;
    const winograd_axis *h = &p->plan->axis[0], *w = &p->plan->axis[1];
    const int64_t wide = taps_along(p), taps = (p->reach[0].end - p->reach[0].first) * wide, columns = p->unit->columns;
    for (int64_t tap = 0; tap < taps; tap++) {
        const int64_t r = winograd_weight(h, p->unit->phase[0], p->reach[0].first + tap / wide);
        const int64_t s = winograd_weight(w, p->unit->phase[1], p->reach[1].first + tap % wide);
        const float *from = p->unit->w + p->tap * g->w_step[0] + r * g->w_step[1] + s * g->w_step[2] + p->channel * g->w_in;
        float *to = p->weights + tap * p->channels * columns;
        for (int64_t c = 0; c < p->channels; c++) {
            for (int64_t k = 0; k < p->unit->channels; k++) {
                const int64_t column = p->unit->channel + k;
                to[c * columns + k] =
                    winograd_columns_beside(p->plan, column, 1) < 1 ? 0 : from[c * g->w_in + winograd_column_w(p->plan, column)];
            }
            for (int64_t k = p->unit->channels; k < columns; k++) {
                to[c * columns + k] = 0;
            }
        }
    }
}

/* x: of the image, the depth and the row; start: position of the first input. */
static void copy_row(const part *p, const float *x, int64_t start, float *to)
{
    const ry_conv_geometry *g = &p->plan->geometry;
    const winograd_axis *w = &p->plan->axis[1];
    const int64_t count = w->points * w->classes, channels = p->channels;
    if (g->x_channel == 1) {
        for (int64_t j = 0; j < count; j++) {
            const int64_t at = start + winograd_position(w, j);
            if (at >= 0 && at < g->in[2]) {
                memcpy(to + j * channels, x + at * g->x_step[2], (size_t)channels * sizeof *to);
            } else {
                memset(to + j * channels, 0, (size_t)channels * sizeof *to);
            }
        }
        return;
    }
    int64_t at[2 * WINOGRAD_POINTS_MOST];
    int64_t first = count, end = 0; /* those inside x */
    for (int64_t j = 0; j < count; j++) {
        at[j] = start + winograd_position(w, j);
        const bool inside = at[j] >= 0 && at[j] < g->in[2];
        first = inside ? ry_least(first, j) : first;
        end = inside ? j + 1 : end;
    }
    memset(to, 0, (size_t)(count * channels) * sizeof *to);
    /* planes may lie so that all their lines meet in one set of a cache: each is read once */
    for (int64_t c = 0; c < channels; c++) {
        const float *from = x + c * g->x_channel;
        for (int64_t j = first; j < end; j++) {
            to[j * channels + c] = from[at[j]];
        }
    }
}

/* The inputs of one tile; false: they are padding. */
static bool copy_inputs(const part *p, const winograd_run *run, int64_t index)
{
    const ry_conv_geometry *g = &p->plan->geometry;
    const winograd_axis *h = &p->plan->axis[0], *w = &p->plan->axis[1];
    const int64_t depth = run->depth * g->stride[0] + p->tap * g->dilation[0] - g->before[0];
    if (depth < 0 || depth >= g->in[0]) {
        return false;
    }
    const float *x = p->unit->x + run->image * g->x_batch + depth * g->x_step[0] + p->channel * g->x_channel;
    const int64_t top = winograd_tiles(p->plan, 0)[run->row].origin * h->stride - h->pad;
    const int64_t start = winograd_tiles(p->plan, 1)[run->column + index].origin * w->stride - w->pad;
    const int64_t row_floats = w->points * w->classes * p->channels;
    for (int64_t i = 0; i < h->points * h->classes; i++) {
        const int64_t row = top + winograd_position(h, i);
        if (row >= 0 && row < g->in[1]) {
            copy_row(p, x + row * g->x_step[1], start, p->inputs + i * row_floats);
        } else {
            memset(p->inputs + i * row_floats, 0, (size_t)row_floats * sizeof *p->inputs);
        }
    }
    return true;
}

static bool are_finite(const part *p)
{
    const int64_t count = p->plan->points * p->plan->classes * p->channels;
    int64_t finite = 0;
    for (int64_t i = 0; i < count; i++) {
        finite += p->inputs[i] - p->inputs[i] == 0;
    }
    return finite == count;
}

/* Adds to the sums of row i of a tile. */
static int64_t add_row(const part *p, int64_t i, float *sums)
{
    const winograd_plan *plan = p->plan;
    const winograd_axis *h = &plan->axis[0], *w = &plan->axis[1];
    const int64_t depth = taps_along(p) * p->channels, columns = p->unit->columns, down = p->reach[0].end - p->reach[0].first;
    ry_tile tile = {.depth = depth,
                    .a_step = w->classes * p->channels,
                    .b_step = columns,
                    .c = sums,
                    .c_step = plan->m_point,
                    .columns = columns,
                    .low = -INFINITY,
                    .high = INFINITY,
                    .start = RY_TILE_FROM_C};
    for (int64_t u = 0; u < down; u++) {
        const int64_t row = i * h->classes + p->reach[0].first + u;
        tile.a = p->inputs + (row * w->points * w->classes + p->reach[1].first) * p->channels;
        tile.b = p->weights + u * depth * columns;
        RY_ISA_SYMBOL(ry_tiles).f32[true][columns / RY_W - 1][w->outputs - 1](&tile);
    }
    return down * depth * w->outputs * (columns / RY_W);
}

static bool all_nan(const float *row, int64_t count)
{
    int64_t nans = 0;
    for (int64_t k = 0; k < count; k++) {
        nans += row[k] != row[k];
    }
    return nans == count;
}

static int64_t add_tile(const part *p, winograd_outputs *outputs, float *sums)
{
    const winograd_axis *h = &p->plan->axis[0], *w = &p->plan->axis[1];
    int64_t steps = 0;
    for (int64_t i = 0; i < h->outputs; i++) {
        const int64_t at = i * w->outputs;
        if (outputs->open >> at & ((UINT64_C(1) << w->outputs) - 1)) {
            steps += add_row(p, i, sums + at * p->plan->m_point);
        }
    }
    for (int64_t o = 0; o < h->outputs * w->outputs; o++) {
        if ((outputs->open >> o & 1) && all_nan(sums + o * p->plan->m_point, p->unit->columns)) {
            outputs->open &= ~(UINT64_C(1) << o);
        }
    }
    return steps;
}

/* Adds a part's products to the sums that are open. */
static int64_t add_part(const part *p)
{
    const winograd_unit *unit = p->unit;
    winograd_run run;
    int64_t steps = 0;
    bool copied = false;
    for (int64_t done = 0; done < unit->count; done += run.count) {
        run = winograd_find_run(p->plan, unit->first + done, unit->count - done, 1, INT64_MAX);
        for (int64_t i = 0; i < run.count; i++) {
            winograd_outputs *outputs = unit->outputs + (done + i) * p->plan->phases;
            if (outputs->open == 0 || !copy_inputs(p, &run, i) || (!outputs->terms && are_finite(p))) {
                continue;
            }
            if (!copied) {
                copy_weights(p);
                copied = true;
            }
            steps += add_tile(p, outputs, unit->m + (done + i) * p->plan->m_row);
        }
    }
    return steps;
}

int64_t RY_ISA_SYMBOL(winograd_sum_directly)(const winograd_plan *plan, const winograd_unit *unit, float *stage)
{
    const ry_conv_geometry *g = &plan->geometry;
    const winograd_axis *h = &plan->axis[0], *w = &plan->axis[1];
    part p = {.plan = plan,
              .unit = unit,
              .reach = {winograd_reach(h, unit->phase[0]), winograd_reach(w, unit->phase[1])},
              .weights = stage,
              .inputs = stage + plan->mended_weights};
    for (int64_t i = 0; i < unit->count; i++) {
        winograd_outputs *outputs = unit->outputs + i * plan->phases;
        outputs->open = outputs->direct;
        for (int64_t o = 0; outputs->direct && o < h->outputs * w->outputs; o++) {
            memset(unit->m + i * plan->m_row + o * plan->m_point, 0, (size_t)unit->columns * sizeof *unit->m);
        }
    }
    int64_t steps = 0;
    for (p.tap = 0; p.tap < g->kernel[0]; p.tap++) {
        for (p.channel = 0; p.channel < g->channels_in; p.channel += p.channels) {
            const int64_t most = p.tap == 0 && p.channel == 0 ? ry_least(plan->mended_channels, FIRST_CHANNELS) : plan->mended_channels;
            p.channels = ry_least(most, g->channels_in - p.channel);
            steps += add_part(&p);
        }
    }
    return steps;
}
