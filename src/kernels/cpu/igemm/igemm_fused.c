/* SPDX-License-Identifier: Apache-2.0 */
/* Puts phases of a transposed convolution together that a task computes side by side. */
#include "kernels/cpu/igemm/igemm_fused.h"

#include "problem/window.h"

#include <string.h>

static int64_t interleave(const ry_problem *problem, const ry_conv_geometry *g)
{
    const int64_t phases = ry_conv_interleaved_phases(problem, g);
    return g->y_channel != 1 && phases <= IGEMM_MAX_BUNDLE ? phases : 1;
}

static bool same_taps(const igemm_phase *a, const igemm_phase *b, const ry_conv_tap *tap)
{
    bool same = a->where.at.taps == b->where.at.taps;
    for (int64_t t = 0; same && t < a->where.at.taps; t++) {
        same = memcmp(tap[a->where.at.first_tap + t].at, tap[b->where.at.first_tap + t].at,
                      sizeof tap->at) == 0;
    }
    return same;
}

/* The phase whose pixels all others read, too, or nothing at all; -1 where there is none. */
static int64_t source_of(const igemm_plan *plan, const ry_conv_tap *tap)
{
    int64_t source = -1;
    for (int64_t i = 0; i < plan->geometry.phases; i++) {
        if (plan->phase[i].where.at.taps == 0) {
            continue;
        }
        source = source < 0 ? i : source;
        if (!same_taps(&plan->phase[source], &plan->phase[i], tap)) {
            return -1;
        }
    }
    return source;
}

/* The grid of the fused group's first phase, which is the largest; the taps' bounds follow. */
static void unite_grid(const ry_conv_geometry *g, const igemm_phase *first, igemm_phase *p,
                       ry_conv_tap *tap)
{
    p->where.at.pixels = 1;
    for (int i = 0; i < RY_SPACE; i++) {
        p->where.at.grid[i] = first->where.at.grid[i];
        p->where.at.pixels *= p->where.at.grid[i];
        for (int64_t t = p->where.at.first_tap; t < p->where.at.first_tap + p->where.at.taps; t++) {
            /* phases read with unit stride */
            const ry_window_range inside =
                ry_window_inside(g->in[i], tap[t].at[i], 1, p->where.at.grid[i]);
            tap[t].first[i] = inside.begin;
            tap[t].end[i] = inside.end;
        }
    }
}

void ry_igemm_fuse_phases(const ry_problem *problem, igemm_plan *plan, ry_conv_tap *tap)
{
    const ry_conv_geometry *g = &plan->geometry;
    plan->interleave = interleave(problem, g);
    const int64_t source =
        g->phases > 1 && g->phases <= IGEMM_MAX_BUNDLE ? source_of(plan, tap) : -1;
    const int64_t size = source >= 0 ? g->phases : plan->interleave;
    for (int64_t i = 0; i < g->phases; i++) {
        igemm_phase *p = &plan->phase[i], *first = &plan->phase[i / size * size];
        p->where.fused = p == first ? size : 0;
        p->where.source = source;
        memcpy(p->where.inside, p->where.at.grid, sizeof p->where.inside);
        if (p != first) {
            unite_grid(g, first, p, tap);
        }
    }
}

void ry_igemm_count_passes(igemm_phase *first)
{
    int64_t k_blocks = 0;
    bool once = true;
    for (int64_t i = 0; i < first->where.fused; i++) {
        k_blocks += first[i].cut.k_blocks;
        once = once && first[i].cut.k_blocks == 1;
    }
    first->cut.passes = first->where.source >= 0 ? first[first->where.source].cut.k_blocks
                        : once                   ? 1
                                                 : k_blocks;
}

void ry_igemm_place_fused(const igemm_plan *plan, igemm_phase *first, int64_t *panels,
                          int64_t *blocks)
{
    /* after a single pass an oc block is finished before the next begins */
    const int64_t oc_blocks = first->cut.passes == 1 ? 1 : first->cut.oc_blocks_per_task;
    const int64_t vectors =
        (first->cut.block + first->cut.lanes - 1) / first->cut.lanes * plan->width;
    const int64_t channels =
        (oc_blocks * plan->max_oc_block + plan->width - 1) / plan->width * plan->width;
    *panels = *blocks = 0;
    for (int64_t i = 0; i < first->where.fused; i++) {
        igemm_phase *p = &first[i];
        const bool gathers =
            !p->where.in_place && !plan->shared && (p->where.source < 0 || i == p->where.source);
        p->rooms.panel_at = first->cut.passes == 1 && p->where.source < 0 ? *panels : 0;
        p->rooms.block_at = *blocks;
        if (gathers && p->rooms.panel_at + p->rooms.panel > *panels) {
            *panels = (p->rooms.panel_at + p->rooms.panel + 15) / 16 * 16;
        }
        *blocks += p->where.direct ? 0 : vectors * channels + RY_ROW_GAP;
    }
}
