/* SPDX-License-Identifier: Apache-2.0 */
/* The stand-in's state, when its calls fail, its objects, devices and contexts. */
#include "fake_cuda_inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

EXPORT fake_cuda_state fake_cuda = {
    .devices = 1, .capability = 90, .version = 12090, .memory = (size_t)1 << 30};

static _Thread_local int depth; /* depth of the thread's stack of contexts */
static int context, other_context;

int fake_outcome(const char *name)
{
    fake_cuda_state *f = &fake_cuda;
    if (f->lost) {
        return f->lost;
    }
    if (f->fail_name && strcmp(f->fail_name, name) == 0 && f->fail_after-- == 0) {
        f->lost = f->fail_sticky ? f->fail_code : 0;
        return f->fail_code;
    }
    return OK;
}

int fake_outcome_in_context(const char *name)
{
    if (depth == 0) {
        atomic_fetch_add(&fake_cuda.misused, 1);
        return INVALID_CONTEXT;
    }
    return fake_outcome(name);
}

object *fake_make(char kind, atomic_int *alive)
{
    object *o = calloc(1, sizeof *o);
    o->kind = kind;
    atomic_fetch_add(alive, 1);
    return o;
}

bool fake_is(const object *o, char kind)
{
    const bool good = o && o->kind == kind;
    atomic_fetch_add(&fake_cuda.misused, !good);
    return good;
}

bool fake_is_open(object *stream)
{
    if (!fake_is(stream, 's')) {
        return false;
    }
    stream->spoilt = stream->spoilt || stream->capturing;
    return !stream->capturing;
}

int fake_drop(object *o, char kind, atomic_int *alive)
{
    if (!fake_is(o, kind)) {
        return INVALID_HANDLE;
    }
    atomic_fetch_sub(alive, 1);
    free(o);
    return OK;
}

EXPORT int cuInit(unsigned flags)
{
    const char *capability = getenv("FAKE_CUDA_CAPABILITY");
    fake_cuda.capability = capability ? atoi(capability) : fake_cuda.capability;
    if (getenv("FAKE_CUDA_SMALL")) {
        fake_cuda.memory = (size_t)32 << 20;
        fake_cuda.capability = 61;
    }
    (void)flags;
    BEGIN("cuInit");
    return OK;
}

EXPORT int cuDriverGetVersion(int *version)
{
    *version = fake_cuda.version;
    return OK;
}

static const struct {
    int code;
    const char *name, *text;
} codes[] = {{1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
             {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
             {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
             {200, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
             {201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
             {400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
             {500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
             {719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"}};

static int word_of(int code, bool name, const char **word)
{
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        if (codes[i].code == code) {
            *word = name ? codes[i].name : codes[i].text;
            return OK;
        }
    }
    *word = NULL;
    return INVALID_VALUE;
}

EXPORT int cuGetErrorName(int code, const char **name)
{
    return word_of(code, true, name);
}

EXPORT int cuGetErrorString(int code, const char **text)
{
    return word_of(code, false, text);
}

EXPORT int cuDeviceGetCount(int *count)
{
    BEGIN("cuDeviceGetCount");
    *count = fake_cuda.devices;
    return OK;
}

EXPORT int cuDeviceGet(int *device, int ordinal)
{
    BEGIN("cuDeviceGet");
    *device = ordinal;
    return ordinal < fake_cuda.devices ? OK : INVALID_VALUE;
}

EXPORT int cuDeviceGetName(char *name, int room, int device)
{
    snprintf(name, (size_t)room, "Fake GPU %d", device);
    return OK;
}

EXPORT int cuDeviceGetPCIBusId(char *bus, int room, int device)
{
    snprintf(bus, (size_t)room, "0000:%02x:00.0", device + 1);
    return OK;
}

EXPORT int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    (void)device;
    *bytes = fake_cuda.memory;
    return OK;
}

EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    static const int values[][2] = {{1, 1024},    {8, 49152},    {13, 1755000}, {16, 132},
                                    {18, 0},      {36, 2619000}, {37, 5120},    {38, 52428800},
                                    {81, 233472}, {82, 65536}};
    (void)device;
    *value = 0;
    if (attribute == 17) { /* KERNEL_EXEC_TIMEOUT */
        const char *watched = getenv("FAKE_CUDA_WATCHED");
        *value = watched && atoi(watched);
        return OK;
    }
    if (getenv("FAKE_CUDA_SMALL") && (attribute == 1 || attribute == 16)) {
        *value = attribute == 1 ? 64 : 1; /* MAX_THREADS_PER_BLOCK, MULTIPROCESSOR_COUNT */
        return OK;
    }
    if (attribute == 75 || attribute == 76) {
        *value = attribute == 75 ? fake_cuda.capability / 10 : fake_cuda.capability % 10;
        return OK;
    }
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        if (values[i][0] == attribute) {
            *value = values[i][1];
            return OK;
        }
    }
    return INVALID_VALUE;
}

EXPORT int cuDevicePrimaryCtxRetain(void **made, int device)
{
    (void)device;
    BEGIN("cuDevicePrimaryCtxRetain");
    atomic_fetch_add(&fake_cuda.contexts, 1);
    *made = &context;
    return OK;
}

EXPORT int cuDevicePrimaryCtxRelease_v2(int device)
{
    (void)device;
    atomic_fetch_sub(&fake_cuda.contexts, 1);
    return OK;
}

EXPORT int cuCtxPushCurrent_v2(void *pushed)
{
    BEGIN("cuCtxPushCurrent");
    atomic_fetch_add(&fake_cuda.misused, pushed != &context);
    depth++;
    return OK;
}

EXPORT int cuCtxPopCurrent_v2(void **popped)
{
    atomic_fetch_add(&fake_cuda.misused, depth <= 0);
    depth--;
    *popped = depth ? &other_context : &context;
    return OK;
}

EXPORT int cuCtxSynchronize(void)
{
    BEGIN_IN_CONTEXT("cuCtxSynchronize");
    return OK;
}
