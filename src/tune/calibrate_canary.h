/* SPDX-License-Identifier: Apache-2.0 */
/* One problem that is timed again and again beside others: its times tell how steady the machine
 * is. */
#ifndef RY_TUNE_CALIBRATE_CANARY_H
#define RY_TUNE_CALIBRATE_CANARY_H

#include "tune/trial.h"

typedef struct ry_canary {
    ry_problem problem;
    ry_operands operands;
    ry_trial trial;
    double *times;
    int count, room;
} ry_canary;

/* Takes the device's choice for the problem `text`, with room for so many times; `arena` must
 * outlive it. To be freed also where this fails. Fails with OUT_OF_MEMORY, UNSUPPORTED, DEVICE. */
rynd_status ry_canary_make(ry_canary *canary, const char *text, int room, ry_device *device,
                           const ry_target *target, ry_arena *arena, ry_error *error);
void ry_canary_free(ry_canary *canary);

/* Adds a time; without room it is left out. */
void ry_canary_take(ry_canary *canary, double seconds);

/* The median of its runs during some milliseconds, which is added. */
rynd_status ry_canary_time(ry_canary *canary, double *seconds, ry_error *error);

/* What the mean of the times lost against their first quartile, 0 to 1. Sorts them. */
double ry_canary_variation(ry_canary *canary);

#endif
