/* SPDX-License-Identifier: Apache-2.0 */
/* Whole runs, timed by the clock. */
#include "api/api_tune_runner.h"

#include "api/api_plan.h"
#include "base/clock.h"
#include "tune/shuffle.h"

rynd_status ry_api_failed(rynd_status status, ry_error *error)
{
    ry_error_write(error, "%s", rynd_last_error());
    return status;
}

static rynd_status bind_input(ry_runner *r, size_t index, uint64_t random, ry_error *error)
{
    const char *name = r->plan->plan->input_names[index];
    rynd_tensor tensor = r->plan->plan->inputs[index];
    const ry_dtype dtype = (ry_dtype)tensor.dtype;
    const size_t bytes = ry_tensor_span(&tensor);
    if (bytes == 0 && ry_tensor_count(&tensor) > 0) {
        return ry_fail(error, RYND_ERROR_UNSUPPORTED,
                       "input '%s' has a negative stride, which is not tuned", name);
    }
    tensor.data = ry_arena_take_aligned(&r->arena, bytes);
    if (!tensor.data) {
        return ry_fail_memory(error);
    }
    for (int64_t e = 0; e < (int64_t)(bytes / ry_dtype_size(dtype)); e++) {
        const double value = (double)(ry_random_next(&random) >> 11) * 0x1p-52 - 1;
        ry_set_f64(dtype, tensor.data, e, ry_dtype_is_float(dtype) ? value : 0);
    }
    const rynd_status status = rynd_session_bind_input(r->session, index, &tensor);
    return status == RYND_OK ? RYND_OK : ry_api_failed(status, error);
}

static rynd_status run(ry_runner *r, double *seconds, ry_error *error)
{
    const double begin = ry_clock_seconds();
    const rynd_status status = rynd_session_run(r->session);
    *seconds = ry_clock_seconds() - begin;
    return status == RYND_OK ? RYND_OK : ry_api_failed(status, error);
}

static rynd_status make(ry_runner *r, const rynd_model *model, const rynd_plan_options *options,
                        const ry_adviser *adviser, uint64_t seed, ry_error *error)
{
    rynd_plan_options whole = *options;
    whole.without_weights = 0;
    RY_TRY(ry_api_plan_create(model, &whole, adviser, &r->plan, error));
    const rynd_status status = rynd_session_create(r->plan, &r->session);
    if (status != RYND_OK) {
        return ry_api_failed(status, error);
    }
    for (size_t i = 0; i < r->plan->plan->input_count; i++) {
        RY_TRY(bind_input(r, i, seed, error));
    }
    return run(r, &r->once, error);
}

rynd_status ry_api_runner_open(ry_runner *runner, const rynd_model *model,
                               const rynd_plan_options *options, const ry_adviser *adviser,
                               uint64_t seed, ry_error *error)
{
    *runner = (ry_runner){0};
    ry_arena_init(&runner->arena, &model->context->allocator);
    const rynd_status status = make(runner, model, options, adviser, seed, error);
    if (status != RYND_OK) {
        ry_api_runner_close(runner);
    }
    return status;
}

void ry_api_runner_close(ry_runner *runner)
{
    rynd_session_destroy(runner->session);
    rynd_plan_destroy(runner->plan);
    if (runner->arena.allocator) {
        ry_arena_free(&runner->arena);
    }
    *runner = (ry_runner){0};
}

static rynd_status run_round(ry_runner *untuned, ry_runner *tuned, ry_duel *duel, ry_error *error)
{
    int order[RY_RACE_CANDIDATES];
    double seconds[3];
    ry_race_begin_round(&duel->race, order); /* the tuned one is left: the caller looks */
    RY_TRY(run(untuned, &seconds[0], error));
    RY_TRY(run(tuned, &seconds[1], error));
    ry_race_note(&duel->race, RY_DUEL_TUNED, seconds[1]);
    RY_TRY(run(untuned, &seconds[2], error));
    ry_race_note_canary(&duel->race, 0, seconds[0]);
    ry_race_note_canary(&duel->race, 1, seconds[2]);
    if (ry_race_end_round(&duel->race)) {
        duel->times[RY_DUEL_UNTUNED][duel->counts[RY_DUEL_UNTUNED]++] = seconds[0];
        duel->times[RY_DUEL_UNTUNED][duel->counts[RY_DUEL_UNTUNED]++] = seconds[2];
        duel->times[RY_DUEL_TUNED][duel->counts[RY_DUEL_TUNED]++] = seconds[1];
    }
    return RYND_OK;
}

static bool is_hopeless(const ry_duel *duel)
{
    enum { LEAST = 8 };
    const int rounds = duel->race.rounds;
    return rounds >= LEAST && (rounds & (rounds - 1)) == 0 &&
           ry_race_ratio(&duel->race, RY_DUEL_TUNED) >= 1;
}

rynd_status ry_api_duel(ry_runner *untuned, ry_runner *tuned, const ry_duel_options *options,
                        ry_duel *duel, ry_error *error)
{
    const double begin = ry_clock_seconds();
    double spent = 0;
    *duel = (ry_duel){.race = {.count = RY_DUEL_PLANS,
                               .untuned = RY_DUEL_UNTUNED,
                               .gap = options->gap,
                               .random = options->seed}};
    duel->race.racer[RY_DUEL_TUNED].order = RY_DUEL_TUNED;
    while (!duel->ended && !duel->race.racer[RY_DUEL_TUNED].out && !ry_race_is_over(&duel->race) &&
           spent < options->budget && !(options->impatient && is_hopeless(duel))) {
        RY_TRY(run_round(untuned, tuned, duel, error));
        spent = ry_clock_seconds() - begin;
        duel->ended =
            options->hear &&
            options->hear(options->user, ry_race_ratio(&duel->race, RY_DUEL_TUNED), spent);
    }
    return RYND_OK;
}

bool ry_api_duel_is_won(const ry_duel *duel)
{
    return ry_race_verdict(&duel->race) == RY_DUEL_TUNED;
}
