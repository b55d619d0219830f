/* SPDX-License-Identifier: Apache-2.0 */
/* Problems that the rewrites of a graph cut into steps: an operator then has a plan of its own. */
#ifndef RY_API_API_OP_PLAN_H
#define RY_API_API_OP_PLAN_H

#include "api/op_handle.h"

/* What the rewrites make of a problem alone in a graph. */
typedef enum ry_op_steps {
    RY_OP_ONE,    /* the problem itself */
    RY_OP_OTHER,  /* at most one step, of another problem */
    RY_OP_SEVERAL /* several steps */
} ry_op_steps;

rynd_status ry_op_rewritten(const rynd_op *op, ry_op_steps *steps, ry_error *error);

/* Plans op->problem as a graph and describes it in op->info. *planned is false, and the operator
 * unchanged, if the plan would not read and write the strides of op->in and op->out. */
rynd_status ry_op_plan(rynd_op *op, const rynd_op_options *options, bool *planned, ry_error *error);

/* Waits for the run of op->session, and binds it to op->operands. */
rynd_status ry_op_bind_session(rynd_op *op, ry_error *error);

#endif
