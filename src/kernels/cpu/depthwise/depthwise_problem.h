/* SPDX-License-Identifier: Apache-2.0 */
/* What the depthwise kernels read of a problem: convolutions whose groups have one input channel, or few. */
#ifndef RY_KERNELS_CPU_DEPTHWISE_DEPTHWISE_PROBLEM_H
#define RY_KERNELS_CPU_DEPTHWISE_DEPTHWISE_PROBLEM_H

#include "base/whole.h"
#include "kernels/cpu/conv/conv_geometry.h"

/* A convolution, forward or transposed, in float types (bias: any float type), whose groups have at most `most` input channels. */
bool depthwise_is(const ry_problem *problem, int64_t most);

/* Geometry and phase (steps of y and of the residual; no taps). */
void depthwise_read(const ry_problem *problem, ry_conv_geometry *geometry, ry_conv_phase *phase);

/* Weight of output channel k and the group's input channel i at slice t, row r, column s of the window; the bias of k (0 where there is
 * none). */
float depthwise_weight(const ry_cpu_launch *launch, const ry_conv_geometry *geometry, int64_t k, int64_t i, int64_t t, int64_t r,
                       int64_t s);
float depthwise_bias(const ry_cpu_launch *launch, int64_t k);

/* So many tasks or a few more: two and four threads end together. */
static inline int64_t depthwise_even_tasks(int64_t tasks)
{
    return tasks > 2 ? ry_whole(tasks, 4) : tasks;
}

#endif
