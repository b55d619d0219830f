/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the programs that gather a k block's pixels: for each vector and tap, the loads that fill
 * its lanes. */
#include "kernels/cpu/igemm/gather_program.h"

#include "base/integer.h"
#include "kernels/cpu/parts/grid_walk.h"

int64_t ry_igemm_cut_segments(const igemm_plan *plan, const igemm_phase *phase, int64_t image,
                              int64_t first, int64_t count, igemm_segment *segment)
{
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t *grid = phase->where.at.grid;
    ry_grid_walk at = ry_grid_walk_at(&phase->where.at, image, first, phase->where.alternating);
    int64_t segments = 0;
    for (int64_t p = 0; p < count;) {
        const int64_t lane = p % phase->cut.lanes;
        const int64_t length =
            ry_min(grid[2] - at.q[2], ry_min(phase->cut.lanes - lane, count - p));
        const int64_t base = ry_grid_walk_source(&at, g) - lane * g->stride[2] * g->x_step[2];
        segment[segments++] = (igemm_segment){base,
                                              {at.q[0], at.q[1], at.q[2]},
                                              (int32_t)(p / phase->cut.lanes),
                                              (int32_t)lane,
                                              (int32_t)length};
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
    const int64_t end =
        tap->end[RY_SPACE - 1] < x + s->length ? tap->end[RY_SPACE - 1] : x + s->length;
    return from >= end ? 0 : (uint32_t)((1u << (end - from)) - 1u) << (from - x + s->lane);
}

/* Elements from the start of a channel of image 0 on that may be read, whatever the channel. */
static int64_t channel_end(const ry_conv_geometry *g)
{
    int64_t end = (g->batch - 1) * g->x_batch + 1;
    for (int i = 0; i < RY_SPACE; i++) {
        end += (g->in[i] - 1) * g->x_step[i];
    }
    return end;
}

/* What all entries of a program have in common. */
typedef struct writer {
    /* between the pixels of neighbouring lanes; lanes of an entry, 0 where nothing is permuted */
    int64_t step, lanes;
    int64_t width, end; /* elements of a vector; end of the readable elements */
} writer;

/* Adds the loads that fill the lanes of `mask`, which are next to each other; returns where the
 * next ones go. */
static igemm_entry *add_permutes(const writer *w, int64_t offset, uint32_t mask, igemm_entry *to)
{
    int64_t lane = __builtin_ctz(mask);
    for (int64_t left = __builtin_popcount(mask), count; left > 0; lane += count, left -= count) {
        count = left < w->lanes ? left : w->lanes;
        const int64_t at = offset + lane * w->step;
        /* a load without a mask is faster, and may reach behind the last element that is wanted
         * where x goes on */
        const int64_t elements =
            at + 2 * w->width <= w->end ? 2 * w->width : (count - 1) * w->step + 1;
        *to++ = (igemm_entry){.offset = at,
                              .reads = (uint32_t)((1ull << elements) - 1u),
                              .mask = (uint16_t)(((1u << count) - 1u) << lane),
                              .shift = (uint8_t)(lane * w->step),
                              .more = 1};
    }
    return to;
}

/* Writes a vector's loads for one tap, from the vector's segments. */
static igemm_entry *write_vector(const writer *w, const ry_conv_tap *tap, const igemm_segment *s,
                                 const igemm_segment *end, igemm_entry *to)
{
    igemm_entry *first = to;
    for (; s < end; s++) {
        const uint32_t mask = lanes_inside(s, tap);
        const int64_t offset = s->base + tap->offset;
        if (mask && w->lanes > 0) {
            to = add_permutes(w, offset, mask, to);
        } else if (mask) {
            *to++ = (igemm_entry){.offset = offset, .mask = (uint16_t)mask, .more = 1};
        }
    }
    if (to == first) {
        *to++ = (igemm_entry){0}; /* zeros */
    }
    to[-1].more = 0;
    return to;
}

void ry_igemm_write_program(const igemm_plan *plan, const igemm_phase *phase,
                            const igemm_segment *segment, int64_t segments, int64_t vectors,
                            int64_t micropanel, int64_t first_tap, int64_t taps,
                            igemm_entry *program)
{
    const ry_conv_tap *tap = igemm_phase_taps(plan, phase) + first_tap;
    const igemm_segment *from = segment, *end = segment + segments;
    const ry_conv_geometry *g = &plan->geometry;
    const writer w = {.step = igemm_lane_step(g),
                      .lanes = igemm_permute_lanes(igemm_lane_step(g), plan->width),
                      .width = plan->width,
                      .end = channel_end(g)};
    for (int64_t v = 0; v < vectors; v += micropanel) {
        const igemm_segment *to = from;
        for (int64_t t = 0; t < taps; t++) {
            to = from;
            for (int64_t i = v; i < v + micropanel && i < vectors; i++) {
                const igemm_segment *first = to;
                while (to < end && to->vector == i) {
                    to++;
                }
                program = write_vector(&w, &tap[t], first, to, program);
            }
        }
        from = to;
    }
}
