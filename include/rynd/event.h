/* SPDX-License-Identifier: Apache-2.0 */
/** @file event.h
 *  @brief Experimental (see <rynd/rynd.h>): asynchronous runs, and events that order and time them.
 */
#ifndef RYND_EVENT_H
#define RYND_EVENT_H

#include <rynd/session.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Opaque: a point in a device's work. rynd_session_run_async and rynd_stream_record record it;
 * before that it counts as reached. Any thread may wait for it; one thread at a time records or
 * destroys it. */
typedef struct rynd_event rynd_event;

/** Opaque: a queue of a device's work (<rynd/stream.h>). */
typedef struct rynd_stream rynd_stream;

/** Makes an event; the caller destroys it. Fails with OUT_OF_MEMORY, DEVICE. */
RYND_API rynd_status rynd_event_create(rynd_context *context, rynd_event **event);

/** Frees an event. */
RYND_API void rynd_event_destroy(rynd_event *event);

/** Waits until the event is reached. Fails with DEVICE. */
RYND_API rynd_status rynd_event_wait(const rynd_event *event);

/** Sets *done to 1 if the event is reached, else to 0, without waiting. Fails with DEVICE. */
RYND_API rynd_status rynd_event_get_done(const rynd_event *event, int *done);

/** Gives the seconds between two events by the device's clock, after waiting for both. On OpenCL
 * their sessions or streams must be profiled (rynd_session_profile, rynd_stream_profile), because
 * timing slows some drivers. Fails with DEVICE, and with ARGUMENT if an event has no time, or they
 * have two contexts. */
RYND_API rynd_status rynd_event_get_elapsed(const rynd_event *from, const rynd_event *to,
                                            double *seconds);

/** Options of rynd_session_run_async. */
typedef struct rynd_run_options {
    size_t size;
    const rynd_event *const *wait; /**< events to wait for before the run; may be NULL */
    size_t wait_count;
    rynd_event *record; /**< reached when the run and its copies to host memory are done; or NULL */
    /** The stream of the run and its copies, which must live until the session waited for the run, or
     * ended. NULL: the session's own. */
    rynd_stream *stream;
} rynd_run_options;

/** Starts a run and returns; rynd_session_wait or the event says when it is done. Until then the
 * caller must not touch bound memory. An earlier run of the session is waited for first. options
 * NULL: all defaults.
 *
 * Done before this returns: on the CPU everything; on other devices the steps up to the last that
 * falls back to the CPU; everything if rynd_plan_complete is 0. Fails as rynd_session_run does;
 * illegal tensor contents are reported by rynd_session_wait. */
RYND_API rynd_status rynd_session_run_async(rynd_session *session, const rynd_run_options *options);

/** Waits for the last run; then all outputs are written. Without a run it does nothing. Fails with
 * SHAPE (illegal tensor contents, as rynd_session_run), DEVICE. */
RYND_API rynd_status rynd_session_wait(rynd_session *session);

#ifdef __cplusplus
}
#endif
#endif
