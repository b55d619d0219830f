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
        if (k_block->tap == phase->at.taps && k_block->depth > 0) {
            k_block->tap = 0;
            k_block->channel += k_block->channels;
        }
    }
    const int64_t taps = phase->tap_row > 0 ? phase->tap_row - k_block->tap % phase->tap_row : 0,
                  rest = channels - k_block->channel;
    k_block->taps = phase->k_block_taps < taps ? phase->k_block_taps : taps;
    k_block->channels = phase->k_block_channels < rest ? phase->k_block_channels : rest;
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
    p->steps = p->last_k_block = 0;
    if (p->tap_row == 0) {
        return;
    }
    const block_row channels = cut_row(plan->geometry.channels_in, p->k_block_channels),
                    taps = cut_row(p->tap_row, p->k_block_taps);
    const int64_t whole = (channels.count - 1) *
                          ((taps.count - 1) * igemm_steps(plan, channels.most * taps.most) +
                           igemm_steps(plan, channels.most * taps.last)),
                  end = (taps.count - 1) * igemm_steps(plan, channels.last * taps.most) +
                        igemm_steps(plan, channels.last * taps.last);
    p->steps = p->at.taps / p->tap_row * (whole + end);
    p->last_k_block = p->steps - igemm_steps(plan, channels.last * taps.last);
}
