/* SPDX-License-Identifier: Apache-2.0 */
/* Values that follow one another in one place are one item of the map. Packing is greedy, so that
 * fewer bytes at once need not be a smaller arena: the plain map is made beside it. */
#include "plan/arena_map.h"

#include <string.h>

enum { NONE = UINT32_MAX };

/* Per value: the value it overwrites, and its own overwriter. */
typedef struct chains {
    uint32_t *before, *behind;
} chains;

static bool find_chains(ry_arena_content *content, ry_arena *scratch, chains *c)
{
    c->before = RY_TAKE(scratch, uint32_t, content->value_count);
    c->behind = RY_TAKE(scratch, uint32_t, content->value_count);
    if (!c->before || !c->behind) {
        return false;
    }
    memset(c->before, 0xff, content->value_count * sizeof *c->before);
    memset(c->behind, 0xff, content->value_count * sizeof *c->behind);
    for (size_t i = 0; i < content->overwrite_count; i++) {
        ry_overwrite *o = &content->overwrites[i];
        const ry_lifetime *old = &content->values[o->old], *next = &content->values[o->next];
        o->done = c->before[o->next] == NONE && c->behind[o->old] == NONE &&
                  old->size == next->size && old->first < next->first && old->last == next->first;
        if (o->done) {
            c->before[o->next] = o->old;
            c->behind[o->old] = o->next;
        }
    }
    return true;
}

/* Workspaces behind the first `count` items. */
static size_t add_workspaces(const ry_arena_content *content, ry_lifetime *items, size_t count)
{
    for (size_t i = 0; i < content->workspace_count; i++) {
        items[count++] = content->workspaces[i];
    }
    return count;
}

static bool map_chains(ry_arena_content *content, ry_arena *scratch, ry_lifetime *items,
                       size_t *total)
{
    chains c;
    size_t count = 0;
    if (!find_chains(content, scratch, &c)) {
        return false;
    }
    for (size_t i = 0; i < content->value_count; i++) {
        if (c.before[i] == NONE) {
            ry_lifetime item = content->values[i];
            for (uint32_t v = c.behind[i]; v != NONE; v = c.behind[v]) {
                item.last = content->values[v].last;
            }
            items[count++] = item;
        }
    }
    const size_t chain_count = count;
    if (!ry_memory_map(items, add_workspaces(content, items, count), scratch, total)) {
        return false;
    }
    count = 0;
    for (size_t i = 0; i < content->value_count; i++) {
        for (uint32_t v = (uint32_t)i; c.before[i] == NONE && v != NONE; v = c.behind[v]) {
            content->values[v].offset = items[count].offset;
        }
        count += c.before[i] == NONE;
    }
    for (size_t i = 0; i < content->workspace_count; i++) {
        content->workspaces[i].offset = items[chain_count + i].offset;
    }
    return true;
}

/* Adds one item, alive in all steps, with the size of the largest workspace. */
static ry_lifetime join_workspaces(const ry_arena_content *content)
{
    ry_lifetime joined = {0};
    for (size_t i = 0; i < content->value_count; i++) {
        const uint32_t last = content->values[i].last;
        joined.last = last > joined.last ? last : joined.last;
    }
    for (size_t i = 0; i < content->workspace_count; i++) {
        const ry_lifetime *own = &content->workspaces[i];
        joined.size = own->size > joined.size ? own->size : joined.size;
        joined.last = own->last > joined.last ? own->last : joined.last;
    }
    return joined;
}

/* Can the plain map be smaller than `total`? Not if more is alive at some step. */
static bool may_be_smaller(const ry_arena_content *content, const ry_lifetime *workspace,
                           ry_arena *scratch, size_t total, bool *may)
{
    double *alive = RY_TAKE(scratch, double, (size_t)workspace->last + 2);
    double sum = (double)workspace->size;
    if (!alive) {
        return false;
    }
    for (size_t i = 0; i < content->value_count; i++) {
        alive[content->values[i].first] += (double)content->values[i].size;
        alive[content->values[i].last + 1] -= (double)content->values[i].size;
    }
    *may = true;
    for (uint32_t s = 0; *may && s <= workspace->last; s++) {
        sum += alive[s];
        *may = sum < (double)total;
    }
    return true;
}

/* *total: of the other map; it is left where the plain map cannot be smaller. */
static bool map_plain(const ry_arena_content *content, ry_arena *scratch, ry_lifetime *items,
                      size_t *total)
{
    const size_t count = content->value_count, most = *total;
    bool may;
    items[count] = join_workspaces(content);
    if (!may_be_smaller(content, &items[count], scratch, most, &may)) {
        return false;
    }
    memcpy(items, content->values, count * sizeof *items);
    return !may || ry_memory_map(items, count + 1, scratch, total);
}

static void take_plain(ry_arena_content *content, const ry_lifetime *items)
{
    const size_t count = content->value_count;
    for (size_t i = 0; i < count; i++) {
        content->values[i].offset = items[i].offset;
    }
    for (size_t i = 0; i < content->workspace_count; i++) {
        content->workspaces[i].offset = items[count].offset;
    }
    for (size_t i = 0; i < content->overwrite_count; i++) {
        content->overwrites[i].done = false;
    }
}

bool ry_arena_map(ry_arena_content *content, ry_arena *scratch, size_t *total)
{
    ry_lifetime *items =
        RY_TAKE(scratch, ry_lifetime, content->value_count + content->workspace_count + 1);
    if (!items || !map_chains(content, scratch, items, total)) {
        return false;
    }
    size_t plain = *total;
    if (!map_plain(content, scratch, items, &plain)) {
        return false;
    }
    if (plain < *total) {
        take_plain(content, items);
        *total = plain;
    }
    return true;
}
