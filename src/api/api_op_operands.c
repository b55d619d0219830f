/* SPDX-License-Identifier: Apache-2.0 */
/* Takes the operands of a run on device memory: buffers, values and constants. */
#include "api/api_buffer.h"
#include "api/op_runs.h"
#include "expr/expr.h"
#include "plan/in_place.h"

#include <string.h>

/* An element in host memory: the CPU reads a copy, other devices get it in the stream. */
static rynd_status take_value(rynd_op *op, int input, const void *value, ry_pointer workspace,
                              ry_stream *stream, ry_error *error)
{
    ry_device *device = op->context->device;
    const size_t size = ry_dtype_size((ry_dtype)op->in[input].dtype);
    if (!ry_op_is_value(op, input)) {
        return ry_fail(error, RYND_ERROR_ARGUMENT,
                       "a value is one element, and this input has %lld: give it a buffer",
                       (long long)ry_tensor_count(&op->in[input]));
    }
    if (device->host_memory) {
        memcpy(&op->values[input], value, size);
        RY_TRY(ry_op_wrap(op, input, error));
        op->operands[input] = (ry_pointer){op->wrapped[input], 0};
        return device->table->buffer_rewrap(device, &op->values[input], op->wrapped[input], error);
    }
    ry_pattern pattern = {{0}, (unsigned)size};
    memcpy(pattern.byte, value, size);
    op->operands[input] =
        (ry_pointer){workspace.buffer, workspace.offset + ry_op_values_offset(op) +
                                           (size_t)input * sizeof *op->values};
    return device->table->fill(stream, op->operands[input], pattern, size, error);
}

static rynd_status take_buffer(rynd_op *op, int operand, const rynd_operand *given, ry_error *error)
{
    const ry_tensor *tensor = ry_op_tensor(op, operand);
    if (!given->buffer) {
        return ry_fail(error, RYND_ERROR_ARGUMENT, "it has neither a buffer nor a value");
    }
    RY_TRY(ry_api_check_place(op->context, tensor, given->buffer, given->offset, error));
    op->operands[operand] = (ry_pointer){given->buffer->buffer, given->offset};
    return RYND_OK;
}

/* Bytes of an operand; `space` tells what they are counted in. */
typedef struct range {
    const void *space;
    int64_t first, begin, end; /* the first element's; begin == end: no bytes */
} range;

static range range_of(const rynd_op *op, int operand)
{
    const ry_device *device = op->context->device;
    const ry_pointer pointer = op->operands[operand];
    range r = {.first = (int64_t)pointer.offset};
    if (!pointer.buffer || ry_tensor_count(ry_op_tensor(op, operand)) == 0) {
        return r;
    }
    if (device->host_memory) {
        r.first += (int64_t)(uintptr_t)device->table->buffer_address(pointer.buffer);
    } else {
        r.space = device->table->buffer_native(pointer.buffer);
    }
    (void)ry_tensor_range(ry_op_tensor(op, operand), &r.begin, &r.end);
    r.begin += r.first;
    r.end += r.first;
    return r;
}

static bool overlap(const range *a, const range *b)
{
    return a->space == b->space && a->begin < b->end && b->begin < a->end;
}

bool ry_op_may_overwrite(const rynd_op *op, int output, const bool *old)
{
    return !op->plan && ry_kernel_may_overwrite(op->prepared.kernel, &op->problem, output, old);
}

static rynd_status check_output(const rynd_op *op, int output, ry_error *error)
{
    const int inputs = op->problem.inputs;
    const range own = range_of(op, inputs + output);
    bool old[RY_EXPR_MAX_INPUTS] = {false}, elsewhere = false;
    int other = -1;
    for (int i = 0; i < ry_op_operands(op); i++) {
        const range r = range_of(op, i);
        if (i == inputs + output || !overlap(&own, &r)) {
            continue;
        }
        other = i;
        if (i < inputs && i < RY_EXPR_MAX_INPUTS && r.first == own.first) {
            old[i] = true;
        } else {
            elsewhere = true;
        }
    }
    if (other < 0 || (!elsewhere && ry_op_may_overwrite(op, output, old))) {
        return RYND_OK;
    }
    return ry_fail(error, RYND_ERROR_ARGUMENT,
                   "it shares memory with %s %d, and this problem of %s is not computed in place "
                   "there (rynd_op_in_place)",
                   other < inputs ? "input" : "output", other < inputs ? other : other - inputs,
                   ry_op_name(op->problem.op));
}

static rynd_status take_operand(rynd_op *op, int operand, const rynd_operand *given,
                                ry_pointer workspace, ry_stream *stream, ry_error *error)
{
    if (!ry_op_is_operand(op, operand)) {
        return RYND_OK;
    }
    if (ry_op_is_constant(op, operand)) {
        return ry_op_take_memory(op, operand, op->constant_data[operand], error);
    }
    if (given->value && operand < op->problem.inputs) {
        return take_value(op, operand, given->value, workspace, stream, error);
    }
    return take_buffer(op, operand, given, error);
}

rynd_status ry_op_take_operands(rynd_op *op, const rynd_operand *inputs,
                                const rynd_operand *outputs, ry_pointer workspace,
                                ry_stream *stream, ry_error *error)
{
    const int count = op->problem.inputs;
    rynd_status status = RYND_OK;
    for (int i = 0; i < ry_op_operands(op); i++) {
        status = take_operand(op, i, i < count ? &inputs[i] : &outputs[i - count], workspace,
                              stream, error);
        if (status != RYND_OK) {
            ry_op_name_operand(op, "rynd_op_run_async", i, error);
            return status;
        }
    }
    op->constants_ready = true;
    for (int i = 0; i < op->problem.outputs && status == RYND_OK; i++) {
        status = ry_tensor_present(&op->out[i]) ? check_output(op, i, error) : RYND_OK;
        if (status != RYND_OK) {
            ry_op_name_operand(op, "rynd_op_run_async", count + i, error);
        }
    }
    return status;
}
