/* SPDX-License-Identifier: Apache-2.0 */
/* A sweep: a problem with every combination of some words' values, what each is predicted to take,
 * what it was measured to take, and where the cliffs are. */
#ifndef CLI_SWEEP_H
#define CLI_SWEEP_H

#include "cliffs.h"
#include "progress.h"
#include "ranges.h"
#include "setup.h"
#include "statistics.h"

enum { CLI_SWEEP_POINTS = 10000 };

typedef struct cli_sweep_point {
    size_t value[CLI_GRID_AXES]; /* the index in each range */
    char *problem, *kernel, *knobs;
    rynd_prediction time;
    double flop, bytes; /* counts of the definition */
    size_t memory;      /* bytes for measuring it */
    cli_statistics measured;
} cli_sweep_point;

/* A step between neighbours that is above CLI_EXCESS_CLIFF. */
typedef struct cli_sweep_step {
    size_t axis, from, to;            /* points */
    double predicted, measured, sure; /* sure: the bound of the measured one */
    bool cliff;
} cli_sweep_step;

typedef struct cli_sweep {
    const char *problem;
    cli_range ranges[CLI_GRID_AXES];
    cli_grid grid;
    size_t count;
    cli_sweep_point *points;
    /* by round, then by point: seconds of a run; NULL: nothing was measured */
    double *samples;
    size_t rounds;
    /* by cli_dominance, one per point; `measured_dominance` is NULL without measurements */
    double *dominance, *measured_dominance;
    size_t most, measured_most; /* where it is largest; count: nowhere */
    cli_sweep_step *steps;
    size_t step_count;
} cli_sweep;

typedef struct cli_sweep_measuring {
    double seconds; /* at least so long, all points together */
    int64_t rounds; /* and at least so many */
    int64_t seed;   /* random seed of the order within rounds */
} cli_sweep_measuring;

/* `arguments`: the problem, then a range each. The caller frees also when one of these fails. */
bool cli_sweep_begin(cli_sweep *sweep, const cli_list *arguments, cli_failure *failure);
bool cli_sweep_predict(cli_sweep *sweep, cli_setup *setup, const cli_common *common,
                       cli_progress *progress, cli_failure *failure);
/* All problems are in memory at once and take turns, in rounds, each in a random order: what
 * disturbs the machine for a while disturbs them all. In a round each runs once uncounted, then
 * often enough for a tenth of a millisecond; that mean is its sample. */
bool cli_sweep_measure(cli_sweep *sweep, const cli_sweep_measuring *how, cli_setup *setup,
                       const cli_common *common, cli_progress *progress, cli_failure *failure);
/* Dominance and steps, of what is known. */
bool cli_sweep_judge(cli_sweep *sweep, cli_failure *failure);
void cli_sweep_free(cli_sweep *sweep);

/* Returns the plotted and marked time of a point: the measured one, or the predicted one. */
double cli_sweep_seconds(const cli_sweep *sweep, size_t point);

#endif
