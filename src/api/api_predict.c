/* SPDX-License-Identifier: Apache-2.0 */
/* Predictions of plans, their steps, and operators. */
#include "api/api_predict.h"

#include "api/api_check.h"
#include "api/api_status.h"
#include "api/handles.h"
#include "plan/plan_time.h"
#include "predict/energy.h"

rynd_prediction ry_api_prediction(const rynd_context *context, const ry_forecast *forecast,
                                  const ry_time *time)
{
    const ry_joules joules =
        ry_energy_predict(&context->machine, context->predicted_threads, time, forecast);
    return RYND_SIZED(rynd_prediction, .median = forecast->median, .low = forecast->low,
                      .high = forecast->high, .coverage = RY_FORECAST_COVERAGE,
                      .arithmetic = time->arithmetic, .memory = time->memory,
                      .overhead = time->overhead, .joule = joules.median, .joule_low = joules.low,
                      .joule_high = joules.high, .meter = context->machine.meter);
}

static rynd_status give(rynd_prediction *to, const rynd_context *context,
                        const ry_forecast *forecast, const ry_time *time, ry_error *error)
{
    const rynd_prediction all = ry_api_prediction(context, forecast, time);
    return ry_api_info(to, &all, sizeof all, "rynd_prediction", error);
}

rynd_status ry_api_predict_op(const ry_prepared *prepared, const rynd_context *context,
                              rynd_prediction *prediction, ry_error *error)
{
    const ry_time time =
        ry_predict_parts(prepared, context->device->machine, context->predicted_threads, 0, 0,
                         ry_forecast_residual(&context->machine, prepared->kernel).factor);
    const ry_forecast forecast = ry_forecast_step(&context->machine, prepared->kernel, time.all);
    return give(prediction, context, &forecast, &time, error);
}

rynd_status rynd_plan_predict_step(const rynd_plan *plan, size_t step, rynd_prediction *prediction)
{
    RY_API_REQUIRE(plan, prediction);
    ry_error error = {""};
    const ry_plan *p = plan->plan;
    if (step >= p->step_count) {
        return ry_api_end(
            ry_fail(&error, RYND_ERROR_ARGUMENT, "step %zu: the plan has %zu", step, p->step_count),
            &error);
    }
    const ry_time time =
        ry_plan_step_time(p, step, plan->context->predicted_threads, ry_plan_footprint(p));
    const ry_forecast forecast =
        ry_forecast_step(&plan->context->machine, p->steps[step].prepared.kernel, time.all);
    return ry_api_end(give(prediction, plan->context, &forecast, &time, &error), &error);
}

static rynd_status predict(const rynd_plan *plan, double *families, rynd_prediction *prediction,
                           ry_error *error)
{
    const ry_plan *p = plan->plan;
    const double footprint = ry_plan_footprint(p);
    ry_forecast_sum sum = {.family = families};
    ry_time all = {0};
    for (size_t s = 0; s < p->step_count; s++) {
        const ry_time time = ry_plan_step_time(p, s, plan->context->predicted_threads, footprint);
        ry_forecast_add(&sum, &plan->context->machine, p->steps[s].prepared.kernel, time.all);
        all.arithmetic += time.arithmetic;
        all.memory += time.memory;
        all.overhead += time.overhead;
        for (int i = 0; i < RYND_ENERGY_KINDS; i++) {
            all.does[i] += time.does[i];
        }
    }
    const ry_forecast forecast = ry_forecast_end(&sum);
    return give(prediction, plan->context, &forecast, &all, error);
}

rynd_status rynd_plan_predict(const rynd_plan *plan, rynd_prediction *prediction)
{
    RY_API_REQUIRE(plan, prediction);
    ry_error error = {""};
    const ry_allocator *allocator = &plan->context->allocator;
    double *families = ry_allocate_array(allocator, ry_forecast_families(), sizeof *families);
    const rynd_status status =
        families ? predict(plan, families, prediction, &error) : ry_fail_memory(&error);
    ry_release(allocator, families);
    return ry_api_end(status, &error);
}
