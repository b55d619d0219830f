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

/* Tunes the problems of a plan's steps, each alone. The plan must outlive the call. */
rynd_status ry_api_tune_steps(rynd_tuning *tuning, const rynd_plan *plan, bool cold,
                              const rynd_tune_options *options, ry_error *error);

/* Has the untuned plan and that of what was found run in turns, step by step: a form that is not
 * faster within the network is given up. Then the plan of those that are left and the untuned one
 * run in turns, as a whole; what came of it is in the tuning's info. Where it is not faster beyond
 * noise, the untuned choices are what is kept. */
rynd_status ry_api_compare_plans(rynd_tuning *tuning, const rynd_model *model,
                                 const rynd_plan_options *options, const rynd_tune_options *how,
                                 ry_error *error);

/* Has the steps of two plans of the same problems run in turns and gives up the
 * forms whose steps together are not faster in `tuned`; *given_up counts them. `plan` is the
 * untuned one. Where the plans'
 * problems differ nothing is given up. Takes memory in `arena`. */
rynd_status ry_api_give_up_slower(rynd_tuning *tuning, const rynd_plan *plan, rynd_session *untuned,
                                  rynd_session *tuned, ry_arena *arena, int *given_up,
                                  ry_error *error);

#endif
