/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling where channels are next to each other. */
#ifndef RY_KERNELS_CPU_WINDOW_POOL_CHANNELS_H
#define RY_KERNELS_CPU_WINDOW_POOL_CHANNELS_H

#include "kernels/cpu/simd/isa.h"
#include "kernels/cpu/window/pool_plan.h"

/* Output row `row` of an image of f32, f16 or bf16, all channels; reduced: plan->width floats where
 * the plan is separable. */
void RY_ISA_SYMBOL(pool_channels)(const pool_plan *plan, ry_dtype dtype, const void *image,
                                  int64_t row, float *reduced, void *y);

#endif
