/* SPDX-License-Identifier: Apache-2.0 */
/* Tuning a problem. */
#include "api/api_check.h"
#include "api/api_status.h"
#include "api/api_tune_model.h"
#include "api/op_handle.h"
#include "kernels/form.h"
#include "predict/predict.h"

#include <string.h>

/* Tunes a problem that one kernel computes. */
static rynd_status tune_kernel(rynd_tuning *tuning, const rynd_op *op, bool cold,
                               const rynd_tune_options *options, ry_error *error)
{
    tuning->entries = RY_TAKE(&tuning->arena, ry_tuning_entry, 1);
    if (!tuning->entries) {
        return ry_fail_memory(error);
    }
    ry_tuning_entry *e = &tuning->entries[0];
    *e = (ry_tuning_entry){.problem = op->problem,
                           .text = ry_problem_print(&op->problem, &tuning->arena),
                           .constants = op->constants,
                           .cold = cold,
                           .steps = 1};
    if (!e->text) {
        return ry_fail_memory(error);
    }
    const ry_target target = ry_target_of(tuning->context->device);
    ry_choice untuned;
    RY_TRY(ry_predict_choose(&e->problem, &target, e->constants, NULL, &untuned, error));
    if (!untuned.prepared.kernel) {
        return ry_choice_fail(&untuned, tuning->context->device->table->name, error);
    }
    tuning->info.budget =
        options->budget > 0 ? options->budget : ry_tune_default_budget(untuned.seconds);
    RY_TRY(ry_api_tune_entry(tuning, options, 1, tuning->info.budget, error));
    tuning->info.taken = e->tuned.taken != 0;
    return RYND_OK;
}

/* The entries of a tuning point into *op, which must outlive it. */
static rynd_status tune_problem(rynd_tuning *tuning, const char *text,
                                const rynd_tune_options *options, rynd_op **op, ry_error *error)
{
    rynd_context *context = tuning->context;
    const rynd_op_options shape = {.accuracy = options->accuracy, .constants = options->constants};
    const bool cold =
        options->weights != RYND_TUNE_WEIGHTS_WARM && context->device->table->kind == RY_DEVICE_cpu;
    RY_TRY(ry_api_check_tune_options(context, options, error));
    RY_TRY(ry_op_create(context, text, &shape, NULL, true, op, error));
    return (*op)->plan ? ry_api_tune_steps(tuning, (*op)->plan, cold, options, error)
                       : tune_kernel(tuning, *op, cold, options, error);
}

rynd_status rynd_tune_problem(rynd_context *context, const char *problem,
                              const rynd_tune_options *given, rynd_tuning **tuning)
{
    RY_API_REQUIRE(context, problem, tuning);
    *tuning = NULL;
    ry_error error = {""};
    rynd_tune_options options;
    rynd_status status =
        ry_api_options(&options, sizeof options, given, "rynd_tune_options", &error);
    rynd_tuning *made = status == RYND_OK ? ry_api_tuning_create(context) : NULL;
    rynd_op *op = NULL;
    if (status == RYND_OK) {
        status = made ? tune_problem(made, problem, &options, &op, &error) : ry_fail_memory(&error);
    }
    rynd_op_destroy(op);
    if (status != RYND_OK) {
        rynd_tuning_destroy(made);
        return ry_api_end(status, &error);
    }
    *tuning = made;
    return RYND_OK;
}
