/* SPDX-License-Identifier: Apache-2.0 */
/* Forms within their network. What runs before a step decides what is in the caches, in which state
 * the core's units are and whether the other threads are awake: a form that is faster alone need
 * not be so there. */
#include "api/api_session.h"
#include "api/api_tune_model.h"
#include "api/api_tune_runner.h"
#include "plan/plan_time.h"
#include "tune/sample_statistics.h"

#include <string.h>

enum { ROUNDS = 7 };

typedef struct step_times {
    double untuned[ROUNDS], tuned[ROUNDS];
} step_times;

static bool same_problems(const rynd_plan *a, const rynd_plan *b)
{
    bool same = a->plan->step_count == b->plan->step_count;
    for (size_t i = 0; same && i < a->plan->step_count; i++) {
        same = strcmp(a->steps[i].problem, b->steps[i].problem) == 0 &&
               a->steps[i].micro_batches == b->steps[i].micro_batches;
    }
    return same;
}

static rynd_status run_rounds(rynd_session *untuned, rynd_session *tuned, size_t steps,
                              step_times *times, ry_error *error)
{
    for (int round = 0; round < ROUNDS; round++) {
        rynd_status status = rynd_session_run(untuned);
        status = status == RYND_OK ? rynd_session_run(tuned) : status;
        if (status != RYND_OK) {
            return ry_api_failed(status, error);
        }
        for (size_t i = 0; i < steps; i++) {
            times[i].untuned[round] = rynd_session_step_time(untuned, i);
            times[i].tuned[round] = rynd_session_step_time(tuned, i);
        }
    }
    return RYND_OK;
}

static rynd_status time_steps(rynd_session *untuned, rynd_session *tuned, size_t steps,
                              step_times *times, ry_error *error)
{
    rynd_status status = rynd_session_profile(untuned, 1);
    status = status == RYND_OK ? rynd_session_profile(tuned, 1) : status;
    if (status != RYND_OK) {
        return ry_api_failed(status, error);
    }
    RY_TRY(run_rounds(untuned, tuned, steps, times, error));
    status = rynd_session_profile(untuned, 0);
    status = status == RYND_OK ? rynd_session_profile(tuned, 0) : status;
    return status == RYND_OK ? RYND_OK : ry_api_failed(status, error);
}

/* Ratio of tuned to untuned time, over all steps of an entry's problem. */
static double network_ratio(const ry_tuning_entry *entry, const rynd_plan *plan, step_times *times)
{
    double untuned = 0, tuned = 0;
    for (size_t i = 0; i < plan->plan->step_count; i++) {
        if (ry_plan_step_constants(&plan->plan->steps[i]) == entry->constants &&
            strcmp(plan->steps[i].problem, entry->text) == 0) {
            untuned += ry_median(times[i].untuned, ROUNDS);
            tuned += ry_median(times[i].tuned, ROUNDS);
        }
    }
    return untuned > 0 ? tuned / untuned : 0;
}

static void give_up(ry_tuning_entry *entry)
{
    const int taken = entry->tuned.taken;
    entry->tuned.forms[taken].verdict = RY_VERDICT_SLOWER;
    entry->forms[taken].verdict = RYND_TUNED_SLOWER;
    entry->tuned.forms[0].verdict = RY_VERDICT_TAKEN;
    entry->forms[0].verdict = RYND_TUNED_TAKEN;
    entry->tuned.taken = 0;
    entry->tuned.ratio = 1;
}

rynd_status ry_api_give_up_slower(rynd_tuning *tuning, const rynd_plan *plan, rynd_session *untuned,
                                  rynd_session *tuned, ry_arena *arena, int *given_up,
                                  ry_error *error)
{
    const size_t steps = plan->plan->step_count;
    step_times *times = RY_TAKE(arena, step_times, steps);
    *given_up = 0;
    if (!times) {
        return ry_fail_memory(error);
    }
    if (!same_problems(plan, tuned->plan)) {
        return RYND_OK;
    }
    RY_TRY(time_steps(untuned, tuned, steps, times, error));
    for (size_t i = 0; i < tuning->count; i++) {
        ry_tuning_entry *entry = &tuning->entries[i];
        if (entry->tuned.taken == 0) {
            continue;
        }
        entry->network_ratio = network_ratio(entry, plan, times);
        if (entry->network_ratio >= 1) {
            give_up(entry);
            (*given_up)++;
        }
    }
    return RYND_OK;
}
