/* SPDX-License-Identifier: Apache-2.0 */
/* Times a fixed set of problems on a device, and fits how far the predictions of each family of
 * kernels are off. */
#ifndef RY_TUNE_CALIBRATE_H
#define RY_TUNE_CALIBRATE_H

#include "tune/calibrate_fit.h"

typedef struct ry_calibrate_watch {
    double seconds; /* time limit of the runs; each problem runs once at least */
    rynd_progress_function progress;
    void *user;
} ry_calibrate_watch;

/* Predictions are those of device->machine. The calibration's rows are in the order of the list of
 * kernels. Fails with OUT_OF_MEMORY, DEVICE, CANCELLED. */
rynd_status ry_calibrate(ry_device *device, const ry_calibrate_watch *watch,
                         ry_calibration *calibration, ry_error *error);

#endif
