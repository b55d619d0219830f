/* SPDX-License-Identifier: Apache-2.0 */
/* Queues of a device's work. */
#ifndef RY_API_API_STREAM_H
#define RY_API_API_STREAM_H

#include "device/device.h"

#include <rynd/rynd.h>

#include <stdatomic.h>

/* Operators hold the stream of their last run, also after the caller destroyed it. */
struct rynd_stream {
    rynd_context *context;
    ry_stream *stream;
    atomic_uint holders;
};

rynd_status ry_api_create_stream(rynd_context *context, rynd_stream **stream, ry_error *error);

/* Refuses a stream of another context. */
rynd_status ry_api_check_stream(const rynd_stream *stream, const rynd_context *context,
                                ry_error *error);

rynd_stream *ry_api_hold_stream(rynd_stream *stream);
void ry_api_leave_stream(
    rynd_stream *stream); /* the last holder frees the stream; NULL is allowed */

/* Waits for the work that is in the stream now, on any thread: another may put work into it. */
rynd_status ry_api_wait_stream(const rynd_stream *stream, ry_error *error);

/* Lets later work of `stream` begin behind the work that is in `other` now. */
rynd_status ry_api_follow_stream(rynd_stream *stream, const rynd_stream *other, ry_error *error);

#endif
