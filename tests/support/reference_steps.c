/* SPDX-License-Identifier: Apache-2.0 */
#include "reference_steps.h"

#include <fnmatch.h>
#include <stdio.h>

static const struct {
    const char *kernel, *problem;
} listed[] = {
#define REFERENCE_STEP(kernel, problem, why) {kernel, problem},
#include "reference_steps.inc"
#undef REFERENCE_STEP
};

bool reference_step_is_listed(const rynd_step_info *step)
{
    bool found = !step->reference;
    for (size_t i = 0; !found && i < sizeof listed / sizeof *listed; i++) {
        found = fnmatch(listed[i].kernel, step->kernel, 0) == 0 &&
                fnmatch(listed[i].problem, step->problem, 0) == 0;
    }
    return found;
}

bool reference_steps_are_listed(const rynd_plan *plan, char *text, size_t size)
{
    for (size_t i = 0; i < rynd_plan_step_count(plan); i++) {
        rynd_step_info step = RYND_SIZED(rynd_step_info);
        if (rynd_plan_get_step(plan, i, &step) == RYND_OK && !reference_step_is_listed(&step)) {
            snprintf(text, size, "%s computes '%s'", step.kernel, step.problem);
            return false;
        }
    }
    return true;
}
