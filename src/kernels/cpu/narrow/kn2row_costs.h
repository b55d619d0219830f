/* SPDX-License-Identifier: Apache-2.0 */
/* What products first costs beside its matrix product, fitted to measurements of random layers on
 * Zen 3 and Zen 4 with AVX2 and AVX-512 (docs/notes/): cycles in which a core begins one vector's
 * multiply-add. */
#ifndef RY_KERNELS_CPU_NARROW_KN2ROW_COSTS_H
#define RY_KERNELS_CPU_NARROW_KN2ROW_COSTS_H

static const struct {
    double fetch; /* a float of products that does not stay in the second-level cache */
    double far;   /* a float of x from memory, beside what the matrix product of a band counts */
    double row;   /* finding a tap in a row */
    double edge;  /* a tap's mask for a vector of positions */
    double load;  /* a vector that is read and added */
    double store; /* a vector of sums on its way to y, */
    double apart; /* or one whose outputs lie apart */
    double run;   /* a row's way to y, beside its vectors */
    double task;  /* taking a task, its bias and its runs */
} kn2row_costs = {
    .fetch = 1.2,
    .far = 0.33,
    .row = 20.0,
    .edge = 4.0,
    .load = 2.0,
    .store = 6.0,
    .apart = 40.0,
    .run = 25.0,
    .task = 2000.0,
};

#endif
