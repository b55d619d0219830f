/* SPDX-License-Identifier: Apache-2.0 */
/* Times a fixed set of problems on a device, and fits how far the predictions of each family of
 * kernels are off. */
#ifndef RY_TUNE_CALIBRATE_H
#define RY_TUNE_CALIBRATE_H

#include "tune/calibrate_fit.h"
#include "tune/energy_meter.h"

typedef struct ry_calibrate_watch {
    double seconds; /* time limit; on a CPU each problem runs once at least */
    rynd_progress_function progress;
    void *user;
    /* times of an earlier calibration (0: not known), and where new ones go; NULL: nowhere. Numbers
     * of problems below 0 are the canary's. */
    double (*recall)(void *record, const ry_prepared *prepared, int problem, bool cold);
    void (*note)(void *record, const ry_prepared *prepared, int problem, bool cold, double seconds);
    void *record;
} ry_calibrate_watch;

/* Measured times, and what they refer to. */
typedef struct ry_calibration_times {
    ry_arena kept; /* problems and prepared kernels, until the fit */
    ry_calibration_time *times;
    int count, room;
    int problems;       /* numbers of problems that are taken */
    double disturbance; /* share of the time that other work took */
    double variation;   /* the machine's own (rynd_machine) */
    ry_energy_meter energy;
} ry_calibration_times;

/* Times the set of problems, families in turns until the time is over, with room for the caller's times of so many steps in networks;
 * predictions are those of device->machine. `progress` is told of `more` parts that follow. To be
 * freed also where this fails. Fails with OUT_OF_MEMORY, DEVICE, CANCELLED. */
rynd_status ry_calibrate_problems(ry_device *device, const ry_calibrate_watch *watch, int steps,
                                  size_t more, ry_calibration_times *times, ry_error *error);
void ry_calibration_times_free(ry_calibration_times *times);

/* Fits all times, which runs on so many threads of the machine took (its cores: a GPU). */
rynd_status ry_calibrate_end(ry_calibration_times *times, const ry_machine *machine,
                             unsigned threads, ry_calibration *calibration, ry_error *error);

#endif
