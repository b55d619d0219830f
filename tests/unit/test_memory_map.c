/* SPDX-License-Identifier: Apache-2.0 */
/* The arena's layout: nothing alive at once overlaps, offsets are aligned, and the total is what it
 * must be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "plan/memory_map.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chain_needs_two_neighbours),
        cmocka_unit_test(nothing_is_zero_bytes),
        cmocka_unit_test(random_lifetimes),
        cmocka_unit_test(same_input_same_map),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
