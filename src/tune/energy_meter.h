/* SPDX-License-Identifier: Apache-2.0 */
/* Measures the energy of trials: RAPL for the CPU, a device's own meter for others. */
#ifndef RY_TUNE_ENERGY_METER_H
#define RY_TUNE_ENERGY_METER_H

#include "machine/meter.h"
#include "tune/energy_fit.h"
#include "tune/trial.h"

/* A meter, and its samples. */
typedef struct ry_energy_meter {
    ry_device *device;
    ry_meter packages;         /* the CPU's */
    const char *name;          /* "rapl", "nvml"; "": there is none */
    double spent;              /* seconds of metering */
    ry_energy_sample *samples; /* the caller's room */
    int count, room;
} ry_energy_meter;

/* Opens the device's meter, with the caller's room for samples, one a problem. */
void ry_energy_meter_open(ry_device *device, ry_energy_sample *samples, int room,
                          ry_energy_meter *meter);

/* Runs a warm trial of `prepared` again and again, and keeps the mean energy of a run. Does nothing
 * without a meter, for a problem that has a sample, or on a device if `limit` seconds are spent. A
 * meter that stands still or disappears gives no sample. `prepared` must stay until the fit. */
rynd_status ry_energy_meter_run(ry_energy_meter *meter, ry_trial *trial, int problem,
                                const ry_prepared *prepared, double limit, ry_error *error);

/* Fits all samples, which are runs on so many threads of the machine. */
void ry_energy_meter_fit(ry_energy_meter *meter, const ry_machine *machine, unsigned threads,
                         ry_energy_fit *fit);

#endif
