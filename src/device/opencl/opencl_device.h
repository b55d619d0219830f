/* SPDX-License-Identifier: Apache-2.0 */
/* Devices that have a driver for OpenCL 1.2. Compiled programs are kept on disk
 * (device/program_files.h); RYND_OPENCL_OPTIONS adds options of the compiler ("-Werror"). */
#ifndef RY_DEVICE_OPENCL_OPENCL_DEVICE_H
#define RY_DEVICE_OPENCL_OPENCL_DEVICE_H

#include "device/device.h"
#include "device/opencl/opencl_info.h"

/* `host` is the CPU beside it, which must outlive it. The caller sets `machine`. */
rynd_status ry_opencl_device_create(const ry_allocator *allocator, unsigned index, ry_device *host,
                                    ry_device **device, ry_error *error);

#endif
