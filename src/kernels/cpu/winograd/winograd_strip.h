/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of x that pass through a strip on their way to V: a vector of channels of each position. */
#ifndef RY_KERNELS_CPU_WINOGRAD_WINOGRAD_STRIP_H
#define RY_KERNELS_CPU_WINOGRAD_WINOGRAD_STRIP_H

#include "base/integer.h"
#include "kernels/cpu/simd/isa.h"
#include "kernels/cpu/simd/simd.h"
#include "kernels/cpu/winograd/winograd_plan.h"

/* The inputs that a run of tiles reads: `span` positions of each row of a tile. */
typedef struct winograd_strip {
    int64_t top, left, span; /* top, left: the first row and position of x */
    uint32_t rows_inside;    /* bit i: row i of the tile is x's; other rows are 0 */
    bool finite;             /* infinities and NaNs count as 0 */
    float *to;               /* [row][position][lane]; some floats before it are written, too */
} winograd_strip;

/* Floats from row to row. */
static inline int64_t winograd_strip_step(const winograd_strip *strip)
{
    return (ry_round_up(strip->span, RY_W) + (strip->span < WINOGRAD_ALIGNED ? 0 : RY_W)) * RY_W;
}

/* Fills the strip with a vector of channels, of which there are `channels`. x: of the first one's
 * image and depth. */
void RY_ISA_SYMBOL(winograd_fill_strip)(const winograd_plan *plan, const winograd_strip *strip,
                                        const float *x, int64_t channels);

#endif
