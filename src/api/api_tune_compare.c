/* SPDX-License-Identifier: Apache-2.0 */
/* Whole plans in turns: what was found for each problem must be worth it together. */
#include "api/api_tune_model.h"
#include "base/clock.h"
#include "tune/race.h"
#include "tune/sample_statistics.h"
#include "tune/shuffle.h"

#include <math.h>
#include <string.h>

enum { UNTUNED, TUNED, PLANS };

/* What a comparison may take, however little of the budget is left: a dozen rounds, or two
 * seconds. Without it nothing that was found could be taken. */
static const double LEAST_ROUNDS = 12, LEAST_SECONDS = 2;

typedef struct runner {
    rynd_plan *plan;
    rynd_session *session;
} runner;

typedef struct comparison {
    rynd_tuning *tuning;
    const rynd_tune_options *how;
    ry_adviser adviser;
    runner runner[PLANS];
    ry_arena arena; /* of inputs */
    ry_race race;
    double times[PLANS][2 * RY_RACE_ROUNDS];
    int counts[PLANS];
    double once; /* seconds of a run, the first one */
} comparison;

static rynd_status failed(rynd_status status, ry_error *error)
{
    ry_error_write(error, "%s", rynd_last_error());
    return status;
}

/* What was found, else what is known already. */
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

/* Floats are random, integers 0, as the inputs of single problems are. */
static rynd_status bind_inputs(comparison *c, runner *r, ry_error *error)
{
    for (size_t i = 0; i < r->plan->plan->input_count; i++) {
        rynd_tensor tensor = r->plan->plan->inputs[i];
        const size_t bytes = ry_tensor_span(&tensor);
        if (bytes == 0 && ry_tensor_count(&tensor) > 0) {
            return ry_fail(error, RYND_ERROR_UNSUPPORTED,
                           "input '%s' has a negative stride, which is not tuned",
                           r->plan->plan->input_names[i]);
        }
        tensor.data = ry_arena_take_aligned(&c->arena, bytes);
        if (!tensor.data) {
            return ry_fail_memory(error);
        }
        uint64_t random = c->how->seed;
        const ry_dtype dtype = (ry_dtype)tensor.dtype;
        for (int64_t e = 0; e < (int64_t)(bytes / ry_dtype_size(dtype)); e++) {
            const double value = (double)(ry_random_next(&random) >> 11) * 0x1p-52 - 1;
            ry_set_f64(dtype, tensor.data, e, ry_dtype_is_float(dtype) ? value : 0);
        }
        const rynd_status status =
            rynd_session_bind(r->session, r->plan->plan->input_names[i], &tensor);
        if (status != RYND_OK) {
            return failed(status, error);
        }
    }
    return RYND_OK;
}

static rynd_status run(comparison *c, int which, double *seconds, ry_error *error)
{
    const double begin = ry_clock_seconds();
    const rynd_status status = rynd_session_run(c->runner[which].session);
    *seconds = ry_clock_seconds() - begin;
    return status == RYND_OK ? RYND_OK : failed(status, error);
}

static rynd_status make(comparison *c, rynd_model *model, const rynd_plan_options *options,
                        int which, ry_error *error)
{
    rynd_plan_options whole = *options;
    runner *r = &c->runner[which];
    whole.without_weights = 0;
    RY_TRY(ry_api_plan_create(model, &whole, which == TUNED ? &c->adviser : NULL, &r->plan, error));
    const rynd_status status = rynd_session_create(r->plan, &r->session);
    if (status != RYND_OK) {
        return failed(status, error);
    }
    RY_TRY(bind_inputs(c, r, error));
    return run(c, which, &c->once, error);
}

static void close_runner(runner *r)
{
    rynd_session_destroy(r->session);
    rynd_plan_destroy(r->plan);
    *r = (runner){0};
}

/* The plan of what is faster within the network, too: *left tells whether anything is. */
static rynd_status prepare(comparison *c, rynd_model *model, const rynd_plan_options *options,
                           bool *left, ry_error *error)
{
    int given_up;
    *left = false;
    RY_TRY(make(c, model, options, UNTUNED, error));
    RY_TRY(make(c, model, options, TUNED, error));
    RY_TRY(ry_api_give_up_slower(c->tuning, c->runner[UNTUNED].plan, c->runner[UNTUNED].session,
                                 c->runner[TUNED].session, &c->arena, &given_up, error));
    for (size_t i = 0; i < c->tuning->count; i++) {
        *left |= c->tuning->entries[i].tuned.taken != 0;
    }
    if (given_up && *left) {
        close_runner(&c->runner[TUNED]);
        return make(c, model, options, TUNED, error);
    }
    return RYND_OK;
}

static bool is_ended(const comparison *c, double spent)
{
    const rynd_tuning *tuning = c->tuning;
    const rynd_tune_progress progress = {
        .size = sizeof progress,
        .problem = "",
        .index = tuning->count,
        .count = tuning->count + 1,
        .looked = PLANS,
        .forms = PLANS,
        .left = PLANS,
        .kernel = "",
        .knobs = "",
        .ratio = ry_race_ratio(&c->race, TUNED),
        .spent = tuning->info.used + spent,
        .budget = tuning->info.budget,
    };
    return c->how->progress && c->how->progress(c->how->progress_user, &progress) != 0;
}

static rynd_status run_round(comparison *c, ry_error *error)
{
    int order[RY_RACE_CANDIDATES];
    double seconds[PLANS + 1];
    ry_race_begin_round(&c->race, order); /* the tuned one is left: the caller looks */
    RY_TRY(run(c, UNTUNED, &seconds[0], error));
    RY_TRY(run(c, TUNED, &seconds[1], error));
    ry_race_note(&c->race, TUNED, seconds[1]);
    RY_TRY(run(c, UNTUNED, &seconds[2], error));
    ry_race_note_canary(&c->race, 0, seconds[0]);
    ry_race_note_canary(&c->race, 1, seconds[2]);
    if (ry_race_end_round(&c->race)) {
        c->times[UNTUNED][c->counts[UNTUNED]++] = seconds[0];
        c->times[UNTUNED][c->counts[UNTUNED]++] = seconds[2];
        c->times[TUNED][c->counts[TUNED]++] = seconds[1];
    }
    return RYND_OK;
}

/* Any gain is one: of a network the parts that did not change have no share in it. */
static rynd_status race(comparison *c, ry_error *error)
{
    const double begin = ry_clock_seconds(), left = c->tuning->info.budget - c->tuning->info.used,
                 budget = fmax(left, fmin(LEAST_SECONDS, 3 * LEAST_ROUNDS * c->once));
    c->race = (ry_race){.count = PLANS, .untuned = UNTUNED, .random = c->how->seed};
    c->race.racer[TUNED].order = TUNED;
    bool ended = false;
    while (!ended && !c->race.racer[TUNED].out && !ry_race_is_over(&c->race) &&
           ry_clock_seconds() - begin < budget) {
        RY_TRY(run_round(c, error));
        ended = is_ended(c, ry_clock_seconds() - begin);
    }
    rynd_tuning_info *info = &c->tuning->info;
    info->ended |= ended;
    info->taken = ry_race_verdict(&c->race) == TUNED;
    info->ratio = ry_race_ratio(&c->race, TUNED);
    info->runs = (size_t)c->counts[TUNED];
    info->before = ry_median(c->times[UNTUNED], c->counts[UNTUNED]);
    info->after = ry_median(c->times[TUNED], c->counts[TUNED]);
    return RYND_OK;
}

/* What is not taken is recorded as such. */
static rynd_status keep(comparison *c, ry_error *error)
{
    for (size_t i = 0; i < c->tuning->count; i++) {
        const ry_tuning_entry *entry = &c->tuning->entries[i];
        if (!entry->elsewhere && (entry->network_ratio > 0 || !c->tuning->info.taken)) {
            RY_TRY(ry_api_tuned_keep(c->tuning, c->how, entry,
                                     c->tuning->info.taken ? entry->tuned.taken : 0, error));
        }
    }
    return RYND_OK;
}

static rynd_status compare(comparison *c, rynd_model *model, const rynd_plan_options *options,
                           ry_error *error)
{
    const double begin = ry_clock_seconds();
    bool left;
    RY_TRY(prepare(c, model, options, &left, error));
    c->tuning->info.used += ry_clock_seconds() - begin;
    const double from = ry_clock_seconds();
    RY_TRY(left ? race(c, error) : RYND_OK);
    c->tuning->info.used += ry_clock_seconds() - from;
    return keep(c, error);
}

rynd_status ry_api_compare_plans(rynd_tuning *tuning, rynd_model *model,
                                 const rynd_plan_options *options, const rynd_tune_options *how,
                                 ry_error *error)
{
    comparison *c = ry_allocate_array(&tuning->context->allocator, 1, sizeof *c);
    if (!c) {
        return ry_fail_memory(error);
    }
    c->tuning = tuning;
    c->how = how;
    c->adviser = (ry_adviser){advise, tuning};
    ry_arena_init(&c->arena, &tuning->context->allocator);
    const rynd_status status = compare(c, model, options, error);
    for (int i = 0; i < PLANS; i++) {
        close_runner(&c->runner[i]);
    }
    ry_arena_free(&c->arena);
    ry_release(&tuning->context->allocator, c);
    return status;
}
