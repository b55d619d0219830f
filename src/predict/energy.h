/* SPDX-License-Identifier: Apache-2.0 */
/* Energy of a run: static power for its time, and joules of its operations and bytes by kind. */
#ifndef RY_PREDICT_ENERGY_H
#define RY_PREDICT_ENERGY_H

#include "predict/forecast.h"

typedef struct ry_joules {
    double median, low, high; /* the interval has the coverage of a forecast */
} ry_joules;

/* Mean power by the machine's measured watts: arithmetic and memory each have their own, by their
 * shares of the time. 0: unknown. */
double ry_energy_watts(const ry_machine *machine, unsigned threads, const ry_time *time);

/* By kind if the machine was calibrated with a meter, else watts times time; 0: no meter. */
ry_joules ry_energy_predict(const ry_machine *machine, unsigned threads, const ry_time *time,
                            const ry_forecast *forecast);

#endif
