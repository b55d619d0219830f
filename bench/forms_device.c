/* SPDX-License-Identifier: Apache-2.0 */
/* Operands in a device's memory, and launches between two of its events. */
#include "forms_device.h"

static rynd_status make_operand(device_operands *o, int at, const ry_tensor *tensor,
                                const void *host, ry_error *error)
{
    const size_t bytes = ry_tensor_bytes(tensor);
    const ry_device_table *table = o->device->table;
    if (!ry_tensor_present(tensor) || bytes == 0) {
        return RYND_OK;
    }
    RY_TRY(table->buffer_create(o->device, bytes, &o->buffer[at], error));
    return host ? table->upload(o->stream, (ry_pointer){o->buffer[at], 0}, host, bytes, error)
                : RYND_OK;
}

rynd_status device_operands_make(device_operands *o, ry_device *device, const ry_problem *problem,
                                 const void *const *in, ry_error *error)
{
    *o = (device_operands){.device = device, .problem = problem, .in = in};
    RY_TRY(device->table->stream_create(device, &o->stream, error));
    if (device->table->stream_time) {
        RY_TRY(device->table->stream_time(o->stream, true, error));
    }
    RY_TRY(device->table->event_create(device, &o->from, error));
    RY_TRY(device->table->event_create(device, &o->to, error));
    for (int i = 0; i < problem->inputs; i++) {
        RY_TRY(make_operand(o, i, &problem->in[i], in[i], error));
    }
    for (int i = 0; i < problem->outputs; i++) {
        RY_TRY(make_operand(o, problem->inputs + i, &problem->out[i], NULL, error));
    }
    return device->table->synchronize(o->stream, error);
}

void device_operands_free(device_operands *o)
{
    for (int i = 0; i < FORMS_OPERANDS; i++) {
        o->device->table->buffer_destroy(o->device, o->buffer[i]);
    }
    o->device->table->event_destroy(o->device, o->from);
    o->device->table->event_destroy(o->device, o->to);
    o->device->table->stream_destroy(o->device, o->stream);
}

static rynd_status make_memory(device_form *f, device_operands *o, ry_error *error)
{
    const ry_device_table *table = o->device->table;
    const size_t packed = ry_prepared_packed(&f->prepared),
                 workspace = ry_prepared_workspace(&f->prepared);
    const ry_fault none = {0};
    RY_TRY(table->buffer_create(o->device, sizeof none, &f->fault, error));
    RY_TRY(table->upload(o->stream, (ry_pointer){f->fault, 0}, &none, sizeof none, error));
    if (workspace) {
        RY_TRY(table->buffer_create(o->device, workspace, &f->workspace, error));
    }
    if (packed) {
        RY_TRY(table->buffer_create(o->device, packed, &f->packed, error));
        RY_TRY(ry_prepared_pack(&f->prepared, o->device, o->stream, o->in,
                                (ry_pointer){f->packed, 0}, &f->arena, error));
    }
    ry_bound_set_memory(&f->bound, (ry_pointer){f->packed, 0}, (ry_pointer){f->workspace, 0},
                        (ry_pointer){0});
    ry_bound_set_fault(&f->bound, (ry_pointer){f->fault, 0});
    return table->synchronize(o->stream, error);
}

rynd_status device_form_make(device_form *f, device_operands *o, const ry_query *query,
                             ry_error *error)
{
    *f = (device_form){0};
    ry_arena_init(&f->arena, &ry_system_allocator);
    RY_TRY(ry_prepare(query, ~0u, &f->prepared, error));
    RY_TRY(ry_prepared_initialise(&f->prepared, o->device, query->target, &f->arena, error));
    RY_TRY(ry_bind(&f->prepared, NULL, NULL, &f->arena, &f->bound, error));
    for (int i = 0; i < o->problem->inputs + o->problem->outputs; i++) {
        f->bound.arguments[i] = (ry_pointer){o->buffer[i], 0};
    }
    return make_memory(f, o, error);
}

void device_form_free(device_form *f, device_operands *o)
{
    const ry_device_table *table = o->device->table;
    table->buffer_destroy(o->device, f->packed);
    table->buffer_destroy(o->device, f->workspace);
    table->buffer_destroy(o->device, f->fault);
    ry_prepared_release(&f->prepared, o->device);
    ry_arena_free(&f->arena);
}

rynd_status device_form_run(device_form *f, device_operands *o, int runs, double *seconds,
                            ry_error *error)
{
    const ry_device_table *table = o->device->table;
    RY_TRY(table->event_record(o->stream, o->from, error));
    for (int i = 0; i < runs; i++) {
        RY_TRY(ry_bound_launch(&f->bound, o->device, o->stream, error));
    }
    RY_TRY(table->event_record(o->stream, o->to, error));
    RY_TRY(table->synchronize(o->stream, error));
    RY_TRY(table->event_elapsed(o->from, o->to, seconds, error));
    *seconds /= runs;
    return RYND_OK;
}
