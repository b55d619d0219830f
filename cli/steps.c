/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the steps of plans and problems alike. */
#include "steps.h"

cli_steps cli_steps_of(const rynd_plan *plan, const rynd_op *op)
{
    return (cli_steps){op ? rynd_op_plan(op) : plan, op};
}

size_t cli_steps_count(const cli_steps *steps)
{
    return steps->plan ? rynd_plan_step_count(steps->plan) : 1;
}

bool cli_steps_get(const cli_steps *steps, size_t index, rynd_step_info *step, cli_failure *failure)
{
    *step = RYND_SIZED(rynd_step_info);
    const rynd_status status = steps->plan ? rynd_plan_get_step(steps->plan, index, step)
                                           : rynd_op_get_info(steps->op, step);
    return status == RYND_OK ? true : cli_fail_library(failure);
}

bool cli_steps_predict(const cli_steps *steps, size_t index, rynd_prediction *time,
                       cli_failure *failure)
{
    *time = RYND_SIZED(rynd_prediction);
    const rynd_status status = steps->plan ? rynd_plan_predict_step(steps->plan, index, time)
                                           : rynd_op_predict(steps->op, time);
    return status == RYND_OK ? true : cli_fail_library(failure);
}
