/* SPDX-License-Identifier: Apache-2.0 */
/* Activations of the epilogue (problem/activations.inc) over rows of floats. */
#ifndef RY_KERNELS_CPU_PARTS_ACTIVATION_H
#define RY_KERNELS_CPU_PARTS_ACTIVATION_H

#include "kernels/cpu/parts/conv_geometry.h"
#include "kernels/cpu/simd/isa.h"

/* Applies any activation to n floats. */
void RY_BASE_SYMBOL(activate)(ry_activation_of activation, float *row, int64_t n);
/* The same for rows of n floats that begin `step` floats after each other. */
void RY_BASE_SYMBOL(activate_rows)(ry_activation_of activation, float *row, int64_t step,
                                   int64_t rows, int64_t n);

#endif
