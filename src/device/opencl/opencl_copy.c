/* SPDX-License-Identifier: Apache-2.0 */
/* Copies, which wait in the stream's queue as launches do, and host memory for them. */
#include "device/opencl/opencl_state.h"

/* A driver that takes memory on first use may have none: some more is given back to it. */
#define RELIEVED(device, code, call) \
    do {                             \
        (code) = (call);             \
    } while ((code) == CL_MEM_OBJECT_ALLOCATION_FAILURE && ry_gpu_relieve(&(device)->gpu))

static rynd_status end(cl_int code, const char *what, ry_pointer pointer, size_t size,
                       ry_error *error)
{
    if (code == CL_SUCCESS) {
        return RYND_OK;
    }
    const rynd_status status = ry_opencl_fail(error, code, what);
    ry_error_prefix(error, "%zu bytes at %zu of %zu: ", size, pointer.offset, pointer.buffer->size);
    return status;
}

rynd_status ry_opencl_fill(ry_gpu_device *base, ry_buffer *buffer, const void *host,
                           ry_error *error)
{
    ry_opencl_state *device = (ry_opencl_state *)base;
    cl_int code;
    RELIEVED(device, code,
             device->cl->EnqueueWriteBuffer(device->queue, ry_opencl_memory(buffer), CL_TRUE, 0,
                                            buffer->size, host, 0, NULL, NULL));
    return end(code, "a copy to the device", (ry_pointer){buffer, 0}, buffer->size, error);
}

rynd_status ry_opencl_upload(ry_stream *stream, ry_pointer to, const void *host, size_t size,
                             ry_error *error)
{
    cl_int code = CL_SUCCESS;
    if (size) {
        ry_gpu_begin_use(&stream->device->gpu, &stream->gpu, &to, 1);
        RELIEVED(stream->device, code,
                 stream->device->cl->EnqueueWriteBuffer(stream->queue, ry_opencl_memory(to.buffer),
                                                        CL_FALSE, to.offset, size, host, 0, NULL,
                                                        NULL));
    }
    return end(code, "a copy to the device", to, size, error);
}

rynd_status ry_opencl_download(ry_stream *stream, void *host, ry_pointer from, size_t size,
                               ry_error *error)
{
    cl_int code = CL_SUCCESS;
    if (size) {
        ry_gpu_begin_use(&stream->device->gpu, &stream->gpu, &from, 1);
        RELIEVED(stream->device, code,
                 stream->device->cl->EnqueueReadBuffer(stream->queue, ry_opencl_memory(from.buffer),
                                                       CL_FALSE, from.offset, size, host, 0, NULL,
                                                       NULL));
    }
    return end(code, "a copy from the device", from, size, error);
}

rynd_status ry_opencl_copy(ry_stream *stream, ry_pointer to, ry_pointer from, size_t size,
                           ry_error *error)
{
    cl_int code = CL_SUCCESS;
    if (size) {
        ry_gpu_begin_use(&stream->device->gpu, &stream->gpu, (const ry_pointer[]){to, from}, 2);
        RELIEVED(stream->device, code,
                 stream->device->cl->EnqueueCopyBuffer(stream->queue, ry_opencl_memory(from.buffer),
                                                       ry_opencl_memory(to.buffer), from.offset,
                                                       to.offset, size, 0, NULL, NULL));
    }
    return end(code, "a copy on the device", to, size, error);
}

rynd_status ry_opencl_repeat(ry_stream *stream, ry_pointer to, ry_pattern pattern, size_t size,
                             ry_error *error)
{
    cl_int code = CL_SUCCESS;
    if (size) {
        ry_gpu_begin_use(&stream->device->gpu, &stream->gpu, &to, 1);
        RELIEVED(stream->device, code,
                 stream->device->cl->EnqueueFillBuffer(stream->queue, ry_opencl_memory(to.buffer),
                                                       pattern.byte, pattern.size, to.offset, size,
                                                       0, NULL, NULL));
    }
    return end(code, "filling memory", to, size, error);
}

/* Host memory of the driver's, which it has mapped for as long as it is taken. */
struct ry_opencl_host {
    struct ry_opencl_host *next;
    cl_mem memory;
    void *address;
};

static rynd_status map(ry_opencl_state *device, size_t size, struct ry_opencl_host *host,
                       ry_error *error)
{
    const ry_opencl *cl = device->cl;
    cl_int code;
    host->memory = cl->CreateBuffer(device->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR,
                                    size, NULL, &code);
    if (code != CL_SUCCESS) {
        return ry_opencl_fail(error, code, "taking host memory");
    }
    host->address = cl->EnqueueMapBuffer(device->queue, host->memory, CL_TRUE,
                                         CL_MAP_READ | CL_MAP_WRITE, 0, size, 0, NULL, NULL, &code);
    if (code != CL_SUCCESS) {
        cl->ReleaseMemObject(host->memory);
        return ry_opencl_fail(error, code, "mapping host memory");
    }
    return RYND_OK;
}

rynd_status ry_opencl_host_take(ry_device *base, size_t size, void **memory, ry_error *error)
{
    ry_opencl_state *device = ry_opencl_state_of(base);
    struct ry_opencl_host *host = ry_allocate_array(base->allocator, 1, sizeof *host);
    if (!host) {
        return ry_fail_memory(error);
    }
    const rynd_status status = map(device, size ? size : 1, host, error);
    if (status != RYND_OK) {
        ry_release(base->allocator, host);
        return status;
    }
    pthread_mutex_lock(&device->gpu.pool.lock);
    host->next = device->host;
    device->host = host;
    pthread_mutex_unlock(&device->gpu.pool.lock);
    *memory = host->address;
    return RYND_OK;
}

void ry_opencl_host_give_back(ry_device *base, void *memory)
{
    ry_opencl_state *device = ry_opencl_state_of(base);
    if (!memory) {
        return;
    }
    pthread_mutex_lock(&device->gpu.pool.lock);
    struct ry_opencl_host **at = &device->host;
    while ((*at)->address != memory) {
        at = &(*at)->next;
    }
    struct ry_opencl_host *host = *at;
    *at = host->next;
    pthread_mutex_unlock(&device->gpu.pool.lock);
    device->cl->EnqueueUnmapMemObject(device->queue, host->memory, memory, 0, NULL, NULL);
    device->cl->Finish(device->queue);
    device->cl->ReleaseMemObject(host->memory);
    ry_release(base->allocator, host);
}
