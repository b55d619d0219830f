/* SPDX-License-Identifier: Apache-2.0 */
/* How a product of few rows with a large matrix is cut into tasks of whole columns, and what its
 * kernels are asked before they run. Sums of dot products depend on `k_block`, not on `columns`. */
#ifndef RY_KERNELS_CPU_MATMUL_MATMUL_GEMV_PLAN_H
#define RY_KERNELS_CPU_MATMUL_MATMUL_GEMV_PLAN_H

#include "kernels/common/task_cut.h"
#include "kernels/cpu/matmul/matmul_shape.h"
#include "kernels/form_method.h"

enum {
    GEMV_DOT_A = 4, /* rows of a in one block of dot products, with gemv_dot_b columns of b */
    GEMV_SUM_VECTORS = 4,
    MAX_GEMV_SUM_ROWS = 4,
};

/* Columns of b in one block of dot products: as many sums as there are registers for. */
static inline int gemv_dot_b(int width)
{
    return width == 16 ? 4 : 2;
}

enum { GEMV_COLUMNS, GEMV_K_BLOCK, GEMV_KNOBS };
extern const ry_knob ry_gemv_knobs[GEMV_KNOBS];

typedef struct gemv_plan {
    matmul_shape shape;
    bool dot;               /* b is along k: dot products; else sums of b's scaled rows */
    bool a_copied, rounded; /* rounded: b is a packed copy in bfloat16 */
    ry_task_cut tasks;      /* batches, columns */
    int64_t k_block;        /* block of k, used for all rows of a */
    int64_t a_step;         /* from row to row of the copy */
    size_t a, block, scratch;
} gemv_plan;

/* Columns of a task. */
static inline int64_t gemv_columns(const gemv_plan *plan)
{
    return plan->tasks.axis[1].part;
}

bool ry_gemv_takes(const ry_problem *problem);
bool ry_gemv_takes_rounded(const ry_problem *problem);
RY_FORM_FUNCTIONS(ry_gemv);
void ry_gemv_packing(const ry_prepared *prepared, ry_text *key);

#endif
