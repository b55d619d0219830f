/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel: quantised depthwise convolution, channels last, by pairs of taps. */
#include "kernels/cpu/simd/simd_int8.h"

#define LANE  RY_LANE_PAIR
#define PARTS 2
#define DOT   ry_vi_dot_pairs
#include "kernels/cpu/qconv/qdepthwise_template.h"

RY_CPU_KERNEL(qconv_depthwise_pairs, qconv, strict,
              .simd = {RY_W, RY_GRAIN, RY_TILE_ROWS, RY_TILE_VECTORS, LANE},
              .applicable = ry_qdepthwise_takes, .prepare = ry_qdepthwise_prepare,
              .initialise = ry_qdepthwise_initialise, .pack = pack, .run = run,
              .packed_inputs = 1u << 1 | 1u << 2 | 1u << 4, .packing = ry_qdepthwise_packing);
