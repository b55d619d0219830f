/* SPDX-License-Identifier: Apache-2.0 */
/* The stand-in's memory: buffers, pinned memory and copies. */
#include "fake_cuda_inside.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

EXPORT int cuMemAlloc_v2(uint64_t *address, size_t bytes)
{
    enum { HEAD = 256 };
    BEGIN_IN_CONTEXT("cuMemAlloc");
    if (bytes == 0) {
        return INVALID_VALUE;
    }
    if (bytes > fake_cuda.memory - atomic_load(&fake_cuda.bytes)) {
        return OUT_OF_MEMORY;
    }
    char *memory = aligned_alloc(HEAD, HEAD + (bytes + HEAD - 1) / HEAD * HEAD);
    if (!memory) {
        return OUT_OF_MEMORY;
    }
    object *head = (object *)memory;
    *head = (object){.kind = 'b', .bytes = bytes};
    atomic_fetch_add(&fake_cuda.buffers, 1);
    atomic_fetch_add(&fake_cuda.bytes, bytes);
    *address = (uint64_t)(uintptr_t)(memory + HEAD);
    return OK;
}

EXPORT int cuMemFree_v2(uint64_t address)
{
    BEGIN_IN_CONTEXT("cuMemFree");
    object *head = (object *)((char *)(uintptr_t)address - 256);
    atomic_fetch_sub(&fake_cuda.bytes, head->bytes);
    return fake_drop(head, 'b', &fake_cuda.buffers);
}

/* The pinned memory. */
static pthread_mutex_t pinned_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    char *memory;
    size_t bytes;
} pinned[256];

/* Forgets the memory if `bytes` is 0. */
static bool keep_pinned(char *memory, size_t bytes)
{
    bool kept = false;
    pthread_mutex_lock(&pinned_lock);
    for (size_t i = 0; i < sizeof pinned / sizeof *pinned && !kept; i++) {
        if (pinned[i].memory == (bytes ? NULL : memory)) {
            pinned[i].memory = bytes ? memory : NULL;
            pinned[i].bytes = bytes;
            kept = true;
        }
    }
    pthread_mutex_unlock(&pinned_lock);
    return kept;
}

static bool is_pinned(const char *at)
{
    bool found = false;
    pthread_mutex_lock(&pinned_lock);
    for (size_t i = 0; i < sizeof pinned / sizeof *pinned; i++) {
        found = found || (pinned[i].memory && at >= pinned[i].memory &&
                          at < pinned[i].memory + pinned[i].bytes);
    }
    pthread_mutex_unlock(&pinned_lock);
    return found;
}

EXPORT int cuMemHostAlloc(void **memory, size_t bytes, unsigned flags)
{
    (void)flags;
    BEGIN_IN_CONTEXT("cuMemHostAlloc");
    *memory = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    atomic_fetch_add(&fake_cuda.pinned, 1);
    return *memory && keep_pinned(*memory, bytes) ? OK : OUT_OF_MEMORY;
}

EXPORT int cuMemFreeHost(void *memory)
{
    atomic_fetch_sub(&fake_cuda.pinned, 1);
    keep_pinned(memory, 0);
    free(memory);
    return OK;
}

EXPORT int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream)
{
    BEGIN_IN_CONTEXT("cuMemcpyHtoDAsync");
    if (!fake_is_open(stream)) {
        return INVALID_HANDLE;
    }
    atomic_fetch_add(&fake_cuda.uploads, 1);
    memcpy((void *)(uintptr_t)to, from, bytes);
    return OK;
}

EXPORT int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream)
{
    BEGIN_IN_CONTEXT("cuMemcpyDtoHAsync");
    if (!fake_is_open(stream)) {
        return INVALID_HANDLE;
    }
    atomic_fetch_add(&fake_cuda.downloads, 1);
    memcpy(to, (const void *)(uintptr_t)from, bytes);
    return OK;
}

EXPORT int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void *stream)
{
    BEGIN_IN_CONTEXT("cuMemcpyDtoDAsync");
    memcpy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
    return fake_is_open(stream) ? OK : INVALID_HANDLE;
}

EXPORT int cuMemsetD8Async(uint64_t to, unsigned char value, size_t bytes, void *stream)
{
    BEGIN_IN_CONTEXT("cuMemsetD8Async");
    memset((void *)(uintptr_t)to, value, bytes);
    return fake_is_open(stream) ? OK : INVALID_HANDLE;
}

EXPORT int cuMemsetD2D32Async(uint64_t to, size_t pitch, unsigned value, size_t width,
                              size_t height, void *stream)
{
    BEGIN_IN_CONTEXT("cuMemsetD2D32Async");
    for (size_t row = 0; row < height; row++) {
        for (size_t i = 0; i < width; i++) {
            memcpy((char *)(uintptr_t)to + row * pitch + i * sizeof value, &value, sizeof value);
        }
    }
    return fake_is_open(stream) ? OK : INVALID_HANDLE;
}

EXPORT int cuMemsetD32Async(uint64_t to, unsigned value, size_t count, void *stream)
{
    BEGIN_IN_CONTEXT("cuMemsetD32Async");
    for (size_t i = 0; i < count; i++) {
        memcpy((char *)(uintptr_t)to + i * sizeof value, &value, sizeof value);
    }
    return fake_is_open(stream) ? OK : INVALID_HANDLE;
}

EXPORT int cuMemsetD16Async(uint64_t to, unsigned short value, size_t count, void *stream)
{
    BEGIN_IN_CONTEXT("cuMemsetD16Async");
    for (size_t i = 0; i < count; i++) {
        memcpy((char *)(uintptr_t)to + i * sizeof value, &value, sizeof value);
    }
    return fake_is_open(stream) ? OK : INVALID_HANDLE;
}

/* Knows only first addresses, as cuMemAlloc returned them. */
EXPORT int cuMemGetAddressRange_v2(uint64_t *first, size_t *bytes, uint64_t address)
{
    BEGIN_IN_CONTEXT("cuMemGetAddressRange");
    const object *head = (const object *)((const char *)(uintptr_t)address - 256);
    if (!fake_is(head, 'b')) {
        return INVALID_VALUE;
    }
    *first = address;
    *bytes = head->bytes;
    return OK;
}

EXPORT int cuPointerGetAttribute(void *value, int attribute, uint64_t pointer)
{
    enum { MEMORY_TYPE = 2, HOST = 1 };
    if (attribute != MEMORY_TYPE || !is_pinned((const char *)(uintptr_t)pointer)) {
        return INVALID_VALUE;
    }
    *(unsigned *)value = HOST;
    return OK;
}
