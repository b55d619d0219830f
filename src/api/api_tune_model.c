/* SPDX-License-Identifier: Apache-2.0 */
/* Tuning a model: the problems of its plan, then the plan. */
#include "api/api_tune_model.h"

#include "api/api_check.h"
#include "api/api_plan.h"
#include "api/api_status.h"
#include "api/api_tune_plans.h"
#include "plan/choose_form.h"
#include "plan/plan_time.h"
#include "predict/forecast.h"
#include "predict/predict.h"
#include "tune/candidates.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Shares of the budget: for plans of other forms, first, and for comparing, last. DEFAULT_BUDGET:
 * seconds that suffice. PLANS_RUNS: runs of the network that plans of other forms take. */
static const double PLANS_SHARE = 0.25, COMPARE_SHARE = 0.2, DEFAULT_BUDGET = 20, PLANS_RUNS = 200;

static double step_seconds(const ry_plan *plan, size_t index)
{
    const ry_step *step = &plan->steps[index];
    return (double)ry_plan_batch_split_of(plan, index)->micro_batches *
           ry_predict_parts(&step->prepared, plan->device->machine, plan->device->workers,
                            ry_plan_step_constants(step), plan->network_bytes,
                            ry_forecast_calibrated(plan->device->machine, step->prepared.kernel))
               .all;
}

static bool is_set(const rynd_plan_options *options, const char *step)
{
    for (size_t i = 0; options && i < options->setting_count; i++) {
        if (strcmp(options->settings[i].step, step) == 0) {
            return true;
        }
    }
    return false;
}

/* Has it more than one form? */
static rynd_status has_choice(const ry_step *step, const ry_target *target, const ry_device *device,
                              bool *choice, ry_error *error)
{
    ry_arena arena;
    ry_candidates all;
    ry_arena_init(&arena, device->allocator);
    const rynd_status status = ry_candidates_list(&step->problem, ry_plan_step_constants(step),
                                                  target, device->workers, &arena, &all, error);
    *choice = status == RYND_OK && all.count > 1;
    ry_arena_free(&arena);
    return status;
}

static int by_seconds(const void *a, const void *b)
{
    const ry_tuning_entry *x = a, *y = b;
    const int time = (x->seconds < y->seconds) - (x->seconds > y->seconds);
    return time ? time : strcmp(x->text, y->text);
}

static rynd_status add_step(rynd_tuning *tuning, const rynd_plan *plan, size_t index, bool cold,
                            size_t *count, ry_error *error)
{
    const ry_step *step = &plan->plan->steps[index];
    ry_target target = ry_target_of(plan->plan->device);
    target.network_bytes = plan->plan->network_bytes;
    const char *text = plan->steps[index].problem;
    ry_tuning_entry *entry = ry_api_entry_of(tuning, text, ry_plan_step_constants(step), *count);
    bool choice = true;
    if (!entry) {
        RY_TRY(has_choice(step, &target, plan->plan->device, &choice, error));
    }
    if (!choice) {
        return RYND_OK;
    }
    if (!entry) {
        entry = &tuning->entries[(*count)++];
        *entry = (ry_tuning_entry){.problem = step->problem,
                                   .text = ry_arena_string(&tuning->arena, text, strlen(text)),
                                   .constants = ry_plan_step_constants(step),
                                   .cold = cold,
                                   .network_bytes = plan->plan->network_bytes};
    }
    entry->steps++;
    entry->seconds += step_seconds(plan->plan, index);
    return entry->text ? RYND_OK : ry_fail_memory(error);
}

rynd_status ry_api_list_problems(rynd_tuning *tuning, const rynd_plan *plan,
                                 const rynd_plan_options *options, bool cold, size_t *count,
                                 ry_error *error)
{
    *count = 0;
    tuning->entries = RY_TAKE(&tuning->arena, ry_tuning_entry, plan->plan->step_count);
    if (!tuning->entries) {
        return ry_fail_memory(error);
    }
    for (size_t i = 0; i < plan->plan->step_count; i++) {
        const ry_step *step = &plan->plan->steps[i];
        if (!ry_plan_falls_back(plan->plan, step) && !is_set(options, step->name)) {
            RY_TRY(add_step(tuning, plan, i, cold, count, error));
        }
    }
    qsort(tuning->entries, *count, sizeof *tuning->entries, by_seconds);
    return RYND_OK;
}

/* Budget of an entry: its share of `left` by its steps' time, but at most twice a single problem's.
 */
static double share_of(const ry_tuning_entry *entry, double left, double weights)
{
    const double most = 2 * ry_tune_default_budget(entry->seconds / (double)entry->steps);
    return weights > 0 ? fmin(most, left * entry->seconds / weights) : 0;
}

/* A problem for which no legal content of its inputs is known stays as it is. */
static rynd_status tune_entries(rynd_tuning *tuning, const rynd_tune_options *options, size_t count,
                                ry_error *error)
{
    double weights = 0;
    for (size_t i = 0; i < count; i++) {
        weights += tuning->entries[i].seconds;
    }
    size_t all = count;
    while (tuning->count < all && !tuning->info.ended) {
        ry_tuning_entry *e = &tuning->entries[tuning->count];
        const double left = (1 - COMPARE_SHARE) * tuning->info.budget - tuning->info.used,
                     share = share_of(e, left, weights);
        weights -= e->seconds;
        const rynd_status status = ry_api_tune_entry(tuning, options, all, fmax(0, share), error);
        if (status == RYND_ERROR_SHAPE || status == RYND_ERROR_UNSUPPORTED) {
            ry_api_log(tuning->context, 1, "not tuned: %s", error->text);
            memmove(e, e + 1, (--all - tuning->count) * sizeof *e);
            continue;
        }
        RY_TRY(status);
    }
    return RYND_OK;
}

static bool found_something(const rynd_tuning *tuning)
{
    if (tuning->plans && tuning->plans->taken) {
        return true;
    }
    for (size_t i = 0; i < tuning->count; i++) {
        if (tuning->entries[i].tuned.taken) {
            return true;
        }
    }
    return false;
}

/* Do its weights come from memory in every run? */
static bool exceed_cache(const rynd_plan *plan)
{
    const size_t weights = plan->plan->weights.packed_size + plan->plan->weights.constant_size;
    return ry_machine_exceeds_cache(plan->plan->device->machine, (double)weights);
}

/* Is some of the plan's form the caller's choice? */
static bool is_plan_set(const rynd_plan_options *options)
{
    for (size_t i = 0; i < options->setting_count; i++) {
        if (strcmp(options->settings[i].step, RY_PLAN_ITSELF) == 0 &&
            ry_plan_knob_find(options->settings[i].knob) != RY_PLAN_KNOBS) {
            return true;
        }
    }
    return false;
}

static double default_budget(const rynd_tuning *tuning, const rynd_plan *plan, size_t count)
{
    double budget = 0, seconds = 0;
    for (size_t i = 0; i < count; i++) {
        const ry_tuning_entry *e = &tuning->entries[i];
        budget += ry_tune_default_budget(e->seconds / (double)e->steps);
    }
    for (size_t i = 0; i < plan->plan->step_count; i++) {
        seconds += step_seconds(plan->plan, i);
    }
    budget += PLANS_RUNS * seconds;
    return fmin(DEFAULT_BUDGET, budget / (1 - COMPARE_SHARE));
}

rynd_status ry_api_tune_steps(rynd_tuning *tuning, const rynd_plan *plan, bool cold,
                              const rynd_tune_options *options, ry_error *error)
{
    size_t count;
    RY_TRY(ry_api_list_problems(tuning, plan, NULL, cold, &count, error));
    tuning->info.budget =
        options->budget > 0 ? options->budget : default_budget(tuning, plan, count);
    RY_TRY(tune_entries(tuning, options, count, error));
    tuning->info.taken = found_something(tuning);
    return RYND_OK;
}

static bool are_cold(const rynd_plan *plan, const rynd_tune_options *options)
{
    const bool cold = options->weights == RYND_TUNE_WEIGHTS_DEFAULT
                          ? exceed_cache(plan)
                          : options->weights == RYND_TUNE_WEIGHTS_COLD;
    return cold && plan->context->device->table->kind == RY_DEVICE_cpu;
}

/* The form of the plan; where another one is taken, the plan and the problems of its steps take the
 * place of those of the untuned plan. */
static rynd_status tune_plan(rynd_tuning *tuning, const rynd_model *model,
                             const rynd_plan_options *untuned, const rynd_tune_options *options,
                             rynd_plan **plan, size_t *count, ry_error *error)
{
    RY_TRY(ry_api_tune_plans(tuning, model, *plan, untuned, options,
                             PLANS_SHARE * tuning->info.budget, error));
    if (tuning->plans->taken == 0) {
        return RYND_OK;
    }
    ry_form_known known = {.form = ry_api_tuned_plan_form(tuning)};
    const ry_adviser adviser = ry_api_form_adviser(&known);
    rynd_plan_destroy(*plan);
    *plan = NULL;
    RY_TRY(ry_api_plan_create(model, untuned, &adviser, plan, error));
    return ry_api_list_problems(tuning, *plan, untuned, are_cold(*plan, options), count, error);
}

static rynd_status tune_model(rynd_tuning *tuning, const rynd_model *model,
                              const rynd_plan_options *given, const rynd_tune_options *options,
                              rynd_plan **plan, ry_error *error)
{
    RY_TRY(ry_api_check_tune_options(model->context, options, error));
    rynd_plan_options untuned;
    RY_TRY(ry_api_options(&untuned, sizeof untuned, given, "rynd_plan_options", error));
    untuned.size = sizeof untuned;
    untuned.without_weights = 1;
    untuned.own_weights = SIZE_MAX; /* what is measured depends on no other plan */
    RY_TRY(ry_api_plan_create(model, &untuned, NULL, plan, error));
    size_t count;
    RY_TRY(ry_api_list_problems(tuning, *plan, &untuned, are_cold(*plan, options), &count, error));
    tuning->info.budget =
        options->budget > 0 ? options->budget : default_budget(tuning, *plan, count);
    if (!is_plan_set(&untuned)) {
        RY_TRY(tune_plan(tuning, model, &untuned, options, plan, &count, error));
    }
    RY_TRY(tune_entries(tuning, options, count, error));
    if (!found_something(tuning) || tuning->info.ended) {
        tuning->info.taken = found_something(tuning);
        return RYND_OK;
    }
    rynd_plan_destroy(*plan); /* makes room for the two compared plans */
    *plan = NULL;
    return ry_api_compare_plans(tuning, model, &untuned, options, error);
}

rynd_status rynd_tune_model(const rynd_model *model, const rynd_plan_options *plan,
                            const rynd_tune_options *given, rynd_tuning **tuning)
{
    RY_API_REQUIRE(model, tuning);
    *tuning = NULL;
    ry_error error = {""};
    rynd_tune_options options;
    rynd_status status =
        ry_api_options(&options, sizeof options, given, "rynd_tune_options", &error);
    rynd_tuning *made = status == RYND_OK ? ry_api_tuning_create(model->context) : NULL;
    rynd_plan *untuned = NULL;
    if (status == RYND_OK) {
        status = made ? tune_model(made, model, plan, &options, &untuned, &error)
                      : ry_fail_memory(&error);
    }
    rynd_plan_destroy(untuned);
    ry_weights_forget(model->weights);
    if (status != RYND_OK) {
        rynd_tuning_destroy(made);
        return ry_api_end(status, &error);
    }
    *tuning = made;
    return RYND_OK;
}
