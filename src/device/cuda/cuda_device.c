/* SPDX-License-Identifier: Apache-2.0 */
/* The table of a CUDA device: buffers are the driver's memory, a stream is one that runs in order
 * and waits for no other, an event one with the device's time.
 *
 * The device's primary context is kept as long as the device is: an application that uses CUDA
 * itself shares it, and finds the context that it had after each call. A call after one that lost
 * the device fails as that did. */
#include "device/cuda/cuda_device.h"

#include "device/cuda/cuda_state.h"

#include <stdio.h>

enum { NON_BLOCKING = 1 }; /* CUstream_flags */

static rynd_status take(ry_gpu_device *base, ry_buffer *buffer, bool *full, ry_error *error)
{
    const ry_cuda_state *device = (const ry_cuda_state *)base;
    RY_TRY(ry_cuda_enter(device, error));
    const int code = device->cu->MemAlloc(&buffer->memory.address, buffer->room);
    ry_cuda_leave(device);
    *full = code == RY_CUDA_OUT_OF_MEMORY;
    return code == RY_CUDA_OK ? RYND_OK : ry_cuda_fail_on(device, "cuMemAlloc", code, error);
}

/* The driver takes memory from launches that are queued. An imported one its owner frees. */
static void release(ry_gpu_device *base, ry_buffer *buffer, bool busy)
{
    const ry_cuda_state *device = (const ry_cuda_state *)base;
    if (!buffer->imported && ry_cuda_enter(device, NULL) == RYND_OK) {
        if (busy) {
            device->cu->CtxSynchronize();
        }
        device->cu->MemFree(buffer->memory.address);
        ry_cuda_leave(device);
    }
}

static rynd_status make_stream(ry_cuda_state *device, ry_stream **stream, ry_error *error)
{
    ry_stream *s = ry_allocate_array(device->gpu.base.allocator, 1, sizeof *s);
    if (!s) {
        return ry_fail_memory(error);
    }
    s->device = device;
    rynd_status status = ry_cuda_enter(device, error);
    if (status == RYND_OK) {
        const int code = device->cu->StreamCreate(&s->stream, NON_BLOCKING);
        status =
            code == RY_CUDA_OK ? RYND_OK : ry_cuda_fail_on(device, "cuStreamCreate", code, error);
        ry_cuda_leave(device);
    }
    if (status != RYND_OK) {
        ry_release(device->gpu.base.allocator, s);
        return status;
    }
    ry_gpu_add_stream(&device->gpu, &s->gpu);
    *stream = s;
    return RYND_OK;
}

static void free_stream(ry_cuda_state *device, ry_stream *stream)
{
    if (ry_cuda_enter(device, NULL) == RYND_OK) {
        device->cu->StreamSynchronize(stream->stream);
        ry_cuda_staging_free(stream);
        device->cu->StreamDestroy(stream->stream);
        ry_cuda_leave(device);
    }
    ry_gpu_remove_stream(&device->gpu, &stream->gpu);
    ry_release(device->gpu.base.allocator, stream);
}

static rynd_status stream_create(ry_device *device, ry_stream **stream, ry_error *error)
{
    return make_stream(ry_cuda_state_of(device), stream, error);
}

static void stream_destroy(ry_device *device, ry_stream *stream)
{
    if (stream) {
        free_stream(ry_cuda_state_of(device), stream);
    }
}

static void device_destroy(ry_device *base)
{
    ry_cuda_state *device = ry_cuda_state_of(base);
    free_stream(device, device->copies);
    ry_gpu_programs_free(&device->gpu);
    ry_gpu_pool_free(&device->gpu);
    device->cu->DevicePrimaryCtxRelease(device->id);
    pthread_mutex_destroy(&device->copies_lock);
    ry_release(base->allocator, device);
}

static rynd_status synchronize(ry_stream *stream, ry_error *error)
{
    const ry_cuda_state *device = stream->device;
    RY_TRY(ry_cuda_enter(device, error));
    const int code = device->cu->StreamSynchronize(stream->stream);
    ry_cuda_leave(device);
    if (code != RY_CUDA_OK) {
        return ry_cuda_fail_on(device, "cuStreamSynchronize", code, error);
    }
    ry_gpu_set_idle(&stream->gpu);
    return RYND_OK;
}

static rynd_status fill(ry_gpu_device *base, ry_buffer *buffer, const void *host, ry_error *error)
{
    ry_cuda_state *device = (ry_cuda_state *)base;
    pthread_mutex_lock(&device->copies_lock);
    rynd_status status =
        ry_cuda_upload(device->copies, (ry_pointer){buffer, 0}, host, buffer->size, error);
    if (status == RYND_OK) {
        status = synchronize(device->copies, error);
    }
    pthread_mutex_unlock(&device->copies_lock);
    return status;
}

static const ry_gpu_driver driver = {
    take, release, fill, ry_cuda_compile, ry_cuda_load_binary, ry_cuda_unload};

static void *device_native(ry_device *device)
{
    return ry_cuda_state_of(device)->context;
}

static void *buffer_native(ry_buffer *buffer)
{
    return (void *)(uintptr_t)buffer->memory.address;
}

static rynd_status buffer_import(ry_device *base, void *native, size_t size, ry_buffer **buffer,
                                 ry_error *error)
{
    const ry_cuda_state *device = ry_cuda_state_of(base);
    const uint64_t address = (uint64_t)(uintptr_t)native;
    uint64_t first = 0;
    size_t has = 0;
    RY_TRY(ry_cuda_enter(device, error));
    const int code = device->cu->MemGetAddressRange(&first, &has, address);
    ry_cuda_leave(device);
    if (code != RY_CUDA_OK) {
        return ry_cuda_fail_on(device, "cuMemGetAddressRange", code, error);
    }
    has -= (size_t)(address - first);
    if (has < size) {
        return ry_fail(error, RYND_ERROR_ARGUMENT, "the CUdeviceptr has %zu bytes, and not %zu",
                       has, size);
    }
    RY_TRY(ry_gpu_import(base, size, buffer, error));
    (*buffer)->memory.address = address;
    return RYND_OK;
}

static bool take_energy(ry_device *base, double *joules)
{
    ry_cuda_state *device = ry_cuda_state_of(base);
    char bus[32];
    if (device->metered) {
        return ry_nvml_take(&device->meter, joules);
    }
    *joules = 0;
    device->metered = device->cu->DeviceGetPCIBusId(bus, sizeof bus, device->id) == RY_CUDA_OK &&
                      ry_nvml_open(bus, &device->meter);
    return device->metered;
}

static const ry_device_table cuda_table = {
    .kind = RY_DEVICE_gpu,
    .name = "cuda",
    .destroy = device_destroy,
    .native = device_native,
    .figures = ry_gpu_figures,
    .trim = ry_gpu_trim,
    .take_energy = take_energy,
    .buffer_create = ry_gpu_buffer_create,
    .buffer_wrap = ry_gpu_buffer_wrap,
    .buffer_rewrap = ry_gpu_buffer_rewrap,
    .buffer_import = buffer_import,
    .buffer_native = buffer_native,
    .buffer_destroy = ry_gpu_buffer_destroy,
    .host_take = ry_cuda_host_take,
    .host_give_back = ry_cuda_host_give_back,
    .program_create = ry_gpu_program_create,
    .program_destroy = ry_gpu_program_destroy,
    .program_items = ry_gpu_program_items,
    .stream_create = stream_create,
    .stream_destroy = stream_destroy,
    .upload = ry_cuda_upload,
    .download = ry_cuda_download,
    .copy = ry_cuda_copy,
    .fill = ry_cuda_repeat,
    .launch = ry_cuda_launch,
    .synchronize = synchronize,
    .records = ry_cuda_records,
    .record_begin = ry_cuda_record_begin,
    .record_end = ry_cuda_record_end,
    .replay = ry_cuda_replay,
    .recording_destroy = ry_cuda_recording_destroy,
    .event_create = ry_cuda_event_create,
    .event_destroy = ry_cuda_event_destroy,
    .event_record = ry_cuda_event_record,
    .event_await = ry_cuda_event_await,
    .event_synchronize = ry_cuda_event_synchronize,
    .event_done = ry_cuda_event_done,
    .event_elapsed = ry_cuda_event_elapsed,
};

/* The pool, the programs and the stream of copies; on failure none of them. */
static rynd_status open_parts(ry_cuda_state *device, ry_error *error)
{
    if (!ry_gpu_pool_init(&device->gpu)) {
        return ry_fail(error, RYND_ERROR_OUT_OF_MEMORY, "out of memory for a lock");
    }
    rynd_status status = ry_cuda_programs_init(device, error);
    if (status == RYND_OK) {
        status = make_stream(device, &device->copies, error);
        if (status == RYND_OK) {
            return RYND_OK;
        }
        ry_gpu_programs_free(&device->gpu);
    }
    ry_gpu_pool_free(&device->gpu);
    return status;
}

static rynd_status open_device(ry_cuda_state *device, ry_error *error)
{
    const ry_cuda *cu = device->cu;
    if (pthread_mutex_init(&device->copies_lock, NULL) != 0) {
        return ry_fail(error, RYND_ERROR_OUT_OF_MEMORY, "out of memory for a lock");
    }
    const int code = cu->DevicePrimaryCtxRetain(&device->context, device->id);
    rynd_status status = code == RY_CUDA_OK
                             ? open_parts(device, error)
                             : ry_cuda_fail_on(device, "cuDevicePrimaryCtxRetain", code, error);
    if (status != RYND_OK) {
        if (code == RY_CUDA_OK) {
            cu->DevicePrimaryCtxRelease(device->id);
        }
        pthread_mutex_destroy(&device->copies_lock);
    }
    return status;
}

rynd_status ry_cuda_device_create(const ry_allocator *allocator, unsigned index, ry_device *host,
                                  ry_device **device, ry_error *error)
{
    const ry_cuda *cu;
    const ry_nvrtc *nvrtc;
    int id;
    RY_TRY(ry_cuda_load(&cu, error));
    RY_TRY(ry_cuda_find(cu, index, &id, error));
    RY_TRY(ry_nvrtc_load(cu, &nvrtc, error));
    ry_cuda_state *d = ry_allocate_array(allocator, 1, sizeof *d);
    if (!d) {
        return ry_fail_memory(error);
    }
    d->gpu.base =
        (ry_device){.table = &cuda_table, .allocator = allocator, .host = host, .workers = 1};
    d->gpu.driver = &driver;
    d->cu = cu;
    d->nvrtc = nvrtc;
    d->id = id;
    d->graphs = ry_cuda_wants_graphs(cu);
    ry_cuda_describe(cu, id, &d->info);
    d->info.compiler = nvrtc->major;
    d->gpu.memory = d->info.memory;
    d->gpu.most_memory = d->info.memory;
    snprintf(d->gpu.base.name, sizeof d->gpu.base.name, "%s", d->info.name);
    const rynd_status status = open_device(d, error);
    if (status != RYND_OK) {
        ry_error_prefix(error, "CUDA device %u: ", index);
        ry_release(allocator, d);
        return status;
    }
    *device = &d->gpu.base;
    return RYND_OK;
}
