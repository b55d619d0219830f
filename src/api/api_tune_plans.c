/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of other forms, one after the other against the best so far.
 *
 * Kernels are the untuned ones: what a layout costs and saves is compared before each of its steps
 * is tuned. Each knob is moved alone; when a plan is taken, those behind it are made of its form.
 */
#include "api/api_tune_plans.h"

#include "api/api_check.h"
#include "api/api_plan.h"
#include "api/api_status.h"
#include "api/api_tune_runner.h"
#include "api/api_wisdom.h"
#include "base/clock.h"
#include "plan/plan_time.h"
#include "tune/sample_statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_VARIANTS = 64, MAX_TIMES = 4 * RY_RACE_ROUNDS };

/* LIST_SHARE of the budget goes to listing. HOPELESS: plans with a predicted time this much longer
 * are left out, since predictions of steps are mostly within a quarter. WORTH: gain for which more
 * rounds pay off. */
static const double LIST_SHARE = 0.3, HOPELESS = 1.25, WORTH = 0.01;

/* So many want a share each of the time that is left, at most: those behind are predicted to be
 * slower, and most are dropped early. */
enum { SHARES = 4 };

typedef struct variant {
    ry_plan_knob knob;
    int percent;
    uint64_t steps;
    double predicted;
    int order;
} variant;

typedef struct search {
    rynd_tuning *tuning;
    ry_tuned_plans *plans;
    const rynd_model *model;
    const rynd_plan_options *options;
    const rynd_tune_options *how;
    double begin, end; /* clock */
    variant variants[MAX_VARIANTS];
    size_t count, at; /* variants, and the one that runs */
    ry_runner best;
    double (*times)[MAX_TIMES]; /* per timed plan */
    int *counts;
    ry_form_known known;
    ry_adviser adviser;
} search;

static bool advise_nothing(void *user, const ry_problem *problem, unsigned constants,
                           const ry_target *target, ry_advice *advice)
{
    (void)user;
    (void)problem;
    (void)constants;
    (void)target;
    (void)advice;
    return false;
}

static bool advise_form(void *user, const char *network, const ry_target *target,
                        ry_plan_advice *advice)
{
    ry_form_known *known = user;
    (void)target;
    if (!known->network[0]) { /* the rest of a plan comes later */
        memcpy(known->network, network, strlen(network) + 1);
    }
    *advice = (ry_plan_advice){.steps = 0};
    ry_plan_form_print(&known->form, advice->form);
    return strcmp(network, known->network) == 0;
}

ry_adviser ry_api_form_adviser(ry_form_known *known)
{
    return (ry_adviser){advise_nothing, known, advise_form};
}

ry_plan_form ry_api_tuned_plan_form(const rynd_tuning *tuning)
{
    return tuning->plans && tuning->plans->count ? tuning->plans->forms[tuning->plans->taken]
                                                 : ry_plan_form_predicted();
}

rynd_status ry_api_give_up_plan(rynd_tuning *tuning, const rynd_tune_options *how, ry_error *error)
{
    if (!tuning->plans || tuning->plans->taken == 0) {
        return RYND_OK;
    }
    tuning->plans->taken = tuning->info.plan = 0;
    return ry_api_plans_keep(tuning, how, 0, error);
}

static double predicted_seconds(const rynd_plan *plan)
{
    const ry_plan *p = plan->plan;
    const double footprint = ry_plan_footprint(p);
    double seconds = 0;
    for (size_t s = 0; s < p->step_count; s++) {
        seconds += ry_plan_step_time(p, s, plan->context->predicted_threads, footprint).all;
    }
    return seconds;
}

/* What a form makes of the network, without weights. */
static rynd_status look(search *s, const ry_plan_form *form, uint64_t *steps, double *predicted,
                        ry_error *error)
{
    rynd_plan *plan;
    s->known.form = *form;
    RY_TRY(ry_api_plan_create(s->model, s->options, &s->adviser, &plan, error));
    *predicted = predicted_seconds(plan);
    const rynd_status status = ry_plan_hash_steps(plan->plan, steps, error);
    rynd_plan_destroy(plan);
    return status;
}

static bool is_listed(const search *s, uint64_t steps)
{
    bool listed = steps == s->plans->steps[0];
    for (size_t i = 0; i < s->count; i++) {
        listed |= s->variants[i].steps == steps;
    }
    return listed;
}

static int by_prediction(const void *a, const void *b)
{
    const variant *x = a, *y = b;
    const int time = (x->predicted > y->predicted) - (x->predicted < y->predicted);
    return time ? time : x->order - y->order;
}

static rynd_status list(search *s, unsigned asked, ry_error *error)
{
    const double until = s->begin + LIST_SHARE * (s->end - s->begin);
    const ry_plan_form predicted = ry_plan_form_predicted();
    for (int i = 0; i < ry_plan_percent_count * RY_PLAN_KNOBS; i++) {
        variant v = {.knob = (ry_plan_knob)(i % RY_PLAN_KNOBS),
                     .percent = ry_plan_percents[i / RY_PLAN_KNOBS],
                     .order = i};
        ry_plan_form form = predicted;
        if (!(asked >> v.knob & 1u)) {
            continue;
        }
        if (s->count == MAX_VARIANTS || ry_clock_seconds() > until) {
            break;
        }
        form.percent[v.knob] = v.percent;
        RY_TRY(look(s, &form, &v.steps, &v.predicted, error));
        if (!is_listed(s, v.steps) && v.predicted < HOPELESS * s->plans->items[0].predicted) {
            s->variants[s->count++] = v;
        }
    }
    qsort(s->variants, s->count, sizeof *s->variants, by_prediction);
    return RYND_OK;
}

static void add_times(search *s, size_t plan, const double *times, int count)
{
    for (int i = 0; i < count && s->counts[plan] < MAX_TIMES; i++) {
        s->times[plan][s->counts[plan]++] = times[i];
    }
}

static bool hear(void *user, double ratio, double spent)
{
    const search *s = user;
    const rynd_tuning *tuning = s->tuning;
    (void)spent;
    const rynd_tune_progress tuning_progress =
        RYND_SIZED(rynd_tune_progress, .problem = "", .index = s->at, .count = s->count,
                   .looked = s->plans->count, .forms = s->count + 1, .left = 2,
                   .kernel = RY_PLAN_KERNEL, .knobs = s->plans->items[s->plans->count - 1].knobs,
                   .ratio = ratio, .spent = tuning->info.used + ry_clock_seconds() - s->begin,
                   .budget = tuning->info.budget, .saved = tuning->saved);
    return ry_api_tune_ends(s->how, &tuning_progress);
}

/* The plan of a form is the last of those that are timed. */
static rynd_status add_plan(search *s, const ry_plan_form *form, uint64_t steps, double predicted,
                            ry_error *error)
{
    ry_tuned_plans *plans = s->plans;
    char text[RY_PLAN_FORM_TEXT];
    ry_plan_form_print(form, text);
    const char *knobs = ry_arena_string(&s->tuning->arena, text, strlen(text));
    plans->items[plans->count] =
        RYND_SIZED(rynd_tuned_plan, .knobs = knobs, .predicted = predicted, .ratio = 1);
    plans->forms[plans->count] = *form;
    plans->steps[plans->count++] = steps;
    return knobs ? RYND_OK : ry_fail_memory(error);
}

static bool was_timed(const search *s, uint64_t steps)
{
    for (size_t i = 0; i < s->plans->count; i++) {
        if (s->plans->steps[i] == steps) {
            return true;
        }
    }
    return false;
}

/* In turns with the best: takes its place, or is closed. */
static rynd_status challenge(search *s, ry_runner *other, ry_error *error)
{
    ry_tuned_plans *plans = s->plans;
    const size_t own = plans->count - 1;
    ry_duel *duel = ry_allocate_array(&s->tuning->context->allocator, 1, sizeof *duel);
    if (!duel) {
        return ry_fail_memory(error);
    }
    const size_t left = s->count - s->at;
    const ry_duel_options options = {.gap = WORTH,
                                     .impatient = true,
                                     .budget = (s->end - ry_clock_seconds()) /
                                               (double)(left < SHARES ? left : SHARES),
                                     .seed = s->how->seed + own,
                                     .hear = hear,
                                     .user = s};
    const rynd_status status = ry_api_duel(&s->best, other, &options, duel, error);
    if (status == RYND_OK) {
        add_times(s, plans->taken, duel->times[RY_DUEL_UNTUNED], duel->counts[RY_DUEL_UNTUNED]);
        add_times(s, own, duel->times[RY_DUEL_TUNED], duel->counts[RY_DUEL_TUNED]);
        plans->items[own].ratio = ry_race_ratio(&duel->race, RY_DUEL_TUNED);
        plans->items[own].faster = ry_api_duel_is_won(duel);
        s->tuning->info.ended |= duel->ended;
    }
    ry_release(&s->tuning->context->allocator, duel);
    if (status == RYND_OK && plans->items[own].faster) {
        const ry_runner before = s->best;
        s->best = *other;
        *other = before;
        plans->taken = own;
    }
    return status;
}

/* A variant, made of the best form so far. */
static rynd_status try_variant(search *s, const variant *v, ry_error *error)
{
    ry_plan_form form = s->plans->forms[s->plans->taken];
    uint64_t steps = v->steps;
    double predicted = v->predicted;
    form.percent[v->knob] = v->percent;
    if (s->plans->taken) {
        RY_TRY(look(s, &form, &steps, &predicted, error));
    }
    if (was_timed(s, steps)) {
        return RYND_OK;
    }
    ry_runner other;
    RY_TRY(add_plan(s, &form, steps, predicted, error));
    s->known.form = form;
    RY_TRY(ry_api_runner_open(&other, s->model, s->options, &s->adviser, s->how->seed, error));
    const rynd_status status = challenge(s, &other, error);
    ry_api_runner_close(&other);
    return status;
}

/* Room for another plan, and least rounds of it? */
static bool is_time_left(const search *s)
{
    return s->end - ry_clock_seconds() >
           s->best.plan->plan->seconds + 3 * RY_RACE_LEAST_ROUNDS * s->best.once;
}

static rynd_status race(search *s, ry_error *error)
{
    s->known.form = ry_plan_form_predicted();
    RY_TRY(ry_api_runner_open(&s->best, s->model, s->options, &s->adviser, s->how->seed, error));
    for (; s->at < s->count && is_time_left(s) && !s->tuning->info.ended; s->at++) {
        RY_TRY(try_variant(s, &s->variants[s->at], error));
    }
    return RYND_OK;
}

static void summarize(search *s)
{
    for (size_t i = 0; i < s->plans->count; i++) {
        const ry_statistics time = ry_statistics_of(s->times[i], s->counts[i]);
        rynd_tuned_plan *item = &s->plans->items[i];
        item->n = (size_t)time.n;
        item->mean = time.mean;
        item->variance = time.variance;
        item->median = time.median;
        item->min = time.min;
        item->max = time.max;
    }
    s->tuning->info.plans_listed = s->count;
    s->tuning->info.plans = s->plans->count;
    s->tuning->info.plan = s->plans->taken;
}

static rynd_status begin(search *s, const rynd_plan *untuned, ry_error *error)
{
    enum { MOST = MAX_VARIANTS + 1 };
    ry_arena *arena = &s->tuning->arena;
    ry_tuned_plans *plans = s->plans = s->tuning->plans = RY_TAKE(arena, ry_tuned_plans, 1);
    const ry_plan_form predicted = ry_plan_form_predicted();
    uint64_t steps;
    if (!plans) {
        return ry_fail_memory(error);
    }
    plans->items = RY_TAKE(arena, rynd_tuned_plan, MOST);
    plans->forms = RY_TAKE(arena, ry_plan_form, MOST);
    plans->steps = RY_TAKE(arena, uint64_t, MOST);
    s->times = ry_arena_take(arena, MOST, sizeof *s->times);
    s->counts = RY_TAKE(arena, int, MOST);
    if (!plans->items || !plans->forms || !plans->steps || !s->times || !s->counts) {
        return ry_fail_memory(error);
    }
    RY_TRY(ry_plan_hash_steps(untuned->plan, &steps, error));
    return add_plan(s, &predicted, steps, predicted_seconds(untuned), error);
}

static rynd_status tune(search *s, const rynd_plan *untuned, ry_error *error)
{
    RY_TRY(begin(s, untuned, error));
    RY_TRY(list(s, untuned->plan->whole.asked, error));
    memcpy(s->plans->network, s->known.network, sizeof s->plans->network);
    s->plans->elsewhere = !ry_api_plans_claim(s->tuning, s->how, s->end - s->begin);
    if (s->count == 0 || s->plans->elsewhere) {
        return RYND_OK;
    }
    rynd_status status = race(s, error);
    ry_api_runner_close(&s->best);
    summarize(s);
    status =
        status == RYND_OK ? ry_api_plans_keep(s->tuning, s->how, s->plans->taken, error) : status;
    ry_api_plans_disclaim(s->tuning, s->how);
    return status;
}

rynd_status ry_api_tune_plans(rynd_tuning *tuning, const rynd_model *model,
                              const rynd_plan *untuned, const rynd_plan_options *options,
                              const rynd_tune_options *how, double budget, ry_error *error)
{
    search *s = ry_allocate_array(&tuning->context->allocator, 1, sizeof *s);
    if (!s) {
        return ry_fail_memory(error);
    }
    s->tuning = tuning;
    s->model = model;
    s->options = options;
    s->how = how;
    s->begin = ry_clock_seconds();
    s->end = s->begin + budget;
    s->adviser = ry_api_form_adviser(&s->known);
    const rynd_status status = tune(s, untuned, error);
    tuning->info.used += ry_clock_seconds() - s->begin;
    ry_release(&tuning->context->allocator, s);
    return status;
}

rynd_status rynd_tuning_get_plan(const rynd_tuning *tuning, size_t index, rynd_tuned_plan *plan)
{
    RY_API_REQUIRE(tuning, plan);
    ry_error error = {""};
    const size_t count = tuning->info.plans;
    return ry_api_end(index < count ? ry_api_info(plan, &tuning->plans->items[index], sizeof *plan,
                                                  "rynd_tuned_plan", &error)
                                    : ry_fail(&error, RYND_ERROR_ARGUMENT,
                                              "plan %zu: the tuning has %zu", index, count),
                      &error);
}
