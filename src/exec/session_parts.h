/* SPDX-License-Identifier: Apache-2.0 */
/* What a session is made of: shared by session.c and rest.c. */
#ifndef RY_EXEC_SESSION_PARTS_H
#define RY_EXEC_SESSION_PARTS_H

#include "exec/rest.h"
#include "exec/session.h"
#include "exec/transfer.h"

typedef struct ry_session_input_slot {
    ry_buffer *buffer;     /* the caller's memory, or a row-major copy */
    ry_transfer *transfer; /* fills the copy; NULL when the caller's memory is used as it is */
    bool bound;
} ry_session_input_slot;

typedef struct ry_session_output_slot {
    ry_place place;        /* where steps write, for outputs of RY_HOME_OUTPUT */
    ry_buffer *own;        /* the session's memory for it */
    ry_buffer *wrapped;    /* the caller's memory, written by the step itself */
    ry_transfer *transfer; /* to the caller's memory, after the run */
    ry_tensor bound;
    void *mirror;     /* a host copy, where the device's memory is its own */
    ry_tensor tensor; /* what the last run gave */
} ry_session_output_slot;

struct ry_session {
    const ry_plan *plan;
    ry_accuracy accuracy;
    ry_arena arena;
    ry_stream *stream;
    ry_buffer *activations;
    ry_session_input_slot *inputs;
    ry_session_output_slot *outputs;
    int64_t (*actual)[RY_MAX_RANK];
    ry_bound *bound; /* of each step */
    double *times;
    bool timing;
    size_t memory;
    ry_rest rest;
};

#endif
