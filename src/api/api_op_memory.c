/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of an operator's runs: workspace, values given as scalars, wrapped host memory. */
#include "api/api_buffer.h"
#include "api/api_check.h"
#include "api/op_runs.h"
#include "base/integer.h"

void ry_op_name_operand(const rynd_op *op, const char *function, int operand, ry_error *error)
{
    const int inputs = op->problem.inputs;
    ry_error_prefix(error, "%s: %s %d: ", function, operand < inputs ? "input" : "output",
                    operand < inputs ? operand : operand - inputs);
}

rynd_status ry_op_prepare_runs(rynd_op *op, ry_error *error)
{
    op->wrapped = RY_TAKE(&op->arena, ry_buffer *, ry_op_operands(op));
    op->values = RY_TAKE(&op->arena, uint64_t, op->problem.inputs);
    return op->wrapped && op->values ? RYND_OK : ry_fail_memory(error);
}

size_t ry_op_held_bytes(const rynd_op *op)
{
    size_t bytes = op->arena.total + (op->work ? rynd_op_workspace(op) : 0);
    for (int i = 0; i < ry_op_operands(op); i++) {
        const bool own = op->wrapped && op->wrapped[i] && !op->context->device->host_memory;
        bytes += own ? ry_tensor_span(ry_op_tensor(op, i)) : 0;
    }
    return bytes + (op->plan ? ry_session_memory(op->session) : ry_prepared_packed(&op->prepared));
}

bool ry_op_is_value(const rynd_op *op, int input)
{
    const ry_tensor *in = &op->in[input];
    return ry_tensor_present(in) && ry_tensor_count(in) > 0 &&
           ry_tensor_span(in) == ry_dtype_size((ry_dtype)in->dtype);
}

/* Bytes of the workspace that the kernel uses. */
static size_t kernel_workspace(const rynd_op *op)
{
    const bool any =
        !op->plan && (ry_prepared_workspace(&op->prepared) > 0 || op->prepared.scratch > 0);
    return any ? ry_op_work_size(op) : 0;
}

size_t ry_op_values_offset(const rynd_op *op)
{
    return ry_aligned(kernel_workspace(op));
}

size_t rynd_op_workspace(const rynd_op *op)
{
    if (!op || op->no_values) {
        return 0;
    }
    bool values = false;
    for (int i = 0; i < op->problem.inputs; i++) {
        values = values || ry_op_is_value(op, i);
    }
    return values && !op->context->device->host_memory
               ? ry_op_values_offset(op) + (size_t)op->problem.inputs * sizeof *op->values
               : kernel_workspace(op);
}

rynd_status ry_op_wrap(rynd_op *op, int operand, ry_error *error)
{
    ry_device *device = op->context->device;
    const ry_tensor *tensor = ry_op_tensor(op, operand);
    const size_t span = ry_tensor_span(tensor);
    if (op->wrapped[operand]) {
        return RYND_OK;
    }
    if (!device->host_memory && span == 0 && ry_tensor_count(tensor) > 0) {
        return ry_fail(error, RYND_ERROR_UNSUPPORTED,
                       "it has a negative stride, which device '%s' takes in buffers only "
                       "(rynd_op_run_async)",
                       device->table->name);
    }
    return device->table->buffer_wrap(device, NULL, span, &op->wrapped[operand], error);
}

rynd_status ry_op_take_memory(rynd_op *op, int operand, const void *data, ry_error *error)
{
    ry_device *device = op->context->device;
    RY_TRY(ry_api_check_data(ry_op_tensor(op, operand), data, error));
    RY_TRY(ry_op_wrap(op, operand, error));
    op->operands[operand] = (ry_pointer){op->wrapped[operand], 0};
    return ry_op_is_constant(op, operand) && op->constants_ready
               ? RYND_OK
               : device->table->buffer_rewrap(device, data, op->wrapped[operand], error);
}
