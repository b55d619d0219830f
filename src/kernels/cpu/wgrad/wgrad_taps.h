/* SPDX-License-Identifier: Apache-2.0 */
/* The micro-kernel of the weight gradient of depthwise convolutions: the sums of a piece of the
 * window for a vector of channels, in registers, over some lines of dy. Rows of x are read where
 * they are stored: at the ends of a line the taps that meet padding are left out. */
#ifndef RY_KERNELS_CPU_WGRAD_WGRAD_TAPS_H
#define RY_KERNELS_CPU_WGRAD_WGRAD_TAPS_H

#include "kernels/cpu/simd/isa.h"
#include "kernels/cpu/wgrad/wgrad_depthwise_plan.h"

typedef struct wgrad_taps {
    /* first channel of the vector: x at the piece's first tap in position 0 of the first line,
     * which may be padding; dy at that position */
    const float *x, *dy;
    float *sums;                             /* [row][column][lane], rows `sums_row` apart */
    int64_t x_line, x_step, x_row, x_column; /* floats from line, position, row, column to next */
    int64_t dy_line, dy_step, sums_row;      /* floats */
    int64_t lines, lanes;                    /* lines of dy; real channels of the vector */
    ry_window_range positions, inside; /* positions of a line; positions whose taps meet no padding
                                        */
    int64_t element, elements, stride, apart; /* in a line of x: the element at x; elements;
                                                 step between positions, between taps */
    /* what is read next, of x and of dy, in the order of memory: each position of `inside` fetches
     * so many floats of it into the second-level cache; 0: none */
    const float *x_next, *dy_next;
    int64_t x_fetched, dy_fetched;
} wgrad_taps;

/* sums[row][column] += sum over lines and positions of dy * x, for a piece of rows by columns of
 * the window, all of whose rows meet x in every line. They are at most the plan's. */
void RY_ISA_SYMBOL(wgrad_add_taps)(const wgrad_taps *taps, int64_t rows, int64_t columns);
/* sums[0][0] += sum over lines and positions of dy. */
void RY_ISA_SYMBOL(wgrad_add_dy)(const wgrad_taps *taps);

#endif
