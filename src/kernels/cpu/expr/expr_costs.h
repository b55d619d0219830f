/* SPDX-License-Identifier: Apache-2.0 */
/* What evaluating a program costs: operations at a core's peak, as measured on Zen 4 (EPYC, one thread,
 * 115.2 Gflop/s, AVX-512) with bench/forms, operands of float32, 100 KiB to 6 MiB in the caches. */
#ifndef RY_KERNELS_CPU_EXPR_EXPR_COSTS_H
#define RY_KERNELS_CPU_EXPR_EXPR_COSTS_H

#include "expr/expr.h"

static const struct {
    double tile;          /* of a tile */
    double step;          /* of an element and each step but the first, between buffers in L1 */
    double row, gathered; /* of a row that is brought into a buffer, and its elements */
    double repeated;      /* of an element that a buffer beyond L1 repeats for all tiles */
    double strided;       /* of its elements where they do not lie next to each other */
    double single;        /* of a function of one value, in each tile */
    double inner_row;     /* of a row that is summed */
    double fold, folded;  /* of rows that are added to a block, and of an element */
    double unit;          /* of an accumulator's start and end */
    double other, wide;   /* of an elementary function that the table does not have: float32, others */
} expr_costs = {2300, 5.6, 460, 6, 10, 79, 2900, 1270, 1040, 3.5, 11500, 60, 300};

/* Of an element in float32, beside moving it; 0: nothing beside, or not measured. */
static const struct {
    double strict, near;
} expr_function_costs[RY_EXPR_CODES] = {
    [RY_EXPR_div] = {2, 2},     [RY_EXPR_sqrt] = {11, 11},     [RY_EXPR_exp] = {20, 20},       [RY_EXPR_log] = {37, 37},
    [RY_EXPR_sin] = {60, 60},   [RY_EXPR_cos] = {62, 62},      [RY_EXPR_tan] = {79, 79},       [RY_EXPR_erf] = {57, 24},
    [RY_EXPR_tanh] = {27, 27},  [RY_EXPR_sigmoid] = {30, 30},  [RY_EXPR_silu] = {35, 19},      [RY_EXPR_gelu] = {60, 25},
    [RY_EXPR_pow] = {234, 234}, [RY_EXPR_softplus] = {46, 46}, [RY_EXPR_gelu_tanh] = {73, 24},
};

#endif
