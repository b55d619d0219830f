/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts what is exchanged into buckets, and begins and awaits them between the steps. */
#include "api/trainer_sharing.h"

#include "api/handles.h"
#include "base/integer.h"
#include "exchange/exchanger.h"

#include <stdbool.h>
#include <string.h>

/* As a gradient is: where a step writes it, and where the sum is. */
typedef struct segment {
    uint32_t output;
    float *at;
    size_t bytes;
    bool copied;          /* from the output's own place */
    size_t made, awaited; /* steps after which the value exists; first step that reads the sum */
} segment;

typedef struct bucket {
    size_t first, end;    /* segments */
    size_t made, awaited; /* behind so many steps; before that one */
    bool back;            /* it was waited for in this run */
} bucket;

struct ry_sharing {
    ry_arena arena;
    ry_session *session;
    const ry_plan *plan;
    ry_exchanger *exchanger;
    ry_session_watch watch;
    ry_buffer *buffer;
    float *memory;
    size_t size;
    segment *segments;
    size_t segment_count;
    bucket *buckets;
    size_t bucket_count;
    int ranks;
    bool broken; /* a run ended in the middle: the ranks are apart */
};

/* How many steps run until it is written. */
static size_t steps_until(const ry_plan *plan, const ry_location *location)
{
    size_t steps = 0;
    for (size_t s = 0; s < plan->step_count; s++) {
        for (int i = 0; i < plan->steps[s].problem.outputs; i++) {
            const ry_location *out = &plan->steps[s].out[i];
            steps =
                out->storage == location->storage && out->index == location->index ? s + 1 : steps;
        }
    }
    return steps;
}

/* plan->step_count: nobody. */
static size_t first_reader(const ry_plan *plan, ry_storage storage, uint32_t index)
{
    for (size_t s = 0; s < plan->step_count; s++) {
        for (int i = 0; i < plan->steps[s].problem.inputs; i++) {
            const ry_location *in = &plan->steps[s].in[i];
            if (in->storage == storage && in->index == index) {
                return s;
            }
        }
    }
    return plan->step_count;
}

static segment segment_of(const ry_plan *plan, const ry_exchanged *what)
{
    const ry_location *location = &plan->outputs[what->output].location;
    const bool own = location->storage == RY_STORAGE_OUTPUT && location->index == what->output;
    return (segment){
        .output = what->output,
        .bytes = what->count * sizeof(float),
        .copied = !own || first_reader(plan, RY_STORAGE_OUTPUT, what->output) < plan->step_count,
        .made = location->storage == RY_STORAGE_OUTPUT ? steps_until(plan, location) : 0,
        .awaited = what->input == UINT32_MAX ? plan->step_count
                                             : first_reader(plan, RY_STORAGE_INPUT, what->input),
    };
}

/* In the order in which they are made; a bucket is full when it has `bytes`. */
static rynd_status cut(ry_sharing *s, const ry_exchanged_list *what, size_t bytes, ry_error *error)
{
    const size_t count = what->count;
    size_t in_bucket = 0;
    s->segments = RY_TAKE(&s->arena, segment, count);
    s->buckets = RY_TAKE(&s->arena, bucket, count);
    if (!s->segments || !s->buckets) {
        return ry_fail_memory(error);
    }
    for (; s->segment_count < count; s->segment_count++) {
        const segment own = segment_of(s->plan, &what->items[s->segment_count]);
        if (s->bucket_count == 0 || in_bucket >= bytes) {
            s->buckets[s->bucket_count++] =
                (bucket){.first = s->segment_count, .awaited = s->plan->step_count};
            in_bucket = 0;
        }
        bucket *b = &s->buckets[s->bucket_count - 1];
        b->end = s->segment_count + 1;
        b->made = own.made > b->made ? own.made : b->made;
        b->awaited = own.awaited < b->awaited ? own.awaited : b->awaited;
        s->segments[s->segment_count] = own;
        in_bucket += ry_aligned(own.bytes);
        s->size += ry_aligned(own.bytes);
    }
    for (size_t i = 0; i < s->bucket_count; i++) {
        if (s->buckets[i].made > s->buckets[i].awaited) {
            return ry_fail(error, RYND_ERROR_UNSUPPORTED,
                           "a step reads the sum of gradients before all of them are there");
        }
    }
    return RYND_OK;
}

static rynd_status bind(ry_sharing *s, const ry_exchanged_list *what, ry_error *error)
{
    ry_device *device = s->plan->device;
    RY_TRY(device->table->buffer_create(device, s->size, &s->buffer, error));
    s->memory = device->table->buffer_address(s->buffer);
    memset(s->memory, 0, s->size); /* what is between segments is added up, too */
    size_t offset = 0;
    for (size_t i = 0; i < s->segment_count; i++) {
        const ry_pointer pointer = {s->buffer, offset};
        segment *own = &s->segments[i];
        own->at = s->memory + offset / sizeof(float);
        if (!own->copied) {
            RY_TRY(ry_session_bind_output_pointer(s->session, own->output, pointer, error));
        }
        if (what->items[i].input != UINT32_MAX) {
            RY_TRY(ry_session_bind_input_pointer(s->session, what->items[i].input, pointer, error));
        }
        offset += ry_aligned(own->bytes);
    }
    return RYND_OK;
}

/* Ranks that train different things would add up what does not belong together, or wait for each
 * other for ever. Sums of so small numbers are exact. */
static rynd_status compare(const ry_sharing *s, const rynd_exchange *exchange, ry_error *error)
{
    enum { PIECES = 4, PIECE_BITS = 12 };
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
    float own[PIECES], sums[PIECES];
    for (size_t i = 0; i < s->segment_count; i++) {
        hash = (hash ^ (s->segments[i].bytes + i)) * 0x100000001b3u;
    }
    hash ^= hash >> 32;
    for (int i = 0; i < PIECES; i++) {
        own[i] = sums[i] = (float)(hash >> (PIECE_BITS * i) & ((1u << PIECE_BITS) - 1));
    }
    if (exchange->all_reduce(exchange->user, sums, PIECES) != 0) {
        return ry_fail(error, RYND_ERROR_DEVICE,
                       "rank %d of %d: the exchange with the other ranks failed", exchange->rank,
                       exchange->ranks);
    }
    for (int i = 0; i < PIECES; i++) {
        if (sums[i] != own[i] * (float)exchange->ranks) {
            return ry_fail(error, RYND_ERROR_ARGUMENT,
                           "rank %d of %d: the ranks do not train the same: give each the same "
                           "model and options",
                           exchange->rank, exchange->ranks);
        }
    }
    return RYND_OK;
}

static rynd_status before(void *user, size_t step, ry_error *error)
{
    ry_sharing *s = user;
    for (size_t i = 0; i < s->bucket_count; i++) {
        bucket *b = &s->buckets[i];
        if (b->awaited <= step && !b->back) {
            RY_TRY(ry_exchanger_wait(s->exchanger, i, error));
            b->back = true;
        }
    }
    return RYND_OK;
}

static void fill(const ry_sharing *s, const bucket *b)
{
    for (size_t i = b->first; i < b->end; i++) {
        const segment *own = &s->segments[i];
        if (own->copied && own->bytes) {
            const ry_pointer from = ry_session_output_pointer(s->session, own->output);
            const char *at = s->plan->device->table->buffer_address(from.buffer);
            memcpy(own->at, at + from.offset, own->bytes);
        }
    }
}

static void begin_made(ry_sharing *s, size_t steps)
{
    for (size_t i = 0; i < s->bucket_count; i++) {
        if (s->buckets[i].made == steps) {
            fill(s, &s->buckets[i]);
            ry_exchanger_begin(s->exchanger, i);
        }
    }
}

static void after(void *user, size_t step)
{
    begin_made(user, step + 1);
}

/* With what is between segments. */
static size_t floats_of(const ry_sharing *s, size_t index)
{
    const segment *first = &s->segments[s->buckets[index].first],
                  *last = &s->segments[s->buckets[index].end - 1];
    return (size_t)(last->at - first->at) + last->bytes / sizeof(float);
}

static rynd_status start_exchange(ry_sharing *s, const ry_allocator *allocator,
                                  const rynd_exchange *exchange, ry_error *error)
{
    ry_bucket *list = RY_TAKE(&s->arena, ry_bucket, s->bucket_count);
    if (!list) {
        return ry_fail_memory(error);
    }
    for (size_t i = 0; i < s->bucket_count; i++) {
        list[i] = (ry_bucket){s->segments[s->buckets[i].first].at, floats_of(s, i)};
    }
    return ry_exchanger_create(allocator, exchange, list, s->bucket_count, &s->exchanger, error);
}

rynd_status ry_sharing_create(const ry_allocator *allocator, const rynd_exchange *exchange,
                              size_t bucket_bytes, const ry_exchanged_list *what,
                              ry_session *session, const ry_plan *plan, ry_sharing **sharing,
                              ry_error *error)
{
    if (plan->device->table->kind != RY_DEVICE_cpu) {
        return ry_fail(error, RYND_ERROR_UNSUPPORTED,
                       "ranks exchange what the CPU computes: train with the device cpu");
    }
    ry_sharing *s = ry_allocate_array(allocator, 1, sizeof *s);
    if (!s) {
        return ry_fail_memory(error);
    }
    ry_arena_init(&s->arena, allocator);
    s->session = session;
    s->plan = plan;
    s->ranks = exchange->ranks;
    s->watch = (ry_session_watch){before, after, s};
    rynd_status status = cut(s, what, bucket_bytes, error);
    status = status == RYND_OK ? bind(s, what, error) : status;
    status = status == RYND_OK ? compare(s, exchange, error) : status;
    status = status == RYND_OK ? start_exchange(s, allocator, exchange, error) : status;
    if (status != RYND_OK) {
        ry_sharing_destroy(s);
        return status;
    }
    ry_session_set_watch(session, &s->watch);
    *sharing = s;
    return RYND_OK;
}

void ry_sharing_destroy(ry_sharing *s)
{
    if (s) {
        const ry_allocator *allocator = s->arena.allocator;
        ry_device *device = s->plan->device;
        ry_exchanger_destroy(s->exchanger);
        device->table->buffer_destroy(device, s->buffer);
        ry_arena_free(&s->arena);
        ry_release(allocator, s);
    }
}

rynd_status ry_sharing_begin(ry_sharing *s, ry_error *error)
{
    if (s->broken) {
        return ry_fail(error, RYND_ERROR_ARGUMENT,
                       "an earlier step failed while others may have gone on: make the trainer "
                       "anew on all ranks, from a checkpoint");
    }
    s->broken = true; /* until the run's end */
    begin_made(s, 0);
    return RYND_OK;
}

rynd_status ry_sharing_finish(ry_sharing *s, ry_error *error)
{
    RY_TRY(before(s, s->plan->step_count, error));
    for (size_t i = 0; i < s->bucket_count; i++) {
        s->buckets[i].back = false;
    }
    s->broken = false;
    return RYND_OK;
}

double ry_sharing_loss(const ry_sharing *s)
{
    return (double)s->segments[s->segment_count - 1].at[0] / s->ranks;
}

size_t ry_sharing_bucket_count(const ry_sharing *s)
{
    return s->bucket_count;
}

rynd_bucket_info ry_sharing_bucket(const ry_sharing *s, size_t index)
{
    const bucket *b = &s->buckets[index];
    return RYND_SIZED(rynd_bucket_info, .bytes = floats_of(s, index) * sizeof(float),
                      .made = b->made, .awaited = b->awaited);
}

size_t ry_sharing_memory(const ry_sharing *s)
{
    return s->size;
}
