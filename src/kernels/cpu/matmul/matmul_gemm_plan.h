/* SPDX-License-Identifier: Apache-2.0 */
/* How a matrix product is cut into tasks, and what its kernels are asked before they run.
 *
 * A task computes a block of y: it goes through k in k blocks, packs the k block of b into
 * micro-panels [k][columns] (a panel that stays in the second-level cache), and reads a where it is
 * stored, or from a packed copy of its rows. Sums go on from k block to k block: their bits do not
 * depend on the knobs, but for pairs, of which a k block of odd depth ends with half a one. */
#ifndef RY_KERNELS_CPU_MATMUL_MATMUL_GEMM_PLAN_H
#define RY_KERNELS_CPU_MATMUL_MATMUL_GEMM_PLAN_H

#include "kernels/common/task_cut.h"
#include "kernels/costs.h"
#include "kernels/cpu/matmul/matmul_shape.h"
#include "kernels/form_method.h"

typedef enum gemm_a { GEMM_A_ALONG_K, GEMM_A_ALONG_M, GEMM_A_PACKED } gemm_a;

enum { GEMM_PACKED_A, GEMM_ROWS, GEMM_COLUMNS, GEMM_K_BLOCK, GEMM_KNOBS };
extern const ry_knob ry_gemm_knobs[GEMM_KNOBS];

typedef struct gemm_plan {
    matmul_shape shape;
    int64_t width, tile_rows, tile_columns;
    ry_cost_column costs;
    gemm_a a;
    bool direct; /* tiles are written to y itself */
    bool column_bias, integer;
    int residual; /* input number of c, if c has y's shape and is all that is added */
    bool pairs;   /* operands are pairs of neighbours along k */
    int64_t k_block, rows, columns;
    ry_task_cut tasks; /* batches, rows, columns */
    /* rows of a that are packed at once, and floats from one to the next */
    int64_t a_block, a_step;
    size_t panel, a_rows, block, bias, scratch;
} gemm_plan;

bool ry_gemm_takes(const ry_problem *problem);
bool ry_gemm_takes_floats(const ry_problem *problem);
RY_FORM_FUNCTIONS(ry_gemm);

#endif
