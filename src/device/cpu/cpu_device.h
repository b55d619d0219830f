/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU as a device: buffers are host memory, a launch runs a kernel's tasks on a pool of
 * threads. */
#ifndef RY_DEVICE_CPU_CPU_DEVICE_H
#define RY_DEVICE_CPU_CPU_DEVICE_H

#include "base/cpuid.h"
#include "base/threads.h"
#include "device/device.h"

/* `threads` is borrowed and must outlive the device. isa: the best to use, at most what the machine
 * has. */
rynd_status ry_cpu_device_create(const ry_allocator *allocator, ry_threads *threads, ry_isa isa,
                                 ry_device **device, ry_error *error);

#endif
