/* SPDX-License-Identifier: Apache-2.0 */
/* Joins neighbouring steps of the evaluator. */
#ifndef RY_KERNELS_CPU_EXPR_EXPR_FUSE_H
#define RY_KERNELS_CPU_EXPR_EXPR_FUSE_H

#include "kernels/cpu/expr/expr_plan.h"

/* Joins steps of a tile that dequantise or quantise bytes. Results have the same bits. */
void ry_expr_fuse(const ry_expr_plan *plan, ry_expr_step *step, int *count);

#endif
