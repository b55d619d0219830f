/* SPDX-License-Identifier: Apache-2.0 */
/* Copies, which wait in the stream as launches do. Host memory that is pinned the device reads and
 * writes itself. Other memory goes through a ring of pinned parts: the device copies one while the
 * host fills or empties the next. Of such memory an upload has been read when it returns, and a
 * download is there. */
#include "device/cuda/cuda_state.h"

#include <string.h>

enum { PORTABLE = 1, NO_TIMING = 2 };
enum { MEMORY_TYPE = 2, HOST = 1 }; /* an attribute of pointers, and its value for pinned memory */

/* Takes the memory with the first copy. false: there is none. */
static bool has_staging(ry_stream *stream)
{
    ry_cuda_staging *s = &stream->staging;
    const ry_cuda *cu = stream->device->cu;
    if (s->memory || s->refused) {
        return s->memory != NULL;
    }
    void *memory = NULL;
    if (cu->MemHostAlloc(&memory, (size_t)RY_CUDA_PARTS * RY_CUDA_PART_BYTES, PORTABLE) !=
        RY_CUDA_OK) {
        s->refused = true;
        return false;
    }
    s->memory = memory;
    for (int i = 0; i < RY_CUDA_PARTS; i++) {
        if (cu->EventCreate(&s->part[i].done, NO_TIMING) != RY_CUDA_OK) {
            s->part[i].done = NULL;
            ry_cuda_staging_free(stream);
            s->refused = true;
            return false;
        }
    }
    return true;
}

void ry_cuda_staging_free(ry_stream *stream)
{
    ry_cuda_staging *s = &stream->staging;
    const ry_cuda *cu = stream->device->cu;
    for (int i = 0; i < RY_CUDA_PARTS; i++) {
        if (s->part[i].done) {
            cu->EventDestroy(s->part[i].done);
        }
    }
    if (s->memory) {
        cu->MemFreeHost(s->memory);
    }
    *s = (ry_cuda_staging){0};
}

static bool is_pinned(const ry_cuda *cu, const void *host)
{
    unsigned type = 0;
    return cu->PointerGetAttribute(&type, MEMORY_TYPE, (uint64_t)(uintptr_t)host) == RY_CUDA_OK &&
           type == HOST;
}

static unsigned take_part(ry_cuda_staging *s)
{
    const unsigned part = s->next;
    s->next = (part + 1) % RY_CUDA_PARTS;
    return part;
}

static unsigned char *memory_of(const ry_cuda_staging *s, unsigned part)
{
    return s->memory + (size_t)part * RY_CUDA_PART_BYTES;
}

static size_t part_size(size_t left)
{
    return left < RY_CUDA_PART_BYTES ? left : RY_CUDA_PART_BYTES;
}

static rynd_status fail_copy(const ry_stream *stream, const char *call, int code,
                             ry_pointer pointer, size_t size, ry_error *error)
{
    const rynd_status status = ry_cuda_fail_on(stream->device, call, code, error);
    ry_error_prefix(error, "a copy of %zu bytes at %zu of %zu: ", size, pointer.offset,
                    pointer.buffer->size);
    return status;
}

static uint64_t address_of(ry_pointer pointer)
{
    return pointer.buffer->memory.address + pointer.offset;
}

/* Through a part, once the copy that used it last is done. */
static int upload_part(ry_stream *stream, uint64_t to, const void *host, size_t size,
                       const char **call)
{
    const ry_cuda *cu = stream->device->cu;
    ry_cuda_staging *s = &stream->staging;
    const unsigned part = take_part(s);
    *call = "cuEventSynchronize";
    int code = s->part[part].used ? cu->EventSynchronize(s->part[part].done) : RY_CUDA_OK;
    if (code == RY_CUDA_OK) {
        memcpy(memory_of(s, part), host, size);
        *call = "cuMemcpyHtoDAsync";
        code = cu->MemcpyHtoDAsync(to, memory_of(s, part), size, stream->stream);
    }
    if (code == RY_CUDA_OK) {
        *call = "cuEventRecord";
        code = cu->EventRecord(s->part[part].done, stream->stream);
        s->part[part].used = true;
    }
    return code;
}

static rynd_status put(ry_stream *stream, ry_pointer to, const void *host, size_t size,
                       ry_error *error)
{
    const ry_cuda *cu = stream->device->cu;
    const char *call = "cuMemcpyHtoDAsync";
    int code = RY_CUDA_OK;
    if (is_pinned(cu, host)) {
        code = cu->MemcpyHtoDAsync(address_of(to), host, size, stream->stream);
    } else if (!has_staging(stream)) {
        code = cu->MemcpyHtoDAsync(address_of(to), host, size, stream->stream);
        if (code == RY_CUDA_OK) {
            call = "cuStreamSynchronize";
            code = cu->StreamSynchronize(stream->stream);
        }
    } else {
        for (size_t done = 0; done < size && code == RY_CUDA_OK; done += RY_CUDA_PART_BYTES) {
            code = upload_part(stream, address_of(to) + done, (const char *)host + done,
                               part_size(size - done), &call);
        }
    }
    return code == RY_CUDA_OK ? RYND_OK : fail_copy(stream, call, code, to, size, error);
}

/* The device fills parts in turn; each is emptied when it is full. */
static int download_parts(ry_stream *stream, unsigned char *host, uint64_t from, size_t size,
                          const char **call)
{
    const ry_cuda *cu = stream->device->cu;
    ry_cuda_staging *s = &stream->staging;
    const unsigned first = s->next;
    const size_t parts = (size - 1) / RY_CUDA_PART_BYTES + 1;
    size_t begun = 0;
    for (size_t ended = 0; ended < parts; ended++) {
        for (; begun < parts && begun < ended + RY_CUDA_PARTS; begun++) {
            const size_t at = begun * RY_CUDA_PART_BYTES;
            const unsigned part = take_part(s);
            *call = "cuMemcpyDtoHAsync";
            int code = cu->MemcpyDtoHAsync(memory_of(s, part), from + at, part_size(size - at),
                                           stream->stream);
            if (code == RY_CUDA_OK) {
                *call = "cuEventRecord";
                code = cu->EventRecord(s->part[part].done, stream->stream);
                s->part[part].used = true;
            }
            if (code != RY_CUDA_OK) {
                return code;
            }
        }
        const size_t at = ended * RY_CUDA_PART_BYTES;
        const unsigned part = (unsigned)((first + ended) % RY_CUDA_PARTS);
        *call = "cuEventSynchronize";
        const int code = cu->EventSynchronize(s->part[part].done);
        if (code != RY_CUDA_OK) {
            return code;
        }
        memcpy(host + at, memory_of(s, part), part_size(size - at));
    }
    return RY_CUDA_OK;
}

static rynd_status fetch(ry_stream *stream, void *host, ry_pointer from, size_t size,
                         ry_error *error)
{
    const ry_cuda *cu = stream->device->cu;
    const char *call = "cuMemcpyDtoHAsync";
    int code;
    if (is_pinned(cu, host)) {
        code = cu->MemcpyDtoHAsync(host, address_of(from), size, stream->stream);
    } else if (has_staging(stream)) {
        code = download_parts(stream, host, address_of(from), size, &call);
    } else {
        code = cu->MemcpyDtoHAsync(host, address_of(from), size, stream->stream);
        if (code == RY_CUDA_OK) {
            call = "cuStreamSynchronize";
            code = cu->StreamSynchronize(stream->stream);
        }
    }
    return code == RY_CUDA_OK ? RYND_OK : fail_copy(stream, call, code, from, size, error);
}

rynd_status ry_cuda_upload(ry_stream *stream, ry_pointer to, const void *host, size_t size,
                           ry_error *error)
{
    if (!size) {
        return RYND_OK;
    }
    RY_TRY(ry_cuda_enter(stream->device, error));
    ry_gpu_begin_use(&stream->device->gpu, &stream->gpu, &to, 1);
    const rynd_status status = put(stream, to, host, size, error);
    ry_cuda_leave(stream->device);
    return status;
}

rynd_status ry_cuda_download(ry_stream *stream, void *host, ry_pointer from, size_t size,
                             ry_error *error)
{
    if (!size) {
        return RYND_OK;
    }
    RY_TRY(ry_cuda_enter(stream->device, error));
    ry_gpu_begin_use(&stream->device->gpu, &stream->gpu, &from, 1);
    const rynd_status status = fetch(stream, host, from, size, error);
    ry_cuda_leave(stream->device);
    return status;
}

rynd_status ry_cuda_copy(ry_stream *stream, ry_pointer to, ry_pointer from, size_t size,
                         ry_error *error)
{
    if (!size) {
        return RYND_OK;
    }
    RY_TRY(ry_cuda_enter(stream->device, error));
    ry_gpu_begin_use(&stream->device->gpu, &stream->gpu, (const ry_pointer[]){to, from}, 2);
    const int code =
        stream->device->cu->MemcpyDtoDAsync(address_of(to), address_of(from), size, stream->stream);
    ry_cuda_leave(stream->device);
    return code == RY_CUDA_OK ? RYND_OK
                              : fail_copy(stream, "cuMemcpyDtoDAsync", code, to, size, error);
}

/* Repeats 1, 2, 4 or 8 bytes; the driver has no function for 8. */
static int repeat(const ry_stream *stream, uint64_t to, const ry_pattern *pattern, size_t size,
                  const char **call)
{
    const ry_cuda *cu = stream->device->cu;
    uint16_t half;
    uint32_t words[2];
    memcpy(&half, pattern->byte, sizeof half);
    memcpy(words, pattern->byte, sizeof words);
    switch (pattern->size) {
    case 1:
        *call = "cuMemsetD8Async";
        return cu->MemsetD8Async(to, pattern->byte[0], size, stream->stream);
    case sizeof half:
        *call = "cuMemsetD16Async";
        return cu->MemsetD16Async(to, half, size / sizeof half, stream->stream);
    case sizeof *words:
        *call = "cuMemsetD32Async";
        return cu->MemsetD32Async(to, words[0], size / sizeof *words, stream->stream);
    default: break;
    }
    *call = "cuMemsetD2D32Async";
    int code = RY_CUDA_OK;
    for (unsigned i = 0; i < 2 && code == RY_CUDA_OK; i++) {
        code = cu->MemsetD2D32Async(to + i * sizeof *words, sizeof words, words[i], 1,
                                    size / sizeof words, stream->stream);
    }
    return code;
}

rynd_status ry_cuda_repeat(ry_stream *stream, ry_pointer to, ry_pattern pattern, size_t size,
                           ry_error *error)
{
    const char *call = NULL;
    if (!size) {
        return RYND_OK;
    }
    while (pattern.size > 1 &&
           memcmp(pattern.byte, pattern.byte + pattern.size / 2, pattern.size / 2) == 0) {
        pattern.size /= 2;
    }
    RY_TRY(ry_cuda_enter(stream->device, error));
    ry_gpu_begin_use(&stream->device->gpu, &stream->gpu, &to, 1);
    const int code = repeat(stream, address_of(to), &pattern, size, &call);
    ry_cuda_leave(stream->device);
    return code == RY_CUDA_OK ? RYND_OK : fail_copy(stream, call, code, to, size, error);
}

rynd_status ry_cuda_host_take(ry_device *base, size_t size, void **memory, ry_error *error)
{
    const ry_cuda_state *device = ry_cuda_state_of(base);
    RY_TRY(ry_cuda_enter(device, error));
    const int code = device->cu->MemHostAlloc(memory, size ? size : 1, PORTABLE);
    ry_cuda_leave(device);
    return code == RY_CUDA_OK ? RYND_OK : ry_cuda_fail_on(device, "cuMemHostAlloc", code, error);
}

void ry_cuda_host_give_back(ry_device *base, void *memory)
{
    const ry_cuda_state *device = ry_cuda_state_of(base);
    if (memory && ry_cuda_enter(device, NULL) == RYND_OK) {
        device->cu->MemFreeHost(memory);
        ry_cuda_leave(device);
    }
}
