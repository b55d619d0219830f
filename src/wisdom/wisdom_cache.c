/* SPDX-License-Identifier: Apache-2.0 */
/* Records in memory, by key. */
#include "wisdom/wisdom_cache.h"

#include <string.h>

enum { FIRST_BUCKETS = 256 };

void ry_wisdom_cache_init(ry_wisdom_cache *cache, const ry_allocator *allocator)
{
    *cache = (ry_wisdom_cache){0};
    ry_arena_init(&cache->arena, allocator);
}

void ry_wisdom_cache_free(ry_wisdom_cache *cache)
{
    const ry_allocator *allocator = cache->arena.allocator;
    ry_arena_free(&cache->arena);
    ry_wisdom_cache_init(cache, allocator);
}

ry_wisdom_machine *ry_wisdom_cache_machine(const ry_wisdom_cache *cache, const char *text)
{
    ry_wisdom_machine *machine = cache->machines;
    while (machine && strcmp(machine->text, text) != 0) {
        machine = machine->next;
    }
    return machine;
}

static const char *copy(ry_wisdom_cache *cache, const char *text)
{
    return ry_arena_string(&cache->arena, text, strlen(text));
}

ry_wisdom_machine *ry_wisdom_cache_add_machine(ry_wisdom_cache *cache, const char *text)
{
    ry_wisdom_machine *machine = RY_TAKE(&cache->arena, ry_wisdom_machine, 1);
    const char *own = copy(cache, text);
    if (!machine || !own) {
        return NULL;
    }
    *machine = (ry_wisdom_machine){cache->machines, own, 0};
    return cache->machines = machine;
}

/* FNV-1a, of 64 bits. */
static uint64_t hash_of(const ry_wisdom_key *key)
{
    const uint64_t prime = UINT64_C(1099511628211);
    uint64_t hash = UINT64_C(14695981039346656037);
    for (const char *at = key->problem; *at; at++) {
        hash = (hash ^ (unsigned char)*at) * prime;
    }
    hash = (hash ^ key->constants) * prime;
    hash = (hash ^ key->threads) * prime;
    return hash ^ hash >> 32;
}

static bool same_key(const ry_wisdom_key *a, const ry_wisdom_key *b)
{
    return a->constants == b->constants && a->threads == b->threads &&
           strcmp(a->problem, b->problem) == 0 && strcmp(a->machine, b->machine) == 0;
}

ry_wisdom_group *ry_wisdom_cache_find(const ry_wisdom_cache *cache, const ry_wisdom_key *key)
{
    const uint64_t hash = hash_of(key);
    ry_wisdom_group *group =
        cache->bucket_count ? cache->buckets[hash & (cache->bucket_count - 1)] : NULL;
    while (group && !(group->hash == hash && same_key(&group->key, key))) {
        group = group->next;
    }
    return group;
}

static void insert_group(ry_wisdom_group **buckets, size_t count, ry_wisdom_group *group)
{
    ry_wisdom_group **bucket = &buckets[group->hash & (count - 1)];
    group->next = *bucket;
    *bucket = group;
}

static bool grow(ry_wisdom_cache *cache)
{
    if (cache->group_count < cache->bucket_count) {
        return true;
    }
    const size_t count = cache->bucket_count ? 2 * cache->bucket_count : FIRST_BUCKETS;
    ry_wisdom_group **buckets = RY_TAKE(&cache->arena, ry_wisdom_group *, count);
    if (!buckets) {
        return false;
    }
    for (size_t i = 0; i < cache->bucket_count; i++) {
        for (ry_wisdom_group *group = cache->buckets[i], *next; group; group = next) {
            next = group->next;
            insert_group(buckets, count, group);
        }
    }
    cache->buckets = buckets;
    cache->bucket_count = count;
    return true;
}

ry_wisdom_group *ry_wisdom_cache_add(ry_wisdom_cache *cache, const ry_wisdom_key *key)
{
    const ry_wisdom_machine *machine = ry_wisdom_cache_machine(cache, key->machine);
    ry_wisdom_group *group = RY_TAKE(&cache->arena, ry_wisdom_group, 1);
    const char *problem = copy(cache, key->problem);
    const char *text = machine ? machine->text : copy(cache, key->machine);
    if (!group || !problem || !text || !grow(cache)) {
        return NULL;
    }
    *group = (ry_wisdom_group){.hash = hash_of(key),
                               .key = {problem, key->constants, key->threads, text}};
    insert_group(cache->buckets, cache->bucket_count, group);
    cache->group_count++;
    return group;
}

/* Those that may be taken by their median; of equals, and of the others, by kernel and form, so
 * that the order in which they came does not matter. */
static bool before(const ry_wisdom_record *a, const ry_wisdom_record *b)
{
    if (!a->rejected != !b->rejected) {
        return !a->rejected;
    }
    if (!a->rejected && a->median != b->median) {
        return a->median < b->median;
    }
    const int kernels = strcmp(a->kernel, b->kernel);
    const int forms = kernels ? kernels : strcmp(a->form, b->form);
    return forms ? forms < 0 : a->source < b->source;
}

/* Takes the entry of a record out of its group; NULL: there is none. */
static ry_wisdom_entry *take_out(ry_wisdom_group *group, const ry_wisdom_record *record)
{
    for (ry_wisdom_entry **at = &group->first; *at; at = &(*at)->next) {
        ry_wisdom_entry *entry = *at;
        if (entry->record.source == record->source &&
            strcmp(entry->record.kernel, record->kernel) == 0 &&
            strcmp(entry->record.form, record->form) == 0) {
            *at = entry->next;
            return entry;
        }
    }
    return NULL;
}

bool ry_wisdom_cache_put(ry_wisdom_cache *cache, ry_wisdom_group *group,
                         const ry_wisdom_record *record)
{
    const char *rejected = record->rejected ? copy(cache, record->rejected) : NULL;
    if (record->rejected && !rejected) {
        return false;
    }
    ry_wisdom_entry *entry = take_out(group, record);
    const char *kernel = entry ? entry->record.kernel : copy(cache, record->kernel);
    const char *form = entry ? entry->record.form : copy(cache, record->form);
    entry = entry ? entry : RY_TAKE(&cache->arena, ry_wisdom_entry, 1);
    if (!entry || !kernel || !form) {
        return false;
    }
    entry->record = *record;
    entry->record.kernel = kernel;
    entry->record.form = form;
    entry->record.rejected = rejected;
    ry_wisdom_entry **at = &group->first;
    while (*at && before(&(*at)->record, &entry->record)) {
        at = &(*at)->next;
    }
    entry->next = *at;
    *at = entry;
    return true;
}
