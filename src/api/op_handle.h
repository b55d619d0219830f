/* SPDX-License-Identifier: Apache-2.0 */
/* The handle of one problem on the caller's memory: a kernel, or the plan of the problem's graph. */
#ifndef RY_API_OP_HANDLE_H
#define RY_API_OP_HANDLE_H

#include "api/api_explain.h"
#include "api/handles.h"
#include "exec/session.h"
#include "kernels/prepared.h"

struct rynd_op {
    rynd_context *context;
    ry_arena arena;
    const ry_adviser *adviser; /* asked for the kernels of one or several steps; NULL: nobody is */
    ry_problem problem;
    ry_tensor *in, *out;
    /* one kernel */
    ry_prepared prepared;
    double seconds[RY_MAX_PHASES + 1]; /* predicted, of each phase of the launch on one worker */
    ry_bound bound;
    int64_t (*actual)[RY_MAX_RANK];
    ry_buffer *packed, *work; /* work: workspace, then scratch */
    ry_buffer *fault;         /* fault record; NULL: kernels write to host memory */
    /* or several steps (api_op_plan.h) */
    rynd_plan *plan;     /* NULL: one kernel */
    ry_session *session; /* NULL: one kernel, or the operator cannot run */

    ry_place *operands; /* the caller's memory: inputs, then outputs; no buffer: absent, or planned
                           as a constant */
    ry_stream *stream;
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

/* Bytes of the kernel's workspace and scratch. SIZE_MAX, which no allocator has: they are beyond the
 * address space. */
size_t ry_op_work_size(const rynd_op *op);

#endif
