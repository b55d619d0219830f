/* SPDX-License-Identifier: Apache-2.0 */
/* Fits a factor and a spread for each family of kernels to measured times. Nothing here measures:
 * the same times give the same fit. */
#ifndef RY_TUNE_CALIBRATE_FIT_H
#define RY_TUNE_CALIBRATE_FIT_H

#include "kernels/prepared.h"
#include "machine/machine.h"
#include "predict/network.h"
#include "tune/energy_fit.h"

/* One measured time, of a problem alone or of a step within a network. */
typedef struct ry_calibration_time {
    const ry_kernel *kernel;
    const ry_prepared *prepared; /* without its state; NULL: a step */
    ry_parts parts;              /* counts of a step */
    int problem;                 /* number in the set; of a step: behind all problems */
    int fold;                    /* which of the parts that are left out in turn: by the fit */
    int network;                 /* number of a step's network */
    unsigned constants;          /* bit i: input i is the same in each run */
    double network_bytes; /* as in ry_predict_parts: 0, or huge where constants were flushed */
    double seconds;
} ry_calibration_time;

typedef struct ry_calibrated_row {
    rynd_family_error fitted;
    unsigned times;
    double before, after; /* mean |predicted / measured - 1| of problems that the fit did not see */
} ry_calibrated_row;

typedef struct ry_calibration {
    int count;
    ry_calibrated_row rows[RYND_MACHINE_FAMILIES];
    ry_network_fit network; /* zeros: no step was measured */
    double disturbance;     /* share of the time that other work took */
    double variation;       /* the machine's own (rynd_machine) */
    const char *meter;      /* "": no meter; static */
    ry_energy_fit energy;
} ry_calibration;

/* Sorts times for the fit. */
void ry_calibrate_sort(ry_calibration_time *times, int count);

/* Fits the times, sorted by family (ry_kernel.family), on the machine with so many threads.
 * `factors`: room for one a time. The
 * factor minimises the sum of Huber losses (Huber, 1964) of the logarithms of measured over
 * predicted time, plus a penalty for its distance from the factor known before; so few times move
 * it less than many (a normal prior). A factor that predicts problems left out worse than the one
 * known before is not taken. The coefficients of networks are fitted likewise, to the
 * steps and to the networks' sums, with the factors in turns. The spread is that of problems left
 * out. */
void ry_calibrate_fit(ry_calibration_time *times, int count, const ry_machine *machine,
                      unsigned threads, double *factors, ry_calibration *calibration);

#endif
