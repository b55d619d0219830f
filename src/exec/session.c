/* SPDX-License-Identifier: Apache-2.0 */
/* A session's memory: taken when it is made, given back when it goes. */
#include "exec/session.h"

#include "exec/recording.h"
#include "exec/session_memory.h"
#include "exec/session_states.h"

/* The one that most of the activations and workspace are for. */
static const ry_step *largest_step(const ry_plan *plan)
{
    const ry_step *largest = NULL;
    double most = -1;
    for (size_t s = 0; s < plan->step_count; s++) {
        const ry_step *step = &plan->steps[s];
        double bytes = (double)ry_prepared_workspace(&step->prepared);
        for (int i = 0; i < step->problem.outputs; i++) {
            bytes += step->out[i].storage == RY_STORAGE_ARENA
                         ? (double)ry_tensor_bytes(&step->problem.out[i])
                         : 0;
        }
        if (bytes > most) {
            most = bytes;
            largest = step;
        }
    }
    return largest;
}

static rynd_status create_activations(ry_session *session, ry_error *error)
{
    const ry_plan *plan = session->plan;
    const ry_step *step = largest_step(plan);
    const rynd_status status =
        plan->arena_size
            ? ry_session_take_buffer(session, plan->arena_size, &session->activations, error)
            : RYND_OK;
    if (status != RYND_OK && step) {
        ry_error_prefix(error,
                        "activations and workspace of all steps, most of them for node '%s' (%s): ",
                        step->name, step->source);
    }
    return status;
}

static rynd_status bind_steps(ry_session *session, ry_error *error)
{
    const ry_plan *plan = session->plan;
    session->bound = RY_TAKE(&session->arena, ry_bound, plan->step_count);
    session->times = RY_TAKE(&session->arena, double, plan->step_count);
    if (!session->bound || !session->times) {
        return ry_fail_memory(error);
    }
    for (size_t s = 0; s < plan->step_count; s++) {
        const ry_step *step = &plan->steps[s];
        ry_bound *bound = &session->bound[s];
        int64_t(*actual)[RY_MAX_RANK] =
            step->actual_row < 0 ? NULL : session->actual + step->actual_row;
        RY_TRY(ry_bind(&step->prepared, step->seconds, actual, &session->arena, bound, error));
        if (ry_plan_falls_back(plan, step)) {
            ry_fallback_bind(&session->fallback, step, bound);
            continue;
        }
        ry_bound_set_memory(bound, step->packed,
                            (ry_pointer){session->activations, step->workspace_offset},
                            (ry_pointer){session->activations, plan->scratch_offset});
        ry_bound_set_fault(bound, (ry_pointer){session->faults, s * sizeof(ry_fault)});
    }
    return RYND_OK;
}

/* What only a device beside the CPU needs: room for steps that fall back, and for faults. */
static rynd_status prepare_device(ry_session *session, ry_error *error)
{
    const ry_plan *plan = session->plan;
    if (plan->device->host == plan->device) {
        return RYND_OK;
    }
    int operands = 0;
    for (size_t s = 0; s < plan->step_count; s++) {
        const int own = plan->steps[s].problem.inputs + plan->steps[s].problem.outputs;
        operands = own > operands ? own : operands;
    }
    session->operands = RY_TAKE(&session->arena, ry_pointer, operands);
    if (!session->operands) {
        return ry_fail_memory(error);
    }
    RY_TRY(ry_fallback_create(plan, &session->fallback, error));
    session->memory += session->fallback.size;
    const size_t faults = plan->step_count * sizeof(ry_fault);
    void *host_faults = NULL;
    RY_TRY(faults ? ry_session_take_buffer(session, faults, &session->faults, error) : RYND_OK);
    RY_TRY(faults ? plan->device->table->host_take(plan->device, faults, &host_faults, error)
                  : RYND_OK);
    session->host_faults = host_faults;
    return RYND_OK;
}

static rynd_status build(ry_session *session, const ry_unneeded *unneeded, ry_error *error)
{
    const ry_plan *plan = session->plan;
    session->inputs = RY_TAKE(&session->arena, ry_session_input_slot, plan->input_count);
    session->outputs = RY_TAKE(&session->arena, ry_session_output_slot, plan->output_count);
    session->actual = ry_arena_take(&session->arena, plan->bounded_count, sizeof *session->actual);
    if (!session->inputs || !session->outputs || !session->actual) {
        return ry_fail_memory(error);
    }
    RY_TRY(plan->device->table->stream_create(plan->device, &session->own_stream, error));
    session->stream = session->own_stream;
    RY_TRY(create_activations(session, error));
    RY_TRY(prepare_device(session, error));
    RY_TRY(ry_session_create_states(session, unneeded, error));
    for (size_t i = 0; i < plan->output_count; i++) {
        RY_TRY(ry_session_name_tensor(ry_session_own_output(session, i, error), "output",
                                      plan->outputs[i].name, error));
        session->outputs[i].tensor = plan->outputs[i].tensor;
        session->outputs[i].pointer = (ry_pointer){session->outputs[i].own, 0};
    }
    RY_TRY(bind_steps(session, error));
    return ry_recorded_prepare(session, error);
}

rynd_status ry_session_create(const ry_plan *plan, const ry_unneeded *unneeded,
                              ry_session **session, ry_error *error)
{
    if (plan->without_weights && (plan->weights.packed_size || plan->weights.host_packed_size)) {
        return ry_fail(error, RYND_ERROR_ARGUMENT,
                       "the plan was made without its weights: it can be looked at, not run");
    }
    ry_session *s = ry_allocate_array(plan->device->allocator, 1, sizeof *s);
    if (!s) {
        return ry_fail_memory(error);
    }
    s->plan = plan;
    ry_arena_init(&s->arena, plan->device->allocator);
    rynd_status status = build(s, unneeded, error);
    if (status != RYND_OK) {
        ry_session_destroy(s);
        return status;
    }
    *session = s;
    return RYND_OK;
}

void ry_session_drop_rest(ry_session *session)
{
    ry_session_rest *rest = &session->rest;
    ry_session_destroy(rest->session);
    ry_plan_destroy(rest->plan);
    if (rest->arena.allocator) {
        ry_arena_free(&rest->arena);
    }
    *rest = (ry_session_rest){0};
}

void ry_session_destroy(ry_session *session)
{
    if (!session) {
        return;
    }
    ry_session_drop_rest(session);
    ry_device *device = session->plan->device;
    if (session->stream) {
        /* running steps still use the memory that is freed below */
        (void)device->table->synchronize(session->stream, NULL);
    }
    ry_recorded_free(session);
    for (size_t i = 0; session->inputs && i < session->plan->input_count; i++) {
        ry_transfer_destroy(session->inputs[i].transfer);
        device->table->buffer_destroy(device, session->inputs[i].own);
    }
    for (size_t i = 0; session->outputs && i < session->plan->output_count; i++) {
        ry_transfer_destroy(session->outputs[i].transfer);
        device->table->buffer_destroy(device, session->outputs[i].own);
        device->table->buffer_destroy(device, session->outputs[i].wrapped);
        device->table->host_give_back(device, session->outputs[i].mirror);
    }
    device->table->buffer_destroy(device, session->activations);
    device->table->buffer_destroy(device, session->faults);
    device->table->host_give_back(device, session->host_faults);
    for (size_t i = 0; session->mark && i < session->mark_count; i++) {
        device->table->event_destroy(device, session->mark[i]);
    }
    ry_fallback_destroy(&session->fallback);
    if (session->own_stream) {
        device->table->stream_destroy(device, session->own_stream);
    }
    ry_arena_free(&session->arena);
    ry_release(device->allocator, session);
}

ry_stream *ry_session_stream(ry_session *session)
{
    return session->stream;
}

rynd_status ry_session_use_stream(ry_session *session, ry_stream *stream, ry_error *error)
{
    RY_TRY(ry_session_finish(session, error));
    session->stream = stream;
    return RYND_OK;
}

size_t ry_session_memory(const ry_session *session)
{
    const ry_session *rest = session->rest.session;
    return session->memory + session->arena.total + (rest ? ry_session_memory(rest) : 0);
}

size_t ry_session_copied(const ry_session *session)
{
    size_t bytes = 0;
    for (size_t i = 0; i < session->plan->input_count; i++) {
        const ry_transfer *transfer = session->inputs[i].transfer;
        bytes += transfer ? ry_transfer_copied(transfer) : 0;
    }
    for (size_t i = 0; i < session->plan->output_count; i++) {
        const ry_transfer *transfer = session->outputs[i].transfer;
        bytes += transfer ? ry_transfer_copied(transfer) : 0;
    }
    return bytes;
}

ry_pointer ry_session_state_pointer(const ry_session *session, size_t state)
{
    return session->inputs[session->plan->states[state].input].pointer;
}

rynd_status ry_session_read_state(ry_session *session, size_t state, void *data, ry_error *error)
{
    const ry_device_table *table = session->plan->device->table;
    const size_t bytes = ry_session_state_bytes(session, state);
    RY_TRY(ry_session_finish(session, error));
    if (bytes == 0) {
        return RYND_OK;
    }
    RY_TRY(table->download(session->stream, data, ry_session_state_pointer(session, state), bytes,
                           error));
    return table->synchronize(session->stream, error);
}

rynd_status ry_session_write_state(ry_session *session, size_t state, const void *data,
                                   ry_error *error)
{
    const ry_device_table *table = session->plan->device->table;
    const size_t bytes = ry_session_state_bytes(session, state);
    RY_TRY(ry_session_finish(session, error));
    if (bytes == 0) {
        return RYND_OK;
    }
    RY_TRY(table->upload(session->stream, ry_session_state_pointer(session, state), data, bytes,
                         error));
    return table->synchronize(session->stream, error);
}

static size_t step_runs(const ry_plan *plan)
{
    size_t runs = 0;
    for (size_t i = 0; i < plan->batch_split_count; i++) {
        const ry_batch_split *split = &plan->batch_splits[i];
        runs += (size_t)split->micro_batches * (split->end - split->first);
    }
    return runs;
}

static rynd_status create_marks(ry_session *session, ry_error *error)
{
    ry_device *device = session->plan->device;
    const size_t count = step_runs(session->plan) + 1;
    session->mark = RY_TAKE(&session->arena, ry_event *, count);
    if (!session->mark) {
        return ry_fail_memory(error);
    }
    for (session->mark_count = 0; session->mark_count < count; session->mark_count++) {
        RY_TRY(device->table->event_create(device, &session->mark[session->mark_count], error));
    }
    return RYND_OK;
}

rynd_status ry_session_set_timing(ry_session *session, bool on, ry_error *error)
{
    if (on && !session->mark) {
        RY_TRY(create_marks(session, error));
    }
    session->timing = on;
    return RYND_OK;
}

void ry_session_set_watch(ry_session *session, const ry_session_watch *watch)
{
    session->watch = watch;
}

const double *ry_session_times(const ry_session *session)
{
    return session->times;
}
