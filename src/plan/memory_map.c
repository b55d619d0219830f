/* SPDX-License-Identifier: Apache-2.0 */
/* Greedy interval packing, largest first (Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020). */
#include "plan/memory_map.h"

#include "base/memory.h"
#include "base/whole.h"

#include <stdlib.h>

static bool overlap(const ry_lifetime *a, const ry_lifetime *b)
{
    return a->first <= b->last && b->first <= a->last;
}

/* The lowest offset where `item` fits among placed[0..count), which is sorted by offset. */
static size_t lowest_gap(const ry_lifetime *items, const uint32_t *placed, size_t count, const ry_lifetime *item)
{
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        const ry_lifetime *other = &items[placed[i]];
        if (!overlap(other, item)) {
            continue;
        }
        if (at + item->size <= other->offset) {
            break;
        }
        size_t end = other->offset + ry_aligned(other->size);
        at = end > at ? end : at;
    }
    return at;
}

static void insert_by_offset(const ry_lifetime *items, uint32_t *placed, size_t count, uint32_t item)
{
    size_t i = count;
    for (; i > 0 && items[placed[i - 1]].offset > items[item].offset; i--) {
        placed[i] = placed[i - 1];
    }
    placed[i] = item;
}

/* The largest item that is not placed yet; the first of equals, so that the result depends on nothing but the input. */
static uint32_t largest_left(const ry_lifetime *items, size_t count, const bool *done)
{
    uint32_t best = UINT32_MAX;
    for (uint32_t i = 0; i < count; i++) {
        if (!done[i] && (best == UINT32_MAX || items[i].size > items[best].size)) {
            best = i;
        }
    }
    return best;
}

size_t ry_memory_map(ry_lifetime *items, size_t count, uint32_t *order, bool *done)
{
    size_t total = 0;
    for (size_t placed = 0; placed < count; placed++) {
        uint32_t next = largest_left(items, count, done);
        ry_lifetime *item = &items[next];
        item->offset = lowest_gap(items, order, placed, item);
        insert_by_offset(items, order, placed, next);
        done[next] = true;
        size_t end = item->offset + ry_aligned(item->size);
        total = end > total ? end : total;
    }
    return total;
}
