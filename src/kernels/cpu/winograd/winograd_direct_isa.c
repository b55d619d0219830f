/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over taps of tiles' outputs, where Winograd's form does not hold. */
#include "base/integer.h"
#include "kernels/cpu/parts/tile.h"
#include "kernels/cpu/winograd/winograd_fixup.h"

#include <math.h>

/* Infinities of both signs soon meet in a sum, which then is NaN: a first part of few terms ends
 * most of them. */
enum { FIRST_CHANNELS = 8 };

/* Some input channels of one depth tap. */
typedef struct part {
    const winograd_plan *plan;
    const winograd_oc_block *oc_block;
    winograd_range read_span[2];
    int64_t tap, channel, channels; /* depth tap; first input channel, their number */
    float *weights; /* [tap of the height][tap of the width][input channel][column] */
    float *inputs;  /* one tile: [row][position][input channel] */
} part;

static int64_t taps_along(const part *p)
{
    return p->read_span[1].end - p->read_span[1].first;
}

static void copy_weights(const part *p)
{
    const ry_conv_geometry *g = &p->plan->geometry;
    const winograd_axis *h = &p->plan->axis[0], *w = &p->plan->axis[1];
    const int64_t wide = taps_along(p), taps = (p->read_span[0].end - p->read_span[0].first) * wide,
                  columns = p->oc_block->columns;
    for (int64_t tap = 0; tap < taps; tap++) {
        const int64_t r =
            winograd_weight(h, p->oc_block->phase[0], p->read_span[0].first + tap / wide);
        const int64_t s =
            winograd_weight(w, p->oc_block->phase[1], p->read_span[1].first + tap % wide);
        const float *from = p->oc_block->w + p->tap * g->w_step[0] + r * g->w_step[1] +
                            s * g->w_step[2] + p->channel * g->w_in;
        float *to = p->weights + tap * p->channels * columns;
        for (int64_t c = 0; c < p->channels; c++) {
            for (int64_t k = 0; k < p->oc_block->channels; k++) {
                const int64_t column = p->oc_block->channel + k;
                to[c * columns + k] = winograd_adjacent_columns(p->plan, column, 1) < 1
                                          ? 0
                                          : from[c * g->w_in + winograd_column_w(p->plan, column)];
            }
            for (int64_t k = p->oc_block->channels; k < columns; k++) {
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
    int64_t at[2 * WINOGRAD_MAX_POINTS];
    int64_t first = count, end = 0; /* those inside x */
    for (int64_t j = 0; j < count; j++) {
        at[j] = start + winograd_position(w, j);
        const bool inside = at[j] >= 0 && at[j] < g->in[2];
        first = inside ? ry_min(first, j) : first;
        end = inside ? j + 1 : end;
    }
    memset(to, 0, (size_t)(count * channels) * sizeof *to);
    /* planes may be stored so that all their lines meet in one set of a cache: each is read once */
    for (int64_t c = 0; c < channels; c++) {
        const float *from = x + c * g->x_channel;
        for (int64_t j = first; j < end; j++) {
            to[j * channels + c] = from[at[j]];
        }
    }
}

/* Copies the inputs of one tile; false: all are padding of the depth. */
static bool copy_inputs(const part *p, const winograd_run *run, int64_t index)
{
    const ry_conv_geometry *g = &p->plan->geometry;
    const winograd_axis *h = &p->plan->axis[0], *w = &p->plan->axis[1];
    const int64_t depth = run->depth * g->stride[0] + p->tap * g->dilation[0] - g->before[0];
    if (depth < 0 || depth >= g->in[0]) {
        return false;
    }
    const float *x =
        p->oc_block->x + run->image * g->x_batch + depth * g->x_step[0] + p->channel * g->x_channel;
    const int64_t top = winograd_tiles(p->plan, 0)[run->row].origin * h->stride - h->pad;
    const int64_t start =
        winograd_tiles(p->plan, 1)[run->column + index].origin * w->stride - w->pad;
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
    const int64_t depth = taps_along(p) * p->channels, columns = p->oc_block->columns,
                  down = p->read_span[0].end - p->read_span[0].first;
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
        const int64_t row = i * h->classes + p->read_span[0].first + u;
        tile.a = p->inputs + (row * w->points * w->classes + p->read_span[1].first) * p->channels;
        tile.b = p->weights + u * depth * columns;
        RY_ISA_SYMBOL(tiles).f32[true][columns / RY_W - 1][w->outputs - 1](&tile);
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
        if ((outputs->open >> o & 1) &&
            all_nan(sums + o * p->plan->m_point, p->oc_block->columns)) {
            outputs->open &= ~(UINT64_C(1) << o);
        }
    }
    return steps;
}

/* Adds a part's products to the sums that are open. */
static int64_t add_part(const part *p)
{
    const winograd_oc_block *oc_block = p->oc_block;
    winograd_run run;
    int64_t steps = 0;
    bool copied = false;
    for (int64_t done = 0; done < oc_block->count; done += run.count) {
        run = ry_winograd_find_run(p->plan, oc_block->first + done, oc_block->count - done, 1,
                                   INT64_MAX);
        for (int64_t i = 0; i < run.count; i++) {
            winograd_outputs *outputs = oc_block->outputs + (done + i) * p->plan->phases;
            if (outputs->open == 0 || !copy_inputs(p, &run, i) ||
                (!outputs->terms && are_finite(p))) {
                continue;
            }
            if (!copied) {
                copy_weights(p);
                copied = true;
            }
            steps += add_tile(p, outputs, oc_block->m + (done + i) * p->plan->m_row);
        }
    }
    return steps;
}

int64_t RY_ISA_SYMBOL(winograd_sum_directly)(const winograd_plan *plan,
                                             const winograd_oc_block *oc_block, float *stage)
{
    const ry_conv_geometry *g = &plan->geometry;
    const winograd_axis *h = &plan->axis[0], *w = &plan->axis[1];
    part p = {.plan = plan,
              .oc_block = oc_block,
              .read_span = {winograd_tap_range(h, oc_block->phase[0]),
                            winograd_tap_range(w, oc_block->phase[1])},
              .weights = stage,
              .inputs = stage + plan->fixup_weights};
    for (int64_t i = 0; i < oc_block->count; i++) {
        winograd_outputs *outputs = oc_block->outputs + i * plan->phases;
        outputs->open = outputs->direct & ~outputs->zero;
        for (int64_t o = 0; outputs->direct && o < h->outputs * w->outputs; o++) {
            memset(oc_block->m + i * plan->m_row + o * plan->m_point, 0,
                   (size_t)oc_block->columns * sizeof *oc_block->m);
        }
    }
    int64_t steps = 0;
    for (p.tap = 0; p.tap < g->kernel[0]; p.tap++) {
        for (p.channel = 0; p.channel < g->channels_in; p.channel += p.channels) {
            const int64_t max = p.tap == 0 && p.channel == 0
                                    ? ry_min(plan->fixup_channels, FIRST_CHANNELS)
                                    : plan->fixup_channels;
            p.channels = ry_min(max, g->channels_in - p.channel);
            steps += add_part(&p);
        }
    }
    return steps;
}
