/* SPDX-License-Identifier: Apache-2.0 */
/* Recomputation: a step of training within a limit of memory. */
#ifndef RY_PLAN_RECOMPUTE_H
#define RY_PLAN_RECOMPUTE_H

#include "plan/plan_builder.h"

/* Between the choice of kernels and the arena's layout: where a run would take more bytes than the
 * limit says, steps of the forward pass run again behind it, as nodes of their own, and what they
 * make is not kept in between. The forward pass ends where the graph's output 0, the loss, is made.
 * A copy has the kernel and form of its step, and reads the same content: results are the same to
 * the bit. What a copy makes is read by the backward pass only, so that no state changes twice.
 * Fails with OUT_OF_MEMORY, naming the least that is possible. */
rynd_status ry_plan_recompute(ry_plan_builder *b, ry_error *error);

#endif
