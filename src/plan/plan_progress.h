/* SPDX-License-Identifier: Apache-2.0 */
/* How far the making of a plan is, told to the caller, who may end it. */
#ifndef RY_PLAN_PLAN_PROGRESS_H
#define RY_PLAN_PLAN_PROGRESS_H

#include "plan/plan_builder.h"

/* What takes time, in order. */
typedef enum ry_plan_stage {
    RY_STAGE_LAYOUTS,
    RY_STAGE_STEPS,
    RY_STAGE_PACKING,
    RY_STAGES,
} ry_plan_stage;

/* `done` of `all` of a stage are done. Fails with CANCELLED where the caller ends it. */
rynd_status ry_plan_advance(ry_plan_builder *b, ry_plan_stage stage, size_t done, size_t all,
                            ry_error *error);

#endif
