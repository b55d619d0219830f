/* SPDX-License-Identifier: Apache-2.0 */
/* The session: the running state of a plan. One thread at a time. ry_session_run allocates nothing
 * and decides nothing, except where the plan has a rest: the rest is planned
 * when its inputs are known, and kept while the shapes and the small values (those that may decide
 * a shape) stay the same. The rest may have a rest of its own. */
#ifndef RY_EXEC_SESSION_H
#define RY_EXEC_SESSION_H

#include "exec/session_watch.h"
#include "plan/plan.h"

typedef struct ry_session ry_session;

/* The plan is borrowed and must outlive the session. unneeded (may be NULL) is told of the initial
 * content of states, which the session has copied. */
rynd_status ry_session_create(const ry_plan *plan, const ry_unneeded *unneeded,
                              ry_session **session, ry_error *error);
void ry_session_destroy(ry_session *session); /* NULL is allowed */
/* Input memory is borrowed until it is bound anew; its shape and dtype must be the plan's, its
 * strides may be any, except where the plan's let elements share memory. */
rynd_status ry_session_bind_input(ry_session *session, size_t index, const ry_tensor *tensor,
                                  ry_error *error);
/* Where an output shall be written (any strides); without it the session keeps it. The memory of
 * inputs is allowed after ry_session_settle. */
rynd_status ry_session_bind_output(ry_session *session, size_t index, const ry_tensor *tensor,
                                   ry_error *error);
/* The same, of memory on the device that is the caller's, with the strides of the plan's tensor,
 * whose first element is at `place`. */
rynd_status ry_session_bind_input_pointer(ry_session *session, size_t index, ry_pointer pointer,
                                          ry_error *error);
rynd_status ry_session_bind_output_pointer(ry_session *session, size_t index, ry_pointer pointer,
                                           ry_error *error);
/* What is kept from run to run, by its place in the plan's list. They wait for a run that was
 * started. `data`: of the state's size, row-major. */
rynd_status ry_session_read_state(ry_session *session, size_t state, void *data, ry_error *error);
rynd_status ry_session_write_state(ry_session *session, size_t state, const void *data,
                                   ry_error *error);
/* Where it is on the device, as long as the session. */
ry_pointer ry_session_state_pointer(const ry_session *session, size_t state);
/* Runs the plan and its rest. */
rynd_status ry_session_run(ry_session *session, ry_error *error);
/* The first part of a plan of two parts (ry_plan_parts), and the second after it. The first reads
 * and needs its inputs only. Until the second has run, memory of inputs that it reads must stay as
 * it is; outputs of the first are free. Fail with ARGUMENT: the plan has one part, or the second
 * does not follow the first. */
rynd_status ry_session_run_first(ry_session *session, ry_error *error);
rynd_status ry_session_run_second(ry_session *session, ry_error *error);
/* Puts a run into the session's stream, after waiting for an earlier one. Waits for steps that fall
 * back; if the plan has a rest, the run is done on return. The caller's memory is the session's
 * until ry_session_finish, which reports illegal content of tensors, too. Finishing without a run
 * does nothing. */
rynd_status ry_session_start(ry_session *session, ry_error *error);
rynd_status ry_session_finish(ry_session *session, ry_error *error);
/* The two parts of ry_session_start. Settling lets outputs share memory with inputs: the session
 * writes such an output through its own memory, after all inputs were read. Does nothing without
 * new bindings. Launching runs the plan without its rest. Launch alone if a step shall write memory
 * that another step reads (api/trainer_sharing.h). */
rynd_status ry_session_settle(ry_session *session, ry_error *error);
rynd_status ry_session_launch(ry_session *session, ry_error *error);
/* Frees the plan and the session of the rest. */
void ry_session_drop_rest(ry_session *session);
/* NULL: nobody watches. The struct stays the caller's, and must outlive the session's runs. */
void ry_session_set_watch(ry_session *session, const ry_session_watch *watch);
ry_stream *ry_session_stream(ry_session *session);
/* Waits for an earlier run, and puts the next one into the caller's stream. The session uses its own
 * again when that run is finished, or failed to start. */
rynd_status ry_session_use_stream(ry_session *session, ry_stream *stream, ry_error *error);
/* Valid until the next run; the data is the session's, or the bound memory. Fails with ARGUMENT if
 * the rest computes the output and nothing has run yet. */
rynd_status ry_session_output(const ry_session *session, size_t index, ry_tensor *tensor,
                              ry_error *error);
/* Where steps write it on the device, of a plan's output that is not `later`. */
ry_pointer ry_session_output_pointer(const ry_session *session, size_t index);
size_t ry_session_memory(const ry_session *session); /* bytes of arena and staging */
/* Bytes of inputs and outputs that each run copies on the host. */
size_t ry_session_copied(const ry_session *session);
/* Seconds of each step of the last run that was finished, by the device's clock, when timing is
 * on: turning it on takes memory. */
rynd_status ry_session_set_timing(ry_session *session, bool on, ry_error *error);
const double *ry_session_times(const ry_session *session);
/* Spans of each step of the last run that was finished, when tracing and timing are on: turning it
 * on takes memory. */
rynd_status ry_session_set_trace(ry_session *session, bool on, ry_error *error);
const ry_trace *ry_session_trace(const ry_session *session);

#endif
