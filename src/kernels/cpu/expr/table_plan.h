/* SPDX-License-Identifier: Apache-2.0 */
/* A pointwise expression of one tensor of bytes that gives bytes is a table of 256 bytes: the
 * evaluator fills it when weights are packed, and a run looks each byte up. */
#ifndef RY_KERNELS_CPU_EXPR_TABLE_PLAN_H
#define RY_KERNELS_CPU_EXPR_TABLE_PLAN_H

#include "base/integer.h"
#include "kernels/cpu/expr/expr_plan.h"

enum {
    EXPR_TABLE = 256,
    EXPR_TABLE_PART = 64,          /* bytes that the evaluator computes at once */
    EXPR_TABLE_INSTRUCTIONS = 64,  /* limit of a program: longer ones get no table */
    EXPR_TABLE_SCRATCH = 48 * 1024 /* enough for the evaluator: a buffer an instruction */
};

/* Kernel state; the evaluator's plan for a part of the table follows. */
typedef struct expr_table_plan {
    int64_t bytes, bytes_of_task;
    size_t tasks; /* the evaluator's tasks for one part */
} expr_table_plan;

static inline const ry_expr_plan *expr_table_evaluator(const expr_table_plan *plan)
{
    return (const ry_expr_plan *)(const void *)((const char *)plan + ry_aligned(sizeof *plan));
}

bool ry_expr_table_takes(const ry_problem *problem);
rynd_status ry_expr_table_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error);
void ry_expr_table_initialise(const ry_query *query, void *state);

#endif
