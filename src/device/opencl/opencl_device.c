/* SPDX-License-Identifier: Apache-2.0 */
/* The table of an OpenCL device: buffers are the driver's memory, a stream is a queue that runs in
 * order, an event a marker in it with the device's time. */
#include "device/opencl/opencl_device.h"

#include "device/opencl/opencl_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void device_destroy(ry_device *base)
{
    ry_opencl_state *device = ry_opencl_state_of(base);
    ry_gpu_programs_free(&device->gpu);
    ry_gpu_pool_free(&device->gpu);
    device->cl->ReleaseCommandQueue(device->queue);
    device->cl->ReleaseContext(device->context);
    ry_release(base->allocator, device);
}

/* CL_MEM_ALLOW_UNRESTRICTED_SIZE_INTEL (Intel compute-runtime, "Allocations greater than 4GB"), which
 * goes with an option of the compiler. */
#define UNRESTRICTED ((cl_mem_flags)1 << 23)

/* RYND_OPENCL_LARGE=1: addresses of 64 bits, which Intel's kernels take longer with. */
static void set_memory(ry_opencl_state *device)
{
    const char *wish = getenv("RYND_OPENCL_LARGE");
    const ry_opencl_info *info = &device->info;
    device->large = info->enlarges && wish && strcmp(wish, "1") == 0;
    device->gpu.memory = info->memory;
    device->gpu.most_memory = device->large ? info->memory : info->most_memory;
    device->gpu.full_advice = device->large || info->most_memory >= info->memory ? ""
                              : info->enlarges
                                  ? " (CL_DEVICE_MAX_MEM_ALLOC_SIZE; RYND_OPENCL_LARGE=1 allows "
                                    "more, and a smaller batch "
                                    "needs less)"
                                  : " (CL_DEVICE_MAX_MEM_ALLOC_SIZE; a smaller batch needs less)";
}

static rynd_status take(ry_gpu_device *base, ry_buffer *buffer, bool *full, ry_error *error)
{
    ry_opencl_state *device = (ry_opencl_state *)base;
    const cl_mem_flags flags =
        CL_MEM_READ_WRITE | (buffer->room > device->info.most_memory ? UNRESTRICTED : 0);
    cl_int code;
    buffer->memory.object =
        device->cl->CreateBuffer(device->context, flags, buffer->room, NULL, &code);
    *full = code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_RESOURCES;
    return code == CL_SUCCESS ? RYND_OK : ry_opencl_fail(error, code, "making a buffer");
}

/* The driver keeps the memory as long as what is queued needs it. */
static void release(ry_gpu_device *device, ry_buffer *buffer, bool busy)
{
    (void)busy;
    ((ry_opencl_state *)device)->cl->ReleaseMemObject(buffer->memory.object);
}

static const ry_gpu_driver driver = {
    take, release, ry_opencl_fill, ry_opencl_compile, ry_opencl_load_binary, ry_opencl_unload};

static void *device_native(ry_device *device)
{
    return ry_opencl_state_of(device)->context;
}

static void *buffer_native(ry_buffer *buffer)
{
    return buffer->memory.object;
}

static rynd_status buffer_import(ry_device *base, void *native, size_t size, ry_buffer **buffer,
                                 ry_error *error)
{
    const ry_opencl *cl = ry_opencl_state_of(base)->cl;
    size_t has = 0;
    cl_int code = cl->GetMemObjectInfo(native, CL_MEM_SIZE, sizeof has, &has, NULL);
    if (code == CL_SUCCESS && has < size) {
        return ry_fail(error, RYND_ERROR_ARGUMENT, "the cl_mem has %zu bytes, and not %zu", has,
                       size);
    }
    code = code == CL_SUCCESS ? cl->RetainMemObject(native) : code;
    if (code != CL_SUCCESS) {
        return ry_opencl_fail(error, code, "taking a cl_mem");
    }
    const rynd_status status = ry_gpu_import(base, size, buffer, error);
    if (status != RYND_OK) {
        cl->ReleaseMemObject(native);
        return status;
    }
    (*buffer)->memory.object = native;
    return RYND_OK;
}

static rynd_status make_queue(const ry_opencl_state *device, cl_command_queue_properties properties,
                              cl_command_queue *queue, ry_error *error)
{
    cl_int code;
    *queue = device->cl->CreateCommandQueue(device->context, device->id.device, properties, &code);
    return code == CL_SUCCESS ? RYND_OK : ry_opencl_fail(error, code, "making a queue");
}

/* Profiling is a property of a queue, so the stream gets another one. Intel's GPUs take 1.1 to 1.8
 * times as long with it. */
static rynd_status stream_time(ry_stream *stream, bool on, ry_error *error)
{
    cl_command_queue queue;
    if (stream->timed == on) {
        return RYND_OK;
    }
    RY_TRY(make_queue(stream->device, on ? CL_QUEUE_PROFILING_ENABLE : 0, &queue, error));
    const rynd_status status = ry_opencl_synchronize(stream, error);
    stream->device->cl->ReleaseCommandQueue(stream->queue);
    stream->queue = queue;
    stream->timed = on;
    return status;
}

static rynd_status stream_create(ry_device *base, ry_stream **stream, ry_error *error)
{
    ry_opencl_state *device = ry_opencl_state_of(base);
    ry_stream *s = ry_allocate_array(base->allocator, 1, sizeof *s);
    if (!s) {
        return ry_fail_memory(error);
    }
    s->device = device;
    const rynd_status status = make_queue(device, 0, &s->queue, error);
    if (status != RYND_OK) {
        ry_release(base->allocator, s);
        return status;
    }
    ry_gpu_add_stream(&device->gpu, &s->gpu);
    *stream = s;
    return RYND_OK;
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

static const ry_device_table opencl_table = {
    .kind = RY_DEVICE_gpu,
    .name = "opencl",
    .destroy = device_destroy,
    .native = device_native,
    .figures = ry_gpu_figures,
    .trim = ry_gpu_trim,
    .buffer_create = ry_gpu_buffer_create,
    .buffer_wrap = ry_gpu_buffer_wrap,
    .buffer_rewrap = ry_gpu_buffer_rewrap,
    .buffer_import = buffer_import,
    .buffer_native = buffer_native,
    .buffer_destroy = ry_gpu_buffer_destroy,
    .host_take = ry_opencl_host_take,
    .host_give_back = ry_opencl_host_give_back,
    .program_create = ry_gpu_program_create,
    .program_destroy = ry_gpu_program_destroy,
    .program_items = ry_gpu_program_items,
    .stream_create = stream_create,
    .stream_destroy = stream_destroy,
    .stream_time = stream_time,
    .upload = ry_opencl_upload,
    .download = ry_opencl_download,
    .copy = ry_opencl_copy,
    .fill = ry_opencl_repeat,
    .launch = ry_opencl_launch,
    .synchronize = ry_opencl_synchronize,
    .event_create = ry_opencl_event_create,
    .event_destroy = ry_opencl_event_destroy,
    .event_record = ry_opencl_event_record,
    .event_await = ry_opencl_event_await,
    .event_synchronize = ry_opencl_event_synchronize,
    .event_done = ry_opencl_event_done,
    .event_elapsed = ry_opencl_event_elapsed,
};

/* Makes the context, the queue, the pool and the program store; on failure releases all. */
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
    const rynd_status made = make_queue(device, 0, &device->queue, error);
    if (made != RYND_OK) {
        cl->ReleaseContext(device->context);
        return made;
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
    set_memory(d);
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
