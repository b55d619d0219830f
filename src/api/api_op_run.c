/* SPDX-License-Identifier: Apache-2.0 */
/* Runs an operator: on host memory, which execute waits for, or in a stream on device memory. */
#include "api/api_buffer.h"
#include "api/api_check.h"
#include "api/api_op_plan.h"
#include "api/api_status.h"
#include "api/op_runs.h"
#include "base/integer.h"
#include "expr/expr.h"

static const ry_device_table *table_of(const rynd_op *op)
{
    return op->context->device->table;
}

rynd_status ry_op_own_stream(rynd_op *op, ry_stream **stream, ry_error *error)
{
    if (!op->stream) {
        RY_TRY(ry_api_create_stream(op->context, &op->stream, error));
    }
    *stream = op->stream->stream;
    return RYND_OK;
}

void ry_op_end_runs(rynd_op *op)
{
    if (op->last) {
        (void)ry_api_wait_stream(op->last, NULL);
    }
    for (int i = 0; op->wrapped && i < ry_op_operands(op); i++) {
        table_of(op)->buffer_destroy(op->context->device, op->wrapped[i]);
    }
    table_of(op)->buffer_destroy(op->context->device, op->work);
    ry_api_leave_stream(op->last);
    rynd_stream_destroy(op->stream);
}

void ry_op_forget_runs(rynd_op *op)
{
    if (op->plan) {
        (void)ry_session_finish(op->session, NULL);
    }
    op->fault_cleared = op->ran = false;
}

/* ---- workspace ---- */

/* Sets the memory that the kernel works in: the caller's, or the operator's own. */
static void set_workspace(rynd_op *op, ry_pointer pointer)
{
    ry_pointer scratch = pointer;
    scratch.offset += ry_aligned(ry_prepared_workspace(&op->prepared));
    ry_bound_set_memory(&op->bound, (ry_pointer){op->packed, 0}, pointer, scratch);
}

static rynd_status own_workspace(rynd_op *op, ry_pointer *pointer, ry_error *error)
{
    const size_t size = rynd_op_workspace(op);
    if (size && !op->work) {
        RY_TRY(table_of(op)->buffer_create(op->context->device, size, &op->work, error));
    }
    *pointer = (ry_pointer){op->work, 0};
    return RYND_OK;
}

static rynd_status given_workspace(const rynd_op *op, const rynd_operand *given,
                                   ry_pointer *pointer, ry_error *error)
{
    const size_t size = rynd_op_workspace(op);
    const rynd_buffer *buffer = given->buffer;
    if (size == 0) {
        return RYND_OK;
    }
    if (!buffer || buffer->context != op->context || given->offset % RY_ALIGNMENT) {
        return ry_fail(error, RYND_ERROR_ARGUMENT,
                       "workspace: give a buffer of the operator's context, and an offset that is "
                       "a multiple of %d",
                       (int)RY_ALIGNMENT);
    }
    const rynd_status status = ry_api_buffer_range(buffer, given->offset, size, error);
    if (status != RYND_OK) {
        ry_error_prefix(error, "workspace: ");
        return status;
    }
    *pointer = (ry_pointer){buffer->buffer, given->offset};
    return RYND_OK;
}

/* ---- launches ---- */

static rynd_status launch_kernel(rynd_op *op, ry_stream *stream, ry_error *error)
{
    ry_device *device = op->context->device;
    if (op->fault && !op->fault_cleared) {
        RY_TRY(
            ry_device_clear(device, stream, (ry_pointer){op->fault, 0}, sizeof(ry_fault), error));
        op->fault_cleared = true;
    }
    return ry_bound_launch(&op->bound, device, stream, error);
}

/* The memory of outputs is never an input's: the session need not settle. */
static rynd_status launch_plan(rynd_op *op, ry_stream *stream, ry_error *error)
{
    RY_TRY(ry_op_bind_session(op, error));
    RY_TRY(ry_session_use_stream(op->session, stream, error));
    return ry_session_launch(op->session, error);
}

static rynd_status launch(rynd_op *op, ry_pointer workspace, ry_stream *stream, ry_error *error)
{
    op->ran = true;
    if (op->plan) {
        return launch_plan(op, stream, error);
    }
    set_workspace(op, workspace);
    return launch_kernel(op, stream, error);
}

/* What kernels found wrong. Everything that was put into the stream is done when it returns. */
static rynd_status check_faults(rynd_op *op, ry_stream *stream, ry_error *error)
{
    if (op->plan) {
        return ry_session_finish(op->session, error);
    }
    if (op->fault_cleared) {
        op->fault_cleared = false;
        RY_TRY(table_of(op)->download(stream, &op->bound.fault, (ry_pointer){op->fault, 0},
                                      sizeof op->bound.fault, error));
    }
    RY_TRY(table_of(op)->synchronize(stream, error));
    return ry_bound_check(&op->bound, error);
}

static rynd_status checked(rynd_op *op, ry_stream *stream, ry_error *error)
{
    const rynd_status status = check_faults(op, stream, error);
    if (status != RYND_OK) {
        ry_error_prefix(error, "%s: ", ry_op_name(op->problem.op));
    }
    return status;
}

static rynd_status wait(rynd_op *op, ry_error *error)
{
    ry_stream *own;
    if (!op->last) {
        return RYND_OK;
    }
    RY_TRY(ry_op_own_stream(op, &own, error));
    RY_TRY(ry_api_wait_stream(op->last, error));
    const rynd_status status = checked(op, own, error);
    ry_api_leave_stream(op->last);
    op->last = NULL;
    return status;
}

rynd_status rynd_op_wait(rynd_op *op)
{
    RY_API_REQUIRE(op);
    ry_error error = {""};
    return ry_api_end(wait(op, &error), &error);
}

static rynd_status check_runs(const rynd_op *op, ry_error *error)
{
    RY_TRY(ry_api_check_runs(op->context->device, error));
    return op->no_values
               ? ry_fail(error, RYND_ERROR_ARGUMENT,
                         "the operator was made without the values of its constants; give them "
                         "to rynd_op_create")
               : RYND_OK;
}

/* ---- host memory ---- */

static rynd_status take_host_memory(rynd_op *op, const void *const *inputs, void *const *outputs,
                                    ry_error *error)
{
    for (int i = 0; i < ry_op_operands(op); i++) {
        const int output = i - op->problem.inputs;
        const void *data = ry_op_is_constant(op, i) ? op->constant_data[i]
                           : output < 0             ? inputs[i]
                                                    : outputs[output];
        const rynd_status status =
            ry_op_is_operand(op, i) ? ry_op_take_memory(op, i, data, error) : RYND_OK;
        if (status != RYND_OK) {
            ry_op_name_operand(op, "rynd_op_execute", i, error);
            return status;
        }
    }
    op->constants_ready = true;
    return RYND_OK;
}

/* Downloads outputs from a device with its own memory. Gaps between elements, which were uploaded
 * too, come back unchanged. */
static rynd_status download(rynd_op *op, void *const *outputs, ry_stream *stream, ry_error *error)
{
    if (op->context->device->host_memory) {
        return RYND_OK;
    }
    for (int i = 0; i < op->problem.outputs; i++) {
        const ry_pointer from = op->operands[op->problem.inputs + i];
        if (from.buffer) {
            RY_TRY(table_of(op)->download(stream, outputs[i], from, ry_tensor_span(&op->out[i]),
                                          error));
        }
    }
    return RYND_OK;
}

static rynd_status execute(rynd_op *op, const void *const *inputs, void *const *outputs,
                           ry_error *error)
{
    ry_stream *stream;
    ry_pointer workspace;
    RY_TRY(check_runs(op, error));
    RY_TRY(wait(op, error));
    RY_TRY(ry_op_own_stream(op, &stream, error));
    RY_TRY(own_workspace(op, &workspace, error));
    RY_TRY(take_host_memory(op, inputs, outputs, error));
    RY_TRY(launch(op, workspace, stream, error));
    RY_TRY(download(op, outputs, stream, error));
    return checked(op, stream, error);
}

rynd_status rynd_op_execute(rynd_op *op, const void *const *inputs, void *const *outputs)
{
    RY_API_REQUIRE(op, inputs, outputs);
    ry_error error = {""};
    return ry_api_end(execute(op, inputs, outputs, &error), &error);
}

/* ---- in a stream ---- */

/* Runs of an operator share memory: the new run begins behind the last. */
static rynd_status enter_stream(rynd_op *op, rynd_stream *stream, ry_error *error)
{
    RY_TRY(ry_api_check_stream(stream, op->context, error));
    if (op->plan) {
        RY_TRY(wait(op, error));
    }
    if (op->last == stream || op->context->device->host_memory) {
        return RYND_OK; /* a run on the CPU is done when it returns */
    }
    if (op->last) {
        RY_TRY(ry_api_follow_stream(stream, op->last, error));
    }
    ry_api_leave_stream(op->last);
    op->last = ry_api_hold_stream(stream);
    return RYND_OK;
}

static rynd_status run_async(rynd_op *op, const rynd_operand *inputs, const rynd_operand *outputs,
                             const rynd_operand *given, rynd_stream *stream, ry_error *error)
{
    ry_pointer workspace = {NULL, 0};
    RY_TRY(check_runs(op, error));
    RY_TRY(given ? given_workspace(op, given, &workspace, error)
                 : own_workspace(op, &workspace, error));
    RY_TRY(enter_stream(op, stream, error));
    RY_TRY(ry_op_take_operands(op, inputs, outputs, workspace, stream->stream, error));
    RY_TRY(launch(op, workspace, stream->stream, error));
    return op->context->device->host_memory ? checked(op, stream->stream, error) : RYND_OK;
}

rynd_status rynd_op_run_async(rynd_op *op, const rynd_operand *inputs, const rynd_operand *outputs,
                              const rynd_operand *workspace, rynd_stream *stream)
{
    RY_API_REQUIRE(op, inputs, outputs, stream);
    ry_error error = {""};
    return ry_api_end(run_async(op, inputs, outputs, workspace, stream, &error), &error);
}

int rynd_op_in_place(const rynd_op *op, size_t output, size_t input)
{
    bool old[RY_EXPR_MAX_INPUTS] = {false};
    if (!op || output >= (size_t)op->problem.outputs || input >= (size_t)op->problem.inputs ||
        input >= RY_EXPR_MAX_INPUTS || !ry_tensor_present(&op->out[output]) ||
        !ry_tensor_present(&op->in[input])) {
        return 0;
    }
    old[input] = true;
    return ry_op_may_overwrite(op, (int)output, old);
}

static rynd_status get_result(rynd_op *op, size_t index, rynd_tensor *tensor, ry_error *error)
{
    if (index >= (size_t)op->problem.outputs || !op->ran) {
        return op->ran ? ry_fail(error, RYND_ERROR_ARGUMENT, "output %zu: there are %d", index,
                                 op->problem.outputs)
                       : ry_fail(error, RYND_ERROR_ARGUMENT, "output %zu: run the operator first",
                                 index);
    }
    RY_TRY(wait(op, error));
    *tensor = op->out[index];
    if (!op->plan && ry_op_get_class(op->problem.op) == RY_CLASS_BOUNDED) {
        const ry_shape shape = ry_shape_of(tensor->rank, op->actual[index]);
        *tensor = ry_tensor_row_major((ry_dtype)tensor->dtype, &shape, NULL);
    }
    return RYND_OK;
}

rynd_status rynd_op_get_result(rynd_op *op, size_t index, rynd_tensor *tensor)
{
    RY_API_REQUIRE(op, tensor);
    ry_error error = {""};
    return ry_api_end(get_result(op, index, tensor, &error), &error);
}
