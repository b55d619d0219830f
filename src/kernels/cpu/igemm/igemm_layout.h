/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the implicit GEMM's plan for a form, step by step: nothing is chosen here but what the
 * kernel's knobs leave no choice about. */
#ifndef RY_KERNELS_CPU_IGEMM_IGEMM_LAYOUT_H
#define RY_KERNELS_CPU_IGEMM_IGEMM_LAYOUT_H

#include "kernels/cpu/igemm/igemm_plan.h"

/* Bytes of the plan's state. */
size_t ry_igemm_plan_size(const ry_problem *problem);

/* The plan of a query whose form is complete, its knobs in the order of igemm_knob. alone: one
 * thread runs all tasks, none waits for another. */
void ry_igemm_plan_make(const ry_query *query, bool alone, igemm_plan *plan);

/* The same in steps, for those who choose: what no form changes; what follows from the form's main
 * knobs (a k block that is free is set); pixels and oc blocks of the tasks, from the form's blocks;
 * the tasks, and the memory that they share; a worker's scratch. */
void ry_igemm_begin(const ry_query *query, bool alone, igemm_plan *plan);
void ry_igemm_set_mode(const ry_problem *problem, igemm_plan *plan);
void ry_igemm_set_blocks(igemm_plan *plan);
void ry_igemm_set_tasks(igemm_plan *plan);
void ry_igemm_set_scratch(igemm_plan *plan); /* igemm_scratch.c */

/* Granularity of blocks in pixels, or the least block. */
int64_t ry_igemm_block_multiple(const igemm_plan *plan, const igemm_phase *phase);

/* Pixels of a block where a phase's ranges are cut into so many; oc blocks of a task where a
 * group's are. */
int64_t ry_igemm_block_pixels(const igemm_plan *plan, const igemm_phase *phase, int64_t blocks);
int64_t ry_igemm_block_oc_blocks(const igemm_plan *plan, int64_t blocks);

/* May blocks span images, where a form does not keep those apart? */
bool ry_igemm_may_join(const igemm_plan *plan, const igemm_phase *phase);

/* Floats of a k block's panel. */
int64_t ry_igemm_panel_floats(const igemm_plan *plan, const igemm_phase *phase, int64_t block);

#endif
