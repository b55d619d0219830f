/* SPDX-License-Identifier: Apache-2.0 */
/* Walks the k blocks of the implicit GEMM's reduction. */
#include "kernels/cpu/igemm/igemm_k_block.h"

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
    k_block->steps = plan->pairs ? (k_block->depth + 1) / 2 : k_block->depth;
}
