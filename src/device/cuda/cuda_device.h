/* SPDX-License-Identifier: Apache-2.0 */
/* NVIDIA's devices, by the driver of CUDA 11.2 and later and NVRTC. Compiled programs are kept on
 * disk (device/program_files.h); RYND_CUDA_OPTIONS adds options of the compiler ("-lineinfo"). */
#ifndef RY_DEVICE_CUDA_CUDA_DEVICE_H
#define RY_DEVICE_CUDA_CUDA_DEVICE_H

#include "device/cuda/cuda_info.h"
#include "device/device.h"

/* `host` is the CPU beside it, which must outlive it. The caller sets `machine`. */
rynd_status ry_cuda_device_create(const ry_allocator *allocator, unsigned index, ry_device *host,
                                  ry_device **device, ry_error *error);

#endif
