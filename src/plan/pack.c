/* SPDX-License-Identifier: Apache-2.0 */
/* Packs the weights of every step, unless another plan of the model has. */
#include "base/integer.h"
#include "graph/derive.h"
#include "kernels/packing.h"
#include "plan/make_steps.h"
#include "plan/plan_progress.h"
#include "plan/weights.h"

#include <string.h>

/* What is packed on one device. */
typedef struct packing {
    ry_plan *plan;
    ry_device *device;
    const ry_plan_options *options;
    ry_arena keys, scratch;
    ry_kept_thing *things; /* that plans of the model share */
    size_t *step_of;       /* one per thing */
    size_t count;
    size_t done; /* steps that are packed */
    ry_error *error;
} packing;

/* Does the step read packed weights on the device? */
static bool is_here(const packing *p, size_t s)
{
    const ry_step *step = &p->plan->steps[s];
    return ry_prepared_packed(&step->prepared) && ry_plan_step_device(p->plan, step) == p->device;
}

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
    const int inputs = step->problem.inputs;
    void **copies = RY_TAKE(scratch, void *, inputs);
    const void **data = RY_TAKE(scratch, const void *, inputs);
    if (!copies || !data) {
        return ry_fail_memory(error);
    }
    rynd_status status = align_constants(plan, step, options, copies, data, error);
    if (status == RYND_OK) {
        status = ry_prepared_pack(&step->prepared, ry_plan_step_device(plan, step), stream, data,
                                  step->packed, scratch, error);
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

static rynd_status create_buffer(const packing *p, size_t size, ry_buffer **buffer)
{
    const rynd_status made = p->device->table->buffer_create(p->device, size, buffer, p->error);
    if (made != RYND_OK) {
        ry_error_prefix(p->error, "packed weights of all steps, most of them for node '%s': ",
                        hungriest(p->plan)->name);
    }
    return made;
}

/* Has a step before this one the same place, as it has the same weights? */
static bool is_twin(const ry_plan *plan, size_t s)
{
    const ry_place place = plan->steps[s].packed;
    for (size_t i = 0; i < s; i++) {
        if (plan->steps[i].packed.buffer == place.buffer &&
            plan->steps[i].packed.offset == place.offset) {
            return true;
        }
    }
    return false;
}

/* Packs the steps whose place is in that buffer. */
static rynd_status fill(packing *p, const ry_buffer *buffer)
{
    ry_plan *plan = p->plan;
    const ry_device_table *table = p->device->table;
    ry_stream *stream = NULL;
    RY_TRY(table->stream_create(p->device, &stream, p->error));
    rynd_status status = RYND_OK;
    for (size_t s = 0; s < plan->step_count && status == RYND_OK; s++) {
        if (!is_here(p, s) || plan->steps[s].packed.buffer != buffer || is_twin(plan, s)) {
            continue;
        }
        status = ry_plan_advance(plan, RY_STAGE_PACKING, p->done++, plan->step_count, p->error);
        if (status == RYND_OK) {
            status = pack_step(plan, stream, &plan->steps[s], p->options, &p->scratch, p->error);
        }
    }
    table->stream_destroy(p->device, stream);
    return status;
}

/* What tells the packed weights of a step from all others of the model. false: nothing does. */
static bool make_key(const packing *p, const ry_step *step, ry_text *key)
{
    ry_text_bytes(key, &p->device, sizeof p->device);
    if (!ry_packing_add(&step->prepared, key)) {
        return false;
    }
    for (int i = 0; i < step->problem.inputs; i++) {
        if (is_packed(step, i) && !ry_graph_add_identity(p->plan->graph, step->values[i], key)) {
            return false;
        }
    }
    return true;
}

/* Lists the things that are shared; other steps get a place in the plan's own buffer. */
static rynd_status list_things(packing *p, size_t *own_size)
{
    ry_plan *plan = p->plan;
    p->things = RY_TAKE(&p->keys, ry_kept_thing, plan->step_count);
    p->step_of = RY_TAKE(&p->keys, size_t, plan->step_count);
    if (!p->things || !p->step_of) {
        return ry_fail_memory(p->error);
    }
    for (size_t s = 0; s < plan->step_count; s++) {
        ry_step *step = &plan->steps[s];
        ry_text key = {.arena = &p->keys};
        if (!is_here(p, s)) {
            continue;
        }
        const size_t size = ry_prepared_packed(&step->prepared);
        if (plan->weights && make_key(p, step, &key)) {
            p->things[p->count] =
                (ry_kept_thing){.key = key.at, .key_size = key.used, .size = size};
            p->step_of[p->count++] = s;
        } else {
            step->packed.offset = *own_size;
            *own_size += ry_aligned(size);
        }
        if (key.failed) {
            return ry_fail_memory(p->error);
        }
    }
    return RYND_OK;
}

static rynd_status pack_own(packing *p, size_t size, ry_buffer **buffer)
{
    if (size == 0) {
        return RYND_OK;
    }
    RY_TRY(create_buffer(p, size, buffer));
    size_t next = 0;
    for (size_t s = 0; s < p->plan->step_count; s++) {
        if (next < p->count && p->step_of[next] == s) {
            next++;
        } else if (is_here(p, s)) {
            p->plan->steps[s].packed.buffer = *buffer;
        }
    }
    return fill(p, *buffer);
}

/* Makes a new lot: packs the steps whose things it has. */
static rynd_status make_lot(void *context, const ry_lot *own, ry_buffer **buffer, ry_error *error)
{
    packing *p = context;
    (void)error; /* the packing's own */
    RY_TRY(create_buffer(p, ry_lot_size(own), buffer));
    for (size_t i = 0; i < p->count; i++) {
        if (p->things[i].lot == own) {
            p->plan->steps[p->step_of[i]].packed = (ry_place){*buffer, p->things[i].offset};
        }
    }
    return fill(p, *buffer);
}

static rynd_status pack_shared(packing *p)
{
    ry_plan *plan = p->plan;
    const ry_lot_maker maker = {p->device, make_lot, p};
    if (p->count == 0) {
        return RYND_OK;
    }
    RY_TRY(ry_weights_share(plan->weights, p->things, p->count, &maker, p->error));
    for (size_t i = 0; i < p->count; i++) {
        plan->steps[p->step_of[i]].packed =
            (ry_place){ry_packed_buffer(p->things[i].lot), p->things[i].offset};
        plan->lots[plan->lot_count++] = p->things[i].lot;
    }
    return RYND_OK;
}

static rynd_status pack_on(ry_plan *plan, ry_device *device, ry_buffer **own_buffer,
                           const ry_plan_options *options, ry_error *error)
{
    packing p = {.plan = plan, .device = device, .options = options, .error = error};
    size_t own_size = 0;
    ry_arena_init(&p.keys, device->allocator);
    ry_arena_init(&p.scratch, device->allocator);
    rynd_status status = list_things(&p, &own_size);
    status = status == RYND_OK ? pack_own(&p, own_size, own_buffer) : status;
    status = status == RYND_OK ? pack_shared(&p) : status;
    ry_arena_free(&p.keys);
    ry_arena_free(&p.scratch);
    return status;
}

rynd_status ry_plan_pack(ry_plan *plan, const ry_plan_options *options, ry_error *error)
{
    ry_device *device = plan->device;
    RY_TRY(pack_on(plan, device, &plan->packed, options, error));
    return plan->host_packed_size ? pack_on(plan, device->host, &plan->host_packed, options, error)
                                  : RYND_OK;
}
