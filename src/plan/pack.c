/* SPDX-License-Identifier: Apache-2.0 */
/* Packs the weights of every step, unless another plan of the model has. */
#include "plan/pack.h"

#include "base/integer.h"
#include "graph/derive.h"
#include "kernels/packing.h"
#include "plan/plan_progress.h"
#include "plan/weights.h"

#include <string.h>

/* What is packed on one device. */
typedef struct packing {
    ry_plan_builder *b;
    ry_device *device;
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
    const ry_step *step = &p->b->steps[s];
    return ry_prepared_packed(&step->prepared) &&
           ry_plan_step_device(p->b->plan, step) == p->device;
}

static bool is_packed(const ry_step *step, int input)
{
    return ry_tensor_present(&step->constants[input]) && input < 32 &&
           (step->prepared.kernel->packed_inputs >> input & 1u);
}

static void tell_unneeded(const ry_plan_builder *b, const void *data, size_t size)
{
    if (b->options->unneeded.tell) {
        b->options->unneeded.tell(b->options->unneeded.user, data, size);
    }
}

/* Kernels read aligned elements, and a mapped file may hold its weights anywhere: then they are
 * copied, piece by piece, so that a matrix is not in memory twice. The caller releases the copy. */
static rynd_status copy_aligned(ry_plan_builder *b, const ry_tensor *constant, void **copy,
                                ry_error *error)
{
    const size_t bytes = ry_tensor_bytes(constant), max_piece = (size_t)16 << 20;
    *copy = ry_allocate(b->plan->device->allocator, bytes);
    if (!*copy) {
        return ry_fail_memory(error);
    }
    for (size_t done = 0, piece; done < bytes; done += piece) {
        piece = bytes - done < max_piece ? bytes - done : max_piece;
        const char *from = (const char *)constant->data + done;
        memcpy((char *)*copy + done, from, piece);
        tell_unneeded(b, from, piece);
    }
    return RYND_OK;
}

/* Constants that a step packs, aligned. */
static rynd_status align_constants(ry_plan_builder *b, const ry_step *step, void **copies,
                                   const void **data, ry_error *error)
{
    for (int i = 0; i < step->problem.inputs; i++) {
        const ry_tensor *constant = &step->constants[i];
        if (!is_packed(step, i)) {
            continue;
        }
        if ((uintptr_t)constant->data % ry_dtype_size((ry_dtype)constant->dtype) != 0) {
            RY_TRY(copy_aligned(b, constant, &copies[i], error));
        }
        data[i] = copies[i] ? copies[i] : constant->data;
    }
    return RYND_OK;
}

static rynd_status pack_step(ry_plan_builder *b, ry_stream *stream, const ry_step *step,
                             ry_arena *scratch, ry_error *error)
{
    const int inputs = step->problem.inputs;
    void **copies = RY_TAKE(scratch, void *, inputs);
    const void **data = RY_TAKE(scratch, const void *, inputs);
    if (!copies || !data) {
        return ry_fail_memory(error);
    }
    rynd_status status = align_constants(b, step, copies, data, error);
    if (status == RYND_OK) {
        status = ry_prepared_pack(&step->prepared, ry_plan_step_device(b->plan, step), stream, data,
                                  step->packed, scratch, error);
    }
    for (int i = 0; i < inputs; i++) {
        ry_release(b->plan->device->allocator, copies[i]);
        if (is_packed(step, i)) {
            tell_unneeded(b, step->constants[i].data, ry_tensor_bytes(&step->constants[i]));
        }
    }
    return status;
}

static const ry_step *hungriest(const ry_plan_builder *b)
{
    const ry_step *most = b->steps;
    for (size_t s = 1; s < b->plan->step_count; s++) {
        most = ry_prepared_packed(&b->steps[s].prepared) > ry_prepared_packed(&most->prepared)
                   ? &b->steps[s]
                   : most;
    }
    return most;
}

static rynd_status create_buffer(const packing *p, size_t size, ry_buffer **buffer)
{
    const rynd_status made = p->device->table->buffer_create(p->device, size, buffer, p->error);
    if (made != RYND_OK) {
        ry_error_prefix(p->error, "packed weights of all steps, most of them for node '%s': ",
                        hungriest(p->b)->name);
    }
    return made;
}

/* Has a step before this one the same place, as it has the same weights? */
static bool is_twin(const ry_plan_builder *b, size_t s)
{
    const ry_pointer pointer = b->steps[s].packed;
    for (size_t i = 0; i < s; i++) {
        if (b->steps[i].packed.buffer == pointer.buffer &&
            b->steps[i].packed.offset == pointer.offset) {
            return true;
        }
    }
    return false;
}

/* Packs the steps whose place is in that buffer. */
static rynd_status fill(packing *p, const ry_buffer *buffer)
{
    ry_plan_builder *b = p->b;
    const ry_device_table *table = p->device->table;
    ry_stream *stream = NULL;
    RY_TRY(table->stream_create(p->device, &stream, p->error));
    rynd_status status = RYND_OK;
    for (size_t s = 0; s < b->plan->step_count && status == RYND_OK; s++) {
        if (!is_here(p, s) || b->steps[s].packed.buffer != buffer || is_twin(b, s)) {
            continue;
        }
        status = ry_plan_advance(b, RY_STAGE_PACKING, p->done++, b->plan->step_count, p->error);
        if (status == RYND_OK) {
            status = pack_step(b, stream, &b->steps[s], &p->scratch, p->error);
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
        if (is_packed(step, i) && !ry_graph_add_identity(p->b->graph, step->values[i], key)) {
            return false;
        }
    }
    return true;
}

/* Lists the things that are shared; other steps get a place in the plan's own buffer. */
static rynd_status list_things(packing *p, size_t *own_size)
{
    ry_plan_builder *b = p->b;
    p->things = RY_TAKE(&p->keys, ry_kept_thing, b->plan->step_count);
    p->step_of = RY_TAKE(&p->keys, size_t, b->plan->step_count);
    if (!p->things || !p->step_of) {
        return ry_fail_memory(p->error);
    }
    for (size_t s = 0; s < b->plan->step_count; s++) {
        ry_step *step = &b->steps[s];
        ry_text key = {.arena = &p->keys};
        if (!is_here(p, s)) {
            continue;
        }
        const size_t size = ry_prepared_packed(&step->prepared);
        if (b->plan->weights.shared && make_key(p, step, &key)) {
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
    for (size_t s = 0; s < p->b->plan->step_count; s++) {
        if (next < p->count && p->step_of[next] == s) {
            next++;
        } else if (is_here(p, s)) {
            p->b->steps[s].packed.buffer = *buffer;
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
            p->b->steps[p->step_of[i]].packed = (ry_pointer){*buffer, p->things[i].offset};
        }
    }
    return fill(p, *buffer);
}

static rynd_status pack_shared(packing *p)
{
    ry_plan_builder *b = p->b;
    const ry_lot_maker maker = {p->device, make_lot, p};
    if (p->count == 0) {
        return RYND_OK;
    }
    RY_TRY(ry_weights_share(b->plan->weights.shared, p->things, p->count, &maker, p->error));
    for (size_t i = 0; i < p->count; i++) {
        b->steps[p->step_of[i]].packed =
            (ry_pointer){ry_packed_buffer(p->things[i].lot), p->things[i].offset};
        b->plan->weights.lots[b->plan->weights.lot_count++] = p->things[i].lot;
    }
    return RYND_OK;
}

static rynd_status pack_on(ry_plan_builder *b, ry_device *device, ry_buffer **own_buffer,
                           ry_error *error)
{
    packing p = {.b = b, .device = device, .error = error};
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

rynd_status ry_plan_pack(ry_plan_builder *b, ry_error *error)
{
    ry_device *device = b->plan->device;
    RY_TRY(pack_on(b, device, &b->plan->weights.packed, error));
    return b->plan->weights.host_packed_size
               ? pack_on(b, device->host, &b->plan->weights.host_packed, error)
               : RYND_OK;
}
