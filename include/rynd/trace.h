/* SPDX-License-Identifier: Apache-2.0 */
/** @file trace.h
 *  @brief Experimental (see <rynd/rynd.h>): where the operands of steps live, and what each thread
 *         did during a run. */
#ifndef RYND_TRACE_H
#define RYND_TRACE_H

#include <rynd/session.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The memory of an operand. */
typedef enum rynd_storage {
    RYND_STORAGE_NONE = 0, /**< absent, or packed into the step's weights */
    RYND_STORAGE_INPUT,    /**< an input of the model */
    RYND_STORAGE_CONSTANT, /**< a constant of the plan */
    RYND_STORAGE_ARENA,    /**< the session's memory for values between steps */
    RYND_STORAGE_OUTPUT,   /**< an output of the model */
} rynd_storage;

/** A value that a step reads or writes. */
typedef struct rynd_operand_info {
    size_t size;
    const char *name;   /**< the value's, in the graph after rewrites */
    int output;         /**< 1: the step writes it */
    rynd_tensor tensor; /**< type, shape and strides of one micro-batch; data NULL */
    rynd_storage storage;
    size_t index;    /**< INPUT, OUTPUT: the model's */
    size_t offset;   /**< ARENA: bytes from the arena's start */
    size_t bytes;    /**< bytes that it spans, all micro-batches together */
    size_t producer; /**< latest earlier step that writes the value; RYND_NO_STEP: none */
} rynd_operand_info;

#define RYND_NO_STEP ((size_t)-1)

/** Number of operands of a step: its inputs, then its outputs. 0 if the step is out of range. */
RYND_API size_t rynd_plan_operand_count(const rynd_plan *plan, size_t step);

/** Describes an operand. */
RYND_API rynd_status rynd_plan_get_operand(const rynd_plan *plan, size_t step, size_t index,
                                           rynd_operand_info *info);

/** What one thread did of a step, from its first task to its last. A step with several phases or
 * micro-batches has spans for each. */
typedef struct rynd_span {
    size_t size;
    size_t step;
    unsigned thread;   /**< 0: the thread that runs the session */
    size_t tasks;      /**< tasks that the thread ran */
    double begin, end; /**< seconds since the run's first step began */
} rynd_span;

/** on: 1 starts and 0 ends recording spans, which costs two readings of the clock a task; step
 * times (rynd_session_profile) are recorded, too. A device other than a CPU has one span a step, by
 * its own clock, as thread 0. Fails with OUT_OF_MEMORY, DEVICE. */
RYND_API rynd_status rynd_session_trace(rynd_session *session, int on);

/** Number of spans of the last recorded run that was waited for. */
RYND_API size_t rynd_session_span_count(const rynd_session *session);

/** Describes a span; they are in the order in which steps ran. */
RYND_API rynd_status rynd_session_get_span(const rynd_session *session, size_t index,
                                           rynd_span *span);

#ifdef __cplusplus
}
#endif
#endif
