/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules of the learning rate. */
#include "train_schedule.h"

#include <math.h>

/* Where a run is, behind its warm-up. */
typedef struct progress {
    double part;            /* fraction of all steps done: 0 to below 1 */
    uint64_t epoch, epochs; /* counted from 0; all */
} progress;

static double constant(const cli_schedule *s, const progress *p)
{
    (void)s, (void)p;
    return 1;
}

static double stepped(const cli_schedule *s, const progress *p)
{
    const uint64_t third = p->epochs > 3 ? (p->epochs + 2) / 3 : 1;
    const uint64_t every = s->decay_every ? (uint64_t)s->decay_every : third;
    const uint64_t falls = p->epoch / every;
    return pow(s->decay, (double)falls);
}

static double cosine(const cli_schedule *s, const progress *p)
{
    const double pi = 3.14159265358979323846;
    return s->last + (1 - s->last) * (1 + cos(pi * p->part)) / 2;
}

/* In the order of CLI_SCHEDULES. */
static double (*const functions[])(const cli_schedule *, const progress *) = {constant, stepped,
                                                                              cosine};
enum { CONSTANT, STEP, COSINE };

static int kind_of(const cli_schedule *schedule)
{
    return schedule->kind ? schedule->kind - 1 : CONSTANT;
}

double cli_schedule_rate(const cli_schedule *s, uint64_t step, uint64_t steps, uint64_t per_epoch)
{
    const uint64_t warmup = (uint64_t)s->warmup;
    if (step < warmup) {
        return s->rate * (double)(step + 1) / (double)warmup;
    }
    const progress p = {
        .part = steps > warmup ? (double)(step - warmup) / (double)(steps - warmup) : 0,
        .epoch = step / per_epoch,
        .epochs = (steps + per_epoch - 1) / per_epoch,
    };
    return s->rate * functions[kind_of(s)](s, &p);
}

bool cli_schedule_check(const cli_schedule *s, cli_failure *failure)
{
    const cli_schedule none = CLI_SCHEDULE_DEFAULTS;
    const int kind = kind_of(s);
    if (kind != STEP && (s->decay_every || s->decay != none.decay)) {
        return cli_fail_usage(failure, "--decay and --decay-every need --schedule step");
    }
    if (kind != COSINE && s->last != none.last) {
        return cli_fail_usage(failure, "--lr-last needs --schedule cosine");
    }
    return true;
}
