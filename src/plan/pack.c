/* SPDX-License-Identifier: Apache-2.0 */
/* Packs the weights of every step into one buffer. */
#include "plan/steps.h"

#include <string.h>

/* A constant for kernels, which read aligned elements: a mapped file may hold it anywhere. */
static const void *aligned_data(const ry_tensor *constant, ry_arena *scratch)
{
    if ((uintptr_t)constant->data % ry_dtype_size((ry_dtype)constant->dtype) == 0) {
        return constant->data;
    }
    void *copy = ry_arena_take(scratch, ry_tensor_bytes(constant), 1);
    return copy ? memcpy(copy, constant->data, ry_tensor_bytes(constant)) : NULL;
}

/* Constants of a step's node as buffers for the length of a packing launch. */
static rynd_status wrap_constants(ry_plan *plan, const ry_step *step, const ry_tensor *constants, ry_arena *scratch, ry_place *places,
                                  ry_error *error)
{
    for (int i = 0; i < step->problem.inputs; i++) {
        if (!constants[i].data) {
            continue;
        }
        const void *data = aligned_data(&constants[i], scratch);
        if (!data) {
            return ry_fail_memory(error);
        }
        RY_TRY(plan->device->table->buffer_wrap(plan->device, data, ry_tensor_bytes(&constants[i]), &places[i].buffer, error));
    }
    return RYND_OK;
}

static rynd_status pack_step(ry_plan *plan, ry_stream *stream, const ry_step *step, ry_arena *scratch, ry_error *error)
{
    int inputs = step->problem.inputs;
    ry_place *places = RY_TAKE(scratch, ry_place, inputs + 1);
    void **resolved = RY_TAKE(scratch, void *, inputs + 1);
    if (!places || !resolved) {
        return ry_fail_memory(error);
    }
    ry_kernel_call call = {step->kernel, &step->problem, &step->prepared, step->state, NULL, NULL};
    places[inputs] = (ry_place){plan->packed, step->packed_offset};
    ry_launch launch = {.call = &call,
                        .program.cpu = ry_kernel_cpu_pack_program,
                        .phases = 1,
                        .tasks = &step->prepared.pack_tasks,
                        .argument_count = inputs + 1,
                        .arguments = places,
                        .resolved = resolved};
    rynd_status status = wrap_constants(plan, step, step->constants, scratch, places, error);
    if (status == RYND_OK) {
        status = plan->device->table->launch(stream, &launch, error);
    }
    for (int i = 0; i < inputs; i++) {
        plan->device->table->buffer_destroy(plan->device, places[i].buffer);
    }
    return status;
}

static void tell_unneeded(const ry_step *step, const ry_plan_options *options)
{
    for (int i = 0; i < step->problem.inputs && i < 32 && options->unneeded; i++) {
        if (step->constants[i].data && (step->kernel->constant_inputs >> i & 1u)) {
            options->unneeded(options->unneeded_user, step->constants[i].data, ry_tensor_bytes(&step->constants[i]));
        }
    }
}

static const ry_step *hungriest(const ry_plan *plan)
{
    const ry_step *most = plan->steps;
    for (size_t s = 1; s < plan->step_count; s++) {
        most = plan->steps[s].prepared.packed > most->prepared.packed ? &plan->steps[s] : most;
    }
    return most;
}

rynd_status ry_plan_pack(ry_plan *plan, const ry_plan_options *options, ry_error *error)
{
    if (plan->packed_size == 0) {
        return RYND_OK;
    }
    const ry_device_table *table = plan->device->table;
    ry_stream *stream = NULL;
    const rynd_status made = table->buffer_create(plan->device, plan->packed_size, &plan->packed, error);
    if (made != RYND_OK) {
        ry_error_prefix(error, "packed weights of all steps, most of them for node '%s': ", hungriest(plan)->name);
        return made;
    }
    RY_TRY(table->stream_create(plan->device, &stream, error));
    rynd_status status = RYND_OK;
    for (size_t s = 0; s < plan->step_count && status == RYND_OK; s++) {
        if (plan->steps[s].prepared.packed) {
            ry_arena scratch; /* a step's own: it may hold copies of its weights */
            ry_arena_init(&scratch, plan->device->allocator);
            status = pack_step(plan, stream, &plan->steps[s], &scratch, error);
            ry_arena_free(&scratch);
            tell_unneeded(&plan->steps[s], options);
        }
    }
    table->stream_destroy(plan->device, stream);
    return status;
}
