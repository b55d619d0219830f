/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a plan step by step. */
#include "exec/session.h"

#include "base/clock.h"
#include "exec/fallback.h"
#include "exec/transfer.h"

#include <string.h>

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
    ry_arena arena;
    ry_stream *stream;
    ry_buffer *activations;
    ry_fallback fallback;
    ry_place *operands;    /* of the step that falls back */
    ry_buffer *faults;     /* of all steps, where the device's memory is its own */
    ry_fault *host_faults; /* the same, as the last run left them */
    ry_session_input_slot *inputs;
    ry_session_output_slot *outputs;
    int64_t (*actual)[RY_MAX_RANK];
    ry_bound *bound; /* of each step */
    double *times;
    bool timing;
    size_t memory;
};

static rynd_status create_buffer(ry_session *session, size_t size, ry_buffer **buffer,
                                 ry_error *error)
{
    RY_TRY(session->plan->device->table->buffer_create(session->plan->device, size, buffer, error));
    session->memory += size;
    return RYND_OK;
}

/* The one that most of the activations and workspace are for. */
static const ry_step *largest_step(const ry_plan *plan)
{
    const ry_step *largest = NULL;
    double most = -1;
    for (size_t s = 0; s < plan->step_count; s++) {
        const ry_step *step = &plan->steps[s];
        double bytes = (double)ry_prepared_workspace(&step->prepared);
        for (int i = 0; i < step->problem.outputs; i++) {
            bytes += step->out[i].home == RY_HOME_ARENA
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
        plan->arena_size ? create_buffer(session, plan->arena_size, &session->activations, error)
                         : RYND_OK;
    if (status != RYND_OK && step) {
        ry_error_prefix(error,
                        "activations and workspace of all steps, most of them for node '%s' (%s): ",
                        step->name, step->source);
    }
    return status;
}

/* What is refused names its tensor, but for memory. */
static rynd_status name_tensor(rynd_status status, const char *what, const char *name,
                               ry_error *error)
{
    if (status == RYND_ERROR_OUT_OF_MEMORY) {
        ry_error_prefix(error, "%s '%s': ", what, name);
    }
    return status;
}

static rynd_status take_output(ry_session *session, size_t index, ry_error *error)
{
    const ry_plan_output *planned = &session->plan->outputs[index];
    ry_session_output_slot *slot = &session->outputs[index];
    slot->tensor = planned->tensor;
    if (planned->spot.home == RY_HOME_OUTPUT && planned->spot.index == index && !slot->own) {
        RY_TRY(create_buffer(session, ry_tensor_bytes(&planned->tensor), &slot->own, error));
    }
    slot->place = (ry_place){slot->own, 0};
    return RYND_OK;
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
        ry_bound_set_memory(bound, (ry_place){plan->packed, step->packed_offset},
                            (ry_place){session->activations, plan->workspace_offset},
                            (ry_place){session->activations, plan->scratch_offset});
        ry_bound_set_fault(bound, (ry_place){session->faults, s * sizeof(ry_fault)});
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
    session->operands = RY_TAKE(&session->arena, ry_place, operands);
    session->host_faults = RY_TAKE(&session->arena, ry_fault, plan->step_count);
    if (!session->operands || !session->host_faults) {
        return ry_fail_memory(error);
    }
    RY_TRY(ry_fallback_create(plan, &session->fallback, error));
    session->memory += session->fallback.size;
    return plan->step_count ? create_buffer(session, plan->step_count * sizeof(ry_fault),
                                            &session->faults, error)
                            : RYND_OK;
}

static rynd_status build(ry_session *session, ry_error *error)
{
    const ry_plan *plan = session->plan;
    session->inputs = RY_TAKE(&session->arena, ry_session_input_slot, plan->input_count);
    session->outputs = RY_TAKE(&session->arena, ry_session_output_slot, plan->output_count);
    session->actual = ry_arena_take(&session->arena, plan->bounded_count, sizeof *session->actual);
    if (!session->inputs || !session->outputs || !session->actual) {
        return ry_fail_memory(error);
    }
    RY_TRY(plan->device->table->stream_create(plan->device, &session->stream, error));
    RY_TRY(create_activations(session, error));
    RY_TRY(prepare_device(session, error));
    for (size_t i = 0; i < plan->output_count; i++) {
        RY_TRY(name_tensor(take_output(session, i, error), "output", plan->outputs[i].name, error));
    }
    return bind_steps(session, error);
}

rynd_status ry_session_create(const ry_plan *plan, ry_session **session, ry_error *error)
{
    if (plan->packed_size && !plan->packed) {
        return ry_fail(error, RYND_ERROR_ARGUMENT,
                       "the plan was made without its weights: it can be looked at, not run");
    }
    ry_session *s = ry_allocate_array(plan->device->allocator, 1, sizeof *s);
    if (!s) {
        return ry_fail_memory(error);
    }
    s->plan = plan;
    ry_arena_init(&s->arena, plan->device->allocator);
    rynd_status status = build(s, error);
    if (status != RYND_OK) {
        ry_session_destroy(s);
        return status;
    }
    *session = s;
    return RYND_OK;
}

void ry_session_destroy(ry_session *session)
{
    if (!session) {
        return;
    }
    ry_device *device = session->plan->device;
    for (size_t i = 0; session->inputs && i < session->plan->input_count; i++) {
        ry_transfer_destroy(session->inputs[i].transfer);
        device->table->buffer_destroy(device, session->inputs[i].buffer);
    }
    for (size_t i = 0; session->outputs && i < session->plan->output_count; i++) {
        ry_transfer_destroy(session->outputs[i].transfer);
        device->table->buffer_destroy(device, session->outputs[i].own);
        device->table->buffer_destroy(device, session->outputs[i].wrapped);
        ry_release(device->allocator, session->outputs[i].mirror);
    }
    device->table->buffer_destroy(device, session->activations);
    device->table->buffer_destroy(device, session->faults);
    ry_fallback_destroy(&session->fallback);
    if (session->stream) {
        device->table->stream_destroy(device, session->stream);
    }
    ry_arena_free(&session->arena);
    ry_release(device->allocator, session);
}

static ry_place place_of(const ry_session *session, ry_spot spot, int64_t micro_batch)
{
    const size_t share = spot.share * (size_t)micro_batch;
    switch (spot.home) {
    case RY_HOME_INPUT: return (ry_place){session->inputs[spot.index].buffer, share};
    case RY_HOME_CONSTANT: return (ry_place){session->plan->constants[spot.index], 0};
    case RY_HOME_ARENA: return (ry_place){session->activations, spot.offset + share};
    case RY_HOME_OUTPUT:
        return (ry_place){session->outputs[spot.index].place.buffer,
                          session->outputs[spot.index].place.offset + share};
    case RY_HOME_NONE: break;
    }
    return (ry_place){NULL, 0};
}

/* Inputs and outputs may have been bound anew since the last run. */
static void resolve_step(ry_session *session, size_t index, int64_t micro_batch)
{
    const ry_plan *plan = session->plan;
    const ry_step *step = &plan->steps[index];
    ry_place *place =
        ry_plan_falls_back(plan, step) ? session->operands : session->bound[index].arguments;
    for (int i = 0; i < step->problem.inputs; i++) {
        *place++ = place_of(session, step->in[i], micro_batch);
    }
    for (int i = 0; i < step->problem.outputs; i++) {
        *place++ = place_of(session, step->out[i], micro_batch);
    }
}

static rynd_status read_inputs(ry_session *session, ry_error *error)
{
    const ry_plan *plan = session->plan;
    for (size_t i = 0; i < plan->input_count; i++) {
        ry_session_input_slot *slot = &session->inputs[i];
        if (!slot->bound && ry_tensor_count(&plan->inputs[i]) > 0 &&
            !plan->graph->values[plan->graph->inputs[i]].constant) {
            return ry_fail(error, RYND_ERROR_ARGUMENT,
                           "input '%s' is not bound: give it memory with rynd_session_bind",
                           plan->input_names[i]);
        }
        if (slot->transfer) {
            RY_TRY(ry_transfer_run(slot->transfer, session->stream, (ry_place){slot->buffer, 0},
                                   error));
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

/* To the caller's memory, when it is not where the step wrote already; to a mirror, when the
 * device's memory cannot be shown. */
static rynd_status write_output(ry_session *session, size_t index, ry_error *error)
{
    ry_session_output_slot *slot = &session->outputs[index];
    ry_device *device = session->plan->device;
    ry_place place = place_of(session, session->plan->outputs[index].spot, 0);
    note_actual(session, index);
    if (slot->transfer) {
        RY_TRY(ry_transfer_run(slot->transfer, session->stream, place, error));
        slot->tensor.data = slot->bound.data;
    } else if (slot->wrapped) {
        slot->tensor.data = slot->bound.data;
    } else if (device->host_memory) {
        slot->tensor.data = place.buffer
                                ? (char *)device->table->buffer_address(place.buffer) + place.offset
                                : NULL;
    } else {
        if (!slot->mirror) {
            slot->mirror = ry_allocate(device->allocator,
                                       ry_tensor_bytes(&session->plan->outputs[index].tensor));
        }
        if (!slot->mirror) {
            return ry_fail_memory(error);
        }
        RY_TRY(device->table->download(session->stream, slot->mirror, place,
                                       ry_tensor_bytes(&slot->tensor), error));
        slot->tensor.data = slot->mirror;
    }
    return RYND_OK;
}

/* What the kernel found wrong in the content of its inputs. */
static rynd_status check_fault(const ry_session *session, size_t index, const ry_fault *fault,
                               ry_error *error)
{
    const ry_step *step = &session->plan->steps[index];
    rynd_status status = ry_fault_check(fault, &step->problem, error);
    if (status != RYND_OK) {
        ry_error_prefix(error, "node '%s' (%s): ", step->name, step->source);
    }
    return status;
}

static rynd_status run_step(ry_session *session, size_t index, int64_t micro_batch, ry_error *error)
{
    ry_device *device = session->plan->device;
    resolve_step(session, index, micro_batch);
    double start = session->timing ? ry_clock_seconds() : 0;
    const ry_step *step = &session->plan->steps[index];
    ry_bound *bound = &session->bound[index];
    RY_TRY(ry_plan_falls_back(session->plan, step)
               ? ry_fallback_run(&session->fallback, session->stream, step, bound,
                                 session->operands, error)
               : ry_bound_launch(bound, device, session->stream, error));
    if (session->timing) {
        RY_TRY(device->table->synchronize(session->stream, error));
        session->times[index] =
            (micro_batch ? session->times[index] : 0) + ry_clock_seconds() - start;
    }
    return check_fault(session, index, &bound->fault, error);
}

/* Of the device's kernels, which write them to its memory. */
static rynd_status clear_faults(ry_session *session, ry_error *error)
{
    const size_t bytes = session->plan->step_count * sizeof(ry_fault);
    if (!session->faults) {
        return RYND_OK;
    }
    memset(session->host_faults, 0, bytes);
    return session->plan->device->table->upload(session->stream, (ry_place){session->faults, 0},
                                                session->host_faults, bytes, error);
}

static rynd_status check_faults(ry_session *session, ry_error *error)
{
    const ry_plan *plan = session->plan;
    if (!session->faults) {
        return RYND_OK;
    }
    RY_TRY(plan->device->table->download(session->stream, session->host_faults,
                                         (ry_place){session->faults, 0},
                                         plan->step_count * sizeof(ry_fault), error));
    for (size_t s = 0; s < plan->step_count; s++) {
        RY_TRY(check_fault(session, s, &session->host_faults[s], error));
    }
    return RYND_OK;
}

static rynd_status run_batch_split(ry_session *session, const ry_batch_split *split,
                                   ry_error *error)
{
    for (int64_t micro_batch = 0; micro_batch < split->micro_batches; micro_batch++) {
        for (size_t s = split->first; s < split->end; s++) {
            RY_TRY(run_step(session, s, micro_batch, error));
        }
    }
    return RYND_OK;
}

rynd_status ry_session_run(ry_session *session, ry_error *error)
{
    const ry_plan *plan = session->plan;
    RY_TRY(read_inputs(session, error));
    RY_TRY(clear_faults(session, error));
    for (size_t i = 0; i < plan->batch_split_count; i++) {
        RY_TRY(run_batch_split(session, &plan->batch_splits[i], error));
    }
    RY_TRY(check_faults(session, error));
    for (size_t i = 0; i < plan->output_count; i++) {
        if (!plan->outputs[i].later) {
            RY_TRY(write_output(session, i, error));
        }
    }
    return plan->device->table->synchronize(session->stream, error);
}

static bool same_dims(const ry_tensor *a, const ry_tensor *b)
{
    return a->dtype == b->dtype && a->rank == b->rank &&
           memcmp(a->dim, b->dim, (size_t)a->rank * sizeof *a->dim) == 0;
}

static rynd_status check_binding(const char *what, const char *name, const ry_tensor *planned,
                                 const ry_tensor *given, ry_error *error)
{
    char wanted[256], got[256];
    ry_shape a = ry_tensor_shape(planned), b = ry_tensor_shape(given);
    if (given->rank < 0 || given->rank > RY_MAX_RANK) {
        return ry_fail(error, RYND_ERROR_ARGUMENT, "%s '%s': rank %d is outside 0 to %d", what,
                       name, given->rank, RY_MAX_RANK);
    }
    if (!same_dims(planned, given)) {
        return ry_fail(
            error, RYND_ERROR_SHAPE, "%s '%s': planned for %s %s, given %s %s", what, name,
            ry_dtype_name((ry_dtype)planned->dtype), ry_shape_text(NULL, &a, wanted, sizeof wanted),
            ry_dtype_name((ry_dtype)given->dtype), ry_shape_text(NULL, &b, got, sizeof got));
    }
    if (!given->data && ry_tensor_count(given) > 0) {
        return ry_fail(error, RYND_ERROR_ARGUMENT, "%s '%s': the data is NULL", what, name);
    }
    return RYND_OK;
}

static bool usable_in_place(const ry_session *session, const ry_tensor *tensor)
{
    return session->plan->device->host_memory && ry_tensor_is_row_major(tensor) &&
           (uintptr_t)tensor->data % ry_dtype_size((ry_dtype)tensor->dtype) == 0;
}

static rynd_status bind_input(ry_session *session, size_t index, const ry_tensor *tensor,
                              ry_error *error)
{
    const ry_plan *plan = session->plan;
    ry_session_input_slot *slot = &session->inputs[index];
    RY_TRY(check_binding("input", plan->input_names[index], &plan->inputs[index], tensor, error));
    ry_transfer *transfer = NULL;
    ry_buffer *buffer = NULL;
    if (usable_in_place(session, tensor)) {
        RY_TRY(plan->device->table->buffer_wrap(plan->device, tensor->data, ry_tensor_bytes(tensor),
                                                &buffer, error));
    } else {
        RY_TRY(ry_transfer_create(plan->device, tensor, true, &transfer, error));
        rynd_status status = plan->device->table->buffer_create(
            plan->device, ry_tensor_bytes(&plan->inputs[index]), &buffer, error);
        if (status != RYND_OK) {
            ry_transfer_destroy(transfer);
            return status;
        }
    }
    ry_transfer_destroy(slot->transfer);
    plan->device->table->buffer_destroy(plan->device, slot->buffer);
    *slot = (ry_session_input_slot){buffer, transfer, true};
    return RYND_OK;
}

rynd_status ry_session_bind_input(ry_session *session, size_t index, const ry_tensor *tensor,
                                  ry_error *error)
{
    return name_tensor(bind_input(session, index, tensor, error), "input",
                       session->plan->input_names[index], error);
}

static rynd_status bind_output(ry_session *session, size_t index, const ry_tensor *tensor,
                               ry_error *error)
{
    const ry_plan *plan = session->plan;
    const ry_plan_output *planned = &plan->outputs[index];
    ry_session_output_slot *slot = &session->outputs[index];
    if (planned->later || planned->bounded) {
        return ry_fail(
            error, RYND_ERROR_UNSUPPORTED,
            "output '%s': its shape depends on data, so it cannot be bound; read it after the run",
            planned->name);
    }
    RY_TRY(check_binding("output", planned->name, &planned->tensor, tensor, error));
    bool direct = planned->spot.home == RY_HOME_OUTPUT && planned->spot.index == index &&
                  usable_in_place(session, tensor);
    ry_transfer *transfer = NULL;
    ry_buffer *wrapped = NULL;
    if (direct) {
        RY_TRY(plan->device->table->buffer_wrap(plan->device, tensor->data, ry_tensor_bytes(tensor),
                                                &wrapped, error));
    } else {
        RY_TRY(take_output(session, index, error));
        RY_TRY(ry_transfer_create(plan->device, tensor, false, &transfer, error));
    }
    ry_transfer_destroy(slot->transfer);
    plan->device->table->buffer_destroy(plan->device, slot->wrapped);
    if (direct && slot->own) {
        plan->device->table->buffer_destroy(plan->device, slot->own);
        session->memory -= ry_tensor_bytes(&planned->tensor);
        slot->own = NULL;
    }
    slot->transfer = transfer;
    slot->wrapped = wrapped;
    slot->bound = *tensor;
    slot->place = (ry_place){direct ? wrapped : slot->own, 0};
    return RYND_OK;
}

rynd_status ry_session_bind_output(ry_session *session, size_t index, const ry_tensor *tensor,
                                   ry_error *error)
{
    return name_tensor(bind_output(session, index, tensor, error), "output",
                       session->plan->outputs[index].name, error);
}

void ry_session_output(const ry_session *session, size_t index, ry_tensor *tensor)
{
    *tensor = session->outputs[index].tensor;
    if (session->outputs[index].transfer) {
        *tensor = session->outputs[index].bound;
    }
}

size_t ry_session_memory(const ry_session *session)
{
    return session->memory + session->arena.total;
}

void ry_session_set_timing(ry_session *session, bool on)
{
    session->timing = on;
}

const double *ry_session_times(const ry_session *session)
{
    return session->times;
}
