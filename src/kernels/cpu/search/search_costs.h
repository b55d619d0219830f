/* SPDX-License-Identifier: Apache-2.0 */
/* What searching costs: operations at a core's peak, as measured on Zen 4 (EPYC, one thread,
 * 115.2 Gflop/s, AVX-512) with rynd bench, 64 rows of 1000, 1000 rows of 50, 21 x 4225. */
#ifndef RY_KERNELS_CPU_SEARCH_SEARCH_COSTS_H
#define RY_KERNELS_CPU_SEARCH_SEARCH_COSTS_H

static const struct {
    double row, element, column; /* argmax: of a row, of its elements, of an element of columns */
    double refused, sorted;      /* the k largest: of an element, of each of the k and level of the heap */
} search_costs = {7650, 24, 22, 130, 1360};

#endif
