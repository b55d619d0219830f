/* SPDX-License-Identifier: Apache-2.0 */
/** @file event.h
 *  @brief Points in the work of a device: to wait for, to order runs by, to measure with. */
#ifndef RYND_EVENT_H
#define RYND_EVENT_H

#include <rynd/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Opaque. Recorded by rynd_session_run_async; one that was never recorded counts as come. Any
 * thread may wait for it; it is recorded and destroyed by one at a time. */
typedef struct rynd_event rynd_event;

/** Fails with ARGUMENT, OUT_OF_MEMORY, DEVICE. */
RYND_API rynd_status rynd_event_create(rynd_context *context, rynd_event **event);
/** Frees an event; NULL is allowed. */
RYND_API void rynd_event_destroy(rynd_event *event);
/** Returns when the event has come. Fails with ARGUMENT, DEVICE. */
RYND_API rynd_status rynd_event_wait(const rynd_event *event);
/** *done becomes 1 when it has come, else 0; does not wait. Fails with ARGUMENT, DEVICE. */
RYND_API rynd_status rynd_event_get_done(const rynd_event *event, int *done);
/** Seconds between two events by the device's clock; waits for both. On OpenCL the sessions that
 * record them must be profiled (rynd_session_profile): time slows some drivers down. Fails with
 * ARGUMENT (one was not recorded, or without the time, or they are of two contexts), DEVICE. */
RYND_API rynd_status rynd_event_get_elapsed(const rynd_event *from, const rynd_event *to,
                                            double *seconds);

#ifdef __cplusplus
}
#endif
#endif
