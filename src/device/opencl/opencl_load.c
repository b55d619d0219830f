/* SPDX-License-Identifier: Apache-2.0 */
/* Opens OpenCL's library; names its error codes. */
#include "device/opencl/opencl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const struct function {
    const char *name;
    size_t offset; /* bytes from the start of ry_opencl to the pointer */
} functions[] = {
#define RY_CL(name) {"cl" #name, offsetof(ry_opencl, name)},
#include "device/opencl/opencl_functions.inc"
#undef RY_CL
};

static const struct code {
    const char *name;
    cl_int code;
} codes[] = {
#define RY_CL_ERROR(name, number) {"CL_" #name, number},
#include "device/opencl/opencl_errors.inc"
#undef RY_CL_ERROR
};

/* RYND_OPENCL_LIBRARY names another. */
static const char *library_name(void)
{
    const char *given = getenv("RYND_OPENCL_LIBRARY");
    return given && *given ? given : "libOpenCL.so.1";
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static ry_opencl opened;
static ry_error failure; /* empty: it is open */

static void open_library(void)
{
    /* It stays open: drivers do not like to be closed, and have threads. */
    void *library = dlopen(library_name(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        ry_error_write(&failure,
                       "there is no OpenCL here (%s): install its loader (Debian: "
                       "ocl-icd-libopencl1) and the driver of the device (on a CPU: "
                       "pocl-opencl-icd)",
                       dlerror());
        return;
    }
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *function = dlsym(library, functions[i].name);
        if (!function) {
            ry_error_write(&failure,
                           "OpenCL's library %s has no %s: it is older than OpenCL 1.2; install a "
                           "newer one (Debian: ocl-icd-libopencl1)",
                           library_name(), functions[i].name);
            return;
        }
        memcpy((char *)&opened + functions[i].offset, &function, sizeof function);
    }
}

rynd_status ry_opencl_load(const ry_opencl **cl, ry_error *error)
{
    pthread_once(&once, open_library);
    if (*failure.text) {
        return ry_fail(error, RYND_ERROR_DEVICE, "%s", failure.text);
    }
    *cl = &opened;
    return RYND_OK;
}

const char *ry_opencl_code_name(cl_int code)
{
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        if (codes[i].code == code) {
            return codes[i].name;
        }
    }
    return "an unknown code";
}

rynd_status ry_opencl_fail(ry_error *error, cl_int code, const char *what)
{
    const bool memory = code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_HOST_MEMORY;
    return ry_fail(error, memory ? RYND_ERROR_OUT_OF_MEMORY : RYND_ERROR_DEVICE,
                   "OpenCL: %s failed with %s (%d)", what, ry_opencl_code_name(code), code);
}
