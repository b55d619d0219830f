/* SPDX-License-Identifier: Apache-2.0 */
/* Asks for measured times, if an adviser is set. */
#include "predict/advice.h"

rynd_status ry_advice_take(const ry_adviser *adviser, const ry_problem *problem,
                           const ry_target *target, unsigned constants, ry_choice *choice,
                           ry_error *error)
{
    ry_advice advice;
    *choice = (ry_choice){0};
    if (!adviser || !adviser->advise(adviser->user, problem, constants, target, &advice) ||
        !ry_kernel_takes(advice.kernel, problem, target)) {
        return RYND_OK;
    }
    const ry_wanted wanted = {advice.kernel, advice.form};
    const rynd_status status =
        ry_predict_choose(problem, target, constants, &wanted, choice, error);
    choice->measured = advice.seconds;
    if (status == RYND_ERROR_ARGUMENT) { /* each knob value is legal, their combination is not */
        *choice = (ry_choice){0};
        return RYND_OK;
    }
    return status;
}
