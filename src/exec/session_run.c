/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a plan step by step: everything is put into the session's stream, then waited for. */
#include "exec/recording.h"
#include "exec/session.h"
#include "exec/session_finish.h"
#include "exec/session_memory.h"
#include "exec/session_states.h"
#include "exec/session_trace.h"

#include <string.h>

ry_pointer ry_session_output_pointer(const ry_session *session, size_t index)
{
    return ry_session_pointer(session, session->plan->outputs[index].location, 0);
}

/* Inputs and outputs may have been bound anew since the last run. */
static void resolve_step(ry_session *session, size_t index, int64_t micro_batch)
{
    const ry_plan *plan = session->plan;
    const ry_step *step = &plan->steps[index];
    ry_pointer *pointer =
        ry_plan_falls_back(plan, step) ? session->operands : session->bound[index].arguments;
    for (int i = 0; i < step->problem.inputs; i++) {
        *pointer++ = ry_session_pointer(session, step->in[i], micro_batch);
    }
    for (int i = 0; i < step->problem.outputs; i++) {
        *pointer++ = ry_session_pointer(session, step->out[i], micro_batch);
    }
}

/* Does the run that begins read the input? The second part keeps copies that the first has made. */
static bool reads_input(const ry_session *session, size_t index)
{
    const ry_plan_parts *parts = &session->plan->parts;
    return session->part == RY_BOTH_PARTS ||
           (session->part == RY_FIRST_PART
                ? parts->reads_input[0][index]
                : parts->reads_input[1][index] && !parts->reads_input[0][index]);
}

static rynd_status read_inputs(ry_session *session, ry_error *error)
{
    const ry_plan *plan = session->plan;
    for (size_t i = 0; i < plan->input_count; i++) {
        ry_session_input_slot *slot = &session->inputs[i];
        if (!reads_input(session, i)) {
            continue;
        }
        if (!slot->bound && ry_tensor_count(&plan->inputs[i]) > 0 &&
            !plan->graph->values[plan->graph->inputs[i]].constant) {
            return ry_fail(error, RYND_ERROR_ARGUMENT,
                           "input '%s' is not bound: give it memory with rynd_session_bind",
                           plan->input_names[i]);
        }
        if (slot->transfer) {
            RY_TRY(ry_transfer_start(slot->transfer, session->stream, slot->pointer, error));
        }
    }
    return RYND_OK;
}

static void note_actual(ry_session *session, size_t index)
{
    const ry_plan_output *planned = &session->plan->outputs[index];
    if (planned->bounded) {
        ry_shape shape = ry_shape_of(planned->tensor.rank, session->actual[planned->actual]);
        session->outputs[index].tensor =
            ry_tensor_row_major((ry_dtype)planned->tensor.dtype, &shape, NULL);
    }
}

/* A host copy, of a device whose memory cannot be shown. */
static rynd_status write_mirror(ry_session *session, size_t index, ry_pointer pointer,
                                ry_error *error)
{
    ry_session_output_slot *slot = &session->outputs[index];
    ry_device *device = session->plan->device;
    const size_t room = ry_tensor_bytes(&session->plan->outputs[index].tensor);
    if (!slot->mirror) {
        RY_TRY(device->table->host_take(device, room, &slot->mirror, error));
    }
    slot->tensor.data = slot->mirror;
    return device->table->download(session->stream, slot->mirror, pointer,
                                   ry_tensor_bytes(&slot->tensor), error);
}

/* To the caller's memory, when it is not where the step wrote already. */
static rynd_status write_output(ry_session *session, size_t index, ry_error *error)
{
    ry_session_output_slot *slot = &session->outputs[index];
    const ry_device_table *table = session->plan->device->table;
    ry_pointer pointer =
        slot->staged ? (ry_pointer){slot->own, 0}
                     : ry_session_pointer(session, session->plan->outputs[index].location, 0);
    note_actual(session, index);
    if (slot->bound_pointer.buffer) {
        const bool written = slot->pointer.buffer == slot->bound_pointer.buffer;
        slot->tensor.data = NULL;
        return written ? RYND_OK
                       : table->copy(session->stream, slot->bound_pointer, pointer,
                                     ry_tensor_bytes(&slot->tensor), error);
    }
    if (slot->transfer) {
        slot->tensor.data = slot->bound.data;
        return ry_transfer_start(slot->transfer, session->stream, pointer, error);
    }
    if (slot->wrapped) {
        slot->tensor.data = slot->bound.data;
        return RYND_OK;
    }
    if (!session->plan->device->host_memory) {
        return write_mirror(session, index, pointer, error);
    }
    slot->tensor.data =
        pointer.buffer ? (char *)table->buffer_address(pointer.buffer) + pointer.offset : NULL;
    return RYND_OK;
}

/* *mark counts steps that ran. */
static rynd_status run_step(ry_session *session, size_t index, int64_t micro_batch, size_t *mark,
                            ry_error *error)
{
    ry_device *device = session->plan->device;
    const ry_step *step = &session->plan->steps[index];
    ry_bound *bound = &session->bound[index];
    resolve_step(session, index, micro_batch);
    session->trace.step = index;
    if (session->timed) {
        RY_TRY(device->table->event_record(session->stream, session->mark[(*mark)++], error));
    }
    RY_TRY(ry_plan_falls_back(session->plan, step)
               ? ry_fallback_run(&session->fallback, session->stream, step, bound,
                                 session->operands, error)
               : ry_bound_launch(bound, device, session->stream, error));
    return ry_session_check_fault(session, index, &bound->fault, error);
}

/* The same, and whoever watches is told. */
static rynd_status run_watched(ry_session *session, size_t index, int64_t micro_batch, bool last,
                               size_t *mark, ry_error *error)
{
    const ry_session_watch *watch = session->watch;
    if (watch && micro_batch == 0) {
        RY_TRY(watch->before(watch->user, index, error));
    }
    RY_TRY(run_step(session, index, micro_batch, mark, error));
    if (watch && last) {
        watch->after(watch->user, index);
    }
    return RYND_OK;
}

static bool runs_output(const ry_session *session, size_t index)
{
    const bool first = index < session->plan->parts.outputs;
    return session->part == RY_BOTH_PARTS || first == (session->part == RY_FIRST_PART);
}

static rynd_status run_steps(ry_session *session, ry_error *error)
{
    const ry_plan *plan = session->plan;
    size_t mark = 0;
    for (size_t i = 0; i < plan->batch_split_count; i++) {
        const ry_batch_split *split = &plan->batch_splits[i];
        if (!ry_session_runs_step(session, split->first)) {
            continue;
        }
        for (int64_t micro_batch = 0; micro_batch < split->micro_batches; micro_batch++) {
            const bool last = micro_batch + 1 == split->micro_batches;
            for (size_t s = split->first; s < split->end; s++) {
                RY_TRY(run_watched(session, s, micro_batch, last, &mark, error));
            }
        }
    }
    return session->timed
               ? plan->device->table->event_record(session->stream, session->mark[mark], error)
               : RYND_OK;
}

static rynd_status run_all(ry_session *session, ry_error *error)
{
    return ry_session_run_traced(session, run_steps, error);
}

static rynd_status stage_output(ry_session *session, size_t index, ry_error *error)
{
    const ry_plan_output *planned = &session->plan->outputs[index];
    const ry_session_output_slot *slot = &session->outputs[index];
    return slot->staged ? session->plan->device->table->copy(
                              session->stream, (ry_pointer){slot->own, 0},
                              ry_session_pointer(session, planned->location, 0),
                              ry_tensor_bytes(&planned->tensor), error)
                        : RYND_OK;
}

/* Outputs over an input's memory are the last. */
static rynd_status write_outputs(ry_session *session, ry_error *error)
{
    const ry_plan *plan = session->plan;
    for (size_t i = 0; i < plan->output_count; i++) {
        RY_TRY(runs_output(session, i) ? stage_output(session, i, error) : RYND_OK);
    }
    for (int over_input = 0; over_input < 2; over_input++) {
        for (size_t i = 0; i < plan->output_count; i++) {
            if (runs_output(session, i) && !plan->outputs[i].later && !plan->outputs[i].state &&
                session->outputs[i].over_input == over_input) {
                RY_TRY(write_output(session, i, error));
            }
        }
    }
    return RYND_OK;
}

static rynd_status start(ry_session *session, ry_error *error)
{
    const ry_plan *plan = session->plan;
    const ry_device_table *table = plan->device->table;
    const ry_pointer faults = {session->faults, 0};
    const size_t fault_bytes = session->faults ? plan->step_count * sizeof(ry_fault) : 0;
    if (table->stream_time && (session->timing || session->stream == session->own_stream)) {
        RY_TRY(table->stream_time(session->stream, session->timing, error));
    }
    RY_TRY(read_inputs(session, error));
    /* the device's kernels write faults to its memory */
    RY_TRY(fault_bytes ? ry_device_clear(plan->device, session->stream, faults, fault_bytes, error)
                       : RYND_OK);
    session->timed = session->timing;
    /* a recording has all steps */
    RY_TRY(session->part == RY_BOTH_PARTS ? ry_recorded_run(session, run_all, error)
                                          : run_all(session, error));
    RY_TRY(ry_session_keep_states(session, error));
    RY_TRY(fault_bytes
               ? table->download(session->stream, session->host_faults, faults, fault_bytes, error)
               : RYND_OK);
    return write_outputs(session, error);
}

static rynd_status launch(ry_session *session, ry_session_part part, ry_error *error)
{
    const ry_device_table *table = session->plan->device->table;
    if (session->running) {
        RY_TRY(ry_session_finish(session, error));
    }
    session->part = part;
    const rynd_status status = start(session, error);
    if (status != RYND_OK) {
        session->part = RY_BOTH_PARTS;
        /* the caller's memory is free again */
        (void)table->synchronize(session->stream, NULL);
        session->stream = session->own_stream;
        return status;
    }
    session->running = true;
    return RYND_OK;
}

rynd_status ry_session_launch(ry_session *session, ry_error *error)
{
    return launch(session, RY_BOTH_PARTS, error);
}

static rynd_status run_part(ry_session *session, ry_session_part part, ry_error *error)
{
    RY_TRY(ry_session_settle(session, error));
    RY_TRY(launch(session, part, error));
    const rynd_status status = ry_session_finish(session, error);
    if (status != RYND_OK) {
        session->part = RY_BOTH_PARTS; /* the second part must not follow */
    }
    return status;
}

static rynd_status check_parts(const ry_session *session, ry_error *error)
{
    return session->plan->parts.outputs
               ? RYND_OK
               : ry_fail(error, RYND_ERROR_ARGUMENT,
                         "the plan has no gradients: plan a model of rynd_model_create_gradient");
}

rynd_status ry_session_run_first(ry_session *session, ry_error *error)
{
    RY_TRY(check_parts(session, error));
    return run_part(session, RY_FIRST_PART, error);
}

rynd_status ry_session_run_second(ry_session *session, ry_error *error)
{
    RY_TRY(check_parts(session, error));
    return session->part == RY_FIRST_PART
               ? run_part(session, RY_SECOND_PART, error)
               : ry_fail(error, RYND_ERROR_ARGUMENT,
                         "run forward first: each run backward needs one of its own");
}
