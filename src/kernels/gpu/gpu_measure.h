/* SPDX-License-Identifier: Apache-2.0 */
/* Measures a device beside the CPU by kernels that do one thing, by its own clock. */
#ifndef RY_KERNELS_GPU_GPU_MEASURE_H
#define RY_KERNELS_GPU_GPU_MEASURE_H

#include "device/device.h"
#include "machine/machine.h"

/* `machine` comes as what the driver says, and gets measured rates, latencies and costs of the
 * device's memory, caches, arithmetic and launches; figures that nothing here measures keep their
 * proportions to those. Waits for nothing else that the device does: `disturbance` is that of
 * ry_disturbance_since, whose canary is the arithmetic at both ends. Fails with OUT_OF_MEMORY, DEVICE. */
rynd_status ry_gpu_measure(ry_device *device, const rynd_measure_options *options,
                           ry_machine *machine, ry_error *error);

#endif
