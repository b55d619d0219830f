/* SPDX-License-Identifier: Apache-2.0 */
/* The handle of one problem on the caller's memory: a kernel, or the plan of the problem's graph. */
#ifndef RY_API_OP_HANDLE_H
#define RY_API_OP_HANDLE_H

#include "api/api_explain.h"
#include "api/api_stream.h"
#include "api/handles.h"
#include "exec/session.h"
#include "kernels/prepared.h"

struct rynd_op {
    rynd_context *context;
    ry_op_key *key; /* key in the context's cache; NULL: rynd_op_destroy frees the operator */
    ry_arena arena;
    const ry_adviser *adviser; /* asked for the kernels of one or several steps; NULL: nobody is */
    ry_problem problem;
    ry_tensor *in, *out;
    /* one kernel */
    ry_prepared prepared;
    double seconds[RY_MAX_PHASES + 1]; /* predicted, of each phase of the launch on one worker */
    ry_bound bound;
    int64_t (*actual)[RY_MAX_RANK];
    ry_buffer *packed;
    ry_buffer *fault;   /* fault record; NULL: kernels write to host memory */
    bool fault_cleared; /* since then kernels may have written to it */
    /* or several steps (api_op_plan.h) */
    rynd_plan *plan;     /* NULL: one kernel */
    ry_session *session; /* NULL: one kernel, or the operator cannot run */

    /* what runs need (api_op_run.c); NULL: no run has needed it yet */
    ry_pointer *operands; /* memory of inputs, then outputs; no buffer: absent, or planned as a
                           constant */
    ry_buffer **wrapped;  /* host memory of operands that are not in the caller's buffers */
    uint64_t *values;     /* the CPU's memory of inputs that are given by value */
    ry_buffer *work;      /* own workspace: the kernel's, its scratch, then values of inputs */
    rynd_stream *stream;  /* own stream */
    rynd_stream *last;    /* stream of the last asynchronous run, which the operator holds */
    bool ran;
    bool constants_ready; /* `wrapped` has the content of constants */
    unsigned constants;
    bool no_values; /* without some constants or a device: for inspection only, cannot run */
    const void **constant_data; /* the caller's, for constant inputs */
    rynd_step_info info;
    char reason[RY_REASON_LENGTH];
};

/* rynd_op_create with an adviser, which must outlive the operator. `inspect`: the operator is looked
 * at and never run, so that it takes no memory for a run. Sets *op on success only. */
rynd_status ry_op_create(rynd_context *context, const char *problem, const rynd_op_options *options,
                         const ry_adviser *adviser, bool inspect, rynd_op **op, ry_error *error);

/* Frees an operator without a key; NULL is allowed. */
void ry_op_free(rynd_op *op);

/* Takes room for operands. */
rynd_status ry_op_prepare_runs(rynd_op *op, ry_error *error);

/* Waits for runs, and gives back all that runs took. */
void ry_op_end_runs(rynd_op *op);

/* Forgets results of earlier runs, for another user. */
void ry_op_forget_runs(rynd_op *op);

/* Bytes that the operator holds. */
size_t ry_op_held_bytes(const rynd_op *op);

/* The operator's own stream, which the first call makes. */
rynd_status ry_op_own_stream(rynd_op *op, ry_stream **stream, ry_error *error);

/* Bytes of the kernel's workspace and scratch. SIZE_MAX, which no allocator has: they are beyond the
 * address space. */
size_t ry_op_work_size(const rynd_op *op);

#endif
