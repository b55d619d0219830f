/* SPDX-License-Identifier: Apache-2.0 */
/* A dense tensor seen as [outer][length][inner] in the order of memory, `length` being some of its dims: how kernels that work along an axis treat
 * NCHW and NHWC by one text. */
#ifndef RY_KERNELS_CPU_COMMON_DENSE_LANES_H
#define RY_KERNELS_CPU_COMMON_DENSE_LANES_H

#include "kernels/kernel.h"
#include "machine/machine.h"

typedef struct ry_lanes {
    int64_t outer, length, inner;
} ry_lanes;

/* Dims [begin, end) of `tensor` as the lane: false when the tensor has gaps, or when the lane's dims are not together and in order in memory.
 * Empty tensors have no lanes. */
bool ry_lanes_make(const ry_tensor *tensor, int begin, int end, ry_lanes *lanes);

/* The two tensors have one shape and lie in memory in the same order; dims of size 1 do not matter. */
bool ry_lanes_alike(const ry_tensor *a, const ry_tensor *b);

/* How many of `count` units of `bytes` a task takes, and how many tasks that makes. */
int64_t ry_lanes_per_task(const ry_machine *machine, int64_t count, int64_t bytes);
size_t ry_lanes_tasks(int64_t count, int64_t per_task);

#endif
