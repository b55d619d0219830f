/* SPDX-License-Identifier: Apache-2.0 */
/* Groups whose items are rows of lanes (lanes.cl): where channels are beside each other in memory,
 * neighbouring items have neighbouring channels, else neighbouring positions of one. */
#ifndef RY_KERNELS_GPU_GPU_LANES_H
#define RY_KERNELS_GPU_GPU_LANES_H

#include "kernels/gpu/gpu_group.h"

/* Lanes of groups of so many items, for a tensor with channels in dim 1. */
int64_t ry_gpu_lanes_of(const ry_tensor *tensor, int64_t group);

/* GROUP_ITEMS, LANES, and sum_of_lane (lanes.cl). */
void ry_gpu_lanes_define(const ry_prepared *prepared, int64_t lanes, ry_text *text);

#endif
