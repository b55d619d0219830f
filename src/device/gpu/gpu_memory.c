/* SPDX-License-Identifier: Apache-2.0 */
/* Takes buffers from a driver, and keeps those that are given back.
 *
 * A driver takes from microseconds to milliseconds for one. What is given back may still be used by
 * launches and copies that are queued. Each has a ticket, a buffer that of the last one it was
 * given to, and a stream that of the first one which need not be done: a buffer is taken again once
 * every stream is beyond its ticket. */
#include "device/gpu/gpu_device.h"

typedef struct ry_gpu_pool ry_gpu_pool;

/* Most bytes of unused buffers to keep; a quarter of the device's memory, if that is less. */
#define MOST_UNUSED ((size_t)1 << 30)

bool ry_gpu_pool_init(ry_gpu_device *device)
{
    ry_gpu_pool *pool = &device->pool;
    const size_t quarter = device->memory / 4;
    pool->most_unused = quarter < MOST_UNUSED ? quarter : MOST_UNUSED;
    atomic_init(&pool->tickets, 0);
    return pthread_mutex_init(&pool->lock, NULL) == 0;
}

/* Every launch before this ticket is done. With the lock. */
static uint64_t first_pending(const ry_gpu_pool *pool)
{
    uint64_t first = RY_GPU_IDLE;
    for (ry_gpu_stream *stream = pool->streams; stream; stream = stream->next) {
        const uint64_t pending = atomic_load(&stream->pending);
        first = pending < first ? pending : first;
    }
    return first;
}

/* Leaves at most `keep` bytes unused, those that were given back last. With the lock. */
static void trim(ry_gpu_device *device, size_t keep)
{
    ry_gpu_pool *pool = &device->pool;
    const uint64_t pending = first_pending(pool);
    size_t kept = 0;
    ry_buffer **at = &pool->unused;
    while (*at) {
        ry_buffer *buffer = *at;
        if (buffer->room <= keep - kept) {
            kept += buffer->room;
            at = &buffer->next;
        } else {
            *at = buffer->next;
            device->driver->release(device, buffer, atomic_load(&buffer->ticket) >= pending);
            ry_release(device->base.allocator, buffer);
        }
    }
    pool->unused_bytes = kept;
}

void ry_gpu_pool_free(ry_gpu_device *device)
{
    trim(device, 0);
    pthread_mutex_destroy(&device->pool.lock);
}

bool ry_gpu_relieve(ry_gpu_device *device)
{
    pthread_mutex_lock(&device->pool.lock);
    const bool some = device->pool.unused != NULL;
    trim(device, 0);
    pthread_mutex_unlock(&device->pool.lock);
    return some;
}

void ry_gpu_add_stream(ry_gpu_device *device, ry_gpu_stream *stream)
{
    ry_gpu_pool *pool = &device->pool;
    atomic_init(&stream->pending, RY_GPU_IDLE);
    pthread_mutex_lock(&pool->lock);
    stream->next = pool->streams;
    pool->streams = stream;
    pthread_mutex_unlock(&pool->lock);
}

void ry_gpu_remove_stream(ry_gpu_device *device, ry_gpu_stream *stream)
{
    ry_gpu_pool *pool = &device->pool;
    pthread_mutex_lock(&pool->lock);
    ry_gpu_stream **at = &pool->streams;
    while (*at != stream) {
        at = &(*at)->next;
    }
    *at = stream->next;
    pthread_mutex_unlock(&pool->lock);
}

void ry_gpu_begin_use(ry_gpu_device *device, ry_gpu_stream *stream, const ry_pointer *pointers,
                      int count)
{
    const uint64_t ticket = atomic_fetch_add(&device->pool.tickets, 1) + 1;
    if (atomic_load(&stream->pending) == RY_GPU_IDLE) {
        atomic_store(&stream->pending, ticket);
    }
    for (int i = 0; i < count; i++) {
        if (pointers[i].buffer) {
            atomic_store(&pointers[i].buffer->ticket, ticket);
        }
    }
}

void ry_gpu_set_idle(ry_gpu_stream *stream)
{
    atomic_store(&stream->pending, RY_GPU_IDLE);
}

/* Sizes come in steps of an eighth of the power of two below, so that buffers of about a size can
 * take each other's place. */
static size_t room_for(const ry_gpu_device *device, size_t size)
{
    enum { LEAST = 256, MOST = 2 << 20 };
    size_t step = LEAST;
    while (step < MOST && step * 16 <= size) {
        step *= 2;
    }
    const size_t steps = size ? (size - 1) / step + 1 : 1;
    size_t room;
    return ry_mul_size(steps, step, &room) && room <= device->most_memory ? room : size;
}

/* The smallest unused buffer that has room, of at most a quarter more; NULL: there is none. With
 * the lock. */
static ry_buffer *reuse(ry_gpu_pool *pool, size_t room)
{
    const uint64_t pending = first_pending(pool);
    ry_buffer **best = NULL;
    for (ry_buffer **at = &pool->unused; *at; at = &(*at)->next) {
        if ((*at)->room >= room && (*at)->room - room <= room / 4 &&
            atomic_load(&(*at)->ticket) < pending && (!best || (*at)->room < (*best)->room)) {
            best = at;
        }
    }
    ry_buffer *buffer = best ? *best : NULL;
    if (buffer) {
        *best = buffer->next;
        pool->unused_bytes -= buffer->room;
    }
    return buffer;
}

static rynd_status fail_full(const ry_gpu_device *device, size_t size, ry_error *error)
{
    return ry_fail(error, RYND_ERROR_OUT_OF_MEMORY,
                   "out of memory for %zu bytes on %s: it has %zu, at most %zu of them in one "
                   "buffer%s, and %zu are taken",
                   size, device->base.name, device->memory, device->most_memory,
                   device->full_advice ? device->full_advice : "", device->pool.used);
}

/* With the lock. */
static rynd_status make(ry_gpu_device *device, size_t size, size_t room, ry_buffer **buffer,
                        ry_error *error)
{
    ry_gpu_pool *pool = &device->pool;
    if (pool->used > device->memory || room > device->memory - pool->used) {
        return fail_full(device, size, error);
    }
    if (pool->unused_bytes > device->memory - pool->used - room) {
        trim(device, device->memory - pool->used - room);
    }
    ry_buffer *b = ry_allocate_array(device->base.allocator, 1, sizeof *b);
    if (!b) {
        return ry_fail_memory(error);
    }
    b->room = room;
    bool full = false;
    rynd_status status = device->driver->take(device, b, &full, error);
    if (status != RYND_OK && pool->unused) {
        trim(device, 0);
        full = false;
        status = device->driver->take(device, b, &full, error);
    }
    if (status != RYND_OK) {
        ry_release(device->base.allocator, b);
        return full ? fail_full(device, size, error) : status;
    }
    *buffer = b;
    return RYND_OK;
}

rynd_status ry_gpu_take(ry_gpu_device *device, size_t size, ry_buffer **buffer, ry_error *error)
{
    ry_gpu_pool *pool = &device->pool;
    const size_t room = room_for(device, size);
    pthread_mutex_lock(&pool->lock);
    rynd_status status = RYND_OK;
    ry_buffer *b = NULL;
    if (size > device->most_memory) {
        status = fail_full(device, size, error);
    } else {
        b = reuse(pool, room);
        status = b ? RYND_OK : make(device, size, room, &b, error);
    }
    if (status == RYND_OK) {
        b->size = size;
        b->next = NULL;
        atomic_store(&b->ticket, 0);
        pool->used += b->room;
        pool->peak = pool->used > pool->peak ? pool->used : pool->peak;
        *buffer = b;
    }
    pthread_mutex_unlock(&pool->lock);
    return status;
}

rynd_status ry_gpu_import(ry_device *device, size_t size, ry_buffer **buffer, ry_error *error)
{
    ry_buffer *b = ry_allocate_array(device->allocator, 1, sizeof *b);
    if (!b) {
        return ry_fail_memory(error);
    }
    b->size = size;
    b->imported = true;
    atomic_init(&b->ticket, 0);
    *buffer = b;
    return RYND_OK;
}

void ry_gpu_give_back(ry_gpu_device *device, ry_buffer *buffer)
{
    ry_gpu_pool *pool = &device->pool;
    pthread_mutex_lock(&pool->lock);
    if (buffer->imported) {
        device->driver->release(device, buffer,
                                atomic_load(&buffer->ticket) >= first_pending(pool));
        pthread_mutex_unlock(&pool->lock);
        ry_release(device->base.allocator, buffer);
        return;
    }
    pool->used -= buffer->room;
    buffer->next = pool->unused;
    pool->unused = buffer;
    pool->unused_bytes += buffer->room;
    if (pool->unused_bytes > pool->most_unused) {
        trim(device, pool->most_unused);
    }
    pthread_mutex_unlock(&pool->lock);
}

void ry_gpu_figures(ry_device *device, ry_device_figures *figures)
{
    ry_gpu_device *d = ry_gpu_device_of(device);
    pthread_mutex_lock(&d->pool.lock);
    *figures = (ry_device_figures){.used = d->pool.used,
                                   .held = d->pool.used + d->pool.unused_bytes,
                                   .peak = d->pool.peak,
                                   .total = d->memory,
                                   .compiled = atomic_load(&d->programs.compiled),
                                   .read = atomic_load(&d->programs.read)};
    pthread_mutex_unlock(&d->pool.lock);
}

void ry_gpu_trim(ry_device *device, size_t keep)
{
    ry_gpu_device *d = ry_gpu_device_of(device);
    pthread_mutex_lock(&d->pool.lock);
    trim(d, keep);
    pthread_mutex_unlock(&d->pool.lock);
}
