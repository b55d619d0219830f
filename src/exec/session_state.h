/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the session share. */
#ifndef RY_EXEC_SESSION_STATE_H
#define RY_EXEC_SESSION_STATE_H

#include "device/trace.h"
#include "exec/fallback.h"
#include "exec/session_watch.h"
#include "exec/transfer.h"

/* Bytes that the caller bound. */
typedef struct ry_session_range {
    const void *space; /* what the bytes are counted in: NULL is the host's memory, else a buffer as
                        * the device names it */
    uintptr_t begin, end; /* equal: no bytes */
} ry_session_range;

typedef struct ry_session_input_slot {
    ry_pointer pointer;      /* where steps read: the caller's memory, or a copy */
    ry_buffer *own;          /* buffer of `place`; NULL: the caller's */
    ry_transfer *transfer;   /* fills the copy; NULL where the caller's memory is used as it is */
    ry_session_range memory; /* the caller's */
    bool bound;
} ry_session_input_slot;

typedef struct ry_session_output_slot {
    ry_pointer pointer;       /* where steps write, for outputs of RY_STORAGE_OUTPUT */
    ry_buffer *own;           /* the session's memory for it */
    ry_buffer *wrapped;       /* the caller's memory, written by the step itself */
    ry_transfer *transfer;    /* to the caller's memory, after the run */
    ry_pointer bound_pointer; /* the caller's memory on the device */
    ry_tensor bound;          /* the caller's host memory */
    ry_session_range memory;  /* the caller's */
    bool over_input;  /* `memory` is an input's, too: written when all inputs have been read */
    bool staged;      /* an input is this output: copied to `own` before outputs are written */
    void *mirror;     /* a host copy, where the device's memory is its own */
    ry_tensor tensor; /* what the last run gave */
} ry_session_output_slot;

/* What a run does of a plan of two parts. */
typedef enum ry_session_part { RY_BOTH_PARTS, RY_FIRST_PART, RY_SECOND_PART } ry_session_part;

typedef struct ry_recorded_steps {
    ry_recording *recording; /* all steps; NULL: none yet */
    ry_pointer
        *pointers; /* inputs, outputs, then memory that never moves; NULL: the steps are launched
                         one by one */
    int count;
    uintptr_t *addresses; /* addresses of inputs and outputs at the last run that could be one */
    bool warm;            /* there was such a run */
    bool refused;         /* the driver would not: not tried again */
} ry_recorded_steps;

typedef struct ry_session ry_session;

/* The part of the plan that could only be planned during a run. */
typedef struct ry_session_rest {
    const ry_plan *plan;
    ry_session *session;
    ry_tensor *inputs; /* as planned: data is a copy of content that decides shapes, else NULL */
    ry_arena arena;    /* holds `inputs` */
} ry_session_rest;

struct ry_session {
    const ry_plan *plan;
    ry_session_rest rest; /* session NULL: none was planned yet, or the plan has no rest */
    ry_arena arena;
    ry_stream *own_stream;
    ry_stream *stream; /* stream of the run: own_stream, or the caller's */
    ry_buffer *activations;
    ry_fallback fallback;
    ry_pointer *operands;  /* operands of the step that falls back */
    ry_buffer *faults;     /* one per step; NULL: kernels write to host memory */
    ry_fault *host_faults; /* copy after the last run */
    ry_session_input_slot *inputs;
    ry_session_output_slot *outputs;
    int64_t (*actual)[RY_MAX_RANK];
    ry_bound *bound; /* one per step */
    ry_recorded_steps recorded;
    const ry_session_watch *watch; /* NULL: nobody */
    bool running;                  /* started, and not finished */
    ry_session_part part;          /* the last run's */
    bool rebound;                  /* memory was bound since the last ry_session_settle */
    bool timing, timed;
    double *times;   /* seconds of each step in the last run */
    ry_event **mark; /* before each step, in the order they run, and behind the last; none while
                      * nothing was timed */
    size_t mark_count;
    bool tracing;
    ry_trace trace;
    size_t memory;
};

#endif
