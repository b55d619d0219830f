/* SPDX-License-Identifier: Apache-2.0 */
/* Makes and frees operands. */
#include "tune/operands.h"

#include "tune/shuffle.h"

static double pick(ry_dtype dtype, int64_t range, uint64_t *random)
{
    if (ry_dtype_is_float(dtype)) {
        return (double)(ry_random_next(random) >> 11) * 0x1p-52 - 1;
    }
    if (range == 0) {
        return 0;
    }
    const bool back = ry_dtype_get_kind(dtype) == RY_KIND_SIGNED;
    return (double)ry_random_below(random, (size_t)(back ? 2 * range : range)) -
           (double)(back ? range : 0);
}

static void fill(const ry_tensor *tensor, void *data, int64_t range, uint64_t *random)
{
    const ry_dtype dtype = (ry_dtype)tensor->dtype;
    const int64_t count = (int64_t)(ry_tensor_span(tensor) / ry_dtype_size(dtype));
    for (int64_t i = 0; i < count; i++) {
        ry_set_f64(dtype, data, i, pick(dtype, range, random));
    }
}

static rynd_status make_input(ry_operands *o, int index, uint64_t *random, ry_error *error)
{
    const ry_tensor *tensor = &o->problem->in[index];
    const size_t bytes = ry_tensor_span(tensor);
    if (!ry_tensor_present(tensor) || bytes == 0) {
        return RYND_OK;
    }
    o->in[index] = ry_allocate(o->device->allocator, bytes);
    if (!o->in[index]) {
        return ry_fail_memory(error);
    }
    fill(tensor, o->in[index], o->range, random);
    return o->device->table->buffer_wrap(o->device, o->in[index], bytes, &o->pointer[index].buffer,
                                         error);
}

static rynd_status make_outputs(ry_operands *o, ry_error *error)
{
    size_t most = 0;
    for (int i = 0; i < o->problem->outputs; i++) {
        const size_t bytes = ry_tensor_span(&o->problem->out[i]);
        if (!ry_tensor_present(&o->problem->out[i]) || bytes == 0) {
            continue;
        }
        RY_TRY(o->device->table->buffer_create(o->device, bytes,
                                               &o->pointer[o->problem->inputs + i].buffer, error));
        most = bytes > most ? bytes : most;
    }
    o->out = o->device->host_memory ? NULL : ry_allocate(o->device->allocator, most);
    return o->device->host_memory || o->out ? RYND_OK : ry_fail_memory(error);
}

static rynd_status check(const ry_problem *problem, ry_error *error)
{
    for (int i = 0; i < problem->inputs + problem->outputs; i++) {
        const ry_tensor *t =
            i < problem->inputs ? &problem->in[i] : &problem->out[i - problem->inputs];
        if (ry_tensor_present(t) && ry_tensor_count(t) > 0 && ry_tensor_span(t) == 0) {
            return ry_fail(error, RYND_ERROR_UNSUPPORTED,
                           "operand %d has a negative stride, which is not tuned", i);
        }
    }
    return RYND_OK;
}

rynd_status ry_operands_make(ry_operands *operands, ry_device *device, const ry_problem *problem,
                             uint64_t seed, int64_t range, ry_arena *arena, ry_error *error)
{
    *operands = (ry_operands){
        .device = device,
        .problem = problem,
        .range = range,
        .in = RY_TAKE(arena, void *, problem->inputs),
        .pointer = RY_TAKE(arena, ry_pointer, problem->inputs + problem->outputs),
    };
    if (!operands->in || !operands->pointer) {
        return ry_fail_memory(error);
    }
    RY_TRY(check(problem, error));
    RY_TRY(device->table->stream_create(device, &operands->stream, error));
    if (device->table->stream_time) {
        RY_TRY(device->table->stream_time(operands->stream, true, error));
    }
    for (int i = 0; i < problem->inputs; i++) {
        RY_TRY(make_input(operands, i, &seed, error));
    }
    return make_outputs(operands, error);
}

void ry_operands_free(ry_operands *operands)
{
    ry_device *device = operands->device;
    if (!device) {
        return;
    }
    for (int i = 0; operands->in && operands->pointer && i < operands->problem->inputs; i++) {
        device->table->buffer_destroy(device, operands->pointer[i].buffer);
        ry_release(device->allocator, operands->in[i]);
    }
    for (int i = 0; operands->in && operands->pointer && i < operands->problem->outputs; i++) {
        device->table->buffer_destroy(device,
                                      operands->pointer[operands->problem->inputs + i].buffer);
    }
    ry_release(device->allocator, operands->out);
    if (operands->stream) {
        device->table->stream_destroy(device, operands->stream);
    }
}

rynd_status ry_operands_clear(ry_operands *operands, ry_error *error)
{
    for (int i = 0; i < operands->problem->outputs; i++) {
        const ry_pointer pointer = operands->pointer[operands->problem->inputs + i];
        if (pointer.buffer) {
            RY_TRY(ry_device_clear(operands->device, operands->stream, pointer,
                                   ry_tensor_span(&operands->problem->out[i]), error));
        }
    }
    return RYND_OK;
}

rynd_status ry_operands_output(ry_operands *operands, int output, const void **data,
                               ry_error *error)
{
    ry_device *device = operands->device;
    const ry_pointer pointer = operands->pointer[operands->problem->inputs + output];
    *data = operands->out;
    if (!pointer.buffer) {
        return RYND_OK;
    }
    if (device->host_memory) {
        *data = device->table->buffer_address(pointer.buffer);
        return device->table->synchronize(operands->stream, error);
    }
    RY_TRY(device->table->download(operands->stream, operands->out, pointer,
                                   ry_tensor_span(&operands->problem->out[output]), error));
    return device->table->synchronize(operands->stream, error);
}
