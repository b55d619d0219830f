/* SPDX-License-Identifier: Apache-2.0 */
/* Products of states and a panel of weights, in float32 and float64. */
#ifndef RY_KERNELS_CPU_RECURRENT_RECURRENT_TILE_H
#define RY_KERNELS_CPU_RECURRENT_RECURRENT_TILE_H

#include "kernels/cpu/simd/isa.h"

#include <stdbool.h>
#include <stdint.h>

/* sums[row][columns] = sum over k of h[row][k] * panel[k][columns], for the panel's columns. Steps
 * are numbers from row to row. */
typedef struct recurrent_tile {
    const void *h, *panel;
    void *sums;
    int64_t rows, depth, h_step, sum_step;
} recurrent_tile;

void RY_ISA_SYMBOL(recurrent_multiply)(const recurrent_tile *tile, bool wide);

#endif
