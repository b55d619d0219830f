/* SPDX-License-Identifier: Apache-2.0 */
/* How a product of few rows with a large constant matrix of floats of 24 bits is laid out and cut
 * into tasks, and what its kernel is asked before it runs. No bit of a result depends on the form.
 */
#ifndef RY_KERNELS_CPU_MATMUL_MATMUL_FLOAT24_PLAN_H
#define RY_KERNELS_CPU_MATMUL_MATMUL_FLOAT24_PLAN_H

#include "kernels/common/task_cut.h"
#include "kernels/cpu/matmul/matmul_shape.h"
#include "kernels/form_method.h"

enum {
    FLOAT24_BLOCK = 64,                      /* weights of a column that are together */
    FLOAT24_BLOCK_BYTES = 3 * FLOAT24_BLOCK, /* high parts, then low parts */
    FLOAT24_ROWS = 4,                        /* most rows of a multiplied together */
};

/* Columns that are multiplied side by side; their blocks are in turns, so that memory is read in
 * order. */
static inline int float24_group(int width)
{
    return width == 16 ? 4 : 2;
}

enum { FLOAT24_COLUMNS, FLOAT24_KNOBS };
extern const ry_knob ry_float24_knobs[FLOAT24_KNOBS];

typedef struct float24_plan {
    matmul_shape shape;
    bool a_copied;
    int64_t blocks;           /* blocks of a column */
    int64_t a_step;           /* step between rows of a or its copy */
    ry_task_cut tasks;        /* columns */
    size_t a, block, scratch; /* scratch of a worker */
    size_t scales, packed;    /* packed: blocks, then a scale for each column */
} float24_plan;

/* Columns of a task. */
static inline int64_t float24_columns(const float24_plan *plan)
{
    return plan->tasks.axis[0].part;
}

bool ry_float24_takes(const ry_problem *problem);
RY_FORM_FUNCTIONS(ry_float24);
void ry_float24_packing(const ry_prepared *prepared, ry_text *key);

#endif
