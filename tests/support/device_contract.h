/* SPDX-License-Identifier: Apache-2.0 */
/* What every device with a driver of its own is held to. */
#ifndef DEVICE_CONTRACT_H
#define DEVICE_CONTRACT_H

#include "device/device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

typedef struct device_contract {
    const char *kind; /* "opencl": as the files of its programs are called */
    rynd_status (*count)(unsigned *count, ry_error *error);
    rynd_status (*create)(const ry_allocator *allocator, unsigned index, ry_device *host,
                          ry_device **device, ry_error *error);
    const char *wrong_group; /* its message for a group of 2^30 items */
} device_contract;

/* Runs the common tests and this kind's own. Returns main's exit code. Skips all without such a
 * device. */
int device_contract_run(const device_contract *contract, const struct CMUnitTest *more,
                        size_t count);

#endif
