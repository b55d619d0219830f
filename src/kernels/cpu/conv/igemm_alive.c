/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the taps that read nothing but padding for a block of pixels. */
#include "kernels/cpu/conv/igemm_alive.h"

#include "base/whole.h"
#include "kernels/cpu/conv/grid_walk.h"

enum { SAMPLES = 24 };

int64_t igemm_tap_row(const igemm_plan *plan, const igemm_phase *p)
{
    const ry_conv_tap *tap = igemm_phase_taps(plan, p);
    int64_t row = p->at.taps > 0;
    while (row < p->at.taps && tap[row].at[0] == tap[0].at[0] && tap[row].at[1] == tap[0].at[1]) {
        row++;
    }
    return row;
}

double igemm_rows_alive(const igemm_plan *plan)
{
    double all = 0, alive = 0;
    for (int64_t i = 0; i < plan->geometry.phases; i++) {
        const igemm_phase *p = &plan->phase[i];
        const ry_conv_tap *tap = igemm_phase_taps(plan, p);
        for (int64_t t = 0; t < p->at.taps; t++) {
            double rows = tap[t].first[2] < tap[t].end[2];
            for (int axis = 0; axis < RY_SPACE - 1; axis++) {
                rows *= (double)(tap[t].end[axis] - tap[t].first[axis]);
            }
            alive += rows;
            all += (double)(p->at.grid[0] * p->at.grid[1]);
        }
    }
    return all > 0 ? alive / all : 1;
}

/* The box round the positions of [first, first + count): exact where they lie in one row, slice or image (or in one row of several). */
static void find_box(const igemm_phase *p, int64_t first, int64_t count, igemm_live *live)
{
    const ry_grid_walk from = ry_grid_walk_at(&p->at, 0, first, p->beside), to = ry_grid_walk_at(&p->at, 0, first + count - 1, p->beside);
    bool same = p->beside > 1 || from.n == to.n;
    for (int i = 0; i < RY_SPACE; i++) {
        same = same && (i < RY_SPACE - 1 || from.n == to.n);
        live->low[i] = same ? from.q[i] : 0;
        live->high[i] = same ? to.q[i] : p->at.grid[i] - 1;
        same = same && from.q[i] == to.q[i];
    }
}

static bool any_lives(const ry_conv_tap *tap, int64_t taps, const igemm_live *live)
{
    for (int64_t t = 0; t < taps; t++) {
        bool lives = true;
        for (int i = 0; i < RY_SPACE; i++) {
            lives = lives && ry_most(tap[t].first[i], live->low[i]) < ry_least(tap[t].end[i], live->high[i] + 1);
        }
        if (lives) {
            return true;
        }
    }
    return false;
}

double igemm_chunks_alive(const igemm_plan *plan, const igemm_phase *p, int64_t block)
{
    if (!p->skips) {
        return 1;
    }
    const int64_t blocks = ry_parts(p->pixels, block), step = ry_parts(blocks, SAMPLES);
    int64_t all = 0, alive = 0;
    for (int64_t i = 0; i < blocks; i += step) {
        igemm_live live;
        find_box(p, i * block, ry_least(block, p->pixels - i * block), &live);
        for (int64_t t = 0; t < p->at.taps; t += p->tap_row, all++) {
            alive += any_lives(igemm_phase_taps(plan, p) + t, p->tap_row, &live);
        }
    }
    return all > 0 ? (double)alive / (double)all : 1;
}

igemm_live igemm_find_live(const igemm_plan *plan, const igemm_phase *p, int64_t first, int64_t count)
{
    igemm_live live = {.last = p->last_chunk};
    if (!p->skips) {
        return live;
    }
    igemm_chunk chunk = {0};
    live.begin = -1;
    live.last = 0;
    find_box(p, first, count, &live);
    for (int64_t i = 0; i < p->chunks; i++) {
        igemm_next_chunk(plan, p, &chunk);
        if (any_lives(igemm_phase_taps(plan, p) + chunk.tap, chunk.taps, &live)) {
            live.begin = live.begin < 0 ? chunk.first : live.begin;
            live.last = chunk.first;
        }
    }
    live.begin = ry_most(live.begin, 0);
    return live;
}

bool igemm_chunk_lives(const igemm_plan *plan, const igemm_phase *p, const igemm_live *live, const igemm_chunk *chunk)
{
    return !p->skips || chunk->first == live->begin || any_lives(igemm_phase_taps(plan, p) + chunk->tap, chunk->taps, live);
}
