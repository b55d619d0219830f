/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/recording.h"

static int own_pointers(const ry_plan *plan)
{
    return (int)(plan->input_count + plan->output_count);
}

static bool all_on_device(const ry_plan *plan)
{
    for (size_t s = 0; s < plan->step_count; s++) {
        if (ry_plan_falls_back(plan, &plan->steps[s])) {
            return false;
        }
    }
    return plan->step_count > 0;
}

rynd_status ry_recorded_prepare(ry_session *session, ry_error *error)
{
    const ry_plan *plan = session->plan;
    ry_recorded_steps *steps = &session->recorded;
    ry_device *device = plan->device;
    if (!device->table->records || !device->table->records(device) || !all_on_device(plan)) {
        return RYND_OK;
    }
    const int own = own_pointers(plan),
              rest = 2 + (int)(plan->step_count + plan->weights.constant_count);
    steps->pointers = RY_TAKE(&session->arena, ry_pointer, own + rest);
    steps->addresses = RY_TAKE(&session->arena, uintptr_t, own);
    if (!steps->pointers || !steps->addresses) {
        return ry_fail_memory(error);
    }
    ry_pointer *at = steps->pointers + own;
    *at++ = (ry_pointer){session->activations, 0};
    *at++ = (ry_pointer){session->faults, 0};
    for (size_t s = 0; s < plan->step_count; s++) {
        *at++ = (ry_pointer){plan->steps[s].packed.buffer, 0};
    }
    for (size_t i = 0; i < plan->weights.constant_count; i++) {
        *at++ = (ry_pointer){plan->weights.constants[i], 0};
    }
    steps->count = own + rest;
    return RYND_OK;
}

static void forget(ry_session *session)
{
    ry_device *device = session->plan->device;
    if (session->recorded.recording) {
        device->table->recording_destroy(device, session->recorded.recording);
        session->recorded.recording = NULL;
    }
}

void ry_recorded_free(ry_session *session)
{
    forget(session);
}

static uintptr_t address_of(const ry_session *session, ry_pointer pointer)
{
    const ry_device_table *table = session->plan->device->table;
    return pointer.buffer ? (uintptr_t)table->buffer_native(pointer.buffer) + pointer.offset : 0;
}

/* Notes the addresses of bound memory; true if none changed since the last run. */
static bool note_pointers(ry_session *session)
{
    const ry_plan *plan = session->plan;
    ry_recorded_steps *steps = &session->recorded;
    bool same = true;
    for (size_t i = 0; i < plan->input_count; i++) {
        steps->pointers[i] = session->inputs[i].pointer;
    }
    for (size_t i = 0; i < plan->output_count; i++) {
        steps->pointers[plan->input_count + i] = session->outputs[i].pointer;
    }
    for (int i = 0; i < own_pointers(plan); i++) {
        const uintptr_t address = address_of(session, steps->pointers[i]);
        same = same && address == steps->addresses[i];
        steps->addresses[i] = address;
    }
    return same && steps->warm;
}

static rynd_status replay(ry_session *session, ry_error *error)
{
    const ry_recorded_steps *steps = &session->recorded;
    return session->plan->device->table->replay(session->stream, steps->recording, steps->pointers,
                                                steps->count, error);
}

/* false: nothing is recorded, and nothing has run; it is not tried again. */
static bool record(ry_session *session, rynd_status (*run_steps)(ry_session *, ry_error *))
{
    const ry_device_table *table = session->plan->device->table;
    ry_recorded_steps *steps = &session->recorded;
    ry_error unused;
    if (table->record_begin(session->stream, &unused) == RYND_OK) {
        const rynd_status launched = run_steps(session, &unused);
        if (table->record_end(session->stream, &steps->recording, &unused) == RYND_OK &&
            launched != RYND_OK) {
            forget(session);
        }
    }
    steps->refused = !steps->recording;
    return steps->recording != NULL;
}

rynd_status ry_recorded_run(ry_session *session, rynd_status (*run_steps)(ry_session *, ry_error *),
                            ry_error *error)
{
    ry_recorded_steps *steps = &session->recorded;
    if (!steps->pointers || steps->refused || session->timed) {
        return run_steps(session, error);
    }
    if (!note_pointers(session)) {
        forget(session);
        const rynd_status status = run_steps(session, error);
        steps->warm = status == RYND_OK;
        return status;
    }
    const bool fresh = !steps->recording;
    if (fresh && !record(session, run_steps)) {
        return run_steps(session, error);
    }
    const rynd_status status = replay(session, error);
    if (status != RYND_OK && fresh) { /* the device may have no memory for it */
        forget(session);
        steps->refused = true;
        return run_steps(session, error);
    }
    return status;
}
