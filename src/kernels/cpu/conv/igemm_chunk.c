/* SPDX-License-Identifier: Apache-2.0 */
/* Walks the chunks of the implicit GEMM's reduction. */
#include "kernels/cpu/conv/igemm_chunk.h"

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
    const int64_t taps = phase->tap_row > 0 ? phase->tap_row - chunk->tap % phase->tap_row : 0, rest = channels - chunk->channel;
    chunk->taps = phase->chunk_taps < taps ? phase->chunk_taps : taps;
    chunk->channels = phase->chunk_channels < rest ? phase->chunk_channels : rest;
    chunk->depth = chunk->taps * chunk->channels;
    chunk->steps = plan->pairs ? (chunk->depth + 1) / 2 : chunk->depth;
}
