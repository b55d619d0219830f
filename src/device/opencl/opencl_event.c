/* SPDX-License-Identifier: Apache-2.0 */
/* Events: markers in a queue. */
#include "device/opencl/opencl_state.h"

struct ry_event {
    ry_opencl_state *device;
    cl_event event; /* NULL: not recorded */
    bool timed;     /* by a queue that has the time */
};

rynd_status ry_opencl_event_create(ry_device *device, ry_event **event, ry_error *error)
{
    *event = ry_allocate_array(device->allocator, 1, sizeof **event);
    if (!*event) {
        return ry_fail_memory(error);
    }
    (*event)->device = ry_opencl_state_of(device);
    return RYND_OK;
}

static void forget(ry_event *event)
{
    if (event->event) {
        event->device->cl->ReleaseEvent(event->event);
        event->event = NULL;
    }
}

void ry_opencl_event_destroy(ry_device *device, ry_event *event)
{
    if (event) {
        forget(event);
        ry_release(device->allocator, event);
    }
}

/* Flushed, so that another queue that waits for it does not wait for ever. */
rynd_status ry_opencl_event_record(ry_stream *stream, ry_event *event, ry_error *error)
{
    const ry_opencl *cl = stream->device->cl;
    forget(event);
    event->timed = stream->timed;
    cl_int code = cl->EnqueueMarkerWithWaitList(stream->queue, 0, NULL, &event->event);
    code = code == CL_SUCCESS ? cl->Flush(stream->queue) : code;
    return code == CL_SUCCESS ? RYND_OK : ry_opencl_fail(error, code, "recording an event");
}

rynd_status ry_opencl_event_await(ry_stream *stream, const ry_event *event, ry_error *error)
{
    if (event->device->context != stream->device->context) {
        return ry_fail(error, RYND_ERROR_ARGUMENT,
                       "an event is of another context than the stream");
    }
    if (!event->event) {
        return RYND_OK;
    }
    const cl_int code =
        stream->device->cl->EnqueueBarrierWithWaitList(stream->queue, 1, &event->event, NULL);
    return code == CL_SUCCESS ? RYND_OK : ry_opencl_fail(error, code, "waiting for an event");
}

rynd_status ry_opencl_event_synchronize(const ry_event *event, ry_error *error)
{
    const cl_int code =
        event->event ? event->device->cl->WaitForEvents(1, &event->event) : CL_SUCCESS;
    return code == CL_SUCCESS ? RYND_OK : ry_opencl_fail(error, code, "waiting for an event");
}

rynd_status ry_opencl_event_done(const ry_event *event, bool *done, ry_error *error)
{
    cl_int execution = CL_COMPLETE;
    const cl_int code =
        event->event
            ? event->device->cl->GetEventInfo(event->event, CL_EVENT_COMMAND_EXECUTION_STATUS,
                                              sizeof execution, &execution, NULL)
            : CL_SUCCESS;
    if (code != CL_SUCCESS || execution < 0) {
        return ry_opencl_fail(error, code != CL_SUCCESS ? code : execution, "asking for an event");
    }
    *done = execution == CL_COMPLETE;
    return RYND_OK;
}

/* When the device came there, in nanoseconds. Waits for it. */
static rynd_status time_of(const ry_event *event, cl_ulong *time, ry_error *error)
{
    if (!event->event) {
        return ry_fail(error, RYND_ERROR_ARGUMENT, "an event was not recorded");
    }
    if (!event->timed) {
        return ry_fail(error, RYND_ERROR_ARGUMENT,
                       "an event was recorded without the device's time: call rynd_session_profile "
                       "before the session runs");
    }
    RY_TRY(ry_opencl_event_synchronize(event, error));
    const cl_int code = event->device->cl->GetEventProfilingInfo(
        event->event, CL_PROFILING_COMMAND_END, sizeof *time, time, NULL);
    return code == CL_SUCCESS ? RYND_OK : ry_opencl_fail(error, code, "the time of an event");
}

rynd_status ry_opencl_event_elapsed(const ry_event *from, const ry_event *to, double *seconds,
                                    ry_error *error)
{
    cl_ulong begin = 0, end = 0;
    RY_TRY(time_of(from, &begin, error));
    RY_TRY(time_of(to, &end, error));
    *seconds = ((double)end - (double)begin) * 1e-9;
    return RYND_OK;
}
