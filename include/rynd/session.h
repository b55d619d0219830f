/* SPDX-License-Identifier: Apache-2.0 */
/** @file session.h
 *  @brief The running state of a plan. */
#ifndef RYND_SESSION_H
#define RYND_SESSION_H

#include <rynd/buffer.h>
#include <rynd/event.h>
#include <rynd/plan.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Opaque. One thread at a time; sessions of one plan may run at once. */
typedef struct rynd_session rynd_session;

/** Makes a session: takes all the memory that running needs. The plan must outlive it and must have
 * its weights (ARGUMENT otherwise). Fails with OUT_OF_MEMORY. */
RYND_API rynd_status rynd_session_create(rynd_plan *plan, rynd_session **session);
/** Frees a session; NULL is allowed. */
RYND_API void rynd_session_destroy(rynd_session *session);

/** Names the memory of an input or output; a name that both have means the input. The memory stays
 * the caller's and must live until it is bound anew or the session is gone. dtype and dims must be
 * the plan's (SHAPE otherwise), strides may be any, 0 and negative ones too (an output's elements
 * may not share memory), and so may the alignment: what has not the plan's strides
 * (rynd_plan_get_input; those of dims of size 1 do not matter) or is not aligned to its elements is
 * copied in each run (rynd_session_copied). Every input must be bound before running; an output
 * that is not bound is kept by the session. An output may have memory of inputs, whose bytes it
 * then replaces at the end of the run; the session takes memory for a copy in the first such run.
 * Outputs may not share memory. Bytes between the elements are never written. A binding that fails
 * leaves the earlier one. Fails with ARGUMENT (data NULL, too), SHAPE, NOT_FOUND (the name),
 * UNSUPPORTED (an output whose shape depends on data; an input that would be copied, where the
 * plan's strides let elements share memory), OUT_OF_MEMORY. */
RYND_API rynd_status rynd_session_bind(rynd_session *session, const char *name,
                                       const rynd_tensor *tensor);
/** The same by index in the model: every input and output, whatever their names. Fails with
 * ARGUMENT for an index outside the model, and as rynd_session_bind. */
RYND_API rynd_status rynd_session_bind_input(rynd_session *session, size_t index,
                                             const rynd_tensor *tensor);
RYND_API rynd_status rynd_session_bind_output(rynd_session *session, size_t index,
                                              const rynd_tensor *tensor);

/** Names memory on the device for an input or output, which is read and written there: with the
 * strides of the plan's tensor, whose first element is at `offset` (a multiple of its size).
 * Buffer and offset stay bound, and an output may have memory of inputs, as rynd_session_bind says.
 * What rynd_session_get_output gives of such an output has data NULL. Fails with ARGUMENT (too
 * small, another context's), NOT_FOUND (the name), UNSUPPORTED (an output whose shape depends on
 * data). */
RYND_API rynd_status rynd_session_bind_buffer(rynd_session *session, const char *name,
                                              rynd_buffer *buffer, size_t offset);
/** The same by index in the model. */
RYND_API rynd_status rynd_session_bind_input_buffer(rynd_session *session, size_t index,
                                                    rynd_buffer *buffer, size_t offset);
RYND_API rynd_status rynd_session_bind_output_buffer(rynd_session *session, size_t index,
                                                     rynd_buffer *buffer, size_t offset);

/** Runs the plan: no allocation and no decision (unless rynd_plan_complete is 0, or an output was
 * bound to memory of an input). Returns when the
 * outputs are written. Fails with ARGUMENT where an input is not bound; SHAPE where the content of
 * a tensor is illegal (an index outside its axis): the message names the node, the number and its
 * bounds; the outputs are then of no use, and the session may run again with other data; and where
 * rynd_plan_complete is 0 as rynd_plan_create and rynd_session_create do. */
RYND_API rynd_status rynd_session_run(rynd_session *session);

/** Options of one run. Set `size` to sizeof(rynd_run_options) and everything else that is not
 * wanted to 0. Borrowed during the call only. */
typedef struct rynd_run_options {
    size_t size;
    const rynd_event *const *wait; /**< the run begins when these have come; NULL: none */
    size_t wait_count;
    rynd_event *record; /**< comes when the run is done, copies to the caller's memory included */
} rynd_run_options;

/** Puts a run into the session's queue and returns; rynd_session_wait, or the event, tells when it
 * is done. Until then the caller leaves all memory that is bound as it is, host memory too. A run
 * of the same session that was started before is waited for first. What is done before this
 * returns: everything on the CPU; on other devices steps that fall back to the CPU and what is
 * before them; everything where rynd_plan_complete is 0. options NULL: all defaults. Fails as
 * rynd_session_run, but for the content of tensors, which rynd_session_wait tells. */
RYND_API rynd_status rynd_session_run_async(rynd_session *session, const rynd_run_options *options);

/** Returns when the last run is done: then outputs are there, those of strided host memory, too.
 * Without a run it does nothing. Fails with SHAPE (the content of a tensor, as rynd_session_run),
 * DEVICE. */
RYND_API rynd_status rynd_session_wait(rynd_session *session);

/** An output after a run, by its index in the model: exact shape; the data is the bound memory, or
 * the session's, valid until its next run. Fails with ARGUMENT when index is out of range, or the
 * shape is not known before a run. */
RYND_API rynd_status rynd_session_get_output(const rynd_session *session, size_t index,
                                             rynd_tensor *tensor);

/** Bytes that the session holds; 0 for NULL. */
RYND_API size_t rynd_session_memory(const rynd_session *session);
/** Bytes of bound inputs and outputs that each run copies on the host, because their strides or
 * alignment do not fit; 0 where all are used as they are, and for NULL. What goes to a device's own
 * memory without a copy on the host beside is not counted, nor are conversions that are steps of
 * the plan. */
RYND_API size_t rynd_session_copied(const rynd_session *session);

/** on != 0: the next runs record the seconds of each step by the device's clock;
 * rynd_session_step_time gives those of the last run that was waited for (0 for steps that did not
 * run, or that the plan does not have, and for NULL). Fails with ARGUMENT, OUT_OF_MEMORY, DEVICE.
 */
RYND_API rynd_status rynd_session_profile(rynd_session *session, int on);
RYND_API double rynd_session_step_time(const rynd_session *session, size_t step);

#ifdef __cplusplus
}
#endif
#endif
