/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a buffer in which all bytes were written, or not all, for tools/simulate:
 *
 *   simulated_memory written     writes all bytes, in each way that oclgrind alone marks wrong
 *   simulated_memory released    reads a buffer behind a released one that was written
 *   simulated_memory partly      reads one byte more than the host wrote
 *   simulated_memory copied      copies that byte, too, and reads the copy
 *
 * The simulator must report nothing in the first case, and something in the others. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 64 };

static void *library;

static void *find(const char *name)
{
    void *function = dlsym(library, name);
    if (!function) {
        fprintf(stderr, "no %s\n", name);
        exit(1);
    }
    return function;
}

#define CALL(function, ...) (((__typeof__(&(function)))(uintptr_t)find(#function))(__VA_ARGS__))

static const char text[] = "kernel void fill(global uchar *to) { to[get_global_id(0)] = 1; }\n"
                           "kernel void copy(global const uchar *from, global uchar *to)\n"
                           "{ to[get_global_id(0)] = from[get_global_id(0)]; }\n";

typedef struct gpu {
    cl_context context;
    cl_command_queue queue;
    cl_kernel fill, copy;
} gpu;

static gpu begin(void)
{
    cl_platform_id platform;
    cl_device_id device;
    const char *texts[] = {text};
    gpu g;
    CALL(clGetPlatformIDs, 1, &platform, NULL);
    CALL(clGetDeviceIDs, platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
    g.context = CALL(clCreateContext, NULL, 1, &device, NULL, NULL, NULL);
    g.queue = CALL(clCreateCommandQueue, g.context, device, 0, NULL);
    cl_program program = CALL(clCreateProgramWithSource, g.context, 1, texts, NULL, NULL);
    CALL(clBuildProgram, program, 1, &device, "", NULL, NULL);
    g.fill = CALL(clCreateKernel, program, "fill", NULL);
    g.copy = CALL(clCreateKernel, program, "copy", NULL);
    return g;
}

static cl_mem take(const gpu *g)
{
    return CALL(clCreateBuffer, g->context, CL_MEM_READ_WRITE, SIZE, NULL, NULL);
}

static void write_host(const gpu *g, cl_mem to, size_t offset, size_t size)
{
    const unsigned char host[SIZE] = {0};
    CALL(clEnqueueWriteBuffer, g->queue, to, CL_TRUE, offset, size, host, 0, NULL, NULL);
}

static void launch(const gpu *g, cl_kernel kernel)
{
    const size_t items = SIZE;
    CALL(clEnqueueNDRangeKernel, g->queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL);
    CALL(clFinish, g->queue);
}

static void fill_device(const gpu *g, cl_mem to)
{
    CALL(clSetKernelArg, g->fill, 0, sizeof to, &to);
    launch(g, g->fill);
}

static void read_all(const gpu *g, cl_mem from)
{
    cl_mem to = take(g);
    CALL(clSetKernelArg, g->copy, 0, sizeof from, &from);
    CALL(clSetKernelArg, g->copy, 1, sizeof to, &to);
    launch(g, g->copy);
}

static void check_written(const gpu *g)
{
    const unsigned char zero = 0;
    cl_mem twice = take(g), halves = take(g), filled = take(g), both = take(g), copied = take(g),
           released = take(g);
    write_host(g, twice, 0, SIZE);
    write_host(g, twice, 0, 4);
    read_all(g, twice);
    write_host(g, halves, 0, SIZE / 2);
    write_host(g, halves, SIZE / 2, SIZE / 2);
    read_all(g, halves);
    CALL(clEnqueueFillBuffer, g->queue, filled, &zero, sizeof zero, 0, SIZE, 0, NULL, NULL);
    read_all(g, filled);
    write_host(g, both, 0, 4);
    fill_device(g, both);
    read_all(g, both);
    fill_device(g, copied);
    CALL(clEnqueueCopyBuffer, g->queue, both, copied, 0, 4, 4, 0, NULL, NULL);
    read_all(g, copied);
    write_host(g, released, 0, 4);
    CALL(clReleaseMemObject, released);
    cl_mem next = take(g);
    fill_device(g, next);
    read_all(g, next);
}

static void check_released(const gpu *g)
{
    cl_mem released = take(g);
    fill_device(g, released);
    CALL(clReleaseMemObject, released);
    read_all(g, take(g));
}

static void check_partly(const gpu *g)
{
    cl_mem partly = take(g);
    write_host(g, partly, 0, SIZE - 1);
    read_all(g, partly);
}

static void check_copied(const gpu *g)
{
    cl_mem partly = take(g), copied = take(g);
    write_host(g, partly, 0, SIZE - 1);
    CALL(clEnqueueCopyBuffer, g->queue, partly, copied, 0, 0, SIZE, 0, NULL, NULL);
    read_all(g, copied);
}

static const struct {
    const char *word;
    void (*check)(const gpu *g);
} cases[] = {{"written", check_written},
             {"released", check_released},
             {"partly", check_partly},
             {"copied", check_copied}};

int main(int count, char **words)
{
    const char *name = getenv("RYND_OPENCL_LIBRARY"), *word = count > 1 ? words[1] : "";
    library = dlopen(name ? name : "libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    const gpu g = begin();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (strcmp(word, cases[i].word) == 0) {
            cases[i].check(&g);
            return 0;
        }
    }
    fprintf(stderr, "'%s' is none of written, released, partly, copied\n", word);
    return 1;
}
