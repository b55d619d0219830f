/* SPDX-License-Identifier: Apache-2.0 */
/* A task of the evaluator, shared by its loads and stores. */
#ifndef RY_KERNELS_CPU_EXPR_EXPR_RUNNER_H
#define RY_KERNELS_CPU_EXPR_EXPR_RUNNER_H

#include "kernels/cpu/expr/expr_loops.h"
#include "kernels/cpu/parts/cpu_kernel.h"

typedef struct expr_runner {
    bool near; /* near32: functions of RY_EXPR_NEAR by their shorter texts */
    const ry_expr_plan *plan;
    const ry_cpu_launch *launch;
    const ry_expr_operand *operand;
    const ry_expr_step *step;
    const ry_expr_register *position;
    const ry_expr_reduction *reduction;
    void **reg;
    int64_t *row;   /* byte offsets: row[p * row_stride + r] of operand p and row r */
    int64_t *shift; /* byte offset of operand p that all rows of the tile share */
    size_t row_stride;
    char *staging, *accumulator, *block;
    int64_t first;  /* INNER: the tile's first row among the unit's outputs */
    int64_t folded; /* OUTER: rows in the block */
} expr_runner;

static inline const ry_expr_half_converts *expr_half_of(uint8_t dtype)
{
    return dtype == RY_f16    ? &RY_ISA_SYMBOL(convert_f16)
           : dtype == RY_bf16 ? &RY_ISA_SYMBOL(convert_bf16)
                              : NULL;
}

/* Computes a task of the launch's evaluator. */
void RY_ISA_SYMBOL(expr_run_task)(const ry_cpu_launch *launch, size_t task);

/* Copies rows of `n` elements of `size` bytes, which begin at base + row[r] and are `step` bytes
 * apart, to contiguous y. */
void RY_ISA_SYMBOL(expr_load_rows)(size_t size, size_t rows, size_t n, void *y, const char *base,
                                   const int64_t *row, int64_t step);

/* Loads operand p of `rows` rows of `n` elements into y. */
void RY_ISA_SYMBOL(expr_load)(const expr_runner *r, int p, void *y, size_t rows, size_t n);
/* Loads one row, then copies it to the others of a tile. */
void RY_ISA_SYMBOL(expr_load_invariant)(const expr_runner *r, int p, char *y);
void RY_ISA_SYMBOL(expr_store)(const expr_runner *r, int p, const void *a, size_t rows, size_t n);

#endif
