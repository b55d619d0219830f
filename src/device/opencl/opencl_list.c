/* SPDX-License-Identifier: Apache-2.0 */
/* Lists OpenCL's devices and their properties. */
#include "device/opencl/opencl_list.h"

#include "device/gpu/gpu_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64 }; /* platforms, and devices of a platform */

#define INSTALL "install the driver of the device (on a CPU, Debian: pocl-opencl-icd)"

typedef struct list {
    unsigned count;
    ry_opencl_id id[MOST];
} list;

/* "pthread-AMD EPYC", without the blanks that some drivers put around it. */
static void take_text(char *to, size_t room, const char *from)
{
    from += strspn(from, " ");
    snprintf(to, room, "%s", from);
    for (size_t used = strlen(to); used && to[used - 1] == ' ';) {
        to[--used] = 0;
    }
}

/* What does not fit is too long to show. */
static void device_text(const ry_opencl *cl, cl_device_id device, cl_device_info what, char *to,
                        size_t room)
{
    char text[512] = "";
    if (cl->GetDeviceInfo(device, what, sizeof text - 1, text, NULL) != CL_SUCCESS) {
        text[0] = 0;
    }
    take_text(to, room, text);
}

/* Does a list of words, of any length, have the word? */
static bool device_extends(const ry_opencl *cl, cl_device_id device, const char *word)
{
    char text[16384] = "";
    if (cl->GetDeviceInfo(device, CL_DEVICE_EXTENSIONS, sizeof text - 1, text, NULL) !=
        CL_SUCCESS) {
        return false;
    }
    const size_t length = strlen(word);
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word)) {
        if ((at == text || at[-1] == ' ') && (at[length] == ' ' || at[length] == 0)) {
            return true;
        }
    }
    return false;
}

#define NUMBER(type, function)                                                             \
    static type function(const ry_opencl *cl, cl_device_id device, cl_device_info what)    \
    {                                                                                      \
        type number = 0;                                                                   \
        return cl->GetDeviceInfo(device, what, sizeof number, &number, NULL) == CL_SUCCESS \
                   ? number                                                                \
                   : 0;                                                                    \
    }
NUMBER(cl_uint, device_uint)
NUMBER(cl_ulong, device_ulong)
NUMBER(size_t, device_size)
NUMBER(cl_bitfield, device_bits)

static rynd_status list_devices(const ry_opencl *cl, list *found, ry_error *error)
{
    cl_platform_id platforms[MOST];
    cl_uint count = 0;
    found->count = 0;
    const cl_int code = cl->GetPlatformIDs(MOST, platforms, &count);
    if (code != CL_SUCCESS || count == 0) {
        return ry_fail(error, RYND_ERROR_DEVICE, "OpenCL has no platform here: " INSTALL);
    }
    for (cl_uint p = 0; p < count && p < MOST; p++) {
        cl_device_id devices[MOST];
        cl_uint of_platform = 0;
        if (cl->GetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, MOST, devices, &of_platform) !=
            CL_SUCCESS) {
            continue; /* one without devices */
        }
        for (cl_uint d = 0; d < of_platform && d < MOST && found->count < MOST; d++) {
            found->id[found->count++] = (ry_opencl_id){platforms[p], devices[d]};
        }
    }
    return RYND_OK;
}

typedef struct named {
    const ry_opencl *cl;
    const list *found;
} named;

static void name_of_index(const void *context, unsigned index, char name[RY_GPU_NAME])
{
    const named *n = context;
    device_text(n->cl, n->found->id[index].device, CL_DEVICE_NAME, name, RY_GPU_NAME);
}

rynd_status ry_opencl_find(const ry_opencl *cl, unsigned index, ry_opencl_id *id, ry_error *error)
{
    list found;
    RY_TRY(list_devices(cl, &found, error));
    if (index < found.count) {
        *id = found.id[index];
        return RYND_OK;
    }
    const named context = {cl, &found};
    const ry_gpu_list there = {"opencl", INSTALL, found.count, name_of_index, &context};
    return ry_gpu_fail_index(&there, index, error);
}

static ry_opencl_type type_of(cl_device_type bits)
{
    return bits & CL_DEVICE_TYPE_GPU   ? RY_OPENCL_GPU
           : bits & CL_DEVICE_TYPE_CPU ? RY_OPENCL_CPU
                                       : RY_OPENCL_OTHER;
}

static size_t of_host(cl_ulong bytes)
{
    return bytes > SIZE_MAX ? SIZE_MAX : (size_t)bytes;
}

/* PoCL keeps what it compiled unless POCL_KERNEL_CACHE is 0. */
static bool keeps_programs(const char *platform)
{
    const char *kept = getenv("POCL_KERNEL_CACHE");
    return strcmp(platform, RY_OPENCL_POCL) == 0 && !(kept && strcmp(kept, "0") == 0);
}

void ry_opencl_describe(const ry_opencl *cl, ry_opencl_id id, ry_opencl_info *info)
{
    const cl_device_id device = id.device;
    char platform[512] = "";
    cl->GetPlatformInfo(id.platform, CL_PLATFORM_NAME, sizeof platform - 1, platform, NULL);
    *info = (ry_opencl_info){
        .type = type_of(device_bits(cl, device, CL_DEVICE_TYPE)),
        .units = device_uint(cl, device, CL_DEVICE_MAX_COMPUTE_UNITS),
        .clock = device_uint(cl, device, CL_DEVICE_MAX_CLOCK_FREQUENCY),
        .memory = of_host(device_ulong(cl, device, CL_DEVICE_GLOBAL_MEM_SIZE)),
        .most_memory = of_host(device_ulong(cl, device, CL_DEVICE_MAX_MEM_ALLOC_SIZE)),
        .local_memory = of_host(device_ulong(cl, device, CL_DEVICE_LOCAL_MEM_SIZE)),
        .cache = of_host(device_ulong(cl, device, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE)),
        .cache_line = device_uint(cl, device, CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE),
        .group = device_size(cl, device, CL_DEVICE_MAX_WORK_GROUP_SIZE),
        .floats = device_uint(cl, device, CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT),
        .halves = device_uint(cl, device, CL_DEVICE_PREFERRED_VECTOR_WIDTH_HALF),
        .fp16 = device_extends(cl, device, "cl_khr_fp16"),
        .fp64 = device_extends(cl, device, "cl_khr_fp64"),
        .subgroups = device_extends(cl, device, "cl_intel_subgroups") &&
                     device_extends(cl, device, "cl_intel_required_subgroup_size"),
        .rounds_divisions = device_bits(cl, device, CL_DEVICE_SINGLE_FP_CONFIG) &
                            CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT,
        .unified = device_uint(cl, device, CL_DEVICE_HOST_UNIFIED_MEMORY) != 0,
        .compiles = device_uint(cl, device, CL_DEVICE_COMPILER_AVAILABLE) != 0,
    };
    take_text(info->platform, sizeof info->platform, platform);
    info->keeps_programs = keeps_programs(info->platform);
    device_text(cl, device, CL_DEVICE_NAME, info->name, sizeof info->name);
    device_text(cl, device, CL_DEVICE_VENDOR, info->vendor, sizeof info->vendor);
    /* Intel's driver for processors has its functions in OpenCL C 3.0 only. */
    info->dots_bytes =
        info->type == RY_OPENCL_GPU && device_extends(cl, device, "cl_khr_integer_dot_product");
    info->enlarges = info->type == RY_OPENCL_GPU && strstr(info->vendor, "Intel");
    device_text(cl, device, CL_DRIVER_VERSION, info->driver, sizeof info->driver);
}

rynd_status ry_opencl_device_count(unsigned *count, ry_error *error)
{
    const ry_opencl *cl;
    list found;
    RY_TRY(ry_opencl_load(&cl, error));
    RY_TRY(list_devices(cl, &found, error));
    *count = found.count;
    return RYND_OK;
}

rynd_status ry_opencl_device_describe(unsigned index, ry_opencl_info *info, ry_error *error)
{
    const ry_opencl *cl;
    ry_opencl_id id;
    RY_TRY(ry_opencl_load(&cl, error));
    RY_TRY(ry_opencl_find(cl, index, &id, error));
    ry_opencl_describe(cl, id, info);
    return RYND_OK;
}
