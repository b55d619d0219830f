/* SPDX-License-Identifier: Apache-2.0 */
/* A device that is not here: its machine comes from a file, and plans for it are looked at. */
#ifndef RY_DEVICE_PAPER_PAPER_DEVICE_H
#define RY_DEVICE_PAPER_PAPER_DEVICE_H

#include "device/device.h"

/* kind: "opencl" or "cuda". `why` tells why the device itself could not be opened: whatever needs
 * it fails with these words and DEVICE. `host` must outlive it. The caller sets `machine`. */
rynd_status ry_paper_device_create(const ry_allocator *allocator, const char *kind, const char *why,
                                   ry_device *host, ry_device **device, ry_error *error);

/* Fails with those words if the device is one on paper. */
rynd_status ry_paper_device_refuse(const ry_device *device, ry_error *error);

#endif
