/* SPDX-License-Identifier: Apache-2.0 */
/* Fills the frames of wgrad_direct_plan.h. */
#ifndef RY_KERNELS_CPU_WGRAD_WGRAD_FRAME_H
#define RY_KERNELS_CPU_WGRAD_WGRAD_FRAME_H

#include "kernels/cpu/simd/isa.h"
#include "kernels/cpu/wgrad/wgrad_direct_plan.h"

/* x and dy: the first channel of a place, of which `lanes` are there (the others' floats are
 * zeros); channel: that of each group that goes to x's lanes. All frames of x, one after another;
 * the frame of dy. Two vectors behind the last place are zeros. */
void RY_ISA_SYMBOL(wgrad_fill_x)(const wgrad_direct_plan *plan, const wgrad_frame *frame,
                                 int64_t lanes, int64_t channel, const float *x, float *to);
void RY_ISA_SYMBOL(wgrad_fill_dy)(const wgrad_direct_plan *plan, const wgrad_frame *frame,
                                  int64_t lanes, const float *dy, float *to);

#endif
