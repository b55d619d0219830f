/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of CUDA's devices. */
#ifndef RY_DEVICE_CUDA_CUDA_LIST_H
#define RY_DEVICE_CUDA_CUDA_LIST_H

#include "device/cuda/cuda.h"
#include "device/cuda/cuda_info.h"

rynd_status ry_cuda_find(const ry_cuda *cu, unsigned index, int *device, ry_error *error);
void ry_cuda_describe(const ry_cuda *cu, int device, ry_cuda_info *info);

#endif
