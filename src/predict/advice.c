/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses what was measured, where it is to be had. */
#include "predict/advice.h"

rynd_status ry_advice_choose(const ry_adviser *adviser, const ry_problem *problem,
                             const ry_target *target, unsigned constants, ry_choice *choice,
                             ry_error *error)
{
    ry_advice advice;
    if (!adviser || !adviser->advise(adviser->user, problem, constants, target, &advice) ||
        !ry_kernel_takes(advice.kernel, problem, target)) {
        return ry_predict_choose(problem, target, constants, NULL, choice, error);
    }
    const ry_wanted wanted = {advice.kernel, advice.form};
    const rynd_status status =
        ry_predict_choose(problem, target, constants, &wanted, choice, error);
    if (status == RYND_OK || status == RYND_ERROR_OUT_OF_MEMORY) {
        choice->measured = advice.seconds;
        return status;
    }
    return ry_predict_choose(problem, target, constants, NULL, choice, error);
}
