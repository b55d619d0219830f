/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles whose elements differ too much in size for Winograd's form.
 *
 * Winograd's form computes all outputs of a tile from all of its elements: each output's rounding
 * error is in proportion to the norm of the tile. The direct sum's error is in proportion to the
 * output's own products. So an output's *contrast*,
 *
 *     (sum of squares of the tile) / (sum of squares of the output's window, but for its largest
 *                                     position),
 *
 * bounds how much worse Winograd's form can be (docs/accuracy.md). Squares are summed over all
 * input channels. The largest position is left out because its products may be small: an outlier
 * may meet a small weight. Outputs whose contrast exceeds plan->contrast are summed directly.
 * Infinities and NaNs count as 0 here (winograd_fixup.h treats them).
 *
 * It takes two steps. While a tile is transformed, its squares are summed, and those of a few
 * positions, the probes, so chosen that every window holds some. If these show that no contrast is
 * too large, the tile is done. Otherwise it is marked, and before outputs are fixed up, the squares
 * of each position are summed in float64. Both depend on the tile alone, never on its block, task
 * or thread. */
#ifndef RY_KERNELS_CPU_WINOGRAD_WINOGRAD_CONTRAST_H
#define RY_KERNELS_CPU_WINOGRAD_WINOGRAD_CONTRAST_H

#include "kernels/cpu/simd/isa.h"
#include "kernels/cpu/winograd/winograd_run.h"

/* Sets uneven[i] of tile first + i if the sums of squares do not show that all contrasts are small.
 * Returns false if a sum is not finite. */
bool RY_ISA_SYMBOL(winograd_mark_uneven)(const winograd_plan *plan, int64_t first, int64_t count,
                                         const float *squares, bool *uneven);

/* Fills outputs[phase].uneven and .zero of one tile. x: of the group. */
void RY_ISA_SYMBOL(winograd_find_uneven)(const winograd_plan *plan, const float *x, int64_t tile,
                                         winograd_outputs *outputs);

#endif
