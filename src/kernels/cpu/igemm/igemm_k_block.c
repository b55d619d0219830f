/* SPDX-License-Identifier: Apache-2.0 */
/* Walks the k blocks of the implicit GEMM's reduction. */
#include "kernels/cpu/igemm/igemm_k_block.h"

#include "base/integer.h"

void ry_igemm_next_k_block(const igemm_plan *plan, const igemm_phase *phase, igemm_k_block *k_block)
{
    const int64_t channels = plan->geometry.channels_in;
    k_block->first += k_block->steps;
    if (plan->mode == IGEMM_ROWS) {
        k_block->channel += k_block->channels;
        if (k_block->channel == channels) {
            k_block->channel = 0;
            k_block->tap += k_block->taps;
        }
    } else {
        k_block->tap += k_block->taps;
        if (k_block->tap == phase->where.at.taps && k_block->depth > 0) {
            k_block->tap = 0;
            k_block->channel += k_block->channels;
        }
    }
    const int64_t taps = phase->cut.tap_row > 0
                             ? phase->cut.tap_row - k_block->tap % phase->cut.tap_row
                             : 0,
                  rest = channels - k_block->channel;
    k_block->taps = phase->cut.k_block_taps < taps ? phase->cut.k_block_taps : taps;
    k_block->channels = phase->cut.k_block_channels < rest ? phase->cut.k_block_channels : rest;
    k_block->depth = k_block->taps * k_block->channels;
    k_block->steps = igemm_steps(plan, k_block->depth);
}

/* An extent cut into `count` blocks, all but the last of `most`. */
typedef struct block_row {
    int64_t count, most, last;
} block_row;

static block_row cut_row(int64_t extent, int64_t most)
{
    const int64_t count = ry_ceil_div(extent, most);
    return (block_row){count, most, extent - (count - 1) * most};
}

void ry_igemm_count_steps(const igemm_plan *plan, igemm_phase *p)
{
    p->cut.steps = p->cut.last_k_block = 0;
    if (p->cut.tap_row == 0) {
        return;
    }
    const block_row channels = cut_row(plan->geometry.channels_in, p->cut.k_block_channels),
                    taps = cut_row(p->cut.tap_row, p->cut.k_block_taps);
    const int64_t whole = (channels.count - 1) *
                          ((taps.count - 1) * igemm_steps(plan, channels.most * taps.most) +
                           igemm_steps(plan, channels.most * taps.last)),
                  end = (taps.count - 1) * igemm_steps(plan, channels.last * taps.most) +
                        igemm_steps(plan, channels.last * taps.last);
    p->cut.steps = p->where.at.taps / p->cut.tap_row * (whole + end);
    p->cut.last_k_block = p->cut.steps - igemm_steps(plan, channels.last * taps.last);
}
