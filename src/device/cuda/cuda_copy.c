/* SPDX-License-Identifier: Apache-2.0 */
/* Copies between the host's memory and the device's, through a ring of pinned memory: the device
 * copies by itself while the host fills or empties the next part. An upload is read when it
 * returns, and on its way; a download is there. */
#include "device/cuda/cuda_state.h"

#include <string.h>

enum { PORTABLE = 1, NO_TIMING = 2 };

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

static rynd_status fail_copy(const ry_stream *stream, const char *call, int code, ry_place place,
                             size_t size, ry_error *error)
{
    const rynd_status status = ry_cuda_fail_on(stream->device, call, code, error);
    ry_error_prefix(error, "a copy of %zu bytes at %zu of %zu: ", size, place.offset,
                    place.buffer->size);
    return status;
}

static uint64_t address_of(ry_place place)
{
    return place.buffer->memory.address + place.offset;
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

rynd_status ry_cuda_upload(ry_stream *stream, ry_place to, const void *host, size_t size,
                           ry_error *error)
{
    const ry_cuda *cu = stream->device->cu;
    const char *call = "cuMemcpyHtoDAsync";
    int code = RY_CUDA_OK;
    if (!has_staging(stream)) {
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

rynd_status ry_cuda_download(ry_stream *stream, void *host, ry_place from, size_t size,
                             ry_error *error)
{
    const ry_cuda *cu = stream->device->cu;
    const char *call = "cuMemcpyDtoHAsync";
    int code;
    if (has_staging(stream)) {
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
