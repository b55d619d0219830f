/* SPDX-License-Identifier: Apache-2.0 */
/* The positions of an expression for a GPU: dims in an order in which neighbours are neighbours in
 * memory, those that are one behind another joined; kept dims, then reduced ones. */
#ifndef RY_KERNELS_GPU_GPU_POSITIONS_H
#define RY_KERNELS_GPU_GPU_POSITIONS_H

#include "problem/problem.h"

enum { RY_GPU_EXPR_OPERANDS = 40 };

typedef struct ry_gpu_operand {
    ry_dtype dtype;
    int64_t stride[RY_MAX_RANK]; /* elements; 0 along dims that the operand lacks */
} ry_gpu_operand;

typedef struct ry_gpu_space {
    int rank, kept_rank;
    int64_t dim[RY_MAX_RANK];
    int64_t kept, behind;  /* positions of the kept dims, and of the reduced ones */
    bool inner_is_reduced; /* the dim whose neighbours are closest in memory */
    int64_t farthest;      /* offset from element 0, either way, of any element */
    int operands;          /* inputs, then outputs */
    ry_gpu_operand operand[RY_GPU_EXPR_OPERANDS];
} ry_gpu_space;

/* For at most RY_GPU_EXPR_OPERANDS operands; false: the problem's shapes do not fit together.
 */
bool ry_gpu_space_make(const ry_problem *problem, ry_gpu_space *space);

#endif
