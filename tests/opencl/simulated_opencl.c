/* SPDX-License-Identifier: Apache-2.0 */
/* oclgrind with a sound check of unwritten memory, for RYND_OPENCL_LIBRARY (tools/simulate).
 *
 * oclgrind (21.10 to 26.03) marks each byte of a buffer as written or not. The marks are wrong after
 * some calls, so it reports reads of written bytes and misses reads of unwritten ones:
 *
 *   clEnqueueWriteBuffer, clEnqueueCopyBuffer   the buffer keeps marks for `size` bytes only
 *   clEnqueueFillBuffer                         the buffer keeps marks for one pattern only
 *   clReleaseMemObject                          a later buffer inherits the marks; it may also
 *                                               inherit those of a kernel's constants
 *
 * Copies inside a kernel are marked right. So here a new buffer gets marks of its size, all
 * unwritten, and one kernel copies for all three functions. simulated_memory.c shows each case.
 * This library is linked with oclgrind, which has all other functions. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

/* oclgrind's own function of a name. */
static void *real(const char *name)
{
    void *function = dlsym(RTLD_NEXT, name);
    if (!function) {
        fprintf(stderr, "simulated_opencl: no %s\n", name);
        exit(1);
    }
    return function;
}

#define CALL(function, ...) (((__typeof__(&(function)))(uintptr_t)real(#function))(__VA_ARGS__))

/* LLVM's own copy and fill: oclgrind carries marks along, and reports nothing. */
static const char text[] =
    "void copy(global uchar *, global const uchar *, ulong, bool)"
    " __asm(\"llvm.memcpy.p1i8.p1i8.i64\");\n"
    "void fill(global uchar *, uchar, ulong, bool) __asm(\"llvm.memset.p1i8.i64\");\n"
    "kernel void move(global uchar *to, ulong at, global const uchar *from, ulong from_at,"
    " ulong size)\n"
    "{\n"
    "    copy(to + at, from + from_at, size, false);\n"
    "}\n"
    "kernel void forget(global uchar *to, ulong size)\n"
    "{\n"
    "    uchar unwritten;\n"
    "    fill(to, unwritten, size, false);\n"
    "}\n";

/* The kernels, and a queue, for the context that used them last. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    cl_context context;
    cl_command_queue queue;
    cl_kernel move, forget;
} tools;

static cl_int make_tools(cl_context context)
{
    if (context == tools.context) {
        return CL_SUCCESS;
    }
    const char *texts[] = {text};
    cl_device_id device;
    cl_int code = clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof device, &device, NULL);
    cl_program program = clCreateProgramWithSource(context, 1, texts, NULL, NULL);
    code = code == CL_SUCCESS ? clBuildProgram(program, 1, &device, "", NULL, NULL) : code;
    if (code == CL_SUCCESS) {
        tools.queue = clCreateCommandQueue(context, device, 0, &code);
        tools.move = clCreateKernel(program, "move", NULL);
        tools.forget = clCreateKernel(program, "forget", NULL);
        tools.context = context;
    }
    return code;
}

static cl_int run_once(cl_command_queue queue, cl_kernel kernel, cl_uint count,
                       const cl_event *wait, cl_event *event)
{
    const size_t one = 1;
    return clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, NULL, count, wait, event);
}

/* Creates a buffer; its marks become those of `size` written bytes. */
static cl_mem create_written(cl_context context, cl_mem_flags flags, size_t size, const void *host,
                             cl_int *code)
{
    cl_mem memory = CALL(clCreateBuffer, context, flags, size, NULL, code);
    if (*code == CL_SUCCESS) {
        *code =
            CALL(clEnqueueWriteBuffer, tools.queue, memory, CL_TRUE, 0, size, host, 0, NULL, NULL);
    }
    return memory;
}

static cl_mem create_unwritten(cl_context context, cl_mem_flags flags, size_t size, cl_int *code)
{
    const cl_ulong bytes = size;
    void *zeros = calloc(size, 1);
    cl_mem memory = NULL;
    *code = zeros ? make_tools(context) : CL_OUT_OF_HOST_MEMORY;
    if (*code == CL_SUCCESS) {
        memory = create_written(context, flags, size, zeros, code);
    }
    if (*code == CL_SUCCESS) {
        clSetKernelArg(tools.forget, 0, sizeof memory, &memory);
        clSetKernelArg(tools.forget, 1, sizeof bytes, &bytes);
        *code = run_once(tools.queue, tools.forget, 0, NULL, NULL);
        clFinish(tools.queue);
    }
    free(zeros);
    return memory;
}

/* A buffer with initial content stays oclgrind's own. The library rynd creates none. */
EXPORT cl_mem clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void *host,
                             cl_int *code)
{
    if (host) {
        return CALL(clCreateBuffer, context, flags, size, host, code);
    }
    cl_int own;
    pthread_mutex_lock(&lock);
    cl_mem memory = create_unwritten(context, flags, size, &own);
    pthread_mutex_unlock(&lock);
    if (code) {
        *code = own;
    }
    return memory;
}

/* With the lock. */
static cl_int move(cl_command_queue queue, cl_mem from, cl_ulong from_at, cl_mem to, cl_ulong at,
                   cl_ulong size, cl_uint count, const cl_event *wait, cl_event *event)
{
    clSetKernelArg(tools.move, 0, sizeof to, &to);
    clSetKernelArg(tools.move, 1, sizeof at, &at);
    clSetKernelArg(tools.move, 2, sizeof from, &from);
    clSetKernelArg(tools.move, 3, sizeof from_at, &from_at);
    clSetKernelArg(tools.move, 4, sizeof size, &size);
    return run_once(queue, tools.move, count, wait, event);
}

EXPORT cl_int clEnqueueCopyBuffer(cl_command_queue queue, cl_mem from, cl_mem to, size_t from_at,
                                  size_t at, size_t size, cl_uint count, const cl_event *wait,
                                  cl_event *event)
{
    pthread_mutex_lock(&lock);
    const cl_int code = move(queue, from, from_at, to, at, size, count, wait, event);
    pthread_mutex_unlock(&lock);
    return code;
}

static cl_int write_bytes(cl_command_queue queue, cl_mem to, size_t at, size_t size,
                          const void *host, cl_uint count, const cl_event *wait, cl_event *event)
{
    cl_int code;
    pthread_mutex_lock(&lock);
    cl_mem staged = create_written(tools.context, CL_MEM_READ_ONLY, size, host, &code);
    if (code == CL_SUCCESS) {
        code = move(queue, staged, 0, to, at, size, count, wait, event);
        clReleaseMemObject(staged); /* queued commands hold it */
    }
    pthread_mutex_unlock(&lock);
    return code;
}

EXPORT cl_int clEnqueueWriteBuffer(cl_command_queue queue, cl_mem to, cl_bool blocking, size_t at,
                                   size_t size, const void *host, cl_uint count,
                                   const cl_event *wait, cl_event *event)
{
    const cl_int code = write_bytes(queue, to, at, size, host, count, wait, event);
    return code == CL_SUCCESS && blocking ? clFinish(queue) : code;
}

EXPORT cl_int clEnqueueFillBuffer(cl_command_queue queue, cl_mem to, const void *pattern,
                                  size_t length, size_t at, size_t size, cl_uint count,
                                  const cl_event *wait, cl_event *event)
{
    unsigned char *host = malloc(size);
    if (!host) {
        return CL_OUT_OF_HOST_MEMORY;
    }
    for (size_t i = 0; i < size; i += length) {
        memcpy(host + i, pattern, length);
    }
    const cl_int code = write_bytes(queue, to, at, size, host, count, wait, event);
    free(host);
    return code;
}
