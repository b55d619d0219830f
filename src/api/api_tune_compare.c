/* SPDX-License-Identifier: Apache-2.0 */
/* Whole plans in turns: what was found for each problem, and of the plan, must be worth it
 * together. */
#include "api/api_tune_model.h"
#include "api/api_tune_plans.h"
#include "api/api_tune_runner.h"
#include "api/api_wisdom.h"
#include "base/clock.h"
#include "tune/sample_statistics.h"

#include <math.h>
#include <string.h>

enum { UNTUNED = RY_DUEL_UNTUNED, TUNED = RY_DUEL_TUNED, PLANS = RY_DUEL_PLANS };

/* What a comparison may take, however little of the budget is left: two dozen rounds, or four
 * seconds. Without it nothing that was found could be taken. */
static const double LEAST_ROUNDS = 24, LEAST_SECONDS = 4;

typedef struct comparison {
    rynd_tuning *tuning;
    const rynd_model *model;
    const rynd_plan_options *options;
    const rynd_tune_options *how;
    ry_adviser adviser; /* who knows what was found */
    ry_runner runner[PLANS];
    ry_arena arena;
    ry_duel duel;
} comparison;

/* Advises the form found by this tuning, else the known one. */
static bool advise(void *user, const ry_problem *problem, unsigned constants,
                   const ry_target *target, ry_advice *advice)
{
    const rynd_tuning *tuning = user;
    const ry_adviser *known = ry_api_adviser(tuning->context);
    ry_arena arena;
    ry_arena_init(&arena, &tuning->context->allocator);
    const char *text = ry_problem_print(problem, &arena);
    const ry_tuning_entry *entry =
        text ? ry_api_entry_of(tuning, text, constants, tuning->count) : NULL;
    ry_arena_free(&arena);
    if (entry && entry->tuned.count > 0 && target->device == tuning->context->device->table->kind) {
        const ry_measured_form *taken = &entry->tuned.forms[entry->tuned.taken];
        *advice = (ry_advice){taken->prepared.kernel, taken->prepared.form, taken->time.median};
        return taken->time.n > 0;
    }
    return known && known->advise(known->user, problem, constants, target, advice);
}

static bool advise_plan(void *user, const char *network, const ry_target *target,
                        ry_plan_advice *advice)
{
    const rynd_tuning *tuning = user;
    const ry_plan_form form = ry_api_tuned_plan_form(tuning);
    (void)target;
    *advice = (ry_plan_advice){.steps = 0};
    ry_plan_form_print(&form, advice->form);
    return tuning->plans && strcmp(network, tuning->plans->network) == 0;
}

static rynd_status open_runner(comparison *c, int which, const ry_adviser *adviser, ry_error *error)
{
    return ry_api_runner_open(&c->runner[which], c->model, c->options, adviser, c->how->seed,
                              error);
}

static bool found_forms(const comparison *c)
{
    for (size_t i = 0; i < c->tuning->count; i++) {
        if (c->tuning->entries[i].tuned.taken) {
            return true;
        }
    }
    return false;
}

static bool found_plan(const comparison *c)
{
    return c->tuning->plans && c->tuning->plans->taken;
}

/* Gives up the forms that are not faster within the network: both have the plan that was found. */
static rynd_status compare_steps(comparison *c, ry_error *error)
{
    int given_up;
    ry_form_known known = {.form = ry_api_tuned_plan_form(c->tuning)};
    const ry_adviser plan_only = ry_api_form_adviser(&known);
    RY_TRY(open_runner(c, UNTUNED, &plan_only, error));
    RY_TRY(open_runner(c, TUNED, &c->adviser, error));
    RY_TRY(ry_api_give_up_slower(c->tuning, c->runner[UNTUNED].plan, c->runner[UNTUNED].session,
                                 c->runner[TUNED].session, &c->arena, &given_up, error));
    if (given_up) {
        ry_api_runner_close(&c->runner[TUNED]);
    }
    ry_api_runner_close(&c->runner[UNTUNED]);
    return RYND_OK;
}

/* The plan of what is faster within the network, too, and the untuned one: *left tells whether
 * anything is. */
static rynd_status prepare(comparison *c, bool *left, ry_error *error)
{
    if (found_forms(c)) {
        RY_TRY(compare_steps(c, error));
    }
    *left = found_forms(c) || found_plan(c);
    if (!*left) {
        return RYND_OK;
    }
    if (!c->runner[TUNED].plan) {
        RY_TRY(open_runner(c, TUNED, &c->adviser, error));
    }
    return open_runner(c, UNTUNED, NULL, error);
}

static bool hear(void *user, double ratio, double spent)
{
    const comparison *c = user;
    const rynd_tuning *tuning = c->tuning;
    const rynd_tune_progress tuning_progress = RYND_SIZED(
        rynd_tune_progress, .problem = "", .index = tuning->count, .count = tuning->count + 1,
        .looked = PLANS, .forms = PLANS, .left = PLANS, .kernel = "", .knobs = "", .ratio = ratio,
        .spent = tuning->info.used + spent, .budget = tuning->info.budget, .saved = tuning->saved);
    return ry_api_tune_ends(c->how, &tuning_progress);
}

/* Any gain is one: of a network the parts that did not change have no share in it. */
static rynd_status race(comparison *c, ry_error *error)
{
    rynd_tuning_info *info = &c->tuning->info;
    const ry_duel_options options = {
        .budget = fmax(info->budget - info->used,
                       fmin(LEAST_SECONDS, 3 * LEAST_ROUNDS * c->runner[UNTUNED].once)),
        .seed = c->how->seed,
        .hear = hear,
        .user = c};
    RY_TRY(ry_api_duel(&c->runner[UNTUNED], &c->runner[TUNED], &options, &c->duel, error));
    info->ended |= c->duel.ended;
    info->taken = ry_api_duel_is_won(&c->duel);
    info->ratio = ry_race_ratio(&c->duel.race, TUNED);
    info->runs = (size_t)c->duel.counts[TUNED];
    info->before = ry_median(c->duel.times[UNTUNED], c->duel.counts[UNTUNED]);
    info->after = info->before * info->ratio;
    return RYND_OK;
}

/* Records the outcome of entries that are not taken, too. */
static rynd_status keep(comparison *c, ry_error *error)
{
    for (size_t i = 0; i < c->tuning->count; i++) {
        const ry_tuning_entry *entry = &c->tuning->entries[i];
        if (!entry->elsewhere && (entry->network_ratio > 0 || !c->tuning->info.taken)) {
            RY_TRY(ry_api_tuned_keep(c->tuning, c->how, entry,
                                     c->tuning->info.taken ? entry->tuned.taken : 0, error));
        }
    }
    return c->tuning->info.taken ? RYND_OK : ry_api_give_up_plan(c->tuning, c->how, error);
}

static rynd_status compare(comparison *c, ry_error *error)
{
    const double begin = ry_clock_seconds();
    bool left;
    RY_TRY(prepare(c, &left, error));
    c->tuning->info.used += ry_clock_seconds() - begin;
    const double from = ry_clock_seconds();
    RY_TRY(left ? race(c, error) : RYND_OK);
    c->tuning->info.used += ry_clock_seconds() - from;
    return keep(c, error);
}

rynd_status ry_api_compare_plans(rynd_tuning *tuning, const rynd_model *model,
                                 const rynd_plan_options *options, const rynd_tune_options *how,
                                 ry_error *error)
{
    comparison *c = ry_allocate_array(&tuning->context->allocator, 1, sizeof *c);
    if (!c) {
        return ry_fail_memory(error);
    }
    c->tuning = tuning;
    c->model = model;
    c->options = options;
    c->how = how;
    c->adviser = (ry_adviser){advise, tuning, advise_plan};
    ry_arena_init(&c->arena, &tuning->context->allocator);
    const rynd_status status = compare(c, error);
    for (int i = 0; i < PLANS; i++) {
        ry_api_runner_close(&c->runner[i]);
    }
    ry_arena_free(&c->arena);
    ry_release(&tuning->context->allocator, c);
    return status;
}
