/* SPDX-License-Identifier: Apache-2.0 */
/* Runs steps of a device's plan on the CPU beside it. */
#include "exec/fallback.h"

#include "base/integer.h"

static bool is_constant(const ry_step *step, int i)
{
    return step->in[i].storage == RY_STORAGE_CONSTANT;
}

static bool is_staged(const ry_step *step, int i)
{
    return step->in[i].storage != RY_STORAGE_NONE && !is_constant(step, i);
}

/* Where a step's memory begins in the staging buffer: operands in their order, workspace, scratch;
 * the end of all. */
static size_t place_at(const ry_step *step, const ry_device *host, int operand)
{
    const ry_problem *problem = &step->problem;
    size_t at = 0;
    for (int i = 0; i < operand && i < problem->inputs; i++) {
        at += is_staged(step, i) ? ry_aligned(ry_tensor_bytes(&problem->in[i])) : 0;
    }
    for (int i = 0; i < operand - problem->inputs && i < problem->outputs; i++) {
        at += ry_aligned(ry_tensor_bytes(&problem->out[i]));
    }
    const int operands = problem->inputs + problem->outputs;
    at += operand > operands ? ry_aligned(ry_prepared_workspace(&step->prepared)) : 0;
    at += operand > operands + 1 ? ry_aligned(step->prepared.scratch) * host->workers : 0;
    return at;
}

rynd_status ry_fallback_create(const ry_plan *plan, ry_fallback *fallback, ry_error *error)
{
    *fallback = (ry_fallback){.plan = plan, .host = plan->device->host};
    for (size_t s = 0; s < plan->step_count; s++) {
        const ry_step *step = &plan->steps[s];
        if (ry_plan_falls_back(plan, step)) {
            const int all = step->problem.inputs + step->problem.outputs + 2;
            const size_t size = place_at(step, fallback->host, all) + RY_ALIGNMENT;
            fallback->size = size > fallback->size ? size : fallback->size;
        }
    }
    if (fallback->size == 0) {
        return RYND_OK;
    }
    const ry_device_table *table = fallback->host->table;
    RY_TRY(table->buffer_create(fallback->host, fallback->size, &fallback->staging, error));
    return table->stream_create(fallback->host, &fallback->stream, error);
}

void ry_fallback_destroy(ry_fallback *fallback)
{
    if (fallback->host) {
        fallback->host->table->buffer_destroy(fallback->host, fallback->staging);
    }
    if (fallback->stream) {
        fallback->host->table->stream_destroy(fallback->host, fallback->stream);
    }
}

void ry_fallback_bind(const ry_fallback *fallback, const ry_step *step, ry_bound *bound)
{
    const ry_plan *plan = fallback->plan;
    const int inputs = step->problem.inputs, operands = inputs + step->problem.outputs;
    for (int i = 0; i < operands; i++) {
        const size_t at = place_at(step, fallback->host, i);
        if (i < inputs && is_constant(step, i)) {
            bound->arguments[i] = (ry_pointer){plan->weights.host_constants[step->in[i].index], 0};
        } else if (i >= inputs ? step->out[i - inputs].storage != RY_STORAGE_NONE
                               : is_staged(step, i)) {
            bound->arguments[i] = (ry_pointer){fallback->staging, at};
        }
    }
    ry_bound_set_memory(
        bound, step->packed,
        (ry_pointer){fallback->staging, place_at(step, fallback->host, operands)},
        (ry_pointer){fallback->staging, place_at(step, fallback->host, operands + 1)});
}

static void *address(const ry_fallback *fallback, ry_pointer pointer)
{
    return (char *)fallback->host->table->buffer_address(pointer.buffer) + pointer.offset;
}

rynd_status ry_fallback_run(ry_fallback *fallback, ry_stream *stream, const ry_step *step,
                            ry_bound *bound, const ry_pointer *operands, ry_error *error)
{
    const ry_device_table *table = fallback->plan->device->table;
    const int inputs = step->problem.inputs;
    for (int i = 0; i < inputs; i++) {
        if (is_staged(step, i)) {
            RY_TRY(table->download(stream, address(fallback, bound->arguments[i]), operands[i],
                                   ry_tensor_bytes(&step->problem.in[i]), error));
        }
    }
    /* what the step before has in the staging buffer has been copied by now, too */
    RY_TRY(table->synchronize(stream, error));
    RY_TRY(ry_bound_launch(bound, fallback->host, fallback->stream, error));
    RY_TRY(fallback->host->table->synchronize(fallback->stream, error));
    for (int i = 0; i < step->problem.outputs; i++) {
        const ry_pointer to = operands[inputs + i];
        if (to.buffer) {
            RY_TRY(table->upload(stream, to, address(fallback, bound->arguments[inputs + i]),
                                 ry_tensor_bytes(&step->problem.out[i]), error));
        }
    }
    return RYND_OK;
}
