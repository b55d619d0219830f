/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts the reduction into chunks, and writes the programs that gather a chunk's pixels: for each vector and tap, the loads that fill its lanes. */
#include "kernels/cpu/conv/gather_program.h"

#include "base/whole.h"
#include "kernels/cpu/conv/grid_walk.h"

void igemm_next_chunk(const igemm_plan *plan, const igemm_phase *phase, igemm_chunk *chunk)
{
    const int64_t channels = plan->geometry.channels_in;
    chunk->first += chunk->steps;
    if (plan->mode == IGEMM_ROWS) {
        chunk->channel += chunk->channels;
        if (chunk->channel == channels) {
            chunk->channel = 0;
            chunk->tap += chunk->taps;
        }
    } else {
        chunk->tap += chunk->taps;
        if (chunk->tap == phase->at.taps && chunk->depth > 0) {
            chunk->tap = 0;
            chunk->channel += chunk->channels;
        }
    }
    const int64_t taps = phase->at.taps - chunk->tap, rest = channels - chunk->channel;
    chunk->taps = phase->chunk_taps < taps ? phase->chunk_taps : taps;
    chunk->channels = phase->chunk_channels < rest ? phase->chunk_channels : rest;
    chunk->depth = chunk->taps * chunk->channels;
    chunk->steps = plan->pairs ? (chunk->depth + 1) / 2 : chunk->depth;
}

int64_t igemm_cut_segments(const igemm_plan *plan, const igemm_phase *phase, int64_t image, int64_t first, int64_t count,
                           igemm_segment *segment)
{
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t *grid = phase->at.grid;
    ry_grid_walk at = ry_grid_walk_at(&phase->at, image, first);
    int64_t segments = 0;
    for (int64_t p = 0; p < count;) {
        const int64_t lane = p % phase->lanes;
        const int64_t length = ry_least(grid[2] - at.q[2], ry_least(phase->lanes - lane, count - p));
        const int64_t base = ry_grid_walk_source(&at, g) - lane * g->stride[2] * g->x_step[2];
        segment[segments++] =
            (igemm_segment){base, {at.q[0], at.q[1], at.q[2]}, (int32_t)(p / phase->lanes), (int32_t)lane, (int32_t)length};
        p += length;
        ry_grid_walk_on(&at, grid, length);
    }
    return segments;
}

/* Lanes of a segment that read inside x. */
static uint32_t lanes_inside(const igemm_segment *s, const ry_conv_tap *tap)
{
    for (int i = 0; i < RY_SPACE - 1; i++) {
        if (s->q[i] < tap->first[i] || s->q[i] >= tap->end[i]) {
            return 0;
        }
    }
    const int64_t x = s->q[RY_SPACE - 1];
    const int64_t from = tap->first[RY_SPACE - 1] > x ? tap->first[RY_SPACE - 1] : x;
    const int64_t end = tap->end[RY_SPACE - 1] < x + s->length ? tap->end[RY_SPACE - 1] : x + s->length;
    return from >= end ? 0 : (uint32_t)((1u << (end - from)) - 1u) << (from - x + s->lane);
}

void igemm_write_program(const igemm_plan *plan, const igemm_phase *phase, const igemm_segment *segment, int64_t segments, int64_t vectors,
                         int64_t sliver, int64_t first_tap, int64_t taps, igemm_entry *program)
{
    const ry_conv_tap *tap = (const ry_conv_tap *)((const char *)plan + plan->taps) + phase->at.first_tap + first_tap;
    int64_t from = 0;
    for (int64_t v = 0; v < vectors; v += sliver) {
        const int64_t end = v + sliver < vectors ? v + sliver : vectors;
        int64_t to = from;
        while (to < segments && segment[to].vector < end) {
            to++;
        }
        for (int64_t t = 0; t < taps; t++) {
            igemm_entry *open = NULL;
            for (int64_t i = from; i < to; i++) {
                const igemm_segment *s = &segment[i];
                const uint32_t mask = lanes_inside(s, &tap[t]);
                const igemm_entry entry = {.offset = s->base + tap[t].offset, .mask = mask};
                if (!open || s->vector != segment[i - 1].vector) {
                    open = program++;
                    *open = entry;
                } else if (mask && !open->mask) {
                    *open = entry;
                } else if (mask) {
                    open->more = 1;
                    open = program++;
                    *open = entry;
                }
            }
        }
        from = to;
    }
}
