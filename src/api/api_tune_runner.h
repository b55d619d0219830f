/* SPDX-License-Identifier: Apache-2.0 */
/* Plans that run on random inputs, two of them in turns. */
#ifndef RY_API_API_TUNE_RUNNER_H
#define RY_API_API_TUNE_RUNNER_H

#include "api/handles.h"
#include "tune/race.h"

/* A plan, a session, and memory for random inputs. */
typedef struct ry_runner {
    rynd_plan *plan;
    rynd_session *session;
    ry_arena arena;
    double once; /* seconds of its first run */
} ry_runner;

/* Makes a plan, with weights whatever the options say, and runs it once. Floats of its inputs are
 * random, integers 0, as the inputs of single problems are. The adviser must outlive it. Fails as
 * rynd_plan_create and rynd_session_run do, and with UNSUPPORTED (an input has a negative stride);
 * nothing is open then. */
rynd_status ry_api_runner_open(ry_runner *runner, const rynd_model *model,
                               const rynd_plan_options *options, const ry_adviser *adviser,
                               uint64_t seed, ry_error *error);
void ry_api_runner_close(ry_runner *runner); /* also one of zeros */

enum { RY_DUEL_UNTUNED, RY_DUEL_TUNED, RY_DUEL_PLANS };

/* Two runners in turns: the first is the canary of a race. */
typedef struct ry_duel {
    ry_race race;
    double times[RY_DUEL_PLANS][2 * RY_RACE_ROUNDS]; /* times of the counted rounds */
    int counts[RY_DUEL_PLANS];
    bool ended; /* by `hear` */
} ry_duel;

typedef struct ry_duel_options {
    double gap;     /* what is worth it (ry_race) */
    bool impatient; /* ends where the second is not ahead at 8, 16 or 32 rounds */
    double budget;  /* seconds; each has at least one run */
    uint64_t seed;
    /* hears the ratio so far and the seconds spent; true ends it. NULL: nobody */
    bool (*hear)(void *user, double ratio, double spent);
    void *user;
} ry_duel_options;

rynd_status ry_api_duel(ry_runner *untuned, ry_runner *tuned, const ry_duel_options *options,
                        ry_duel *duel, ry_error *error);

/* Is the second one faster by the gap and beyond noise? */
bool ry_api_duel_is_won(const ry_duel *duel);

/* What a function of the library says of a failure. */
rynd_status ry_api_failed(rynd_status status, ry_error *error);

#endif
