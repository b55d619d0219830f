/* SPDX-License-Identifier: Apache-2.0 */
/* OpenCL's loader with a device that offers less than it has, or that computes wrong, for
 * RYND_OPENCL_LIBRARY:
 *
 *   NARROW_GROUP=128    work-items of a work-group at most; larger launches fail
 *   NARROW_KERNEL=64    the same of every kernel that is built (CL_KERNEL_WORK_GROUP_SIZE)
 *   NARROW_DOUBLES=0    without cl_khr_fp64; programs with doubles do not compile
 *   NARROW_LOG=FILE     a line "profiled" or "plain" for every queue that is made
 *   NARROW_BUFFER=65536 bytes of a buffer at most, on a GPU of Intel's: CL_MEM_ALLOW_UNRESTRICTED_SIZE_INTEL
 *                       and its compiler's option lift the limit
 *   NARROW_REFUSED=WORD programs with the word in their text do not compile
 *   NARROW_WRONG=1      softmax writes 7 as its first result
 *   NARROW_UNSTEADY=1   softmax changes its first result's last bit in every other launch
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

static void describe_intel(cl_device_info what, size_t size, void *value)
{
    static const char vendor[] = "Intel";
    const cl_device_type type = CL_DEVICE_TYPE_GPU;
    const cl_ulong most = limit("NARROW_BUFFER");
    if (what == CL_DEVICE_MAX_MEM_ALLOC_SIZE && size == sizeof most) {
        memcpy(value, &most, sizeof most);
    } else if (what == CL_DEVICE_TYPE && size == sizeof type) {
        memcpy(value, &type, sizeof type);
    } else if (what == CL_DEVICE_VENDOR && size >= sizeof vendor) {
        memcpy(value, vendor, sizeof vendor);
    }
}

EXPORT cl_mem clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void *host,
                             cl_int *code)
{
    const cl_mem_flags unrestricted = limit("NARROW_BUFFER") ? (cl_mem_flags)1 << 23 : 0;
    if (unrestricted && !(flags & unrestricted) && size > limit("NARROW_BUFFER")) {
        *code = CL_INVALID_BUFFER_SIZE;
        return NULL;
    }
    return CALL(clCreateBuffer, context, flags & ~unrestricted, size, host, code);
}

/* Intel's option, which others refuse. */
EXPORT cl_int clBuildProgram(cl_program program, cl_uint count, const cl_device_id *devices,
                             const char *options, void(CL_CALLBACK *done)(cl_program, void *),
                             void *data)
{
    static const char large[] = "-cl-intel-greater-than-4GB-buffer-required";
    char own[1024];
    snprintf(own, sizeof own, "%s", options ? options : "");
    char *at = limit("NARROW_BUFFER") ? strstr(own, large) : NULL;
    if (at) {
        memset(at, ' ', strlen(large));
        setenv("NARROW_LARGE", "1", 1);
    }
    return CALL(clBuildProgram, program, count, devices, own, done, data);
}

EXPORT cl_int clGetDeviceInfo(cl_device_id device, cl_device_info what, size_t size, void *value,
                              size_t *needed)
{
    const cl_int code = CALL(clGetDeviceInfo, device, what, size, value, needed);
    if (code == CL_SUCCESS && what == CL_DEVICE_MAX_WORK_GROUP_SIZE) {
        lower("NARROW_GROUP", size, value);
    }
    if (code == CL_SUCCESS && limit("NARROW_BUFFER") && value) {
        describe_intel(what, size, value);
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

/* Programs with this name are softmax's alone. */
static const char softmax_name[] = "highest";
enum { MOST_KERNELS = 64, OUTPUT = 2, OFFSET = 3 }; /* arguments, behind the input's two */
static struct softmax_kernel {
    cl_program program;
    cl_kernel kernel;
    cl_mem output;
    cl_ulong offset;
} softmax_kernels[MOST_KERNELS];
static int softmax_programs;

static struct softmax_kernel *find_softmax(cl_kernel kernel)
{
    for (int i = 0; i < softmax_programs; i++) {
        if (softmax_kernels[i].kernel == kernel) {
            return &softmax_kernels[i];
        }
    }
    return NULL;
}

/* Handles of what was released come again. */
static void note_program(cl_program program, cl_uint count, const char **texts)
{
    for (int i = 0; i < softmax_programs; i++) {
        if (softmax_kernels[i].program == program) {
            softmax_kernels[i] = (struct softmax_kernel){.program = NULL};
        }
    }
    for (cl_uint i = 0; i < count && softmax_programs < MOST_KERNELS; i++) {
        if (strstr(texts[i], softmax_name)) {
            softmax_kernels[softmax_programs++] = (struct softmax_kernel){.program = program};
            return;
        }
    }
}

EXPORT cl_kernel clCreateKernel(cl_program program, const char *name, cl_int *code)
{
    cl_kernel kernel = CALL(clCreateKernel, program, name, code);
    for (int i = 0; i < softmax_programs; i++) {
        if (softmax_kernels[i].program == program) {
            softmax_kernels[i].kernel = kernel;
        } else if (softmax_kernels[i].kernel == kernel) {
            softmax_kernels[i] = (struct softmax_kernel){.program = NULL};
        }
    }
    return kernel;
}

EXPORT cl_int clSetKernelArg(cl_kernel kernel, cl_uint index, size_t size, const void *value)
{
    struct softmax_kernel *softmax = find_softmax(kernel);
    if (softmax && index == OUTPUT && value) {
        memcpy(&softmax->output, value, sizeof softmax->output);
    } else if (softmax && index == OFFSET) {
        memcpy(&softmax->offset, value, sizeof softmax->offset);
    }
    return CALL(clSetKernelArg, kernel, index, size, value);
}

/* Changes the first result of a softmax that was launched. */
static cl_int corrupt(cl_command_queue queue, const struct softmax_kernel *softmax)
{
    static unsigned launches;
    const float seven = 7;
    unsigned bits;
    cl_int code = CALL(clEnqueueReadBuffer, queue, softmax->output, CL_TRUE, softmax->offset,
                       sizeof bits, &bits, 0, NULL, NULL);
    if (limit("NARROW_UNSTEADY")) {
        bits ^= launches++ & 1;
    } else {
        memcpy(&bits, &seven, sizeof bits);
    }
    return code != CL_SUCCESS ? code
                              : CALL(clEnqueueWriteBuffer, queue, softmax->output, CL_TRUE,
                                     softmax->offset, sizeof bits, &bits, 0, NULL, NULL);
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
    const struct softmax_kernel *softmax =
        limit("NARROW_WRONG") || limit("NARROW_UNSTEADY") ? find_softmax(kernel) : NULL;
    const cl_int code = CALL(clEnqueueNDRangeKernel, queue, kernel, dims, offset, global, local,
                             count, wait, event);
    return code == CL_SUCCESS && softmax ? corrupt(queue, softmax) : code;
}

/* Does the program hold the word in NARROW_REFUSED? */
static int is_refused(cl_uint count, const char **texts)
{
    const char *word = getenv("NARROW_REFUSED");
    int found = 0;
    for (cl_uint i = 0; word && i < count; i++) {
        found |= strstr(texts[i], word) != NULL;
    }
    return found;
}

EXPORT cl_program clCreateProgramWithSource(cl_context context, cl_uint count, const char **texts,
                                            const size_t *lengths, cl_int *code)
{
    /* a type that there is not */
    static const char none[] = "#define double no_doubles_here\n", refused[] = "#error refused\n";
    const char *all[16] = {is_refused(count, texts) ? refused : has_doubles() ? "" : none};
    if (lengths || count >= sizeof all / sizeof *all) {
        *code = CL_INVALID_VALUE;
        return NULL;
    }
    memcpy(all + 1, texts, count * sizeof *texts);
    cl_program program = CALL(clCreateProgramWithSource, context, count + 1, all, NULL, code);
    note_program(program, count, texts);
    return program;
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
