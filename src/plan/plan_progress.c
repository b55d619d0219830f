/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/plan_progress.h"

#include "base/progress_ends.h"

/* Parts of a stage that are told: more would be read by nobody. */
enum { PARTS = 100 };

rynd_status ry_plan_advance(ry_plan_builder *b, ry_plan_stage stage, size_t done, size_t all,
                            ry_error *error)
{
    const size_t part = all ? done * PARTS / all : PARTS;
    return ry_progress_ends(b->options->progress, b->options->progress_user,
                            (size_t)stage * PARTS + part, (size_t)RY_STAGES * PARTS)
               ? ry_fail(error, RYND_ERROR_CANCELLED, "the plan was ended before it was made")
               : RYND_OK;
}
