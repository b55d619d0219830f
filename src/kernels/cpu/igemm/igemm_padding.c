/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the taps that read nothing but padding for a block of pixels. */
#include "kernels/cpu/igemm/igemm_padding.h"

#include "base/integer.h"
#include "kernels/cpu/parts/grid_walk.h"

enum { SAMPLES = 24 };

int64_t ry_igemm_tap_row(const igemm_plan *plan, const igemm_phase *p)
{
    const ry_conv_tap *tap = igemm_phase_taps(plan, p);
    int64_t row = p->where.at.taps > 0;
    while (row < p->where.at.taps && tap[row].at[0] == tap[0].at[0] &&
           tap[row].at[1] == tap[0].at[1]) {
        row++;
    }
    return row;
}

double ry_igemm_rows_in_bounds(const igemm_plan *plan)
{
    double all = 0, in_bounds = 0;
    for (int64_t i = 0; i < plan->geometry.phases; i++) {
        const igemm_phase *p = &plan->phase[i];
        const ry_conv_tap *tap = igemm_phase_taps(plan, p);
        for (int64_t t = 0; t < p->where.at.taps; t++) {
            double rows = tap[t].first[2] < tap[t].end[2];
            for (int axis = 0; axis < RY_SPACE - 1; axis++) {
                rows *= (double)(tap[t].end[axis] - tap[t].first[axis]);
            }
            in_bounds += rows;
            all += (double)(p->where.at.grid[0] * p->where.at.grid[1]);
        }
    }
    return all > 0 ? in_bounds / all : 1;
}

/* The box round the positions of [first, first + count): exact where they are in one row, slice or
 * image (or in one row of several). */
static void find_box(const igemm_phase *p, int64_t first, int64_t count, igemm_k_range *k_range)
{
    const ry_grid_walk from = ry_grid_walk_at(&p->where.at, 0, first, p->where.alternating),
                       to = ry_grid_walk_at(&p->where.at, 0, first + count - 1,
                                            p->where.alternating);
    bool same = p->where.alternating > 1 || from.n == to.n;
    for (int i = 0; i < RY_SPACE; i++) {
        same = same && (i < RY_SPACE - 1 || from.n == to.n);
        k_range->low[i] = same ? from.q[i] : 0;
        k_range->high[i] = same ? to.q[i] : p->where.at.grid[i] - 1;
        same = same && from.q[i] == to.q[i];
    }
}

static bool any_in_bounds(const ry_conv_tap *tap, int64_t taps, const igemm_k_range *k_range)
{
    for (int64_t t = 0; t < taps; t++) {
        bool in_bounds = true;
        for (int i = 0; i < RY_SPACE; i++) {
            in_bounds = in_bounds && ry_max(tap[t].first[i], k_range->low[i]) <
                                         ry_min(tap[t].end[i], k_range->high[i] + 1);
        }
        if (in_bounds) {
            return true;
        }
    }
    return false;
}

double ry_igemm_k_blocks_in_bounds(const igemm_plan *plan, const igemm_phase *p, int64_t block)
{
    if (!p->cut.skips) {
        return 1;
    }
    const int64_t blocks = ry_ceil_div(p->where.pixels, block), step = ry_ceil_div(blocks, SAMPLES);
    int64_t all = 0, in_bounds = 0;
    for (int64_t i = 0; i < blocks; i += step) {
        igemm_k_range k_range;
        find_box(p, i * block, ry_min(block, p->where.pixels - i * block), &k_range);
        for (int64_t t = 0; t < p->where.at.taps; t += p->cut.tap_row, all++) {
            in_bounds += any_in_bounds(igemm_phase_taps(plan, p) + t, p->cut.tap_row, &k_range);
        }
    }
    return all > 0 ? (double)in_bounds / (double)all : 1;
}

igemm_k_range ry_igemm_find_k_range(const igemm_plan *plan, const igemm_phase *p, int64_t first,
                                    int64_t count)
{
    igemm_k_range k_range = {.last = p->cut.last_k_block};
    if (!p->cut.skips) {
        return k_range;
    }
    igemm_k_block k_block = {0};
    k_range.begin = -1;
    k_range.last = 0;
    find_box(p, first, count, &k_range);
    for (int64_t i = 0; i < p->cut.k_blocks; i++) {
        ry_igemm_next_k_block(plan, p, &k_block);
        if (any_in_bounds(igemm_phase_taps(plan, p) + k_block.tap, k_block.taps, &k_range)) {
            k_range.begin = k_range.begin < 0 ? k_block.first : k_range.begin;
            k_range.last = k_block.first;
        }
    }
    k_range.begin = ry_max(k_range.begin, 0);
    return k_range;
}

bool ry_igemm_k_block_in_bounds(const igemm_plan *plan, const igemm_phase *p,
                                const igemm_k_range *k_range, const igemm_k_block *k_block)
{
    return !p->cut.skips || k_block->first == k_range->begin ||
           any_in_bounds(igemm_phase_taps(plan, p) + k_block->tap, k_block->taps, k_range);
}
