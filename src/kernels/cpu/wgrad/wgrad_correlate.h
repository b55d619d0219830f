/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of products of a row with another at several shifts. */
#ifndef RY_KERNELS_CPU_WGRAD_WGRAD_CORRELATE_H
#define RY_KERNELS_CPU_WGRAD_WGRAD_CORRELATE_H

#include "kernels/cpu/simd/isa.h"

#include <stdint.h>

/* sums[tap][lane] += sum over vectors v of dy[v][lane] * x[shift[tap] + v][lane], for any number of
 * taps. */
void RY_ISA_SYMBOL(wgrad_correlate)(const float *dy, const float *x, const int64_t *shift,
                                    int64_t taps, int64_t vectors, float *sums);

#endif
