/* SPDX-License-Identifier: Apache-2.0 */
/* Tuning the plan of a model as a whole: layouts, fusions and micro-batches are its forms. */
#ifndef RY_API_API_TUNE_PLANS_H
#define RY_API_API_TUNE_PLANS_H

#include "api/api_tuning.h"

/* Plans that were timed as a whole; the untuned one is the first. */
typedef struct ry_tuned_plans {
    size_t count, taken;
    rynd_tuned_plan *items; /* for the caller */
    ry_plan_form *forms;
    uint64_t *steps; /* ry_plan_hash_steps */
    char network[RY_NETWORK_TEXT];
    bool elsewhere; /* another process tunes it */
} ry_tuned_plans;

/* Lists the plans of other forms whose predicted time is not far from the untuned one's, and has
 * each run in turns with the best so far, those that are predicted to be fastest first, within
 * `budget` seconds: what is faster beyond noise is the best from then on. What was measured is kept
 * in the wisdom. `untuned`: the plan of what is predicted, looked at only. */
rynd_status ry_api_tune_plans(rynd_tuning *tuning, const rynd_model *model,
                              const rynd_plan *untuned, const rynd_plan_options *options,
                              const rynd_tune_options *how, double budget, ry_error *error);

/* The untuned plan is taken from now on, by the wisdom, too. */
rynd_status ry_api_give_up_plan(rynd_tuning *tuning, const rynd_tune_options *how, ry_error *error);

/* As of entries (api_tuning.h): keeps what was measured of plans, so that the plan `taken` is taken
 * from now on; takes and gives back the lease of the network. */
rynd_status ry_api_plans_keep(const rynd_tuning *tuning, const rynd_tune_options *options,
                              size_t taken, ry_error *error);
bool ry_api_plans_claim(const rynd_tuning *tuning, const rynd_tune_options *options, double budget);
void ry_api_plans_disclaim(const rynd_tuning *tuning, const rynd_tune_options *options);

/* The found form, else the predicted one. */
ry_plan_form ry_api_tuned_plan_form(const rynd_tuning *tuning);

/* What is known of a network where only the form of its plan is. */
typedef struct ry_form_known {
    ry_plan_form form;
    char network[RY_NETWORK_TEXT]; /* that was asked for; "": none was */
} ry_form_known;
ry_adviser ry_api_form_adviser(ry_form_known *known);

#endif
