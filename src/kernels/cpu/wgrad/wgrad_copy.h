/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of what a block meets of x (wgrad_plan.h). */
#ifndef RY_KERNELS_CPU_WGRAD_WGRAD_COPY_H
#define RY_KERNELS_CPU_WGRAD_WGRAD_COPY_H

#include "kernels/cpu/wgrad/wgrad_plan.h"

/* x: the first of `channels` channels, of the first image. */
void ry_wgrad_copy(const wgrad_plan *plan, const wgrad_block *block, int64_t channels,
                   const float *x, float *to);

#endif
