/* SPDX-License-Identifier: Apache-2.0 */
/** @file session.h
 *  @brief Sessions: bind memory, run a plan, read outputs.
 *
 * Device memory: <rynd/buffer.h>. Asynchronous runs: <rynd/event.h>. */
#ifndef RYND_SESSION_H
#define RYND_SESSION_H

#include <rynd/plan.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Opaque. One thread at a time; sessions of one plan may run at once. */
typedef struct rynd_session rynd_session;

/** Makes a session, with all the memory that runs need; the caller destroys it. The plan must have
 * packed weights (otherwise ARGUMENT) and outlive the session. Fails with OUT_OF_MEMORY. */
RYND_API rynd_status rynd_session_create(const rynd_plan *plan, rynd_session **session);

/** Frees a session. */
RYND_API void rynd_session_destroy(rynd_session *session);

/** Binds the caller's memory to the input or output of that name; a name that both have means the
 * input. The memory must live until the next binding or the session's end. Every input must be
 * bound before a run; the session keeps outputs without binding itself. A failed binding leaves the
 * earlier one.
 *
 * Dtype and dims must be the plan's. Strides and alignment may be any, 0 and negative strides
 * included, but an output's elements may not share memory. The run copies a tensor whose strides
 * differ from rynd_plan_get_input's (strides of dims of size 1 do not matter), or that is not
 * aligned to its elements (rynd_session_copied).
 *
 * An output may share memory with inputs: the end of the run then overwrites them. The first such
 * run allocates a copy. Outputs may not share memory with each other. Bytes between elements are
 * never written.
 *
 * Fails with SHAPE, NOT_FOUND, UNSUPPORTED (an output whose shape depends on data; an input that
 * needs a copy, if the plan's strides let elements share memory), OUT_OF_MEMORY, and with ARGUMENT
 * if data is NULL. */
RYND_API rynd_status rynd_session_bind(rynd_session *session, const char *name,
                                       const rynd_tensor *tensor);

/** The same by index in the model. */
RYND_API rynd_status rynd_session_bind_input(rynd_session *session, size_t index,
                                             const rynd_tensor *tensor);
RYND_API rynd_status rynd_session_bind_output(rynd_session *session, size_t index,
                                              const rynd_tensor *tensor);

/** Runs the plan and returns when the outputs are written. Allocates and decides nothing, unless
 * rynd_plan_complete is 0, or an output was just bound to an input's memory.
 *
 * Fails with ARGUMENT if an input is not bound, and with SHAPE if a tensor's content is illegal,
 * such as an index outside its axis: the message names node, number and bounds. The outputs are
 * then undefined, and the session can run again with other data. If rynd_plan_complete is 0, also
 * fails as rynd_plan_create and rynd_session_create do. */
RYND_API rynd_status rynd_session_run(rynd_session *session);

/** Gives an output after a run, by index in the model, with its exact shape. The data is the bound
 * memory, or the session's, valid until its next run; NULL for an output in a bound device buffer.
 * Fails with ARGUMENT if the shape is unknown before the first run. */
RYND_API rynd_status rynd_session_get_output(const rynd_session *session, size_t index,
                                             rynd_tensor *tensor);

/** The same by name. Fails with NOT_FOUND. */
RYND_API rynd_status rynd_session_get_output_named(const rynd_session *session, const char *name,
                                                   rynd_tensor *tensor);

/** Bytes that the session holds. */
RYND_API size_t rynd_session_memory(const rynd_session *session);

/** Bytes of bound inputs and outputs that each run copies on the host, because their strides or
 * alignment do not fit; 0 if all are used in place. Transfers to a device's memory do not count,
 * nor conversions that are steps of the plan. */
RYND_API size_t rynd_session_copied(const rynd_session *session);

/** on: 1 starts and 0 ends recording the seconds of each step, by the device's clock. Fails with
 * OUT_OF_MEMORY, DEVICE. */
RYND_API rynd_status rynd_session_profile(rynd_session *session, int on);

/** Seconds of a step in the last recorded run that was waited for; 0 if it did not run, or is out
 * of range. */
RYND_API double rynd_session_step_time(const rynd_session *session, size_t step);

#ifdef __cplusplus
}
#endif
#endif
