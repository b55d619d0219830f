/* SPDX-License-Identifier: Apache-2.0 */
/* What a tuning holds, and the part that problems and models share. */
#ifndef RY_API_API_TUNING_H
#define RY_API_API_TUNING_H

#include "api/handles.h"
#include "plan/plan_identity.h"
#include "tune/tune_problem.h"

typedef struct ry_tuning_entry {
    ry_problem problem; /* its tensors are in the tuning's arena, or in what outlives the call */
    const char *text;
    unsigned constants;
    bool cold;
    double network_bytes; /* bytes of the network around it (ry_target) */
    bool elsewhere;       /* another process tunes it */
    size_t steps;         /* steps of the model with this problem */
    double seconds;       /* predicted seconds of all these steps */
    ry_tuned_problem tuned;
    double network_ratio;   /* tuned over untuned time of its steps within the network; 0: not
                               compared */
    rynd_tuned_form *forms; /* `tuned` as the caller sees it */
} ry_tuning_entry;

struct rynd_tuning {
    rynd_context *context;
    ry_arena arena;
    rynd_tuning_info info;
    double saved;                 /* seconds of a run, by what was taken so far */
    struct ry_tuned_plans *plans; /* tuned plans of a model (api_tune_plans.h); NULL: problems only
                                   */
    size_t count;                 /* tuned entries, which the caller sees */
    ry_tuning_entry *entries;
};

/* Tunes the entry behind those that are counted, of `all`, within `budget` seconds, tells the
 * caller how far it is, and counts it. */
rynd_status ry_api_tune_entry(rynd_tuning *tuning, const rynd_tune_options *options, size_t all,
                              double budget, ry_error *error);

/* Tells the caller how far it is; true: the caller ends it. */
bool ry_api_tune_ends(const rynd_tune_options *options, const rynd_tune_progress *tuning);

rynd_status ry_api_check_tune_options(const rynd_context *context, const rynd_tune_options *options,
                                      ry_error *error);

/* Keeps what was measured of an entry in the context's wisdom, so that plans take the form `taken`
 * (0: the untuned choice) from now on: where there is wisdom, and the options do not say no. */
rynd_status ry_api_tuned_keep(const rynd_tuning *tuning, const rynd_tune_options *options,
                              const ry_tuning_entry *entry, int taken, ry_error *error);

/* Takes and gives back the lease of an entry's problem. */
bool ry_api_tuned_claim(const rynd_tuning *tuning, const rynd_tune_options *options,
                        const ry_tuning_entry *entry, double budget);
void ry_api_tuned_disclaim(const rynd_tuning *tuning, const rynd_tune_options *options,
                           const ry_tuning_entry *entry);

/* The entry of a problem among the first `count`; NULL: none. */
ry_tuning_entry *ry_api_entry_of(const rynd_tuning *tuning, const char *text, unsigned constants,
                                 size_t count);

/* An empty tuning; NULL when memory is out. */
rynd_tuning *ry_api_tuning_create(rynd_context *context);

#endif
