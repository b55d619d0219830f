/* SPDX-License-Identifier: Apache-2.0 */
/* Measures the points of a sweep, interleaved. */
#include "bench_subject.h"
#include "sweep.h"
#include "wording.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What is measured at once: a clock's own time is a thousandth of it. */
static const double SAMPLE_SECONDS = 1e-4;
static const double MOST_RUNS = 1000;

typedef struct measuring {
    cli_sweep *sweep;
    cli_subject *subjects;
    size_t *order; /* order of the points in the current round */
    int *runs;     /* runs per sample, by point */
    uint64_t random;
} measuring;

/* Everything is there at once: half of the machine's memory may be. */
static bool check_memory(const cli_sweep *sweep, cli_failure *failure)
{
    const double machine = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    double all = 0;
    for (size_t i = 0; i < sweep->count; i++) {
        all += (double)sweep->points[i].memory;
    }
    return all <= machine / 2
               ? true
               : cli_fail(failure,
                          "sweep: to measure these %zu problems in turn takes %s at once, and the "
                          "machine has %s: give shorter ranges",
                          sweep->count, cli_word_bytes(all).text, cli_word_bytes(machine).text);
}

static bool time_runs(cli_subject *subject, int runs, double *seconds, cli_failure *failure)
{
    const double begin = cli_now();
    for (int i = 0; i < runs; i++) {
        if (!cli_subject_run(subject, failure)) {
            return false;
        }
    }
    *seconds = (cli_now() - begin) / runs;
    return true;
}

static bool open_all(measuring *m, cli_setup *setup, const cli_common *common,
                     cli_progress *progress, cli_failure *failure)
{
    for (size_t i = 0; i < m->sweep->count; i++) {
        double seconds;
        cli_progress_show(progress, "preparing", (double)i / (double)m->sweep->count);
        if (!cli_subject_open(&m->subjects[i], setup, common, m->sweep->points[i].problem, false,
                              failure) ||
            !time_runs(&m->subjects[i], 1, &seconds, failure) ||
            !time_runs(&m->subjects[i], 1, &seconds, failure)) {
            return false;
        }
        const double runs = ceil(SAMPLE_SECONDS / (seconds > 1e-9 ? seconds : 1e-9));
        m->runs[i] = (int)(runs < MOST_RUNS ? runs : MOST_RUNS);
        m->order[i] = i;
    }
    return true;
}

/* Knuth's MMIX generator, and Fisher and Yates' shuffle. */
static void shuffle(measuring *m)
{
    for (size_t i = m->sweep->count; i > 1; i--) {
        m->random = m->random * 6364136223846793005u + 1442695040888963407u;
        const size_t j = (size_t)((m->random >> 32) % i), other = m->order[j];
        m->order[j] = m->order[i - 1];
        m->order[i - 1] = other;
    }
}

static bool run_round(measuring *m, cli_failure *failure)
{
    cli_sweep *sweep = m->sweep;
    double *samples = realloc(sweep->samples, (sweep->rounds + 1) * sweep->count * sizeof *samples);
    if (!samples) {
        return cli_fail_memory(failure);
    }
    sweep->samples = samples;
    samples += sweep->rounds * sweep->count;
    shuffle(m);
    for (size_t i = 0; i < sweep->count; i++) {
        const size_t point = m->order[i];
        if (!time_runs(&m->subjects[point], 1, &samples[point], failure) ||
            !time_runs(&m->subjects[point], m->runs[point], &samples[point], failure)) {
            return false;
        }
    }
    sweep->rounds++;
    return true;
}

static bool run_rounds(measuring *m, const cli_sweep_measuring *how, cli_progress *progress,
                       cli_failure *failure)
{
    const double begin = cli_now();
    for (double passed = 0;
         (double)m->sweep->rounds < (double)how->rounds || passed < how->seconds;) {
        const double by_time = how->seconds > 0 ? passed / how->seconds : 1,
                     by_rounds = (double)m->sweep->rounds / (double)how->rounds;
        cli_progress_show(progress, "measuring", by_time < by_rounds ? by_time : by_rounds);
        if (!run_round(m, failure)) {
            return false;
        }
        passed = cli_now() - begin;
    }
    return true;
}

static bool sum_up(cli_sweep *sweep, cli_failure *failure)
{
    for (size_t i = 0; i < sweep->count; i++) {
        cli_samples own = {0};
        bool kept = true;
        for (size_t r = 0; kept && r < sweep->rounds; r++) {
            kept = cli_samples_add(&own, sweep->samples[r * sweep->count + i]);
        }
        sweep->points[i].measured = cli_samples_statistics(&own);
        cli_samples_free(&own);
        if (!kept) {
            return cli_fail_memory(failure);
        }
    }
    return true;
}

bool cli_sweep_measure(cli_sweep *sweep, const cli_sweep_measuring *how, cli_setup *setup,
                       const cli_common *common, cli_progress *progress, cli_failure *failure)
{
    if (!check_memory(sweep, failure)) {
        return false;
    }
    measuring m = {.sweep = sweep,
                   .subjects = calloc(sweep->count, sizeof *m.subjects),
                   .order = calloc(sweep->count, sizeof *m.order),
                   .runs = calloc(sweep->count, sizeof *m.runs),
                   .random = (uint64_t)how->seed};
    const bool done = m.subjects && m.order && m.runs
                          ? open_all(&m, setup, common, progress, failure) &&
                                run_rounds(&m, how, progress, failure) && sum_up(sweep, failure)
                          : cli_fail_memory(failure);
    for (size_t i = 0; m.subjects && i < sweep->count; i++) {
        cli_subject_close(&m.subjects[i]);
    }
    free(m.subjects);
    free(m.order);
    free(m.runs);
    return done;
}
