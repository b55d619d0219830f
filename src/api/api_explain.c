/* SPDX-License-Identifier: Apache-2.0 */
/* What the choices of plans and operators were made among. */
#include "api/api_explain.h"

#include "api/api_check.h"
#include "api/api_predict.h"
#include "api/api_status.h"
#include "api/api_wisdom.h"
#include "api/handles.h"
#include "kernels/form.h"
#include "plan/plan_time.h"
#include "predict/all_candidates.h"
#include "predict/work_kinds.h"
#include "problem/problem_words.h"

typedef struct telling {
    const rynd_context *context;
    const ry_plan *plan; /* NULL: an operator alone */
    size_t step;
    double footprint;
    unsigned constants;
    const ry_machine *machine;
    size_t workers;
    rynd_candidate_function tell;
    void *user;
} telling;

static rynd_prediction predict(const telling *t, const ry_prepared *prepared)
{
    const rynd_context *context = t->context;
    const ry_time time =
        t->plan
            ? ry_plan_other_time(t->plan, t->step, prepared, context->predicted_threads,
                                 t->footprint)
            : ry_predict_parts(prepared, context->device->machine, context->predicted_threads, 0, 0,
                               ry_forecast_residual(&context->machine, prepared->kernel).factor);
    const ry_forecast forecast = ry_forecast_step(&context->machine, prepared->kernel, time.all);
    return ry_api_prediction(context, &forecast, &time);
}

_Static_assert((int)RYND_WORK_KINDS == (int)RY_WORK_KINDS, "one list of kinds");

const char *rynd_work_kind_name(size_t kind)
{
    return ry_work_kind_name(kind);
}

static rynd_status tell(void *user, const ry_candidate *candidate, ry_error *error)
{
    const telling *t = user;
    const ry_prepared *prepared = candidate->prepared;
    char knobs[RY_FORM_TEXT] = "";
    rynd_candidate all =
        RYND_SIZED(rynd_candidate, .kernel = candidate->kernel->name,
                   .accuracy = ry_accuracy_word(candidate->kernel->accuracy),
                   .refused = candidate->refused, .chosen = candidate->chosen, .knobs = knobs,
                   .prediction = RYND_SIZED(rynd_prediction, .meter = ""));
    if (prepared) {
        ry_form_print(prepared->kernel, &prepared->form, knobs);
        all.prediction = predict(t, prepared);
        all.workspace = ry_prepared_workspace(prepared) + prepared->scratch * t->workers;
        all.packed = ry_prepared_packed(prepared);
        all.measured = ry_api_measured(t->context, prepared, t->constants, t->machine);
        RY_TRY(ry_predict_kinds(prepared, candidate->target, t->constants,
                                t->context->predicted_threads, all.prediction.arithmetic, all.kinds,
                                error));
    }
    return t->tell(t->user, &all) == 0
               ? RYND_OK
               : ry_fail(error, RYND_ERROR_CANCELLED, "the walk through candidates was ended");
}

rynd_status ry_api_explain_op(const ry_prepared *prepared, unsigned constants,
                              const rynd_context *context, rynd_candidate_function function,
                              void *user, ry_error *error)
{
    const ry_target target = ry_target_of(context->device);
    telling t = {
        .context = context,
        .constants = constants,
        .machine = target.machine,
        .workers = context->device->workers,
        .tell = function,
        .user = user,
    };
    return ry_explain(prepared, constants, &target, NULL, tell, &t, error);
}

static rynd_status explain_step(const rynd_plan *plan, size_t index,
                                rynd_candidate_function function, void *user, ry_error *error)
{
    const ry_plan *p = plan->plan;
    if (index >= p->step_count) {
        return ry_fail(error, RYND_ERROR_ARGUMENT, "step %zu: the plan has %zu", index,
                       p->step_count);
    }
    const ry_step *step = &p->steps[index];
    ry_target target = ry_target_of(ry_plan_step_device(p, step)), beside = ry_target_of(p->device);
    target.network_bytes = beside.network_bytes = p->network_bytes;
    telling t = {
        .context = plan->context,
        .plan = p,
        .step = index,
        .footprint = ry_plan_footprint(p),
        .constants = ry_plan_step_constants(step),
        .machine = target.machine,
        .workers = p->device->workers,
        .tell = function,
        .user = user,
    };
    return ry_explain(&step->prepared, ry_plan_step_constants(step), &target,
                      ry_plan_falls_back(p, step) ? &beside : NULL, tell, &t, error);
}

rynd_status rynd_plan_explain(const rynd_plan *plan, size_t step, rynd_candidate_function function,
                              void *user)
{
    RY_API_REQUIRE(plan);
    RY_TRY(ry_api_require_function(__func__, "tell", function != NULL));
    ry_error error = {""};
    return ry_api_end(explain_step(plan, step, function, user, &error), &error);
}
