/* SPDX-License-Identifier: Apache-2.0 */
/* Tuning a model, in parts. */
#ifndef RY_API_API_TUNE_MODEL_H
#define RY_API_API_TUNE_MODEL_H

#include "api/api_tuning.h"

/* Lists the distinct problems of a plan's steps that have more than one form, those that take
 * longest first: *count entries. Steps that run on the CPU beside the device, and those that the
 * options' settings name, are left out. The plan must outlive the tuning's work. */
rynd_status ry_api_list_problems(rynd_tuning *tuning, const rynd_plan *plan,
                                 const rynd_plan_options *options, bool cold, size_t *count,
                                 ry_error *error);

/* The entry of the first `count` for a problem; NULL: there is none. */
ry_tuning_entry *ry_api_entry_of(const rynd_tuning *tuning, const char *text, unsigned constants,
                                 size_t count);

/* Makes the plan that what was found gives, and has it and the untuned plan run in turns; writes
 * what came of it into the tuning's info. Where it is not faster beyond noise, the untuned choices
 * are what is kept. */
rynd_status ry_api_compare_plans(rynd_tuning *tuning, rynd_model *model,
                                 const rynd_plan_options *options, const rynd_tune_options *how,
                                 ry_error *error);

#endif
