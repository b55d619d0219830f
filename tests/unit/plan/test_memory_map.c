/* SPDX-License-Identifier: Apache-2.0 */
/* The arena's layout: nothing alive at once overlaps but what overwrites what it follows, offsets
 * are aligned, and the total is what it must be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "plan/arena_map.h"

enum { MOST = 300 };

static size_t map(ry_lifetime *items, size_t count)
{
    ry_arena scratch;
    size_t total;
    ry_arena_init(&scratch, &ry_system_allocator);
    assert_true(ry_memory_map(items, count, &scratch, &total));
    ry_arena_free(&scratch);
    return total;
}

static bool disjoint(const ry_lifetime *a, const ry_lifetime *b)
{
    bool apart_in_time = a->last < b->first || b->last < a->first;
    return apart_in_time || a->offset + a->size <= b->offset || b->offset + b->size <= a->offset;
}

static void check(const ry_lifetime *items, size_t count, size_t total)
{
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(items[i].offset % RY_ALIGNMENT, 0);
        assert_true(items[i].offset + items[i].size <= total);
        for (size_t j = i + 1; j < count; j++) {
            assert_true(items[i].size == 0 || items[j].size == 0 || disjoint(&items[i], &items[j]));
        }
    }
}

static void chain_needs_two_neighbours(void **state)
{
    (void)state;
    ry_lifetime items[] = {{1024, 0, 1, 0}, {2048, 1, 2, 0}, {1024, 2, 3, 0}, {512, 3, 4, 0}};
    size_t total = map(items, 4);
    check(items, 4, total);
    assert_int_equal(total, 3072);
}

static void nothing_is_zero_bytes(void **state)
{
    (void)state;
    assert_int_equal(map(NULL, 0), 0);
}

static void random_lifetimes(void **state)
{
    (void)state;
    srand(7);
    for (int round = 0; round < 200; round++) {
        ry_lifetime items[MOST];
        size_t count = (size_t)(rand() % MOST);
        size_t peak = 0;
        for (size_t i = 0; i < count; i++) {
            uint32_t first = (uint32_t)(rand() % 100);
            items[i] =
                (ry_lifetime){(size_t)(rand() % 5000), first, first + (uint32_t)(rand() % 10), 0};
        }
        size_t total = map(items, count);
        check(items, count, total);
        for (uint32_t step = 0; step < 110; step++) {
            size_t alive = 0;
            for (size_t i = 0; i < count; i++) {
                alive += items[i].first <= step && step <= items[i].last ? items[i].size : 0;
            }
            peak = alive > peak ? alive : peak;
        }
        assert_true(total >= peak);
    }
}

static void same_input_same_map(void **state)
{
    (void)state;
    ry_lifetime a[] = {{700, 0, 3, 0}, {700, 1, 2, 0}, {64, 0, 9, 0}, {700, 4, 5, 0}}, b[4];
    memcpy(b, a, sizeof a);
    assert_int_equal(map(a, 4), map(b, 4));
    assert_memory_equal(a, b, sizeof a);
}

enum { CHAIN = 20, STEP_BYTES = 1 << 16 };

static size_t map_arena(ry_arena_content *content)
{
    ry_arena scratch;
    size_t total;
    ry_arena_init(&scratch, &ry_system_allocator);
    assert_true(ry_arena_map(content, &scratch, &total));
    ry_arena_free(&scratch);
    return total;
}

/* Each step overwrites what the one before made: one place is enough, where it took two. A value
 * that is read once more later keeps its own. */
static void chains_have_one_place(void **state)
{
    (void)state;
    ry_lifetime values[CHAIN];
    ry_overwrite overwrites[CHAIN - 1];
    for (uint32_t i = 0; i < CHAIN; i++) {
        values[i] = (ry_lifetime){STEP_BYTES, i, i + 1, 0};
        overwrites[i ? i - 1 : 0] = (ry_overwrite){i, i - 1, false};
    }
    ry_arena_content content = {.values = values,
                                .value_count = CHAIN,
                                .overwrites = overwrites,
                                .overwrite_count = CHAIN - 1};
    assert_int_equal(map_arena(&content), STEP_BYTES);
    for (size_t i = 0; i < CHAIN; i++) {
        assert_int_equal(values[i].offset, 0);
        assert_true(i == 0 || overwrites[i - 1].done);
    }
    values[3].last = CHAIN;
    assert_int_equal(map_arena(&content), 2 * STEP_BYTES);
    assert_false(overwrites[3].done);
    for (size_t i = 4; i < CHAIN; i++) {
        assert_int_not_equal(values[i].offset, values[3].offset);
    }
}

/* Of two that could take a place one does. */
static void a_place_is_taken_once(void **state)
{
    (void)state;
    ry_lifetime values[] = {{640, 0, 1, 0}, {640, 0, 1, 0}, {640, 1, 2, 0}, {640, 1, 2, 0}};
    ry_overwrite overwrites[] = {{2, 0, false}, {3, 0, false}, {2, 1, false}, {3, 1, false}};
    ry_arena_content content = {values, NULL, 4, 0, overwrites, 4};
    assert_int_equal(map_arena(&content), 2 * 640);
    assert_true(overwrites[0].done && overwrites[3].done);
    assert_true(!overwrites[1].done && !overwrites[2].done);
    assert_int_equal(values[2].offset, values[0].offset);
    assert_int_equal(values[3].offset, values[1].offset);
}

/* A workspace is there while its step runs: where least is alive it costs nothing. */
static void workspaces_live_for_a_step(void **state)
{
    (void)state;
    ry_lifetime values[] = {{4096, 0, 3, 0}, {8192, 3, 5, 0}},
                workspaces[] = {{4096, 1, 1, 0}, {8192, 2, 2, 0}, {64, 4, 4, 0}};
    ry_arena_content content = {values, workspaces, 2, 3, NULL, 0};
    assert_int_equal(map_arena(&content), 4096 + 8192);
    check(values, 2, 4096 + 8192);
    for (size_t i = 0; i < 3; i++) {
        assert_true(disjoint(&workspaces[i], &values[0]) && disjoint(&workspaces[i], &values[1]));
    }
}

/* Whatever overwrites what: lives that meet are apart, unless one follows the other in its place;
 * and the arena is never larger than without. */
static void random_arenas(void **state)
{
    (void)state;
    size_t smaller = 0;
    srand(11);
    for (int round = 0; round < 200; round++) {
        enum { VALUES = 60, STEPS = 40 };
        ry_lifetime values[VALUES], workspaces[STEPS], plain[VALUES + 1];
        ry_overwrite overwrites[VALUES];
        ry_arena_content content = {values, workspaces, VALUES, STEPS, overwrites, 0};
        size_t most = 0;
        for (uint32_t i = 0; i < VALUES; i++) {
            const uint32_t first = i * STEPS / VALUES;
            values[i] = plain[i] =
                (ry_lifetime){64u << rand() % 4, first, first + (uint32_t)rand() % 9, 0};
            for (uint32_t k = 0; k < i && content.overwrite_count < VALUES; k++) {
                if (values[k].size == values[i].size && rand() % 3 == 0) {
                    overwrites[content.overwrite_count++] = (ry_overwrite){i, k, false};
                }
            }
        }
        for (uint32_t s = 0; s < STEPS; s++) {
            workspaces[s] = (ry_lifetime){(size_t)(rand() % 1000), s, s, 0};
            most = workspaces[s].size > most ? workspaces[s].size : most;
        }
        plain[VALUES] = (ry_lifetime){most, 0, STEPS + 9, 0};
        const size_t total = map_arena(&content), without = map(plain, VALUES + 1);
        assert_true(total <= without);
        smaller += total < without;
        for (size_t i = 0; i < VALUES; i++) {
            assert_true(values[i].offset + values[i].size <= total);
            for (size_t k = 0; k < i; k++) {
                bool follows = false;
                for (size_t o = 0; o < content.overwrite_count; o++) {
                    follows |= overwrites[o].done && overwrites[o].next == i &&
                               overwrites[o].old == k && values[i].first == values[k].last &&
                               values[i].offset == values[k].offset;
                }
                assert_true(follows || disjoint(&values[i], &values[k]));
            }
            for (size_t s = 0; s < STEPS; s++) {
                assert_true(workspaces[s].size == 0 || disjoint(&values[i], &workspaces[s]));
            }
        }
    }
    assert_true(smaller > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chain_needs_two_neighbours), cmocka_unit_test(nothing_is_zero_bytes),
        cmocka_unit_test(random_lifetimes),           cmocka_unit_test(same_input_same_map),
        cmocka_unit_test(chains_have_one_place),      cmocka_unit_test(a_place_is_taken_once),
        cmocka_unit_test(workspaces_live_for_a_step), cmocka_unit_test(random_arenas),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
