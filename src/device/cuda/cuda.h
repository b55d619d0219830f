/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA's driver (libcuda.so.1) and its compiler (NVRTC), opened at run time: neither a build nor a
 * machine needs them, and no header of theirs is used.
 *
 *   const ry_cuda *cu;
 *   RY_TRY(ry_cuda_load(&cu, error));
 *   const int code = cu->StreamSynchronize(stream);
 *   if (code) return ry_cuda_fail(cu, device->name, "cuStreamSynchronize", code, error); */
#ifndef RY_DEVICE_CUDA_CUDA_H
#define RY_DEVICE_CUDA_CUDA_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ry_cuda {
#define RY_CU(name, symbol, parameters) int(*name) parameters;
#include "device/cuda/cuda_functions.inc"
#include "device/cuda/cuda_graph_functions.inc"
#undef RY_CU
    bool graphs; /* has the driver the functions of cuda_graph_functions.inc? */
    int version; /* driver's CUDA version: 12090 is 12.9 */
} ry_cuda;

typedef struct ry_nvrtc {
#define RY_NVRTC(name, symbol, result, parameters) result(*name) parameters;
#include "device/cuda/nvrtc_functions.inc"
#undef RY_NVRTC
    int major, minor; /* its version */
} ry_nvrtc;

/* Codes of the driver that are asked for. */
enum { RY_CUDA_OK = 0, RY_CUDA_OUT_OF_MEMORY = 2, RY_CUDA_NOT_READY = 600 };

/* Opens the driver, once in a process: libcuda.so.1, or the file that RYND_CUDA_LIBRARY names.
 * Fails with DEVICE (what is missing, and what to install). Any thread. */
rynd_status ry_cuda_load(const ry_cuda **cu, ry_error *error);

/* Opens the compiler, once in a process: of those that are installed one that is no newer than the
 * driver, if there is one; or the file that RYND_NVRTC_LIBRARY names. Any thread. */
rynd_status ry_nvrtc_load(const ry_cuda *cu, const ry_nvrtc **nvrtc, ry_error *error);

/* DEVICE, or OUT_OF_MEMORY where the code says that: "NVIDIA H100: cuLaunchKernel failed with
 * CUDA_ERROR_LAUNCH_FAILED (719), unspecified launch failure: " and what to do. device: its name;
 * NULL: of none. */
rynd_status ry_cuda_fail(const ry_cuda *cu, const char *device, const char *call, int code,
                         ry_error *error);

#endif
