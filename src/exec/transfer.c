/* SPDX-License-Identifier: Apache-2.0 */
/* Transfers between the caller's memory and the device. */
#include "exec/transfer.h"

/* A kernel that copies between the two layouts, with memory of its own: a transfer is not a step of
 * the plan. */
static rynd_status prepare_copy(ry_transfer *t, ry_error *error)
{
    ry_tensor *ends = RY_TAKE(&t->arena, ry_tensor, 2);
    if (!ends) {
        return ry_fail_memory(error);
    }
    ends[0] = t->to_device ? t->host : t->planned;
    ends[1] = t->to_device ? t->planned : t->host;
    ends[0].data = ends[1].data = NULL;
    t->problem = (ry_problem){.op = RY_OP_copy,
                              .accuracy = RY_ACCURACY_strict,
                              .inputs = 1,
                              .outputs = 1,
                              .in = &ends[0],
                              .out = &ends[1]};
    const ry_target target = ry_target_here(t->device);
    size_t at = 0;
    const ry_query query = {ry_kernel_next(&t->problem, &target, &at), &t->problem, &target, NULL};
    if (!query.kernel) {
        return ry_fail(error, RYND_ERROR_UNSUPPORTED, "no kernel copies a %s tensor of rank %d",
                       ry_dtype_name((ry_dtype)t->host.dtype), t->host.rank);
    }
    RY_TRY(ry_prepare(&query, 0, &t->prepared, error));
    RY_TRY(ry_prepared_fit(&t->prepared, t->device, &target, &t->arena, error));
    RY_TRY(ry_bind(&t->prepared, NULL, NULL, &t->arena, &t->bound, error));
    const size_t workspace = ry_prepared_workspace(&t->prepared),
                 own = workspace + t->prepared.scratch * t->device->workers;
    RY_TRY(own ? t->device->table->buffer_create(t->device, own, &t->own, error) : RYND_OK);
    ry_bound_set_memory(&t->bound, (ry_pointer){NULL, 0}, (ry_pointer){t->own, 0},
                        (ry_pointer){t->own, workspace});
    return RYND_OK;
}

static rynd_status prepare(ry_transfer *t, ry_error *error)
{
    if (t->device->host_memory) {
        RY_TRY(t->device->table->buffer_wrap(t->device, t->host.data, 0, &t->wrapped, error));
        return prepare_copy(t, error);
    }
    return ry_tensor_same_map(&t->host, &t->planned)
               ? RYND_OK
               : t->device->table->host_take(t->device, ry_tensor_bytes(&t->planned), &t->staging,
                                             error);
}

rynd_status ry_transfer_create(ry_device *device, const ry_tensor *host, const ry_tensor *planned,
                               bool to_device, ry_transfer **transfer, ry_error *error)
{
    ry_transfer *t = ry_allocate_array(device->allocator, 1, sizeof *t);
    if (!t) {
        return ry_fail_memory(error);
    }
    t->device = device;
    t->to_device = to_device;
    t->host = *host;
    t->planned = *planned;
    ry_arena_init(&t->arena, device->allocator);
    rynd_status status = prepare(t, error);
    if (status != RYND_OK) {
        ry_transfer_destroy(t);
        return status;
    }
    *transfer = t;
    return RYND_OK;
}

void ry_transfer_destroy(ry_transfer *transfer)
{
    if (!transfer) {
        return;
    }
    const ry_allocator *allocator = transfer->device->allocator;
    transfer->device->table->buffer_destroy(transfer->device, transfer->wrapped);
    transfer->device->table->buffer_destroy(transfer->device, transfer->own);
    transfer->device->table->host_give_back(transfer->device, transfer->staging);
    ry_arena_free(&transfer->arena);
    ry_release(allocator, transfer);
}

size_t ry_transfer_copied(const ry_transfer *transfer)
{
    return transfer->device->host_memory || transfer->staging ? ry_tensor_bytes(&transfer->host)
                                                              : 0;
}

static rynd_status run_shared(ry_transfer *t, ry_stream *stream, ry_pointer pointer,
                              ry_error *error)
{
    const int caller = t->to_device ? 0 : 1;
    t->bound.arguments[caller] = (ry_pointer){t->wrapped, 0};
    t->bound.arguments[1 - caller] = pointer;
    return ry_bound_launch(&t->bound, t->device, stream, error);
}

rynd_status ry_transfer_start(ry_transfer *transfer, ry_stream *stream, ry_pointer pointer,
                              ry_error *error)
{
    ry_transfer *t = transfer;
    if (t->device->host_memory) {
        return run_shared(t, stream, pointer, error);
    }
    ry_tensor staged = t->planned;
    staged.data = t->staging ? t->staging : t->host.data;
    const size_t bytes = ry_tensor_bytes(&staged);
    if (!t->to_device) {
        return t->device->table->download(stream, staged.data, pointer, bytes, error);
    }
    if (t->staging) {
        ry_tensor_copy(&staged, &t->host);
    }
    return t->device->table->upload(stream, pointer, staged.data, bytes, error);
}

void ry_transfer_finish(ry_transfer *transfer)
{
    if (transfer->staging && !transfer->to_device) {
        ry_tensor staged = transfer->planned;
        staged.data = transfer->staging;
        ry_tensor_copy(&transfer->host, &staged);
    }
}
