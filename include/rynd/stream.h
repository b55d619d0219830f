/* SPDX-License-Identifier: Apache-2.0 */
/** @file stream.h
 *  @brief Experimental (see <rynd/rynd.h>): streams, the queues of a device's work. */
#ifndef RYND_STREAM_H
#define RYND_STREAM_H

#include <rynd/event.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Makes a stream: a queue whose runs, copies and fills are done in the order they were put in. The
 * caller destroys it. Streams of one context run side by side, unless one waits for another.
 *  - OpenCL: a command queue; CUDA: a stream. Functions return when the work is queued.
 *  - CPU: the work is done, on the context's threads, when the function returns.
 * One thread at a time uses a stream. Fails with OUT_OF_MEMORY, DEVICE. */
RYND_API rynd_status rynd_stream_create(rynd_context *context, rynd_stream **stream);

/** Waits for a stream's work, and frees the stream. */
RYND_API void rynd_stream_destroy(rynd_stream *stream);

/** Lets later work of the stream begin when the event is reached. An event that was not recorded
 * is not waited for. Returns at once. Fails with DEVICE, and with ARGUMENT if the event is of
 * another context. */
RYND_API rynd_status rynd_stream_wait_event(rynd_stream *stream, const rynd_event *event);

/** Lets later work of the stream begin when everything is done that is in `other` now. Returns at
 * once. Fails with OUT_OF_MEMORY, DEVICE, and with ARGUMENT if `other` is of another context. */
RYND_API rynd_status rynd_stream_wait_stream(rynd_stream *stream, rynd_stream *other);

/** Records the event, which is reached when everything is done that is in the stream now. Fails
 * with DEVICE, and with ARGUMENT if the event is of another context. */
RYND_API rynd_status rynd_stream_record(rynd_stream *stream, rynd_event *event);

/** Waits until everything in the stream is done. Fails with DEVICE. */
RYND_API rynd_status rynd_stream_synchronize(rynd_stream *stream);

/** Gives later events of the stream a time (on: 1) or none (0), after waiting for its work. Only
 * OpenCL needs it, because timing slows some drivers; other devices always time. Fails with DEVICE.
 */
RYND_API rynd_status rynd_stream_profile(rynd_stream *stream, int on);

#ifdef __cplusplus
}
#endif
#endif
