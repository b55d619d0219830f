/* SPDX-License-Identifier: Apache-2.0 */
/* The learning rate as a function of the step. */
#ifndef CLI_TRAIN_SCHEDULE_H
#define CLI_TRAIN_SCHEDULE_H

#include "options.h"

typedef struct cli_schedule {
    double rate;         /* the largest */
    int kind;            /* 1 + index into the names below; 0: constant */
    int64_t warmup;      /* steps of linear growth to `rate` */
    int64_t decay_every; /* epochs; 0: a third of all */
    double decay;        /* factor of each decay */
    double last;         /* final rate of cosine, as a fraction of `rate` */
} cli_schedule;

#define CLI_SCHEDULES "constant|step|cosine"
#define CLI_SCHEDULE_DEFAULTS      \
    {                              \
        .rate = 0.01, .decay = 0.1 \
    }

/* The rows of an option table; `at` is the offset of the cli_schedule in the settings. */
/* clang-format off */
#define CLI_SCHEDULE_OPTIONS(at)                                                                 \
    {"lr", 0, CLI_NUMBER, "R", NULL, 0, 1e6, (at) + offsetof(cli_schedule, rate),                \
     "learning rate (default 0.01)"},                                                            \
    {"schedule", 0, CLI_CHOICE, "NAME", CLI_SCHEDULES, 0, 0, (at) + offsetof(cli_schedule, kind),\
     "learning-rate schedule: constant (default); step: times --decay every --decay-every epochs; "\
     "cosine: down to --lr-last"},                                                               \
    {"warmup", 0, CLI_INTEGER, "N", NULL, 0, 1e9, (at) + offsetof(cli_schedule, warmup),         \
     "raise the learning rate from R/N to R in the first N steps (default 0)"},                  \
    {"decay-every", 0, CLI_INTEGER, "N", NULL, 1, 1e9, (at) + offsetof(cli_schedule, decay_every),\
     "epochs between decays of --schedule step (default: a third of all)"},                      \
    {"decay", 0, CLI_NUMBER, "G", NULL, 0, 1, (at) + offsetof(cli_schedule, decay),              \
     "factor of each decay of --schedule step (default 0.1)"},                                   \
    {"lr-last", 0, CLI_NUMBER, "F", NULL, 0, 1, (at) + offsetof(cli_schedule, last),             \
     "final learning rate of --schedule cosine, as a fraction of --lr (default 0)"}
/* clang-format on */

/* Returns the learning rate of a step, counted from 0. `steps` is their number in all,
 * `per_epoch` in an epoch. */
double cli_schedule_rate(const cli_schedule *schedule, uint64_t step, uint64_t steps,
                         uint64_t per_epoch);

/* Options that say something about another schedule than the chosen one are refused. */
bool cli_schedule_check(const cli_schedule *schedule, cli_failure *failure);

#endif
