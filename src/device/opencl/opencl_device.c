/* SPDX-License-Identifier: Apache-2.0 */
/* The table of an OpenCL device: buffers are the driver's memory, a stream is a queue that runs in
 * order, an event a marker in it with the device's time. Copies are done when they return. */
#include "device/opencl/opencl_device.h"

#include "device/opencl/opencl_state.h"

#include <stdio.h>

struct ry_event {
    const ry_opencl *cl;
    cl_event event; /* NULL: not recorded */
};

static void device_destroy(ry_device *base)
{
    ry_opencl_state *device = ry_opencl_state_of(base);
    ry_gpu_programs_free(&device->gpu);
    ry_gpu_pool_free(&device->gpu);
    device->cl->ReleaseCommandQueue(device->queue);
    device->cl->ReleaseContext(device->context);
    ry_release(base->allocator, device);
}

static rynd_status take(ry_gpu_device *base, ry_buffer *buffer, bool *full, ry_error *error)
{
    ry_opencl_state *device = (ry_opencl_state *)base;
    cl_int code;
    buffer->memory.object =
        device->cl->CreateBuffer(device->context, CL_MEM_READ_WRITE, buffer->room, NULL, &code);
    *full = code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_RESOURCES;
    return code == CL_SUCCESS ? RYND_OK : ry_opencl_fail(error, code, "making a buffer");
}

/* The driver keeps the memory as long as what is queued needs it. */
static void release(ry_gpu_device *device, ry_buffer *buffer, bool busy)
{
    (void)busy;
    ((ry_opencl_state *)device)->cl->ReleaseMemObject(buffer->memory.object);
}

static const ry_gpu_driver driver = {take, release, ry_opencl_compile, ry_opencl_load_binary,
                                     ry_opencl_unload};

static rynd_status buffer_create(ry_device *device, size_t size, ry_buffer **buffer,
                                 ry_error *error)
{
    return ry_gpu_take(ry_gpu_device_of(device), size, buffer, error);
}

static rynd_status copy_to(ry_opencl_state *device, cl_command_queue queue, ry_place to,
                           const void *host, size_t size, ry_error *error)
{
    cl_int code;
    do {
        code = size ? device->cl->EnqueueWriteBuffer(queue, to.buffer->memory.object, CL_TRUE,
                                                     to.offset, size, host, 0, NULL, NULL)
                    : CL_SUCCESS;
    } while (code == CL_MEM_OBJECT_ALLOCATION_FAILURE && ry_gpu_relieve(&device->gpu));
    if (code != CL_SUCCESS) {
        const rynd_status status = ry_opencl_fail(error, code, "a copy to the device");
        ry_error_prefix(error, "%zu bytes at %zu of %zu: ", size, to.offset, to.buffer->size);
        return status;
    }
    return RYND_OK;
}

/* The caller has synchronised whatever used the buffer before. */
static rynd_status buffer_rewrap(ry_device *base, const void *host, ry_buffer *buffer,
                                 ry_error *error)
{
    ry_opencl_state *device = ry_opencl_state_of(base);
    return copy_to(device, device->queue, (ry_place){buffer, 0}, host, host ? buffer->size : 0,
                   error);
}

static rynd_status buffer_wrap(ry_device *base, const void *host, size_t size, ry_buffer **buffer,
                               ry_error *error)
{
    ry_buffer *made;
    RY_TRY(ry_gpu_take(ry_gpu_device_of(base), size, &made, error));
    const rynd_status status = buffer_rewrap(base, host, made, error);
    if (status != RYND_OK) {
        ry_gpu_give_back(ry_gpu_device_of(base), made);
        return status;
    }
    *buffer = made;
    return RYND_OK;
}

static void buffer_destroy(ry_device *device, ry_buffer *buffer)
{
    if (buffer) {
        ry_gpu_give_back(ry_gpu_device_of(device), buffer);
    }
}

static rynd_status stream_create(ry_device *base, ry_stream **stream, ry_error *error)
{
    ry_opencl_state *device = ry_opencl_state_of(base);
    ry_stream *s = ry_allocate_array(base->allocator, 1, sizeof *s);
    if (!s) {
        return ry_fail_memory(error);
    }
    cl_int code;
    s->device = device;
    s->queue = device->cl->CreateCommandQueue(device->context, device->id.device,
                                              CL_QUEUE_PROFILING_ENABLE, &code);
    if (code != CL_SUCCESS) {
        ry_release(base->allocator, s);
        return ry_opencl_fail(error, code, "making a queue");
    }
    ry_gpu_add_stream(&device->gpu, &s->gpu);
    *stream = s;
    return RYND_OK;
}

/* Everything that was put into the queue is done. */
static void set_idle(ry_stream *stream)
{
    ry_gpu_set_idle(&stream->gpu);
    stream->unflushed = 0;
}

static void stream_destroy(ry_device *base, ry_stream *stream)
{
    if (stream) {
        ry_opencl_state *device = ry_opencl_state_of(base);
        device->cl->Finish(stream->queue);
        ry_gpu_remove_stream(&device->gpu, &stream->gpu);
        device->cl->ReleaseCommandQueue(stream->queue);
        ry_release(base->allocator, stream);
    }
}

static rynd_status upload(ry_stream *stream, ry_place to, const void *host, size_t size,
                          ry_error *error)
{
    RY_TRY(copy_to(stream->device, stream->queue, to, host, size, error));
    if (size) {
        set_idle(stream);
    }
    return RYND_OK;
}

static rynd_status download(ry_stream *stream, void *host, ry_place from, size_t size,
                            ry_error *error)
{
    if (!size) {
        return RYND_OK;
    }
    const cl_int code = stream->device->cl->EnqueueReadBuffer(
        stream->queue, from.buffer->memory.object, CL_TRUE, from.offset, size, host, 0, NULL, NULL);
    if (code != CL_SUCCESS) {
        const rynd_status status = ry_opencl_fail(error, code, "a copy from the device");
        ry_error_prefix(error, "%zu bytes at %zu of %zu: ", size, from.offset, from.buffer->size);
        return status;
    }
    set_idle(stream);
    return RYND_OK;
}

static rynd_status synchronize(ry_stream *stream, ry_error *error)
{
    const cl_int code = stream->device->cl->Finish(stream->queue);
    if (code != CL_SUCCESS) {
        return ry_opencl_fail(error, code, "waiting for the device");
    }
    set_idle(stream);
    return RYND_OK;
}

static rynd_status event_create(ry_device *device, ry_event **event, ry_error *error)
{
    *event = ry_allocate_array(device->allocator, 1, sizeof **event);
    if (!*event) {
        return ry_fail_memory(error);
    }
    (*event)->cl = ry_opencl_state_of(device)->cl;
    return RYND_OK;
}

static void clear_event(ry_event *event)
{
    if (event->event) {
        event->cl->ReleaseEvent(event->event);
        event->event = NULL;
    }
}

static void event_destroy(ry_device *device, ry_event *event)
{
    if (event) {
        clear_event(event);
        ry_release(device->allocator, event);
    }
}

static rynd_status event_record(ry_stream *stream, ry_event *event, ry_error *error)
{
    clear_event(event);
    const cl_int code = event->cl->EnqueueMarkerWithWaitList(stream->queue, 0, NULL, &event->event);
    return code == CL_SUCCESS ? RYND_OK : ry_opencl_fail(error, code, "recording an event");
}

/* When the device came there, in nanoseconds. Waits for it. */
static rynd_status event_time(const ry_event *event, cl_ulong *time, ry_error *error)
{
    if (!event->event) {
        return ry_fail(error, RYND_ERROR_ARGUMENT, "an event was not recorded");
    }
    cl_int code = event->cl->WaitForEvents(1, &event->event);
    if (code == CL_SUCCESS) {
        code = event->cl->GetEventProfilingInfo(event->event, CL_PROFILING_COMMAND_END,
                                                sizeof *time, time, NULL);
    }
    return code == CL_SUCCESS ? RYND_OK : ry_opencl_fail(error, code, "the time of an event");
}

static rynd_status event_elapsed(const ry_event *from, const ry_event *to, double *seconds,
                                 ry_error *error)
{
    cl_ulong begin = 0, end = 0;
    RY_TRY(event_time(from, &begin, error));
    RY_TRY(event_time(to, &end, error));
    *seconds = ((double)end - (double)begin) * 1e-9;
    return RYND_OK;
}

static const ry_device_table opencl_table = {
    .kind = RY_DEVICE_gpu,
    .name = "opencl",
    .destroy = device_destroy,
    .buffer_create = buffer_create,
    .buffer_wrap = buffer_wrap,
    .buffer_rewrap = buffer_rewrap,
    .buffer_destroy = buffer_destroy,
    .program_create = ry_gpu_program_create,
    .program_destroy = ry_gpu_program_destroy,
    .stream_create = stream_create,
    .stream_destroy = stream_destroy,
    .upload = upload,
    .download = download,
    .launch = ry_opencl_launch,
    .synchronize = synchronize,
    .event_create = event_create,
    .event_destroy = event_destroy,
    .event_record = event_record,
    .event_elapsed = event_elapsed,
};

/* Context and queue, then what lives in them; on failure the device has none of it. */
static rynd_status open_device(ry_opencl_state *device, ry_error *error)
{
    const ry_opencl *cl = device->cl;
    const cl_context_properties properties[] = {
        CL_CONTEXT_PLATFORM, (cl_context_properties)(intptr_t)device->id.platform, 0};
    cl_int code;
    device->context = cl->CreateContext(properties, 1, &device->id.device, NULL, NULL, &code);
    if (code != CL_SUCCESS) {
        return ry_opencl_fail(error, code, "opening the device");
    }
    device->queue = cl->CreateCommandQueue(device->context, device->id.device, 0, &code);
    if (code != CL_SUCCESS) {
        cl->ReleaseContext(device->context);
        return ry_opencl_fail(error, code, "making a queue");
    }
    if (ry_gpu_pool_init(&device->gpu)) {
        if (ry_opencl_programs_init(device)) {
            return RYND_OK;
        }
        ry_gpu_pool_free(&device->gpu);
    }
    cl->ReleaseCommandQueue(device->queue);
    cl->ReleaseContext(device->context);
    return ry_fail(error, RYND_ERROR_OUT_OF_MEMORY, "out of memory for a lock");
}

rynd_status ry_opencl_device_create(const ry_allocator *allocator, unsigned index, ry_device *host,
                                    ry_device **device, ry_error *error)
{
    const ry_opencl *cl;
    ry_opencl_id id;
    RY_TRY(ry_opencl_load(&cl, error));
    RY_TRY(ry_opencl_find(cl, index, &id, error));
    ry_opencl_state *d = ry_allocate_array(allocator, 1, sizeof *d);
    if (!d) {
        return ry_fail_memory(error);
    }
    d->gpu.base =
        (ry_device){.table = &opencl_table, .allocator = allocator, .host = host, .workers = 1};
    d->gpu.driver = &driver;
    d->cl = cl;
    d->id = id;
    ry_opencl_describe(cl, id, &d->info);
    d->gpu.memory = d->info.memory;
    d->gpu.most_memory = d->info.most_memory;
    snprintf(d->gpu.base.name, sizeof d->gpu.base.name, "%s", d->info.name);
    rynd_status status = d->info.compiles
                             ? open_device(d, error)
                             : ry_fail(error, RYND_ERROR_DEVICE, "its driver has no compiler");
    if (status != RYND_OK) {
        ry_error_prefix(error, "OpenCL device %u, %s: ", index, d->info.name);
        ry_release(allocator, d);
        return status;
    }
    *device = &d->gpu.base;
    return RYND_OK;
}
