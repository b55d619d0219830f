/* SPDX-License-Identifier: Apache-2.0 */
/* What the caller sets himself: a step's kernel, and its knobs. */
#ifndef RY_PREDICT_SETTINGS_H
#define RY_PREDICT_SETTINGS_H

#include "predict/predict.h"

#include <rynd/plan.h>

/* `used` (one for each) is set for those that were looked at by ry_settings_choose. */
typedef struct ry_settings {
    const rynd_setting *items;
    size_t count;
    bool *used;
} ry_settings;

/* Is there one for the step? settings may be NULL: no. */
bool ry_settings_have(const ry_settings *settings, const char *step);

/* The form of least predicted time among those that have what is set for the step: the kernel that
 * "kernel" names, or the one that is chosen without, with its knobs. Fails with NOT_FOUND (no such
 * kernel), UNSUPPORTED (it does not take the problem), ARGUMENT (no such knob or value, or no form
 * has all of them), OUT_OF_MEMORY. */
rynd_status ry_settings_choose(const ry_settings *settings, const char *step,
                               const ry_problem *problem, const ry_target *target,
                               unsigned constants, ry_choice *choice, ry_error *error);

/* A setting that nobody has looked at is a mistake of the caller's: NOT_FOUND, with a hint behind.
 */
rynd_status ry_settings_check(const ry_settings *settings, const char *hint, ry_error *error);

#endif
