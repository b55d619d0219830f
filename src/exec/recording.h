/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a plan as a recording of the device, which a session replays run after run: the
 * device is told once, and not launch by launch. */
#ifndef RY_EXEC_RECORDING_H
#define RY_EXEC_RECORDING_H

#include "exec/session_state.h"

/* Room for it, where the device records and nothing of the plan runs beside it. */
rynd_status ry_recorded_prepare(ry_session *session, ry_error *error);
void ry_recorded_free(ry_session *session);

/* Puts the steps into the stream: by `run_steps`, or by the recording that was made of it. The
 * first run with memory at other addresses is a plain one, in which drivers load what they need;
 * the second one is recorded; the third, and the second from then on, are replays. */
rynd_status ry_recorded_run(ry_session *session, rynd_status (*run_steps)(ry_session *, ry_error *),
                            ry_error *error);

#endif
