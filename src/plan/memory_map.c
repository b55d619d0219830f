/* SPDX-License-Identifier: Apache-2.0 */
/* Greedy interval packing, largest first (Pisarchyk and Lee, "Efficient Memory Management for Deep
 * Neural Net Inference", 2020).
 *
 * Who is alive beside an item is told by a segment tree over the steps and by lists of those that
 * begin at each step. Where very many are alive at once, the lowest free offset costs a look at
 * each of them: after MAX_LOOKS looks the items that are left, the smallest, go behind all others
 * with a pile of free blocks for each size. That takes a little more memory, and time in proportion
 * to their number. */
#include "plan/memory_map.h"

#include "base/integer.h"

#include <stdlib.h>

enum { MAX_LOOKS = 1 << 22, WORD = 64, NONE = 0 /* the link that is none */ };

/* A member of a list. */
typedef struct link {
    uint32_t item, next;
} link;

typedef struct span {
    size_t begin, end;
} span;

/* An item's place in one of the orders in which they are walked: rising by key, then by number. */
typedef struct rank {
    uint64_t key;
    uint32_t item;
} rank;

typedef struct mapping {
    ry_arena *arena;
    ry_lifetime *items;
    size_t count, placed; /* items */
    rank *order;          /* largest first */
    uint32_t leaves;      /* leaves of the tree: a power of two, above every step */
    /* per node of the tree: items alive during all of its steps, but not of its parent's */
    uint32_t *alive;
    uint32_t *begun;     /* per step: items that begin there */
    uint64_t *any_begun; /* a bit a step: so that long lives pass over steps where nothing begins */
    link *links;
    size_t link_count, link_capacity;
    span *concurrent; /* what is taken while the item in hand is alive */
    size_t concurrent_count, looks, total;
} mapping;

static int by_key(const void *a, const void *b)
{
    const rank *x = a, *y = b;
    if (x->key != y->key) {
        return x->key < y->key ? -1 : 1;
    }
    return x->item < y->item ? -1 : x->item > y->item;
}

static int by_begin(const void *a, const void *b)
{
    const span *x = a, *y = b;
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* SIZE_MAX: beyond it. */
static size_t add(size_t a, size_t b)
{
    return a > SIZE_MAX - b ? SIZE_MAX : a + b;
}

static size_t end_of(const ry_lifetime *item)
{
    return add(item->offset, ry_aligned(item->size));
}

static bool add_link(mapping *m, uint32_t *list, uint32_t item)
{
    link *links =
        ry_arena_grow(m->arena, m->links, m->link_count, &m->link_capacity, sizeof *links);
    if (!links) {
        return false;
    }
    m->links = links;
    links[m->link_count] = (link){item, *list};
    *list = (uint32_t)m->link_count++;
    return true;
}

/* From now on the item is found by whoever is alive beside it. */
static bool enter(mapping *m, uint32_t item)
{
    const uint32_t first = m->items[item].first, last = m->items[item].last;
    bool done = add_link(m, &m->begun[first], item);
    m->any_begun[first / WORD] |= UINT64_C(1) << first % WORD;
    for (uint32_t left = first + m->leaves, right = last + 1 + m->leaves; done && left < right;
         left /= 2, right /= 2) {
        done = (left % 2 == 0 || add_link(m, &m->alive[left++], item)) &&
               (right % 2 == 0 || add_link(m, &m->alive[--right], item));
    }
    return done;
}

static void look_at(mapping *m, uint32_t list)
{
    for (; list != NONE; list = m->links[list].next) {
        const ry_lifetime *other = &m->items[m->links[list].item];
        m->concurrent[m->concurrent_count++] = (span){other->offset, end_of(other)};
    }
}

/* Alive when the item begins, or beginning while it is. */
static void find_concurrent(mapping *m, const ry_lifetime *item)
{
    m->concurrent_count = 0;
    for (uint32_t node = item->first + m->leaves; node > 0; node /= 2) {
        look_at(m, m->alive[node]);
    }
    for (uint32_t word = (item->first + 1) / WORD; word <= item->last / WORD; word++) {
        uint64_t bits = m->any_begun[word];
        for (; bits; bits &= bits - 1) {
            const uint32_t step = word * WORD + (uint32_t)__builtin_ctzll(bits);
            if (step > item->first && step <= item->last) {
                look_at(m, m->begun[step]);
            }
        }
    }
    m->looks += m->concurrent_count;
    qsort(m->concurrent, m->concurrent_count, sizeof *m->concurrent, by_begin);
}

static size_t lowest_gap(const mapping *m, size_t size)
{
    size_t at = 0;
    for (size_t i = 0; i < m->concurrent_count && add(at, size) > m->concurrent[i].begin; i++) {
        at = m->concurrent[i].end > at ? m->concurrent[i].end : at;
    }
    return at;
}

static bool place_largest(mapping *m)
{
    for (; m->placed < m->count && m->looks < MAX_LOOKS; m->placed++) {
        const uint32_t next = m->order[m->placed].item;
        ry_lifetime *item = &m->items[next];
        find_concurrent(m, item);
        item->offset = lowest_gap(m, item->size);
        m->total = end_of(item) > m->total ? end_of(item) : m->total;
        if (!enter(m, next)) {
            return false;
        }
    }
    return true;
}

/* The items that are left, in the order of the steps at which they begin, or end. */
static rank *rest_in_time(const mapping *m, bool ends)
{
    const size_t left = m->count - m->placed;
    rank *order = RY_TAKE(m->arena, rank, left);
    for (size_t i = 0; order && i < left; i++) {
        const uint32_t item = m->order[m->placed + i].item;
        order[i] = (rank){ends ? m->items[item].last : m->items[item].first, item};
    }
    if (order) {
        qsort(order, left, sizeof *order, by_key);
    }
    return order;
}

/* Each takes a block of its size that is free again, or one at the end. */
static bool pile_rest(mapping *m)
{
    const size_t left = m->count - m->placed;
    const rank *begins = rest_in_time(m, false), *ends = rest_in_time(m, true);
    uint32_t *pile_of = RY_TAKE(m->arena, uint32_t, m->count),
             *pile = RY_TAKE(m->arena, uint32_t, left);
    if (!begins || !ends || !pile_of || !pile) {
        return false;
    }
    for (size_t i = 1; i < left; i++) {
        const uint32_t item = m->order[m->placed + i].item,
                       before = m->order[m->placed + i - 1].item;
        pile_of[item] = pile_of[before] +
                        (ry_aligned(m->items[item].size) != ry_aligned(m->items[before].size));
    }
    for (size_t i = 0, freed = 0; i < left; i++) {
        ry_lifetime *item = &m->items[begins[i].item];
        for (; m->items[ends[freed].item].last < item->first; freed++) {
            if (!add_link(m, &pile[pile_of[ends[freed].item]], ends[freed].item)) {
                return false;
            }
        }
        uint32_t *list = &pile[pile_of[begins[i].item]];
        item->offset = *list == NONE ? m->total : m->items[m->links[*list].item].offset;
        m->total = *list == NONE ? end_of(item) : m->total;
        *list = *list == NONE ? NONE : m->links[*list].next;
    }
    return true;
}

static bool start(mapping *m)
{
    uint32_t last = 0;
    m->order = RY_TAKE(m->arena, rank, m->count);
    m->concurrent = RY_TAKE(m->arena, span, m->count);
    for (uint32_t i = 0; m->order && i < m->count; i++) {
        m->order[i] = (rank){UINT64_MAX - m->items[i].size, i};
        last = m->items[i].last > last ? m->items[i].last : last;
    }
    for (m->leaves = WORD; m->leaves < last + 2; m->leaves *= 2) {
    }
    m->alive = RY_TAKE(m->arena, uint32_t, 2 * (size_t)m->leaves);
    m->begun = RY_TAKE(m->arena, uint32_t, m->leaves);
    m->any_begun = RY_TAKE(m->arena, uint64_t, m->leaves / WORD);
    m->link_count = 1;
    m->link_capacity = m->count + WORD;
    m->links = RY_TAKE(m->arena, link, m->link_capacity);
    return m->order && m->concurrent && m->alive && m->begun && m->any_begun && m->links;
}

bool ry_memory_map(ry_lifetime *items, size_t count, ry_arena *scratch, size_t *total)
{
    mapping m = {.arena = scratch, .items = items, .count = count};
    if (!start(&m)) {
        return false;
    }
    qsort(m.order, count, sizeof *m.order, by_key);
    if (!place_largest(&m) || !pile_rest(&m)) {
        return false;
    }
    *total = m.total;
    return true;
}
