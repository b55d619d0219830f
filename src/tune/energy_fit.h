/* SPDX-License-Identifier: Apache-2.0 */
/* Fits energy by kind to measured energy. Nothing here measures: the same samples give the same
 * fit. */
#ifndef RY_TUNE_ENERGY_FIT_H
#define RY_TUNE_ENERGY_FIT_H

#include "predict/predict.h"

/* Fewer problems are not fitted. */
enum { RY_ENERGY_PROBLEMS = 8 };

/* One run of a kernel: measured, and as it is predicted. */
typedef struct ry_energy_sample {
    int problem; /* number in the set */
    double joules, seconds;
    const ry_prepared *prepared; /* without its state; not read by the fit */
    ry_time time;
} ry_energy_sample;

typedef struct ry_energy_fit {
    double watts,
        joules[RYND_ENERGY_KINDS]; /* static power on all threads; of an operation, byte */
    double spread;        /* standard deviation of the logarithm; 0: the fit is not to be taken */
    double before, after; /* mean |predicted / measured - 1| of problems that the fit did not see */
    unsigned problems;
} ry_energy_fit;

/* Minimises the squares of relative errors (above a bound their absolute values: Huber, 1964) plus
 * a penalty for each coefficient's distance from its prior, with coefficients of at least 0
 * (nonnegative ridge regression: Hoerl and Kennard, 1970). The prior is the machine's watts and
 * rates, so a kind that no sample does keeps it. `samples` are runs on so many threads. */
void ry_energy_fit_samples(const ry_energy_sample *samples, int count, const ry_machine *machine,
                           unsigned threads, ry_energy_fit *fit);

/* Puts the fit into a machine. The meter's name is static. A fit that is not to be taken leaves the
 * machine without energy by kind. */
void ry_energy_keep(const ry_energy_fit *fit, const char *meter, ry_machine *machine);

#endif
