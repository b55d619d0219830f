/* SPDX-License-Identifier: Apache-2.0 */
/* A hash table of things, chained, over a list of lots. */
#include "base/kept.h"

#include <pthread.h>
#include <string.h>

enum { BUCKETS = 1024, SERIAL_BUCKETS = 256 };

typedef enum lot_state { LOT_OPEN, LOT_MADE, LOT_ABANDONED } lot_state;

typedef struct entry {
    struct entry *next;     /* in the bucket */
    struct entry *same_lot; /* the lot's next entry */
    ry_lot *lot;
    uint64_t hash;
    size_t offset, key_size;
    unsigned char key[];
} entry;

/* The serial of lots that begin with a key, also after they are gone. */
typedef struct serial {
    struct serial *next; /* in the bucket */
    uint64_t hash, number;
    size_t key_size;
    unsigned char key[];
} serial;

struct ry_lot {
    ry_lot *next;
    lot_state state;
    size_t holds, size;
    uint64_t serial, dropped; /* dropped: when it became idle */
    void *content;
    entry *entries;
};

struct ry_kept {
    const ry_allocator *allocator;
    void (*destroy)(void *user, void *content);
    void *user;
    pthread_mutex_t lock;
    pthread_cond_t made;
    size_t limit, idle, bytes, count;
    uint64_t serial, clock;
    ry_lot *lots;
    entry *bucket[BUCKETS];
    serial *serials[SERIAL_BUCKETS];
};

rynd_status ry_kept_create(const ry_allocator *allocator, size_t limit,
                           void (*destroy)(void *user, void *content), void *user, ry_kept **kept,
                           ry_error *error)
{
    ry_kept *k = ry_allocate_array(allocator, 1, sizeof *k);
    if (!k) {
        return ry_fail_memory(error);
    }
    k->allocator = allocator;
    k->limit = limit;
    k->destroy = destroy;
    k->user = user;
    pthread_mutex_init(&k->lock, NULL);
    pthread_cond_init(&k->made, NULL);
    *kept = k;
    return RYND_OK;
}

/* FNV-1a, eight bytes at a time. */
static uint64_t hash_of(const void *key, size_t size)
{
    uint64_t hash = 0xcbf29ce484222325u, word;
    for (size_t at = 0, piece; at < size; at += piece) {
        piece = size - at < sizeof word ? size - at : sizeof word;
        word = 0;
        memcpy(&word, (const char *)key + at, piece);
        hash = (hash ^ word) * 0x100000001b3u;
        hash ^= hash >> 32;
    }
    return hash;
}

static void unlink_entry(ry_kept *kept, const entry *gone)
{
    entry **at = &kept->bucket[gone->hash % BUCKETS];
    while (*at && *at != gone) {
        at = &(*at)->next;
    }
    if (*at) {
        *at = gone->next;
    }
}

/* Nobody finds the lot's things any more. */
static void forget_entries(ry_kept *kept, ry_lot *lot)
{
    for (entry *e = lot->entries, *next; e; e = next) {
        next = e->same_lot;
        unlink_entry(kept, e);
        ry_release(kept->allocator, e);
    }
    lot->entries = NULL;
}

static void remove_lot(ry_kept *kept, ry_lot *lot)
{
    ry_lot **at = &kept->lots;
    while (*at != lot) {
        at = &(*at)->next;
    }
    *at = lot->next;
    kept->count--;
    forget_entries(kept, lot);
    if (lot->state == LOT_MADE) {
        kept->bytes -= lot->size;
        kept->destroy(kept->user, lot->content);
    }
    ry_release(kept->allocator, lot);
}

static ry_lot *oldest_idle(const ry_kept *kept)
{
    ry_lot *oldest = NULL;
    for (ry_lot *lot = kept->lots; lot; lot = lot->next) {
        if (lot->holds == 0 && (!oldest || lot->dropped < oldest->dropped)) {
            oldest = lot;
        }
    }
    return oldest;
}

static void trim(ry_kept *kept)
{
    while (kept->idle > kept->limit) {
        ry_lot *lot = oldest_idle(kept);
        if (kept->limit > 0 && lot->size == kept->idle) {
            break; /* the last one */
        }
        kept->idle -= lot->size;
        remove_lot(kept, lot);
    }
}

void ry_kept_destroy(ry_kept *kept)
{
    if (!kept) {
        return;
    }
    while (kept->lots) {
        remove_lot(kept, kept->lots);
    }
    for (size_t i = 0; i < SERIAL_BUCKETS; i++) {
        for (serial *s = kept->serials[i], *next; s; s = next) {
            next = s->next;
            ry_release(kept->allocator, s);
        }
    }
    pthread_mutex_destroy(&kept->lock);
    pthread_cond_destroy(&kept->made);
    ry_release(kept->allocator, kept);
}

static entry *find(const ry_kept *kept, const ry_kept_thing *thing, uint64_t hash)
{
    entry *e = kept->bucket[hash % BUCKETS];
    while (e && (e->hash != hash || e->key_size != thing->key_size ||
                 memcmp(e->key, thing->key, thing->key_size) != 0)) {
        e = e->next;
    }
    return e;
}

static void hold(ry_kept *kept, ry_lot *lot)
{
    if (lot->holds++ == 0 && lot->state == LOT_MADE) {
        kept->idle -= lot->size;
    }
}

/* 0: out of memory. */
static uint64_t serial_of(ry_kept *kept, const ry_kept_thing *thing, uint64_t hash)
{
    serial **at = &kept->serials[hash % SERIAL_BUCKETS];
    while (*at && ((*at)->hash != hash || (*at)->key_size != thing->key_size ||
                   memcmp((*at)->key, thing->key, thing->key_size) != 0)) {
        at = &(*at)->next;
    }
    if (!*at) {
        serial *made = ry_allocate(kept->allocator, sizeof *made + thing->key_size);
        if (!made) {
            return 0;
        }
        *made = (serial){.hash = hash, .number = ++kept->serial, .key_size = thing->key_size};
        memcpy(made->key, thing->key, thing->key_size);
        *at = made;
    }
    return (*at)->number;
}

/* A new, empty lot, which the list has; `thing` will be its first. */
static ry_lot *begin_lot(ry_kept *kept, const ry_kept_thing *thing, uint64_t hash)
{
    const uint64_t number = serial_of(kept, thing, hash);
    ry_lot *lot = number ? ry_allocate_array(kept->allocator, 1, sizeof *lot) : NULL;
    if (lot) {
        *lot = (ry_lot){.next = kept->lots, .serial = number};
        kept->lots = lot;
        kept->count++;
    }
    return lot;
}

static bool add_entry(ry_kept *kept, ry_lot *lot, const ry_kept_thing *thing, uint64_t hash)
{
    entry *e = ry_allocate(kept->allocator, sizeof *e + thing->key_size);
    if (!e) {
        return false;
    }
    *e = (entry){.next = kept->bucket[hash % BUCKETS],
                 .same_lot = lot->entries,
                 .lot = lot,
                 .hash = hash,
                 .offset = lot->size,
                 .key_size = thing->key_size};
    memcpy(e->key, thing->key, thing->key_size);
    kept->bucket[hash % BUCKETS] = lot->entries = e;
    lot->size += (thing->size + RY_ALIGNMENT - 1) / RY_ALIGNMENT * RY_ALIGNMENT;
    return true;
}

static bool take(ry_kept *kept, ry_kept_thing *thing, ry_lot **own)
{
    const uint64_t hash = hash_of(thing->key, thing->key_size);
    const entry *e = find(kept, thing, hash);
    if (!e) {
        *own = *own ? *own : begin_lot(kept, thing, hash);
        if (!*own || !add_entry(kept, *own, thing, hash)) {
            return false;
        }
        e = (*own)->entries;
    }
    thing->lot = e->lot;
    thing->offset = e->offset;
    hold(kept, e->lot);
    return true;
}

static void drop(ry_kept *kept, ry_lot *lot)
{
    if (--lot->holds > 0) {
        return;
    }
    if (lot->state != LOT_MADE) {
        remove_lot(kept, lot);
        return;
    }
    lot->dropped = ++kept->clock;
    kept->idle += lot->size;
    trim(kept);
}

static void abandon(ry_kept *kept, ry_lot *own)
{
    own->state = LOT_ABANDONED;
    forget_entries(kept, own);
    pthread_cond_broadcast(&kept->made);
}

rynd_status ry_kept_take(ry_kept *kept, ry_kept_thing *things, size_t count, ry_lot **own,
                         ry_error *error)
{
    size_t taken = 0;
    *own = NULL;
    pthread_mutex_lock(&kept->lock);
    while (taken < count && take(kept, &things[taken], own)) {
        taken++;
    }
    if (taken < count) {
        if (*own) {
            (*own)->holds++; /* until all is undone */
            abandon(kept, *own);
        }
        for (size_t i = 0; i < taken; i++) {
            drop(kept, things[i].lot);
        }
        if (*own) {
            drop(kept, *own);
        }
        *own = NULL;
    }
    pthread_mutex_unlock(&kept->lock);
    return taken == count ? RYND_OK : ry_fail_memory(error);
}

size_t ry_lot_size(const ry_lot *lot)
{
    return lot->size;
}

void ry_kept_finish(ry_kept *kept, ry_lot *own, void *content)
{
    pthread_mutex_lock(&kept->lock);
    own->content = content;
    own->state = LOT_MADE;
    kept->bytes += own->size;
    pthread_cond_broadcast(&kept->made);
    pthread_mutex_unlock(&kept->lock);
}

void ry_kept_abandon(ry_kept *kept, ry_lot *own)
{
    pthread_mutex_lock(&kept->lock);
    abandon(kept, own);
    pthread_mutex_unlock(&kept->lock);
}

bool ry_kept_await(ry_kept *kept, const ry_kept_thing *things, size_t count)
{
    bool all = true;
    pthread_mutex_lock(&kept->lock);
    for (size_t i = 0; i < count && all; i++) {
        while (things[i].lot->state == LOT_OPEN) {
            pthread_cond_wait(&kept->made, &kept->lock);
        }
        all = things[i].lot->state == LOT_MADE;
    }
    pthread_mutex_unlock(&kept->lock);
    return all;
}

void *ry_lot_content(const ry_lot *lot)
{
    return lot->content;
}

uint64_t ry_lot_serial(const ry_lot *lot)
{
    return lot->serial;
}

void ry_kept_drop(ry_kept *kept, ry_lot *lot)
{
    if (lot) {
        pthread_mutex_lock(&kept->lock);
        drop(kept, lot);
        pthread_mutex_unlock(&kept->lock);
    }
}

void ry_kept_set_limit(ry_kept *kept, size_t limit)
{
    pthread_mutex_lock(&kept->lock);
    kept->limit = limit;
    trim(kept);
    pthread_mutex_unlock(&kept->lock);
}

ry_kept_figures ry_kept_count(ry_kept *kept)
{
    pthread_mutex_lock(&kept->lock);
    const ry_kept_figures figures = {kept->bytes, kept->idle, kept->count, kept->limit};
    pthread_mutex_unlock(&kept->lock);
    return figures;
}
