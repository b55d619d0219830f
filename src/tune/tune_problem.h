/* SPDX-License-Identifier: Apache-2.0 */
/* Measures the forms of every kernel that takes a problem, and says which is fastest: one mechanism
 * for every operator, kernel and device in the lists.
 *
 *     list     forms by predicted time, hopeless ones left out (candidates.h)
 *     look     each is made ready, run once, compared with the reference, and timed: wrong ones are
 *              rejected, those that take 1.5 times as long as the best are dropped
 *     race     the rest in rounds, until one is best or the budget is spent (race.h)
 *
 * The untuned choice stays unless another is faster by 2% and beyond noise. */
#ifndef RY_TUNE_TUNE_PROBLEM_H
#define RY_TUNE_TUNE_PROBLEM_H

#include "kernels/prepared.h"
#include "machine/meter.h"
#include "tune/sample_statistics.h"
#include "tune/trial.h"

typedef enum ry_verdict {
    RY_VERDICT_UNTRIED,  /* no budget was left */
    RY_VERDICT_REJECTED, /* cannot be prepared, or gives wrong outputs */
    RY_VERDICT_SLOWER,
    RY_VERDICT_EQUAL, /* not slower for certain, and not taken */
    RY_VERDICT_TAKEN,
} ry_verdict;

typedef struct ry_measured_form {
    ry_prepared prepared; /* without state; the caller owns its problem */
    double predicted;     /* seconds */
    ry_statistics time;   /* measurements of counted rounds and the first look */
    double ratio;         /* paired ratio of its time to the untuned form's; 0: not raced */
    double joule;         /* that a run takes; 0: not measured */
    ry_verdict verdict;
    const char *reason; /* why it was rejected; "" */
} ry_measured_form;

/* Texts and lists are in the caller's arena. */
typedef struct ry_tuned_problem {
    int count;
    ry_measured_form *forms; /* the untuned choice first, then by predicted time */
    int taken;               /* the form to take: 0 where the untuned choice stays */
    double ratio;            /* paired ratio of its time to the untuned form's; 1 */
    int rounds, disturbed;   /* that counted, and that did not */
    double disturbance;      /* share of the race that other work took (base/competition.h) */
    int left_out;            /* forms whose prediction was hopeless */
    double seconds;          /* that it took */
    bool stopped;            /* by the caller */
} ry_tuned_problem;

/* How far it is, for a listener, who ends it by returning true: what was learned stays. */
typedef struct ry_tune_news {
    int looked, count; /* forms that were tried, of so many */
    int left, rounds;  /* that race, and for how many rounds */
    const ry_measured_form *best;
    double ratio; /* best time so far over the untuned form's */
    double spent; /* seconds */
} ry_tune_news;

/* In the place of the clock and the device, for tests. */
typedef struct ry_tune_meter {
    rynd_status (*run)(void *user, ry_trial *trial, ry_error *error); /* once, to be compared */
    rynd_status (*measure)(void *user, ry_trial *trial, double *seconds, ry_error *error);
    double (*now)(void *user);
    void *user;
} ry_tune_meter;

typedef struct ry_tune_options {
    double budget;              /* seconds; 0: nothing is measured */
    uint64_t seed;              /* random seed of inputs, samples and order */
    bool cold;                  /* constants come from memory (trial.h) */
    size_t memory;              /* bytes for all racing candidates together */
    const ry_tune_meter *meter; /* NULL: the clock and the device */
    ry_meter *energy;           /* reads what the forms that raced take; NULL: nothing does */
    bool (*listen)(void *user, const ry_tune_news *news); /* NULL: nobody */
    void *listen_user;
} ry_tune_options;

/* Seconds that tuning a problem is worth which takes so long: 400 runs and a tenth of a second for
 * what is done once, at most 10. */
double ry_tune_default_budget(double run_seconds);

/* `constants`: bit i, input i keeps its value. `host`: the CPU's target, for the reference; the
 * target itself on a CPU. No kernel of the target takes the problem: count is 0. Fails with
 * OUT_OF_MEMORY, with UNSUPPORTED (an operand with a negative stride), with SHAPE where no legal
 * input is known to it, and when the device fails. */
rynd_status ry_tune_problem(const ry_problem *problem, unsigned constants, ry_device *device,
                            const ry_target *target, const ry_target *host,
                            const ry_tune_options *options, ry_arena *arena,
                            ry_tuned_problem *tuned, ry_error *error);

#endif
