/* SPDX-License-Identifier: Apache-2.0 */
/* The gradient of pooling where channels are next to each other. */
#ifndef RY_KERNELS_CPU_WINDOW_POOL_GRAD_CHANNELS_H
#define RY_KERNELS_CPU_WINDOW_POOL_GRAD_CHANNELS_H

#include "kernels/cpu/simd/isa.h"
#include "kernels/cpu/window/pool_grad_plan.h"

/* Units [first, end): images and blocks of channels, or images and input rows. */
void RY_ISA_SYMBOL(pool_grad_channels)(const ry_cpu_launch *launch, const pool_grad_plan *plan,
                                       int64_t first, int64_t end);

#endif
