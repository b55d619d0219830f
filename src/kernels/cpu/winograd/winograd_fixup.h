/* SPDX-License-Identifier: Apache-2.0 */
/* What a block's infinities and NaNs reach, and the sums over taps that take the place of products
 * which are not finite.
 *
 * In V a number that is not finite would spread over all outputs of its tile. A block that has some
 * is transformed with zeros in their place (winograd_transform_input), which gives every output
 * whose window holds none of them. The others follow from their windows: where one holds a NaN, so
 * is the output; where one holds an infinity, or where products overflowed or weights are not
 * finite, it is summed over taps, a tile's outputs by output channels at a time. A NaN stays one
 * whatever is added, so that a sum ends where all its channels are NaN. */
#ifndef RY_KERNELS_CPU_WINOGRAD_WINOGRAD_FIXUP_H
#define RY_KERNELS_CPU_WINOGRAD_WINOGRAD_FIXUP_H

#include "kernels/cpu/simd/isa.h"
#include "kernels/cpu/winograd/winograd_run.h"

/* One unit and phase of a block of tiles. */
typedef struct winograd_oc_block {
    int64_t first, count;      /* tiles */
    int64_t phase[2];          /* height, width */
    int64_t channel;           /* the first */
    int64_t columns, channels; /* full vectors; real channels among them */
    const float *x, *w;        /* the group's x and w */
    float *m;                  /* the products of the first tile in this phase */
    /* the first tile's in this phase; the next tile's are plan->phases further */
    winograd_outputs *outputs;
} winograd_oc_block;

/* The weight that tap u of the reach belongs to. */
static inline int64_t winograd_weight(const winograd_axis *axis, int64_t phase, int64_t u)
{
    return axis->tap + phase + u % axis->classes + u / axis->classes * axis->tap_step;
}

/* Fills outputs[tile][phase] but for `direct` and `open`. stage: a worker's. */
void RY_ISA_SYMBOL(winograd_find_outputs)(const winograd_plan *plan, const float *x, int64_t first,
                                          int64_t count, float *stage, winograd_outputs *outputs);

/* The outputs in `direct`, without bias: output o of a tile takes the place of its products of
 * point o. Returns how many multiply-adds of vectors of channels that took. */
int64_t RY_ISA_SYMBOL(winograd_sum_directly)(const winograd_plan *plan,
                                             const winograd_oc_block *oc_block, float *stage);

#endif
