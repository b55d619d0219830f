/* SPDX-License-Identifier: Apache-2.0 */
/* OpenCL's loader with a device that offers less than it has, for RYND_OPENCL_LIBRARY:
 *
 *   NARROW_GROUP=128    work-items of a work-group at most; larger launches fail
 *   NARROW_KERNEL=64    the same of every kernel that is built (CL_KERNEL_WORK_GROUP_SIZE)
 *   NARROW_DOUBLES=0    without cl_khr_fp64; programs with doubles do not compile
 *   NARROW_LOG=FILE     a line "profiled" or "plain" for every queue that is made
 *
 * What it does not change it leaves to libOpenCL.so.1, which it is linked with. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

/* The loader's own function of a name. */
static void *real(const char *name)
{
    static void *loader;
    if (!loader) {
        loader = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    }
    void *function = loader ? dlsym(loader, name) : NULL;
    if (!function) {
        fprintf(stderr, "narrow_opencl: no %s\n", name);
        exit(1);
    }
    return function;
}

#define CALL(function, ...) (((__typeof__(&(function)))(uintptr_t)real(#function))(__VA_ARGS__))

/* The number of a variable; 0: it is not set. */
static size_t limit(const char *name)
{
    const char *text = getenv(name);
    return text ? strtoul(text, NULL, 10) : 0;
}

static int has_doubles(void)
{
    const char *text = getenv("NARROW_DOUBLES");
    return !text || strcmp(text, "0") != 0;
}

static void lower(const char *variable, size_t size, void *value)
{
    const size_t most = limit(variable);
    if (most && value && size == sizeof most && *(size_t *)value > most) {
        memcpy(value, &most, sizeof most);
    }
}

EXPORT cl_int clGetDeviceInfo(cl_device_id device, cl_device_info what, size_t size, void *value,
                              size_t *needed)
{
    const cl_int code = CALL(clGetDeviceInfo, device, what, size, value, needed);
    if (code == CL_SUCCESS && what == CL_DEVICE_MAX_WORK_GROUP_SIZE) {
        lower("NARROW_GROUP", size, value);
    }
    char *fp64 = code == CL_SUCCESS && what == CL_DEVICE_EXTENSIONS && value && !has_doubles()
                     ? strstr(value, "cl_khr_fp64")
                     : NULL;
    if (fp64) {
        memset(fp64, ' ', strlen("cl_khr_fp64"));
    }
    return code;
}

EXPORT cl_int clGetKernelWorkGroupInfo(cl_kernel kernel, cl_device_id device,
                                       cl_kernel_work_group_info what, size_t size, void *value,
                                       size_t *needed)
{
    const cl_int code = CALL(clGetKernelWorkGroupInfo, kernel, device, what, size, value, needed);
    if (code == CL_SUCCESS && what == CL_KERNEL_WORK_GROUP_SIZE) {
        lower("NARROW_GROUP", size, value);
        lower("NARROW_KERNEL", size, value);
    }
    return code;
}

EXPORT cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dims,
                                     const size_t *offset, const size_t *global,
                                     const size_t *local, cl_uint count, const cl_event *wait,
                                     cl_event *event)
{
    const size_t device = limit("NARROW_GROUP"), built = limit("NARROW_KERNEL");
    if ((device && local[0] > device) || (built && local[0] > built)) {
        return CL_INVALID_WORK_GROUP_SIZE;
    }
    return CALL(clEnqueueNDRangeKernel, queue, kernel, dims, offset, global, local, count, wait,
                event);
}

EXPORT cl_program clCreateProgramWithSource(cl_context context, cl_uint count, const char **texts,
                                            const size_t *lengths, cl_int *code)
{
    /* a type that there is not */
    static const char none[] = "#define double no_doubles_here\n";
    const char *all[16] = {has_doubles() ? "" : none};
    if (lengths || count >= sizeof all / sizeof *all) {
        *code = CL_INVALID_VALUE;
        return NULL;
    }
    memcpy(all + 1, texts, count * sizeof *texts);
    return CALL(clCreateProgramWithSource, context, count + 1, all, NULL, code);
}

EXPORT cl_command_queue clCreateCommandQueue(cl_context context, cl_device_id device,
                                             cl_command_queue_properties properties, cl_int *code)
{
    const char *name = getenv("NARROW_LOG");
    FILE *log = name ? fopen(name, "a") : NULL;
    if (log) {
        fputs(properties & CL_QUEUE_PROFILING_ENABLE ? "profiled\n" : "plain\n", log);
        fclose(log);
    }
    return CALL(clCreateCommandQueue, context, device, properties, code);
}
