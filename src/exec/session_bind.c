/* SPDX-License-Identifier: Apache-2.0 */
/* The caller's memory for inputs and outputs. A run that was started is waited for: it has the
 * memory that was bound before. */
#include "exec/session_bind.h"

#include "exec/session.h"
#include "exec/session_memory.h"
#include "exec/session_states.h"

#include <string.h>

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

static bool usable_in_place(const ry_session *session, const ry_tensor *planned,
                            const ry_tensor *tensor)
{
    return session->plan->device->host_memory && ry_tensor_same_map(tensor, planned) &&
           (uintptr_t)tensor->data % ry_dtype_size((ry_dtype)tensor->dtype) == 0;
}

static ry_session_range range_of_tensor(const ry_tensor *tensor)
{
    int64_t low = 0, high = 0;
    if (ry_tensor_count(tensor) > 0) {
        (void)ry_tensor_range(tensor, &low, &high); /* the caller has the memory */
    }
    const uintptr_t first = (uintptr_t)tensor->data;
    return (ry_session_range){NULL, first + (uintptr_t)low, first + (uintptr_t)high};
}

/* A tensor of the plan, whose first element is at `place`. */
static ry_session_range range_of_pointer(const ry_session *session, const ry_tensor *planned,
                                         ry_pointer pointer)
{
    const ry_device *device = session->plan->device;
    const void *base = device->host_memory ? device->table->buffer_address(pointer.buffer) : NULL;
    ry_tensor tensor = *planned;
    tensor.data = (void *)((uintptr_t)base + pointer.offset); /* without a base: the offset */
    ry_session_range range = range_of_tensor(&tensor);
    range.space = base ? NULL : device->table->buffer_native(pointer.buffer);
    return range;
}

static void set_input(ry_session *session, size_t index, ry_session_input_slot slot)
{
    ry_device *device = session->plan->device;
    ry_session_input_slot *old = &session->inputs[index];
    ry_transfer_destroy(old->transfer);
    if (old->own != slot.own) {
        device->table->buffer_destroy(device, old->own);
    }
    *old = slot;
    session->rebound = true;
}

/* The caller's memory as the steps read it: from the lowest element on. */
static rynd_status use_in_place(ry_session *session, const ry_tensor *tensor, size_t before,
                                ry_session_input_slot *slot, ry_error *error)
{
    ry_device *device = session->plan->device;
    char *lowest = before ? (char *)tensor->data - before : tensor->data;
    return device->table->buffer_wrap(device, lowest, ry_tensor_bytes(tensor), &slot->own, error);
}

/* Binds a copy of the session's own in the plan's layout, refilled by each run. Reuses the copy of
 * an earlier binding, so that recorded addresses stay valid. */
static rynd_status copy_to_own(ry_session *session, size_t index, const ry_tensor *tensor,
                               size_t size, ry_session_input_slot *slot, ry_error *error)
{
    ry_device *device = session->plan->device;
    const ry_tensor *planned = &session->plan->inputs[index];
    if (ry_tensor_sharing_dim(planned) >= 0) {
        return ry_fail(
            error, RYND_ERROR_UNSUPPORTED,
            "input '%s': planned for strides with which elements share memory: a tensor with "
            "others, or not aligned to its elements, cannot be copied there",
            session->plan->input_names[index]);
    }
    RY_TRY(ry_transfer_create(device, tensor, planned, true, &slot->transfer, error));
    if (session->inputs[index].transfer) {
        slot->own = session->inputs[index].own;
        return RYND_OK;
    }
    const rynd_status status = device->table->buffer_create(device, size, &slot->own, error);
    if (status != RYND_OK) {
        ry_transfer_destroy(slot->transfer);
    }
    return status;
}

static rynd_status bind_input(ry_session *session, size_t index, const ry_tensor *tensor,
                              ry_error *error)
{
    const ry_plan *plan = session->plan;
    const ry_tensor *planned = &plan->inputs[index];
    ry_session_input_slot slot = {.bound = true};
    RY_TRY(ry_session_check_input(session, index, error));
    RY_TRY(check_binding("input", plan->input_names[index], planned, tensor, error));
    RY_TRY(ry_session_finish(session, error));
    int64_t low = 0, high = 0;
    if (ry_tensor_count(planned) > 0) {
        (void)ry_tensor_range(planned, &low, &high); /* the plan was made: it does not overflow */
    }
    RY_TRY(usable_in_place(session, planned, tensor)
               ? use_in_place(session, tensor, (size_t)-low, &slot, error)
               : copy_to_own(session, index, tensor, (size_t)(high - low), &slot, error));
    slot.pointer = (ry_pointer){slot.own, (size_t)-low};
    slot.memory = range_of_tensor(tensor);
    set_input(session, index, slot);
    return RYND_OK;
}

rynd_status ry_session_bind_input(ry_session *session, size_t index, const ry_tensor *tensor,
                                  ry_error *error)
{
    return ry_session_name_tensor(bind_input(session, index, tensor, error), "input",
                                  session->plan->input_names[index], error);
}

rynd_status ry_session_bind_input_pointer(ry_session *session, size_t index, ry_pointer pointer,
                                          ry_error *error)
{
    RY_TRY(ry_session_check_input(session, index, error));
    RY_TRY(ry_session_finish(session, error));
    const ry_session_range memory =
        range_of_pointer(session, &session->plan->inputs[index], pointer);
    set_input(session, index,
              (ry_session_input_slot){.pointer = pointer, .memory = memory, .bound = true});
    return RYND_OK;
}

static rynd_status check_bindable(const ry_plan_output *planned, ry_error *error)
{
    return planned->later || planned->bounded
               ? ry_fail(error, RYND_ERROR_UNSUPPORTED,
                         "output '%s': its shape depends on data, so it cannot be bound; read it "
                         "after the run",
                         planned->name)
               : RYND_OK;
}

/* The new binding in the place of the old; the session's own memory goes where the steps write to
 * the caller's. */
static void set_output(ry_session *session, size_t index, ry_session_output_slot slot)
{
    ry_device *device = session->plan->device;
    ry_session_output_slot *old = &session->outputs[index];
    const bool direct = slot.pointer.buffer != NULL;
    ry_transfer_destroy(old->transfer);
    device->table->buffer_destroy(device, old->wrapped);
    if (direct && old->own) {
        device->table->buffer_destroy(device, old->own);
        session->memory -= ry_tensor_bytes(&session->plan->outputs[index].tensor);
        old->own = NULL;
    }
    slot.own = old->own;
    slot.mirror = old->mirror;
    slot.tensor = session->plan->outputs[index].tensor;
    slot.pointer = direct ? slot.pointer : (ry_pointer){old->own, 0};
    *old = slot;
    session->rebound = true;
}

/* May steps write the caller's memory themselves? Not if the second part reads an output of the
 * first again: the caller may change it in between. */
static bool may_write_there(const ry_session *session, size_t index)
{
    const ry_plan_parts *parts = &session->plan->parts;
    const bool read_again = index < parts->outputs && parts->reads_output[1][index];
    return ry_session_writes_output(session, index) && !read_again;
}

static rynd_status bind_output(ry_session *session, size_t index, const ry_tensor *tensor,
                               bool over_input, ry_error *error)
{
    const ry_plan *plan = session->plan;
    const ry_plan_output *planned = &plan->outputs[index];
    ry_session_output_slot slot = {.bound = *tensor, .over_input = over_input};
    RY_TRY(check_bindable(planned, error));
    RY_TRY(check_binding("output", planned->name, &planned->tensor, tensor, error));
    RY_TRY(ry_session_finish(session, error));
    slot.memory = range_of_tensor(tensor);
    if (may_write_there(session, index) && !over_input &&
        usable_in_place(session, &planned->tensor, tensor)) {
        RY_TRY(plan->device->table->buffer_wrap(plan->device, tensor->data, ry_tensor_bytes(tensor),
                                                &slot.wrapped, error));
        slot.pointer = (ry_pointer){slot.wrapped, 0};
    } else {
        RY_TRY(ry_session_own_output(session, index, error));
        RY_TRY(ry_transfer_create(plan->device, tensor, &planned->tensor, false, &slot.transfer,
                                  error));
    }
    set_output(session, index, slot);
    return RYND_OK;
}

rynd_status ry_session_bind_output(ry_session *session, size_t index, const ry_tensor *tensor,
                                   ry_error *error)
{
    return ry_session_name_tensor(bind_output(session, index, tensor, false, error), "output",
                                  session->plan->outputs[index].name, error);
}

static rynd_status bind_output_pointer(ry_session *session, size_t index, ry_pointer pointer,
                                       bool over_input, ry_error *error)
{
    ry_session_output_slot slot = {.bound_pointer = pointer, .over_input = over_input};
    const ry_plan_output *planned = &session->plan->outputs[index];
    RY_TRY(check_bindable(planned, error));
    RY_TRY(ry_session_finish(session, error));
    slot.memory = range_of_pointer(session, &planned->tensor, pointer);
    if (!over_input && may_write_there(session, index)) {
        slot.pointer = pointer;
    } else {
        RY_TRY(ry_session_own_output(session, index, error));
    }
    set_output(session, index, slot);
    return RYND_OK;
}

rynd_status ry_session_bind_output_pointer(ry_session *session, size_t index, ry_pointer pointer,
                                           ry_error *error)
{
    return bind_output_pointer(session, index, pointer, false, error);
}

rynd_status ry_session_rebind_output(ry_session *session, size_t index, bool over_input,
                                     ry_error *error)
{
    const ry_session_output_slot *slot = &session->outputs[index];
    const ry_tensor bound = slot->bound;
    const rynd_status status =
        slot->bound_pointer.buffer
            ? bind_output_pointer(session, index, slot->bound_pointer, over_input, error)
            : bind_output(session, index, &bound, over_input, error);
    return ry_session_name_tensor(status, "output", session->plan->outputs[index].name, error);
}
