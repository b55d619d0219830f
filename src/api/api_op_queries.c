/* SPDX-License-Identifier: Apache-2.0 */
/* Looks at an operator: operands, steps, knobs, memory, predictions. */
#include "api/api_check.h"
#include "api/api_knobs.h"
#include "api/api_plan.h"
#include "api/api_predict.h"
#include "api/api_status.h"
#include "api/op_handle.h"
#include "base/integer.h"

size_t ry_op_work_size(const rynd_op *op)
{
    size_t scratches, size;
    const bool fits = ry_mul_size(op->prepared.scratch, op->context->device->workers, &scratches) &&
                      ry_add_size(ry_prepared_workspace(&op->prepared), scratches, &size) &&
                      ry_add_size(size, RY_ALIGNMENT, &size);
    return fits ? size : SIZE_MAX;
}

size_t rynd_op_input_count(const rynd_op *op)
{
    return op ? (size_t)op->problem.inputs : 0;
}

size_t rynd_op_output_count(const rynd_op *op)
{
    return op ? (size_t)op->problem.outputs : 0;
}

static rynd_status describe(const ry_tensor *tensors, int count, size_t index, rynd_tensor *tensor)
{
    ry_error error = {""};
    if (index >= (size_t)count) {
        return ry_api_end(
            ry_fail(&error, RYND_ERROR_ARGUMENT, "operand %zu: there are %d", index, count),
            &error);
    }
    *tensor = tensors[index];
    return RYND_OK;
}

rynd_status rynd_op_get_input(const rynd_op *op, size_t index, rynd_tensor *tensor)
{
    RY_API_REQUIRE(op, tensor);
    return describe(op->in, op->problem.inputs, index, tensor);
}

rynd_status rynd_op_get_output(const rynd_op *op, size_t index, rynd_tensor *tensor)
{
    RY_API_REQUIRE(op, tensor);
    return describe(op->out, op->problem.outputs, index, tensor);
}

rynd_status rynd_op_get_info(const rynd_op *op, rynd_step_info *info)
{
    RY_API_REQUIRE(op, info);
    ry_error error = {""};
    return ry_api_end(ry_api_info(info, &op->info, sizeof *info, "rynd_step_info", &error), &error);
}

size_t rynd_op_knob_count(const rynd_op *op)
{
    return op && !op->plan ? (size_t)op->prepared.kernel->knob_count : 0;
}

static rynd_status check_knobs(const rynd_op *op, ry_error *error)
{
    return op->plan
               ? ry_fail(error, RYND_ERROR_ARGUMENT,
                         "the operator has several steps, and knobs for each: see rynd_op_plan")
               : RYND_OK;
}

rynd_status rynd_op_get_knob(const rynd_op *op, size_t index, rynd_knob *knob)
{
    RY_API_REQUIRE(op, knob);
    ry_error error = {""};
    rynd_status status = check_knobs(op, &error);
    if (status == RYND_OK) {
        status = ry_api_knob(&op->prepared, op->context->device, index, knob, &error);
    }
    return ry_api_end(status, &error);
}

rynd_status rynd_op_get_knob_value(const rynd_op *op, size_t knob, size_t index, char *value,
                                   size_t size)
{
    RY_API_REQUIRE(op, value);
    ry_error error = {""};
    rynd_status status = check_knobs(op, &error);
    if (status == RYND_OK) {
        status = ry_api_knob_value(&op->prepared, op->context->device, knob, index,
                                   (ry_text_room){value, size}, &error);
    }
    return ry_api_end(status, &error);
}

const rynd_plan *rynd_op_plan(const rynd_op *op)
{
    return op ? op->plan : NULL;
}

rynd_status rynd_op_get_memory(const rynd_op *op, rynd_memory *memory)
{
    RY_API_REQUIRE(op, memory);
    ry_error error = {""};
    const ry_plan *plan = op->plan ? op->plan->plan : NULL;
    rynd_memory all = {
        .weights = plan ? plan->weights.packed_size + plan->weights.host_packed_size +
                              plan->weights.constant_size
                        : ry_prepared_packed(&op->prepared),
        .workspace = plan ? plan->arena_size : ry_op_work_size(op) + op->prepared.state_size};
    for (int i = 0; i < op->problem.inputs; i++) {
        const bool constant = i < 32 && (op->constants >> i & 1u);
        const bool packed =
            constant &&
            (plan || (!op->prepared.packs && (op->prepared.kernel->packed_inputs >> i & 1u)));
        *(constant ? &all.weights : &all.activations) +=
            packed || !ry_tensor_present(&op->in[i]) ? 0 : ry_tensor_bytes(&op->in[i]);
    }
    for (int i = 0; i < op->problem.outputs; i++) {
        all.activations += ry_tensor_present(&op->out[i]) ? ry_tensor_bytes(&op->out[i]) : 0;
    }
    all.total = all.weights + all.activations + all.workspace;
    return ry_api_end(ry_api_info(memory, &all, sizeof all, "rynd_memory", &error), &error);
}

rynd_status rynd_op_predict(const rynd_op *op, rynd_prediction *prediction)
{
    RY_API_REQUIRE(op, prediction);
    if (op->plan) {
        return rynd_plan_predict(op->plan, prediction);
    }
    ry_error error = {""};
    return ry_api_end(ry_api_predict_op(&op->prepared, op->context, prediction, &error), &error);
}

rynd_status rynd_op_explain(const rynd_op *op, rynd_candidate_function tell, void *user)
{
    RY_API_REQUIRE(op);
    RY_TRY(ry_api_require_function(__func__, "tell", tell != NULL));
    for (size_t s = 0; op->plan && s < op->plan->plan->step_count; s++) {
        RY_TRY(rynd_plan_explain(op->plan, s, tell, user));
    }
    if (op->plan) {
        return RYND_OK;
    }
    ry_error error = {""};
    return ry_api_end(
        ry_api_explain_op(&op->prepared, op->constants, op->context, tell, user, &error), &error);
}
