/* SPDX-License-Identifier: Apache-2.0 */
/* Events: CUDA's, with the device's time. */
#include "device/cuda/cuda_state.h"

struct ry_event {
    ry_cuda_state *device;
    void *event;
    bool recorded;
};

rynd_status ry_cuda_event_create(ry_device *base, ry_event **event, ry_error *error)
{
    ry_cuda_state *device = ry_cuda_state_of(base);
    ry_event *e = ry_allocate_array(base->allocator, 1, sizeof *e);
    if (!e) {
        return ry_fail_memory(error);
    }
    e->device = device;
    rynd_status status = ry_cuda_enter(device, error);
    if (status == RYND_OK) {
        const int code = device->cu->EventCreate(&e->event, 0);
        status =
            code == RY_CUDA_OK ? RYND_OK : ry_cuda_fail_on(device, "cuEventCreate", code, error);
        ry_cuda_leave(device);
    }
    if (status != RYND_OK) {
        ry_release(base->allocator, e);
        return status;
    }
    *event = e;
    return RYND_OK;
}

void ry_cuda_event_destroy(ry_device *base, ry_event *event)
{
    const ry_cuda_state *device = ry_cuda_state_of(base);
    if (event) {
        if (ry_cuda_enter(device, NULL) == RYND_OK) {
            device->cu->EventDestroy(event->event);
            ry_cuda_leave(device);
        }
        ry_release(base->allocator, event);
    }
}

rynd_status ry_cuda_event_record(ry_stream *stream, ry_event *event, ry_error *error)
{
    const ry_cuda_state *device = stream->device;
    RY_TRY(ry_cuda_enter(device, error));
    const int code = device->cu->EventRecord(event->event, stream->stream);
    ry_cuda_leave(device);
    event->recorded = code == RY_CUDA_OK;
    return code == RY_CUDA_OK ? RYND_OK : ry_cuda_fail_on(device, "cuEventRecord", code, error);
}

rynd_status ry_cuda_event_await(ry_stream *stream, const ry_event *event, ry_error *error)
{
    const ry_cuda_state *device = stream->device;
    if (event->device->context != device->context) {
        return ry_fail(error, RYND_ERROR_ARGUMENT,
                       "an event is of another context than the stream");
    }
    if (!event->recorded) {
        return RYND_OK;
    }
    RY_TRY(ry_cuda_enter(device, error));
    const int code = device->cu->StreamWaitEvent(stream->stream, event->event, 0);
    ry_cuda_leave(device);
    return code == RY_CUDA_OK ? RYND_OK : ry_cuda_fail_on(device, "cuStreamWaitEvent", code, error);
}

rynd_status ry_cuda_event_synchronize(const ry_event *event, ry_error *error)
{
    const ry_cuda_state *device = event->device;
    if (!event->recorded) {
        return RYND_OK;
    }
    RY_TRY(ry_cuda_enter(device, error));
    const int code = device->cu->EventSynchronize(event->event);
    ry_cuda_leave(device);
    return code == RY_CUDA_OK ? RYND_OK
                              : ry_cuda_fail_on(device, "cuEventSynchronize", code, error);
}

rynd_status ry_cuda_event_done(const ry_event *event, bool *done, ry_error *error)
{
    const ry_cuda_state *device = event->device;
    *done = true;
    if (!event->recorded) {
        return RYND_OK;
    }
    RY_TRY(ry_cuda_enter(device, error));
    const int code = device->cu->EventQuery(event->event);
    ry_cuda_leave(device);
    *done = code != RY_CUDA_NOT_READY;
    return code == RY_CUDA_OK || code == RY_CUDA_NOT_READY
               ? RYND_OK
               : ry_cuda_fail_on(device, "cuEventQuery", code, error);
}

/* Waits for both. */
rynd_status ry_cuda_event_elapsed(const ry_event *from, const ry_event *to, double *seconds,
                                  ry_error *error)
{
    const ry_cuda_state *device = from->device;
    float milliseconds = 0;
    if (!from->recorded || !to->recorded) {
        return ry_fail(error, RYND_ERROR_ARGUMENT, "an event was not recorded");
    }
    RY_TRY(ry_cuda_enter(device, error));
    const char *call = "cuEventSynchronize";
    int code = device->cu->EventSynchronize(from->event);
    code = code != RY_CUDA_OK ? code : device->cu->EventSynchronize(to->event);
    if (code == RY_CUDA_OK) {
        call = "cuEventElapsedTime";
        code = device->cu->EventElapsedTime(&milliseconds, from->event, to->event);
    }
    ry_cuda_leave(device);
    *seconds = (double)milliseconds * 1e-3;
    return code == RY_CUDA_OK ? RYND_OK : ry_cuda_fail_on(device, call, code, error);
}
