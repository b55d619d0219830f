/* SPDX-License-Identifier: Apache-2.0 */
/* Records in memory, by key: a lookup is a hash and a walk through a short list. */
#ifndef RY_WISDOM_WISDOM_CACHE_H
#define RY_WISDOM_WISDOM_CACHE_H

#include "wisdom/wisdom.h"

/* A machine that was asked for. */
typedef struct ry_wisdom_machine {
    struct ry_wisdom_machine *next;
    const char *text;
    int64_t seen; /* the last change of the file that is in the cache */
} ry_wisdom_machine;

/* A record of a group: those that may be taken come first, by their median. */
typedef struct ry_wisdom_entry {
    struct ry_wisdom_entry *next;
    ry_wisdom_record record;
} ry_wisdom_entry;

/* The records of one key; the list may be empty. */
typedef struct ry_wisdom_group {
    struct ry_wisdom_group *next; /* next in the bucket */
    uint64_t hash;
    ry_wisdom_key key;
    ry_wisdom_entry *first;
} ry_wisdom_group;

typedef struct ry_wisdom_cache {
    ry_arena arena;
    ry_wisdom_machine *machines;
    ry_wisdom_group **buckets; /* in the arena; the number of them is a power of two */
    size_t bucket_count, group_count;
} ry_wisdom_cache;

void ry_wisdom_cache_init(ry_wisdom_cache *cache, const ry_allocator *allocator);
void ry_wisdom_cache_free(ry_wisdom_cache *cache); /* forgets all: it is as after init */

ry_wisdom_machine *ry_wisdom_cache_machine(const ry_wisdom_cache *cache, const char *text);
/* NULL: out of memory. */
ry_wisdom_machine *ry_wisdom_cache_add_machine(ry_wisdom_cache *cache, const char *text);

/* NULL: it is not in the cache. */
ry_wisdom_group *ry_wisdom_cache_find(const ry_wisdom_cache *cache, const ry_wisdom_key *key);
/* An empty one. NULL: out of memory. */
ry_wisdom_group *ry_wisdom_cache_add(ry_wisdom_cache *cache, const ry_wisdom_key *key);

/* In the place of the record of the same kernel, form and source. false: out of memory. */
bool ry_wisdom_cache_put(ry_wisdom_cache *cache, ry_wisdom_group *group,
                         const ry_wisdom_record *record);

#endif
