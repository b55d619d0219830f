/* SPDX-License-Identifier: Apache-2.0 */
/* Opens CUDA's libraries; explains its error codes. */
#include "device/cuda/cuda.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct function {
    const char *symbol;
    size_t offset; /* bytes from the table's start to the pointer */
} function;

static const function driver_functions[] = {
#define RY_CU(name, symbol, parameters) {#symbol, offsetof(ry_cuda, name)},
#include "device/cuda/cuda_functions.inc"
#undef RY_CU
};

static const function graph_functions[] = {
#define RY_CU(name, symbol, parameters) {#symbol, offsetof(ry_cuda, name)},
#include "device/cuda/cuda_graph_functions.inc"
#undef RY_CU
};

static const function compiler_functions[] = {
#define RY_NVRTC(name, symbol, result, parameters) {#symbol, offsetof(ry_nvrtc, name)},
#include "device/cuda/nvrtc_functions.inc"
#undef RY_NVRTC
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const struct advice {
    int code;
    const char *what;
} advices[] = {
#define RY_CUDA_ADVICE(code, what) {code, what},
#include "device/cuda/cuda_advice.inc"
#undef RY_CUDA_ADVICE
};

/* Libraries of the compiler, the newest first. Those of CUDA 11 have had one name since 11.2. */
static const struct {
    const char *file;
    int major;
} compilers[] = {{"libnvrtc.so.13", 13}, {"libnvrtc.so.12", 12}, {"libnvrtc.so.11.2", 11}};

static pthread_once_t driver_once = PTHREAD_ONCE_INIT, compiler_once = PTHREAD_ONCE_INIT;
static ry_cuda driver;
static ry_nvrtc compiler;
static ry_error driver_failure, compiler_failure; /* empty: it is open */

static const char *given(const char *variable)
{
    const char *file = getenv(variable);
    return file && *file ? file : NULL;
}

/* Libraries stay open: drivers do not like to be closed, and have threads. */
static void *open_file(const char *file)
{
    return dlopen(file, RTLD_NOW | RTLD_LOCAL);
}

/* Fills a table. NULL: all is there; else what is not. */
static const char *find_functions(void *library, const function *functions, size_t count,
                                  void *table)
{
    for (size_t i = 0; i < count; i++) {
        void *found = dlsym(library, functions[i].symbol);
        if (!found) {
            return functions[i].symbol;
        }
        memcpy((char *)table + functions[i].offset, &found, sizeof found);
    }
    return NULL;
}

static void open_driver(void)
{
    const char *own = given("RYND_CUDA_LIBRARY"), *file = own ? own : "libcuda.so.1";
    void *library = open_file(file);
    if (!library) {
        ry_error_write(
            &driver_failure,
            "there is no CUDA here (%s): install NVIDIA's driver (Debian: nvidia-driver, "
            "libcuda1), or name its library by RYND_CUDA_LIBRARY",
            dlerror());
        return;
    }
    const char *missing =
        find_functions(library, driver_functions, COUNT(driver_functions), &driver);
    if (missing) {
        ry_error_write(
            &driver_failure,
            "CUDA's driver %s has no %s: it is older than CUDA 11.2; install a newer one", file,
            missing);
        return;
    }
    const int code = driver.Init(0);
    if (code != RY_CUDA_OK) {
        ry_cuda_fail(&driver, NULL, "cuInit", code, &driver_failure);
        return;
    }
    driver.DriverGetVersion(&driver.version);
    driver.graphs = !find_functions(library, graph_functions, COUNT(graph_functions), &driver);
}

rynd_status ry_cuda_load(const ry_cuda **cu, ry_error *error)
{
    pthread_once(&driver_once, open_driver);
    if (*driver_failure.text) {
        return ry_fail(error, RYND_ERROR_DEVICE, "%s", driver_failure.text);
    }
    *cu = &driver;
    return RYND_OK;
}

/* One that is no newer than the driver, the newest of them; else the oldest. */
static void *find_compiler(const char **file)
{
    const int major = driver.version / 1000;
    void *library = NULL;
    for (size_t i = 0; i < COUNT(compilers) && !library; i++) {
        *file = compilers[i].file;
        library = compilers[i].major <= major ? open_file(*file) : NULL;
    }
    for (size_t i = COUNT(compilers); i-- > 0 && !library;) {
        *file = compilers[i].file;
        library = compilers[i].major > major ? open_file(*file) : NULL;
    }
    return library;
}

static void open_compiler(void)
{
    const char *own = given("RYND_NVRTC_LIBRARY"), *file = own;
    void *library = own ? open_file(own) : find_compiler(&file);
    if (!library) {
        ry_error_write(
            &compiler_failure,
            "CUDA's compiler NVRTC is not here (%s): install libnvrtc.so.%d (of the CUDA "
            "toolkit %d; Debian: libnvrtc11.2; pip: nvidia-cuda-nvrtc-cu12), or name its "
            "library by RYND_NVRTC_LIBRARY",
            own ? dlerror() : "looked for libnvrtc.so.13, .12 and .11.2", driver.version / 1000,
            driver.version / 1000);
        return;
    }
    const char *missing =
        find_functions(library, compiler_functions, COUNT(compiler_functions), &compiler);
    if (missing) {
        ry_error_write(&compiler_failure,
                       "CUDA's compiler %s has no %s: it is older than CUDA 11.2; install a newer "
                       "one",
                       file, missing);
        return;
    }
    compiler.Version(&compiler.major, &compiler.minor);
}

rynd_status ry_nvrtc_load(const ry_cuda *cu, const ry_nvrtc **nvrtc, ry_error *error)
{
    (void)cu; /* it is open: its version decides */
    pthread_once(&compiler_once, open_compiler);
    if (*compiler_failure.text) {
        return ry_fail(error, RYND_ERROR_DEVICE, "%s", compiler_failure.text);
    }
    *nvrtc = &compiler;
    return RYND_OK;
}

rynd_status ry_cuda_fail(const ry_cuda *cu, const char *device, const char *call, int code,
                         ry_error *error)
{
    const char *name = NULL, *text = NULL, *advice = NULL;
    if (cu->GetErrorName(code, &name) != RY_CUDA_OK || !name) {
        name = "an unknown code";
    }
    if (cu->GetErrorString(code, &text) != RY_CUDA_OK || !text) {
        text = "which the driver does not explain";
    }
    for (size_t i = 0; i < COUNT(advices); i++) {
        advice = advices[i].code == code ? advices[i].what : advice;
    }
    return ry_fail(error,
                   code == RY_CUDA_OUT_OF_MEMORY ? RYND_ERROR_OUT_OF_MEMORY : RYND_ERROR_DEVICE,
                   "%s: %s failed with %s (%d), %s%s%s", device ? device : "CUDA", call, name, code,
                   text, advice ? ": " : "", advice ? advice : "");
}
