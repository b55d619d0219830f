/* SPDX-License-Identifier: Apache-2.0 */
/* Devices by name. */
#ifndef RY_API_API_DEVICE_H
#define RY_API_API_DEVICE_H

#include "base/cpuid.h"
#include "base/status.h"

#include <rynd/rynd.h>

/* Opens the device that the options, or RYND_DEVICE, name: "cpu", "opencl", "cuda:1". The context
 * has its threads already. machine: the options name a machine file, so the device may be absent
 * and is only planned for. isa: the CPU's. */
rynd_status ry_api_open_device(rynd_context *context, const char *name, bool machine, ry_isa isa,
                               ry_error *error);

#endif
