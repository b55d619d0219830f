/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the kernels of a device on problems with known answers (check_problems.inc), each twice.
 *
 * A kernel is wrong if its outputs are not the reference's within the bound of its class, unsteady
 * if two runs give different bits, and fails if the driver refuses its program or its launch. */
#ifndef RY_TUNE_CHECK_KERNELS_H
#define RY_TUNE_CHECK_KERNELS_H

#include "device/device.h"
#include "kernels/kernel.h"

typedef enum ry_finding {
    RY_FINDING_UNTRIED, /* it takes none of the problems here */
    RY_FINDING_RIGHT,
    RY_FINDING_WRONG,
    RY_FINDING_UNSTEADY,
    RY_FINDING_FAILED,
    RY_FINDINGS
} ry_finding;

enum { RY_CHECK_WHY = 400 };

typedef struct ry_checked_kernel {
    const ry_kernel *kernel;
    ry_finding finding;
    int problems;           /* that it was tried on */
    const char *problem;    /* the one that it failed; NULL: none */
    char why[RY_CHECK_WHY]; /* "" where it is right */
} ry_checked_kernel;

typedef struct ry_checked {
    int count;
    ry_checked_kernel *kernels; /* the device's kernels, in the list's order */
} ry_checked;

/* Is told what share of the check is done, 0 to 1. */
typedef struct ry_check_watch {
    rynd_progress_function progress; /* NULL: nobody is told */
    void *user;
} ry_check_watch;

/* Checks the kernels that plans on the device may take, refused ones too; nothing is refused here.
 * What is checked is in `arena`. Fails only when memory is out or the device is lost as a whole. */
rynd_status ry_check_kernels(ry_device *device, const ry_check_watch *watch, ry_arena *arena,
                             ry_checked *checked, ry_error *error);

#endif
