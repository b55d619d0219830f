/* SPDX-License-Identifier: Apache-2.0 */
/* The least of hundreds of times is luck: a virtual machine's processors reach it now and then. So
 * the quiet quantile is the best that times are compared with. */
#include "tune/calibrate_canary.h"

#include "predict/predict.h"
#include "tune/sample_statistics.h"

#include <string.h>

/* SEED: of the operands. */
enum { SEED = 1 };

/* Each time takes so long. */
static const double CANARY_SECONDS = 5e-3;

rynd_status ry_canary_make(ry_canary *canary, const char *text, int room, ry_device *device,
                           const ry_target *target, ry_arena *arena, ry_error *error)
{
    ry_choice choice;
    memset(canary, 0, sizeof *canary);
    canary->times = RY_TAKE(arena, double, room);
    if (!canary->times) {
        return ry_fail_memory(error);
    }
    canary->room = room;
    RY_TRY(ry_problem_parse(text, arena, &canary->problem, error));
    const unsigned constants = ry_trial_constants(&canary->problem);
    RY_TRY(ry_predict_choose(&canary->problem, target, constants, NULL, &choice, error));
    if (!choice.prepared.kernel) {
        return ry_choice_fail(&choice, device->table->name, error);
    }
    RY_TRY(ry_operands_make(&canary->operands, device, &canary->problem, SEED, 0, arena, error));
    return ry_trial_make(&canary->trial, &choice.prepared, constants, false, &canary->operands,
                         target, error);
}

void ry_canary_free(ry_canary *canary)
{
    ry_trial_free(&canary->trial);
    ry_operands_free(&canary->operands);
}

void ry_canary_take(ry_canary *canary, double seconds)
{
    if (canary->count < canary->room) {
        canary->times[canary->count++] = seconds;
    }
}

rynd_status ry_canary_time(ry_canary *canary, double *seconds, ry_error *error)
{
    RY_TRY(ry_trial_median(&canary->trial, CANARY_SECONDS, seconds, error));
    ry_canary_take(canary, *seconds);
    return RYND_OK;
}

double ry_canary_variation(ry_canary *canary)
{
    if (canary->count == 0) {
        return 0;
    }
    const ry_statistics all = ry_statistics_of(canary->times, canary->count);
    const double quiet = ry_quiet(canary->times, canary->count);
    return all.mean > quiet ? 1 - quiet / all.mean : 0;
}
