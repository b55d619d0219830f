/* SPDX-License-Identifier: Apache-2.0 */
/* Lays out the scratch of a task of the implicit GEMM. */
#include "base/integer.h"
#include "base/room.h"
#include "kernels/cpu/igemm/gather_program.h"
#include "kernels/cpu/igemm/igemm_fused.h"
#include "kernels/cpu/igemm/igemm_layout.h"
#include "kernels/cpu/parts/epilogue_run.h"

/* Rows of the grid that the lanes of one gathered vector are in at most. */
static int64_t max_segments(const igemm_phase *p)
{
    const int64_t row = p->where.at.grid[RY_SPACE - 1];
    return ry_min(p->cut.lanes, (p->cut.lanes + row - 2) / row + 1);
}

/* The same of loads for one tap: a segment's lanes may take several. */
static int64_t max_loads(const igemm_plan *plan, const igemm_phase *p)
{
    const int64_t lanes = igemm_permute_lanes(igemm_lane_step(&plan->geometry), plan->width);
    return max_segments(p) + (lanes > 0 ? p->cut.lanes / lanes : 0);
}

static size_t max(size_t a, size_t b)
{
    return a > b ? a : b;
}

void ry_igemm_set_scratch(igemm_plan *plan)
{
    size_t panel = 0, block = 0, transposed = 0, interleaved_row = 0, bias = 0, segments = 0,
           program = 0, runs = 0;
    int64_t biases = 1;
    for (int64_t i = 0; i < plan->geometry.phases; i++) {
        igemm_phase *p = &plan->phase[i];
        const int64_t vectors = ry_ceil_div(p->cut.block, p->cut.lanes),
                      full = vectors * plan->width;
        const int64_t channels =
            ry_ceil_div(p->cut.oc_blocks_per_task * plan->max_oc_block, plan->width) * plan->width;
        if (p->where.fused > 0) {
            int64_t panels, blocks;
            ry_igemm_place_fused(plan, p, &panels, &blocks);
            panel = max(panel, (size_t)panels * sizeof(float));
            block = max(block, (size_t)blocks * sizeof(float) + 64);
        }
        if (!p->where.direct) {
            if (plan->mode != IGEMM_PIXELS && plan->geometry.y_channel != 1) {
                transposed =
                    max(transposed,
                        (size_t)(plan->interleave * full * (plan->max_oc_block + plan->width)) * 4 +
                            64);
            }
            interleaved_row = max(
                interleaved_row,
                plan->interleave > 1 ? (size_t)(plan->interleave * (full + plan->width)) * 4 : 0);
        }
        runs = max(runs, (size_t)((p->cut.block + 1) * p->where.fused) * sizeof(epilogue_run));
        bias = max(bias, (size_t)(channels + plan->tile_columns) * 4);
        biases = plan->geometry.phase_bias ? ry_max(biases, p->where.fused) : 1;
        if (plan->mode != IGEMM_ROWS) {
            segments = max(segments, (size_t)(vectors * max_segments(p)) * sizeof(igemm_segment));
            program = max(program, (size_t)(vectors * max_loads(plan, p) * p->cut.k_block_taps) *
                                       sizeof(igemm_entry));
        }
    }
    size_t at = 0;
    plan->panel = ry_room_bytes(&at, panel);
    plan->block = ry_room_bytes(&at, block);
    plan->transposed = ry_room_bytes(&at, transposed);
    plan->interleaved_row = ry_room_bytes(&at, interleaved_row);
    plan->bias_step = biases > 1 ? (int64_t)ry_aligned(bias) / 4 : 0;
    plan->bias = at, at += ry_aligned(bias) * (size_t)biases;
    plan->segments = ry_room_bytes(&at, segments);
    plan->program = ry_room_bytes(&at, program);
    plan->runs = ry_room_bytes(&at, runs);
    plan->scratch = at;
}
