/* SPDX-License-Identifier: Apache-2.0 */
/* Lists CUDA's devices and their properties. */
#include "device/cuda/cuda_list.h"

#include "device/gpu/gpu_list.h"

#include <stdio.h>

/* CUdevice_attribute */
enum attribute {
    GROUP = 1,
    GROUP_MEMORY = 8,
    REGISTERS = 82, /* per unit */
    CLOCK = 13,
    UNITS = 16,
    WATCHED = 17, /* CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT */
    INTEGRATED = 18,
    MEMORY_CLOCK = 36,
    BUS = 37,
    CACHE = 38,
    MAJOR = 75,
    MINOR = 76,
    LOCAL_MEMORY = 81 /* per unit */
};

static unsigned number(const ry_cuda *cu, int device, enum attribute attribute)
{
    int value = 0;
    return cu->DeviceGetAttribute(&value, (int)attribute, device) == RY_CUDA_OK && value > 0
               ? (unsigned)value
               : 0;
}

static rynd_status count_devices(const ry_cuda *cu, unsigned *count, ry_error *error)
{
    int found = 0;
    const int code = cu->DeviceGetCount(&found);
    if (code != RY_CUDA_OK) {
        return ry_cuda_fail(cu, NULL, "cuDeviceGetCount", code, error);
    }
    *count = found > 0 ? (unsigned)found : 0;
    return RYND_OK;
}

static void name_of(const ry_cuda *cu, int device, char *name, size_t room)
{
    if (cu->DeviceGetName(name, (int)room, device) != RY_CUDA_OK) {
        snprintf(name, room, "a device without a name");
    }
    name[room - 1] = 0;
}

static void name_of_index(const void *cu, unsigned index, char name[RY_GPU_NAME])
{
    int device = 0;
    ((const ry_cuda *)cu)->DeviceGet(&device, (int)index);
    name_of(cu, device, name, RY_GPU_NAME);
}

rynd_status ry_cuda_find(const ry_cuda *cu, unsigned index, int *device, ry_error *error)
{
    unsigned count = 0;
    RY_TRY(count_devices(cu, &count, error));
    if (index < count) {
        const int code = cu->DeviceGet(device, (int)index);
        return code == RY_CUDA_OK ? RYND_OK : ry_cuda_fail(cu, NULL, "cuDeviceGet", code, error);
    }
    const ry_gpu_list list = {"cuda",
                              "`nvidia-smi` lists NVIDIA's GPUs, CUDA_VISIBLE_DEVICES hides them",
                              count, name_of_index, cu};
    return ry_gpu_fail_index(&list, index, error);
}

void ry_cuda_describe(const ry_cuda *cu, int device, ry_cuda_info *info)
{
    *info = (ry_cuda_info){
        .driver = cu->version,
        .capability = (int)(10 * number(cu, device, MAJOR) + number(cu, device, MINOR)),
        .units = number(cu, device, UNITS),
        .clock = number(cu, device, CLOCK),
        .memory_clock = number(cu, device, MEMORY_CLOCK),
        .bus = number(cu, device, BUS),
        .cache = number(cu, device, CACHE),
        .local_memory = number(cu, device, LOCAL_MEMORY),
        .group_memory = number(cu, device, GROUP_MEMORY),
        .registers = number(cu, device, REGISTERS),
        .group = number(cu, device, GROUP),
        .unified = number(cu, device, INTEGRATED) != 0,
        .watched = number(cu, device, WATCHED) != 0,
    };
    if (cu->DeviceTotalMem(&info->memory, device) != RY_CUDA_OK) {
        info->memory = 0;
    }
    name_of(cu, device, info->name, sizeof info->name);
}

rynd_status ry_cuda_device_count(unsigned *count, ry_error *error)
{
    const ry_cuda *cu;
    RY_TRY(ry_cuda_load(&cu, error));
    return count_devices(cu, count, error);
}

rynd_status ry_cuda_device_describe(unsigned index, ry_cuda_info *info, ry_error *error)
{
    const ry_cuda *cu;
    int device;
    RY_TRY(ry_cuda_load(&cu, error));
    RY_TRY(ry_cuda_find(cu, index, &device, error));
    ry_cuda_describe(cu, device, info);
    const ry_nvrtc *nvrtc;
    info->compiler = ry_nvrtc_load(cu, &nvrtc, NULL) == RYND_OK ? nvrtc->major : 0;
    return RYND_OK;
}
