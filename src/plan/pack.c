/* SPDX-License-Identifier: Apache-2.0 */
/* Packs the weights of every step into one buffer. */
#include "plan/plan_progress.h"
#include "plan/steps.h"

#include <string.h>

static bool is_packed(const ry_step *step, int input)
{
    return ry_tensor_present(&step->constants[input]) && input < 32 &&
           (step->prepared.kernel->packed_inputs >> input & 1u);
}

static void tell_unneeded(const ry_plan_options *options, const void *data, size_t size)
{
    if (options->unneeded) {
        options->unneeded(options->unneeded_user, data, size);
    }
}

/* Kernels read aligned elements, and a mapped file may hold its weights anywhere: then they are
 * copied, piece by piece, so that a matrix is not in memory twice. The caller releases the copy. */
static rynd_status copy_aligned(ry_plan *plan, const ry_tensor *constant,
                                const ry_plan_options *options, void **copy, ry_error *error)
{
    const size_t bytes = ry_tensor_bytes(constant), max_piece = (size_t)16 << 20;
    *copy = ry_allocate(plan->device->allocator, bytes);
    if (!*copy) {
        return ry_fail_memory(error);
    }
    for (size_t done = 0, piece; done < bytes; done += piece) {
        piece = bytes - done < max_piece ? bytes - done : max_piece;
        const char *from = (const char *)constant->data + done;
        memcpy((char *)*copy + done, from, piece);
        tell_unneeded(options, from, piece);
    }
    return RYND_OK;
}

/* Constants that a step packs, aligned. */
static rynd_status align_constants(ry_plan *plan, const ry_step *step,
                                   const ry_plan_options *options, void **copies, const void **data,
                                   ry_error *error)
{
    for (int i = 0; i < step->problem.inputs; i++) {
        const ry_tensor *constant = &step->constants[i];
        if (!is_packed(step, i)) {
            continue;
        }
        if ((uintptr_t)constant->data % ry_dtype_size((ry_dtype)constant->dtype) != 0) {
            RY_TRY(copy_aligned(plan, constant, options, &copies[i], error));
        }
        data[i] = copies[i] ? copies[i] : constant->data;
    }
    return RYND_OK;
}

static rynd_status pack_step(ry_plan *plan, ry_stream *stream, const ry_step *step,
                             const ry_plan_options *options, ry_arena *scratch, ry_error *error)
{
    ry_buffer *buffer = ry_plan_falls_back(plan, step) ? plan->host_packed : plan->packed;
    const int inputs = step->problem.inputs;
    void **copies = RY_TAKE(scratch, void *, inputs);
    const void **data = RY_TAKE(scratch, const void *, inputs);
    if (!copies || !data) {
        return ry_fail_memory(error);
    }
    rynd_status status = align_constants(plan, step, options, copies, data, error);
    if (status == RYND_OK) {
        const ry_place packed = {buffer, step->packed_offset};
        status = ry_prepared_pack(&step->prepared, ry_plan_step_device(plan, step), stream, data,
                                  packed, scratch, error);
    }
    for (int i = 0; i < inputs; i++) {
        ry_release(plan->device->allocator, copies[i]);
        if (is_packed(step, i)) {
            tell_unneeded(options, step->constants[i].data, ry_tensor_bytes(&step->constants[i]));
        }
    }
    return status;
}

static const ry_step *hungriest(const ry_plan *plan)
{
    const ry_step *most = plan->steps;
    for (size_t s = 1; s < plan->step_count; s++) {
        most = ry_prepared_packed(&plan->steps[s].prepared) > ry_prepared_packed(&most->prepared)
                   ? &plan->steps[s]
                   : most;
    }
    return most;
}

/* The weights of the steps that run on one device, into a buffer of it. */
static rynd_status pack_on(ry_plan *plan, ry_device *device, size_t size, ry_buffer **packed,
                           const ry_plan_options *options, ry_error *error)
{
    if (size == 0) {
        return RYND_OK;
    }
    const ry_device_table *table = device->table;
    ry_stream *stream = NULL;
    const rynd_status made = table->buffer_create(device, size, packed, error);
    if (made != RYND_OK) {
        ry_error_prefix(error, "packed weights of all steps, most of them for node '%s': ",
                        hungriest(plan)->name);
        return made;
    }
    RY_TRY(table->stream_create(device, &stream, error));
    ry_arena scratch;
    ry_arena_init(&scratch, device->allocator);
    rynd_status status = RYND_OK;
    for (size_t s = 0; s < plan->step_count && status == RYND_OK; s++) {
        const ry_step *step = &plan->steps[s];
        status = ry_plan_advance(plan, RY_STAGE_PACKING, s, plan->step_count, error);
        if (status == RYND_OK && ry_plan_step_device(plan, step) == device &&
            ry_prepared_packed(&step->prepared)) {
            status = pack_step(plan, stream, step, options, &scratch, error);
        }
    }
    ry_arena_free(&scratch);
    table->stream_destroy(device, stream);
    return status;
}

rynd_status ry_plan_pack(ry_plan *plan, const ry_plan_options *options, ry_error *error)
{
    ry_device *device = plan->device;
    RY_TRY(pack_on(plan, device, plan->packed_size, &plan->packed, options, error));
    return pack_on(plan, device->host, plan->host_packed_size, &plan->host_packed, options, error);
}
