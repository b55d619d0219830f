/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a device's context the thread's, and restores the previous one. */
#include "device/cuda/cuda_state.h"

rynd_status ry_cuda_enter(const ry_cuda_state *device, ry_error *error)
{
    const int code = device->cu->CtxPushCurrent(device->context);
    return code == RY_CUDA_OK ? RYND_OK : ry_cuda_fail_on(device, "cuCtxPushCurrent", code, error);
}

void ry_cuda_leave(const ry_cuda_state *device)
{
    void *context;
    device->cu->CtxPopCurrent(&context);
}
