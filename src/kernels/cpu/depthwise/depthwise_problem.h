/* SPDX-License-Identifier: Apache-2.0 */
/* What the depthwise kernels read of a problem: convolutions whose groups have one input channel,
 * or few. */
#ifndef RY_KERNELS_CPU_DEPTHWISE_DEPTHWISE_PROBLEM_H
#define RY_KERNELS_CPU_DEPTHWISE_DEPTHWISE_PROBLEM_H

#include "base/integer.h"
#include "kernels/costs.h"
#include "kernels/cpu/parts/conv_geometry.h"
#include "machine/machine.h"

/* A convolution, forward or transposed, in float types (bias: any float type), whose groups have at
 * most `max` input channels. */
bool ry_depthwise_is(const ry_problem *problem, int64_t max);

/* Geometry and phase (steps of y and of the residual; no taps). */
void ry_depthwise_read(const ry_problem *problem, ry_conv_geometry *geometry, ry_conv_phase *phase);

/* Weight of output channel k and the group's input channel i at slice t, row r, column s of the
 * window; the bias of k (0 where there is none). */
float ry_depthwise_weight(const ry_cpu_launch *launch, const ry_conv_geometry *geometry, int64_t k,
                          int64_t i, int64_t t, int64_t r, int64_t s);
float ry_depthwise_bias(const ry_cpu_launch *launch, int64_t k);

/* Tasks that keep all cores busy to the end. */
static inline int64_t depthwise_tasks_enough(const ry_machine *machine,
                                             const struct ry_blocks_costs *limit)
{
    return (int64_t)limit->depthwise_tasks * machine->cores;
}

/* So many tasks or a few more: an even number for each core, so that one that is late leaves some
 * to others. */
static inline int64_t depthwise_even_tasks(int64_t tasks, const ry_machine *machine)
{
    const int64_t cores = machine->cores;
    return tasks > cores ? ry_round_up(tasks, 2 * cores) : tasks;
}

/* Do the registers hold the sums of a strip, or of two lines of a block, beside weights? */
static inline bool depthwise_many_registers(const ry_simd *simd)
{
    return simd->rows * simd->vectors > 16;
}

/* Are vectors a full cache line? Their permutations cost more than those of shorter vectors. */
static inline bool depthwise_is_long(int width)
{
    return width > 8;
}

#endif
