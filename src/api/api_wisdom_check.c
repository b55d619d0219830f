/* SPDX-License-Identifier: Apache-2.0 */
/* Records measured again: how far what was true once is true now. */
#include "api/api_check.h"
#include "api/api_status.h"
#include "api/api_tune_plans.h"
#include "api/api_wisdom.h"
#include "api/api_wisdom_records.h"
#include "base/clock.h"
#include "kernels/form.h"
#include "tune/trial.h"

#include <stdlib.h>
#include <string.h>

enum { COUNT = 20, MIN_SAMPLES = 5, MAX_SAMPLES = 10000 };
static const double SECONDS = 0.1;

/* SplitMix64 (Steele, Lea, Flood, 2014): the same numbers in every run. */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static rynd_status time_trial(ry_trial *trial, ry_arena *arena, double least,
                              rynd_wisdom_drift *drift, ry_error *error)
{
    const double begin = ry_clock_seconds();
    size_t count = 0;
    double *seconds = RY_TAKE(arena, double, MAX_SAMPLES);
    if (!seconds) {
        return ry_fail_memory(error);
    }
    RY_TRY(ry_trial_run(trial, error));
    RY_TRY(ry_trial_measure(trial, &seconds[0], error)); /* warms up, and is not counted */
    while (count < MAX_SAMPLES && (count < MIN_SAMPLES || ry_clock_seconds() - begin < least)) {
        RY_TRY(ry_trial_measure(trial, &seconds[count++], error));
    }
    qsort(seconds, count, sizeof *seconds, by_size);
    drift->samples = (int64_t)count;
    drift->min = seconds[0];
    drift->max = seconds[count - 1];
    drift->median = (seconds[(count - 1) / 2] + seconds[count / 2]) / 2;
    return RYND_OK;
}

/* In the record's form. */
static rynd_status prepare(const ry_wisdom_row *row, const ry_problem *problem,
                           const ry_target *target, ry_prepared *prepared, ry_error *error)
{
    const ry_kernel *kernel = ry_kernel_find(row->record.kernel);
    ry_form form;
    ry_query query = {kernel, problem, target, NULL};
    if (!kernel || !ry_kernel_takes(kernel, problem, target)) {
        return ry_fail(error, RYND_ERROR_UNSUPPORTED, "the kernel does not take the problem");
    }
    RY_TRY(ry_form_parse(&query, row->record.form, &form, error));
    query.form = &form;
    return ry_prepare(&query, row->key.constants, prepared, error);
}

/* As it was measured when it was tuned: its constants in the caches, or not. */
static rynd_status measure_in(ry_arena *arena, ry_device *device, const ry_wisdom_row *row,
                              double least, rynd_wisdom_drift *drift, ry_error *error)
{
    const ry_target target = ry_target_of(device);
    ry_problem problem;
    ry_prepared prepared;
    ry_operands operands = {0};
    ry_trial trial = {0};
    RY_TRY(ry_problem_parse(row->key.problem, arena, &problem, error));
    RY_TRY(ry_problem_check(&problem, device->allocator, error));
    RY_TRY(prepare(row, &problem, &target, &prepared, error));
    rynd_status status = ry_operands_make(&operands, device, &problem, 1, 0, arena, error);
    if (status == RYND_OK) {
        status = ry_trial_make(&trial, &prepared, row->key.constants, row->record.cold != 0,
                               &operands, &target, error);
    }
    status = status == RYND_OK ? time_trial(&trial, arena, least, drift, error) : status;
    ry_trial_free(&trial);
    ry_operands_free(&operands);
    return status;
}

static rynd_status measure(rynd_context *context, const ry_wisdom_row *row, double least,
                           rynd_wisdom_drift *drift, ry_error *error)
{
    ry_arena arena;
    ry_arena_init(&arena, &context->allocator);
    const rynd_status status = measure_in(&arena, context->device, row, least, drift, error);
    if (status != RYND_OK) {
        ry_error_prefix(error, "%s %s: %.200s: ", row->record.kernel, row->record.form,
                        row->key.problem);
    }
    ry_arena_free(&arena);
    return status;
}

/* Can the record be measured here, and say something? A plan's needs its network. */
static bool holds_here(const rynd_context *context, const ry_wisdom_row *row)
{
    rynd_wisdom_record shown;
    ry_api_wisdom_record(context, &row->key, &row->record, &shown);
    return shown.current && strcmp(row->record.kernel, RY_PLAN_KERNEL) != 0 &&
           !row->record.rejected && row->key.threads == ry_threads_count(context->threads) &&
           strcmp(row->key.machine, context->fingerprint) == 0;
}

/* The first `wanted` of a random order (Fisher and Yates), in the order of the file again. */
static size_t choose(size_t count, size_t wanted, uint64_t seed, bool *chosen, size_t *order)
{
    const size_t most = wanted < count ? wanted : count;
    for (size_t i = 0; i < count; i++) {
        order[i] = i;
    }
    for (size_t i = 0; i < most; i++) {
        const size_t other = i + (size_t)(next_random(&seed) % (count - i)), kept = order[i];
        order[i] = order[other];
        order[other] = kept;
        chosen[order[i]] = true;
    }
    return most;
}

typedef struct visit {
    rynd_wisdom_drift_function function;
    void *user;
} visit;

static rynd_status measure_rows(rynd_context *context, const ry_wisdom_row *rows, size_t count,
                                const bool *chosen, size_t all, double least, const visit *visitor,
                                ry_error *error)
{
    size_t index = 0;
    for (size_t i = 0; i < count; i++) {
        if (!chosen[i]) {
            continue;
        }
        rynd_wisdom_record record;
        ry_api_wisdom_record(context, &rows[i].key, &rows[i].record, &record);
        rynd_wisdom_drift drift =
            RYND_SIZED(rynd_wisdom_drift, .record = &record, .index = index++, .count = all);
        RY_TRY(measure(context, &rows[i], least, &drift, error));
        drift.ratio = drift.median / record.median;
        if (visitor->function(visitor->user, &drift) != 0) {
            return ry_fail(error, RYND_ERROR_CANCELLED, "rynd_wisdom_check: ended by its visitor");
        }
    }
    return RYND_OK;
}

static rynd_status check(rynd_context *context, const ry_wisdom_filter *filter,
                         const rynd_wisdom_check_options *options, const visit *visitor,
                         ry_arena *arena, ry_error *error)
{
    ry_wisdom_row *rows;
    size_t read, count = 0;
    RY_TRY(ry_api_check_runs(context->device, error));
    RY_TRY(ry_api_wisdom_rows(context->wisdom, filter, arena, &rows, &read, error));
    for (size_t i = 0; i < read; i++) {
        if (holds_here(context, &rows[i])) {
            rows[count++] = rows[i];
        }
    }
    bool *chosen = RY_TAKE(arena, bool, count);
    size_t *order = RY_TAKE(arena, size_t, count);
    if (!chosen || !order) {
        return ry_fail_memory(error);
    }
    const size_t wanted = options->count ? options->count : COUNT;
    const size_t all = choose(count, wanted, options->seed, chosen, order);
    const double least = options->seconds > 0 ? options->seconds : SECONDS;
    return measure_rows(context, rows, count, chosen, all, least, visitor, error);
}

rynd_status rynd_wisdom_check(rynd_context *context, const rynd_wisdom_filter *given,
                              const rynd_wisdom_check_options *how,
                              rynd_wisdom_drift_function function, void *user)
{
    RY_API_REQUIRE(context);
    ry_error error = {""};
    ry_arena arena;
    ry_wisdom_filter filter;
    rynd_wisdom_check_options options;
    const visit visitor = {function, user};
    ry_arena_init(&arena, &context->allocator);
    rynd_status status =
        function ? RYND_OK
                 : ry_fail(&error, RYND_ERROR_ARGUMENT, "rynd_wisdom_check: visit is NULL");
    status = status != RYND_OK ? status : ry_api_wisdom_filter(given, &filter, &error);
    status = status != RYND_OK ? status
                               : ry_api_options(&options, sizeof options, how,
                                                "rynd_wisdom_check_options", &error);
    if (status == RYND_OK && !(options.seconds >= 0 && options.seconds <= 3600)) {
        status = ry_fail(&error, RYND_ERROR_ARGUMENT,
                         "rynd_wisdom_check_options: seconds is outside 0 to 3600");
    }
    status =
        status != RYND_OK ? status : check(context, &filter, &options, &visitor, &arena, &error);
    ry_arena_free(&arena);
    return ry_api_end(status, &error);
}
