/* SPDX-License-Identifier: Apache-2.0 */
/* Names to ids: open addressing with linear probing, at most half full. */
#include "graph/graph_names.h"

#include <string.h>

struct ry_name_slot {
    const char *name; /* NULL: never used */
    uint32_t id;      /* RY_NO_NAME: removed */
};

enum { FIRST_CAPACITY = 64 };

/* FNV-1a, then a final mix so that the low bits depend on every byte. */
static uint64_t hash_name(const char *name, size_t length)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < length; i++) {
        hash = (hash ^ (unsigned char)name[i]) * 0x100000001b3u;
    }
    return hash ^ hash >> 32;
}

static bool is_name(const char *name, const char *text, size_t length)
{
    return strncmp(name, text, length) == 0 && name[length] == '\0';
}

static struct ry_name_slot *probe(struct ry_name_slot *slots, size_t capacity, const char *text,
                                  size_t length)
{
    size_t i = (size_t)hash_name(text, length) & (capacity - 1);
    while (slots[i].name && (slots[i].id == RY_NO_NAME || !is_name(slots[i].name, text, length))) {
        i = (i + 1) & (capacity - 1);
    }
    return &slots[i];
}

static bool grow(ry_names *names, ry_arena *arena)
{
    size_t capacity = names->capacity ? names->capacity * 2 : FIRST_CAPACITY;
    struct ry_name_slot *slots = RY_TAKE(arena, struct ry_name_slot, capacity);
    if (!slots) {
        return false;
    }
    size_t used = 0;
    for (size_t i = 0; i < names->capacity; i++) {
        if (names->slots[i].name && names->slots[i].id != RY_NO_NAME) {
            *probe(slots, capacity, names->slots[i].name, strlen(names->slots[i].name)) =
                names->slots[i];
            used++;
        }
    }
    *names = (ry_names){slots, used, capacity};
    return true;
}

bool ry_names_add(ry_names *names, ry_arena *arena, const char *name, uint32_t id)
{
    if (2 * (names->used + 1) > names->capacity && !grow(names, arena)) {
        return false;
    }
    struct ry_name_slot *slot = probe(names->slots, names->capacity, name, strlen(name));
    if (!slot->name) {
        *slot = (struct ry_name_slot){name, id};
        names->used++;
    }
    return true;
}

uint32_t ry_names_find(const ry_names *names, const char *name)
{
    return ry_names_find_part(names, name, strlen(name));
}

uint32_t ry_names_find_part(const ry_names *names, const char *text, size_t length)
{
    if (!names->capacity) {
        return RY_NO_NAME;
    }
    const struct ry_name_slot *slot = probe(names->slots, names->capacity, text, length);
    return slot->name ? slot->id : RY_NO_NAME;
}

void ry_names_remove(ry_names *names, const char *name, uint32_t id)
{
    if (names->capacity) {
        struct ry_name_slot *slot = probe(names->slots, names->capacity, name, strlen(name));
        if (slot->name && slot->id == id) {
            slot->id = RY_NO_NAME;
        }
    }
}
