/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU as a device: every call is done when it returns. */
#include "device/cpu/cpu_device.h"

#include "base/clock.h"
#include "device/trace.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#if defined(__linux__)
#include <sys/sysinfo.h>
#endif

struct ry_buffer {
    void *data;
    size_t owned; /* bytes; 0: the memory is somebody else's */
};

struct ry_stream {
    ry_device *device;
    ry_trace *trace; /* NULL: nobody records */
};

struct ry_event {
    ry_device *device;
    double seconds;
};

typedef struct cpu_device {
    ry_device base;
    ry_threads *threads;
    /* bytes of the device's buffers, now and at most; sessions on several threads change both */
    atomic_size_t held, peak;
    size_t machine; /* bytes of memory that the machine has; 0: not known */
} cpu_device;

/* Memory and swap. The system gives more away than it has, and ends the process that then uses it.
 */
static size_t machine_memory(void)
{
#if defined(__linux__)
    struct sysinfo info;
    if (sysinfo(&info) == 0) {
        return ((size_t)info.totalram + (size_t)info.totalswap) * info.mem_unit;
    }
#endif
    return 0;
}

static void *buffer_address(ry_buffer *buffer)
{
    return buffer->data;
}

static void device_destroy(ry_device *device)
{
    ry_release(device->allocator, device);
}

static void *native(ry_device *device)
{
    (void)device;
    return NULL;
}

static void figures(ry_device *device, ry_device_figures *figures)
{
    cpu_device *d = (cpu_device *)device;
    const size_t held = atomic_load(&d->held);
    *figures = (ry_device_figures){
        .used = held, .held = held, .peak = atomic_load(&d->peak), .total = d->machine};
}

/* Nothing is kept. */
static void trim(ry_device *device, size_t keep)
{
    (void)device;
    (void)keep;
}

static rynd_status buffer_new(ry_device *device, void *data, size_t owned, ry_buffer **buffer,
                              ry_error *error)
{
    ry_buffer *b = ry_allocate_array(device->allocator, 1, sizeof *b);
    if (!b) {
        return ry_fail_memory(error);
    }
    *b = (ry_buffer){data, owned};
    *buffer = b;
    return RYND_OK;
}

static rynd_status buffer_create(ry_device *device, size_t size, ry_buffer **buffer,
                                 ry_error *error)
{
    cpu_device *d = (cpu_device *)device;
    const size_t held = atomic_load(&d->held), owned = size ? size : 1;
    if (d->machine && (owned > d->machine || held > d->machine - owned)) {
        return ry_fail(
            error, RYND_ERROR_OUT_OF_MEMORY,
            "out of memory for %zu bytes: the machine has %zu, and %zu of them are taken", size,
            d->machine, held);
    }
    void *data = ry_allocate(device->allocator, size);
    if (!data) {
        return ry_fail_memory(error);
    }
    const rynd_status status = buffer_new(device, data, owned, buffer, error);
    if (status != RYND_OK) {
        ry_release(device->allocator, data);
        return status;
    }
    const size_t now = atomic_fetch_add(&d->held, owned) + owned;
    size_t peak = atomic_load(&d->peak);
    while (now > peak && !atomic_compare_exchange_weak(&d->peak, &peak, now)) {
    }
    return RYND_OK;
}

static rynd_status buffer_wrap(ry_device *device, const void *host, size_t size, ry_buffer **buffer,
                               ry_error *error)
{
    (void)size;
    return buffer_new(device, (void *)(uintptr_t)host, 0, buffer, error);
}

static rynd_status buffer_rewrap(ry_device *device, const void *host, ry_buffer *buffer,
                                 ry_error *error)
{
    (void)device;
    (void)error;
    buffer->data = (void *)(uintptr_t)host;
    return RYND_OK;
}

static rynd_status buffer_import(ry_device *device, void *native, size_t size, ry_buffer **buffer,
                                 ry_error *error)
{
    return buffer_wrap(device, native, size, buffer, error);
}

static void buffer_destroy(ry_device *device, ry_buffer *buffer)
{
    if (buffer) {
        if (buffer->owned) {
            atomic_fetch_sub(&((cpu_device *)device)->held, buffer->owned);
            ry_release(device->allocator, buffer->data);
        }
        ry_release(device->allocator, buffer);
    }
}

static rynd_status host_take(ry_device *device, size_t size, void **memory, ry_error *error)
{
    *memory = ry_allocate(device->allocator, size);
    return *memory ? RYND_OK : ry_fail_memory(error);
}

static void host_give_back(ry_device *device, void *memory)
{
    ry_release(device->allocator, memory);
}

static rynd_status stream_create(ry_device *device, ry_stream **stream, ry_error *error)
{
    *stream = ry_allocate_array(device->allocator, 1, sizeof **stream);
    if (!*stream) {
        return ry_fail_memory(error);
    }
    **stream = (ry_stream){.device = device};
    return RYND_OK;
}

static void stream_destroy(ry_device *device, ry_stream *stream)
{
    ry_release(device->allocator, stream);
}

static void *host_address(ry_pointer pointer)
{
    return pointer.buffer && pointer.buffer->data ? (char *)pointer.buffer->data + pointer.offset
                                                  : NULL;
}

static rynd_status upload(ry_stream *stream, ry_pointer to, const void *host, size_t size,
                          ry_error *error)
{
    (void)stream;
    (void)error;
    if (size) {
        memmove(host_address(to), host, size);
    }
    return RYND_OK;
}

static rynd_status download(ry_stream *stream, void *host, ry_pointer from, size_t size,
                            ry_error *error)
{
    (void)stream;
    (void)error;
    if (size) {
        memmove(host, host_address(from), size);
    }
    return RYND_OK;
}

static rynd_status copy(ry_stream *stream, ry_pointer to, ry_pointer from, size_t size,
                        ry_error *error)
{
    (void)stream;
    (void)error;
    if (size) {
        memcpy(host_address(to), host_address(from), size);
    }
    return RYND_OK;
}

static rynd_status fill(ry_stream *stream, ry_pointer to, ry_pattern pattern, size_t size,
                        ry_error *error)
{
    (void)stream;
    (void)error;
    char *memory = host_address(to);
    if (size && pattern.size == 1) {
        memset(memory, pattern.byte[0], size);
        return RYND_OK;
    }
    for (size_t i = 0; i < size; i += pattern.size) {
        memcpy(memory + i, pattern.byte, pattern.size);
    }
    return RYND_OK;
}

typedef struct phase_job {
    const ry_launch *launch;
    int phase;
} phase_job;

static void run_task(void *context, size_t task, unsigned worker)
{
    const phase_job *job = context;
    job->launch->program.cpu(job->launch->call, job->launch->resolved, job->phase, task, worker);
}

typedef struct traced_job {
    phase_job job;
    ry_span *spans; /* one per worker */
} traced_job;

static void run_traced_task(void *context, size_t task, unsigned worker)
{
    traced_job *job = context;
    ry_span *span = &job->spans[worker];
    const double begin = ry_clock_seconds();
    run_task(&job->job, task, worker);
    span->begin = span->tasks++ == 0 ? begin : span->begin;
    span->end = ry_clock_seconds();
}

/* Keeps the spans of workers that ran a task. A trace without room records nothing. */
static void run_traced(ry_stream *stream, const phase_job *phase, double seconds)
{
    ry_threads *threads = ((cpu_device *)stream->device)->threads;
    const unsigned workers = stream->device->workers;
    ry_trace *trace = stream->trace;
    if (trace->capacity - trace->count < workers) {
        ry_threads_run(threads, phase->launch->tasks[phase->phase], seconds, run_task,
                       (void *)(uintptr_t)phase);
        return;
    }
    traced_job job = {*phase, trace->spans + trace->count};
    for (unsigned w = 0; w < workers; w++) {
        job.spans[w] = (ry_span){.step = trace->step, .worker = w};
    }
    ry_threads_run(threads, phase->launch->tasks[phase->phase], seconds, run_traced_task, &job);
    for (unsigned w = 0; w < workers; w++) {
        if (job.spans[w].tasks) {
            trace->spans[trace->count++] = job.spans[w];
        }
    }
}

static rynd_status launch(ry_stream *stream, const ry_launch *l, ry_error *error)
{
    (void)error;
    ry_threads *threads = ((cpu_device *)stream->device)->threads;
    for (int i = 0; i < l->argument_count; i++) {
        l->resolved[i] = host_address(l->arguments[i]);
    }
    for (int phase = 0; phase < l->phases; phase++) {
        phase_job job = {l, phase};
        const double seconds = l->seconds ? l->seconds[phase] : 0;
        if (stream->trace) {
            run_traced(stream, &job, seconds);
        } else {
            ry_threads_run(threads, l->tasks[phase], seconds, run_task, &job);
        }
    }
    return RYND_OK;
}

static void stream_trace(ry_stream *stream, ry_trace *trace)
{
    stream->trace = trace;
}

static rynd_status synchronize(ry_stream *stream, ry_error *error)
{
    (void)stream;
    (void)error;
    return RYND_OK;
}

static rynd_status event_create(ry_device *device, ry_event **event, ry_error *error)
{
    *event = ry_allocate_array(device->allocator, 1, sizeof **event);
    if (!*event) {
        return ry_fail_memory(error);
    }
    (*event)->device = device;
    return RYND_OK;
}

static void event_destroy(ry_device *device, ry_event *event)
{
    ry_release(device->allocator, event);
}

static rynd_status event_record(ry_stream *stream, ry_event *event, ry_error *error)
{
    (void)stream;
    (void)error;
    event->seconds = ry_clock_seconds();
    return RYND_OK;
}

static rynd_status event_await(ry_stream *stream, const ry_event *event, ry_error *error)
{
    (void)stream;
    (void)event;
    (void)error;
    return RYND_OK;
}

static rynd_status event_synchronize(const ry_event *event, ry_error *error)
{
    (void)event;
    (void)error;
    return RYND_OK;
}

static rynd_status event_done(const ry_event *event, bool *done, ry_error *error)
{
    (void)event;
    (void)error;
    *done = true;
    return RYND_OK;
}

static rynd_status event_elapsed(const ry_event *from, const ry_event *to, double *seconds,
                                 ry_error *error)
{
    (void)error;
    *seconds = to->seconds - from->seconds;
    return RYND_OK;
}

static const ry_device_table cpu_table = {
    .kind = RY_DEVICE_cpu,
    .name = "cpu",
    .destroy = device_destroy,
    .native = native,
    .figures = figures,
    .trim = trim,
    .buffer_create = buffer_create,
    .buffer_wrap = buffer_wrap,
    .buffer_rewrap = buffer_rewrap,
    .buffer_import = buffer_import,
    .buffer_native = buffer_address,
    .buffer_destroy = buffer_destroy,
    .buffer_address = buffer_address,
    .host_take = host_take,
    .host_give_back = host_give_back,
    .stream_create = stream_create,
    .stream_destroy = stream_destroy,
    .stream_trace = stream_trace,
    .upload = upload,
    .download = download,
    .copy = copy,
    .fill = fill,
    .launch = launch,
    .synchronize = synchronize,
    .event_create = event_create,
    .event_destroy = event_destroy,
    .event_record = event_record,
    .event_await = event_await,
    .event_synchronize = event_synchronize,
    .event_done = event_done,
    .event_elapsed = event_elapsed,
};

rynd_status ry_cpu_device_create(const ry_allocator *allocator, ry_threads *threads, ry_isa isa,
                                 ry_device **device, ry_error *error)
{
    cpu_device *d = ry_allocate_array(allocator, 1, sizeof *d);
    if (!d) {
        return ry_fail_memory(error);
    }
    d->base.table = &cpu_table;
    d->base.allocator = allocator;
    d->base.isa = d->base.planned_isa = isa;
    d->base.workers = ry_threads_count(threads);
    d->base.host_memory = true;
    d->base.host = &d->base;
    ry_cpu_info info;
    ry_cpu_detect(&info);
    snprintf(d->base.name, sizeof d->base.name, "%s", info.name);
    d->threads = threads;
    d->machine = machine_memory();
    *device = &d->base;
    return RYND_OK;
}
