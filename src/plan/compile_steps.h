/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of a GPU's steps, compiled on several threads before the steps ask for them. */
#ifndef RY_PLAN_COMPILE_STEPS_H
#define RY_PLAN_COMPILE_STEPS_H

#include "plan/plan_builder.h"

/* The references that keep programs until the steps have theirs. */
typedef struct ry_compiled {
    ry_device *device;
    ry_prepared *made; /* one for each step; NULL: nothing was compiled */
    size_t count;
} ry_compiled;

/* Compiles the programs of the plan's chosen steps, on the host's threads. A program that does not
 * compile, or memory that is missing, is no error here: the step's own attempt reports it. */
void ry_plan_compile_steps(const ry_plan_builder *b, ry_compiled *compiled);
void ry_plan_release_compiled(ry_compiled *compiled);

#endif
