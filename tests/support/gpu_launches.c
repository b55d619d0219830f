/* SPDX-License-Identifier: Apache-2.0 */
/* OpenCL flushes behind each part of a launch; the stand-in for CUDA counts launches by itself. */
#include "gpu_launches.h"

#include "../cuda/fake_cuda.h"
#include "device/opencl/opencl_state.h"
#include "gpu_run.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static size_t flushes;
static int before;
static const ry_opencl *opencl;

static cl_int CL_API_CALL count_flush(cl_command_queue queue)
{
    flushes++;
    return opencl->Flush(queue);
}

static void watch_opencl(ry_device *device)
{
    static ry_opencl counting;
    ry_opencl_state *state = ry_opencl_state_of(device);
    if (!opencl) {
        opencl = state->cl;
        counting = *opencl;
        counting.Flush = count_flush;
        state->cl = &counting;
    }
}

static bool is_cuda(void)
{
    return strcmp(gpu_run_device()->table->name, "cuda") == 0;
}

/* NULL: CUDA's own driver. */
static const fake_cuda_state *stand_in(void)
{
    const char *name = getenv("RYND_CUDA_LIBRARY");
    void *driver = name ? dlopen(name, RTLD_NOW) : NULL;
    return driver ? dlsym(driver, "fake_cuda") : NULL;
}

bool gpu_launches_known(void)
{
    return !is_cuda() || stand_in();
}

void gpu_launches_count(void)
{
    flushes = 0;
    if (!is_cuda()) {
        watch_opencl(gpu_run_device());
    } else if (stand_in()) {
        before = stand_in()->launches;
    }
}

size_t gpu_launches(void)
{
    return is_cuda() && stand_in() ? (size_t)(stand_in()->launches - before) : flushes;
}
