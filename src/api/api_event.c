/* SPDX-License-Identifier: Apache-2.0 */
/* Events of a context's device. */
#include "api/api_event.h"

#include "api/api_check.h"
#include "api/api_status.h"
#include "api/handles.h"

rynd_status rynd_event_create(rynd_context *context, rynd_event **event)
{
    RY_API_REQUIRE(context, event);
    ry_error error = {""};
    *event = NULL;
    rynd_event *e = ry_allocate_array(&context->allocator, 1, sizeof *e);
    if (!e) {
        return ry_api_end(ry_fail_memory(&error), &error);
    }
    const rynd_status status =
        context->device->table->event_create(context->device, &e->event, &error);
    if (status != RYND_OK) {
        ry_release(&context->allocator, e);
        return ry_api_end(status, &error);
    }
    e->context = context;
    *event = e;
    return RYND_OK;
}

void rynd_event_destroy(rynd_event *event)
{
    if (event) {
        ry_device *device = event->context->device;
        device->table->event_destroy(device, event->event);
        ry_release(&event->context->allocator, event);
    }
}

rynd_status rynd_event_wait(const rynd_event *event)
{
    RY_API_REQUIRE(event);
    ry_error error = {""};
    return ry_api_end(event->context->device->table->event_synchronize(event->event, &error),
                      &error);
}

rynd_status rynd_event_get_done(const rynd_event *event, int *done)
{
    RY_API_REQUIRE(event, done);
    ry_error error = {""};
    bool come = false;
    const rynd_status status =
        event->context->device->table->event_done(event->event, &come, &error);
    *done = come;
    return ry_api_end(status, &error);
}

static rynd_status elapsed(const rynd_event *from, const rynd_event *to, double *seconds,
                           ry_error *error)
{
    return from->context != to->context
               ? ry_fail(error, RYND_ERROR_ARGUMENT, "the events are of two contexts")
               : from->context->device->table->event_elapsed(from->event, to->event, seconds,
                                                             error);
}

rynd_status rynd_event_get_elapsed(const rynd_event *from, const rynd_event *to, double *seconds)
{
    RY_API_REQUIRE(from, to, seconds);
    ry_error error = {""};
    return ry_api_end(elapsed(from, to, seconds, &error), &error);
}
