/* SPDX-License-Identifier: Apache-2.0 */
/* What several users share: made once, held, kept up to a limit, the least recently held gone
 * first; what fails is made by whoever waited for it. */
#include "base/kept.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SIZE = 4096, THREADS = 8, ROUNDS = 200 };

static int destroyed;

static void destroy(void *user, void *content)
{
    (void)user;
    destroyed++;
    free(content);
}

static ry_kept *create(size_t limit)
{
    ry_kept *kept = NULL;
    ry_error error;
    destroyed = 0;
    assert_int_equal(ry_kept_create(&ry_system_allocator, limit, destroy, NULL, &kept, &error),
                     RYND_OK);
    return kept;
}

static ry_kept_thing thing_of(const char *key)
{
    return (ry_kept_thing){.key = key, .key_size = strlen(key), .size = SIZE};
}

/* true: it was made now. */
static bool take(ry_kept *kept, const char *key, ry_lot **lot)
{
    ry_kept_thing thing = thing_of(key);
    ry_lot *own;
    ry_error error;
    assert_int_equal(ry_kept_take(kept, &thing, 1, &own, &error), RYND_OK);
    if (own) {
        ry_kept_finish(kept, own, malloc(SIZE));
    }
    assert_true(ry_kept_await(kept, &thing, 1));
    *lot = thing.lot;
    return own != NULL;
}

static void test_the_least_recently_held_goes_first(void **state)
{
    (void)state;
    ry_kept *kept = create(2 * SIZE);
    ry_lot *a, *b, *c, *again;
    assert_true(take(kept, "a", &a));
    assert_true(take(kept, "b", &b));
    assert_true(take(kept, "c", &c));
    assert_int_equal(ry_kept_count(kept).bytes, 3 * SIZE);
    assert_int_equal(ry_kept_count(kept).idle, 0);
    ry_kept_drop(kept, b);
    ry_kept_drop(kept, a);
    assert_int_equal(destroyed, 0);
    ry_kept_drop(kept, c); /* b has been idle longest */
    assert_int_equal(destroyed, 1);
    assert_int_equal(ry_kept_count(kept).idle, 2 * SIZE);
    assert_false(take(kept, "a", &again));
    ry_kept_drop(kept, again);
    ry_kept_set_limit(kept, SIZE); /* c is older than a now */
    assert_int_equal(destroyed, 2);
    assert_false(take(kept, "a", &again));
    assert_true(take(kept, "b", &b));
    ry_kept_drop(kept, again);
    ry_kept_drop(kept, b);
    ry_kept_destroy(kept);
    assert_int_equal(destroyed, 4);
}

static void test_things_of_a_lot_stay_together(void **state)
{
    (void)state;
    ry_kept *kept = create(0);
    ry_kept_thing things[] = {thing_of("a"), thing_of("b"), thing_of("a")};
    ry_lot *own, *more;
    ry_error error;
    assert_int_equal(ry_kept_take(kept, things, 3, &own, &error), RYND_OK);
    assert_int_equal(ry_lot_size(own), 2 * SIZE);
    assert_ptr_equal(things[0].lot, things[2].lot);
    assert_int_equal(things[0].offset, things[2].offset);
    assert_int_not_equal(things[0].offset, things[1].offset);
    ry_kept_finish(kept, own, malloc(2 * SIZE));
    assert_false(take(kept, "b", &more));
    for (int i = 0; i < 3; i++) {
        ry_kept_drop(kept, things[i].lot);
    }
    assert_int_equal(destroyed, 0);
    ry_kept_drop(kept, more);
    assert_int_equal(destroyed, 1);
    assert_int_equal(ry_kept_count(kept).lots, 0);
    ry_kept_destroy(kept);
}

static void test_an_abandoned_lot_is_found_by_nobody(void **state)
{
    (void)state;
    ry_kept *kept = create(SIZE);
    ry_kept_thing thing = thing_of("a"), other = thing_of("a");
    ry_lot *own, *none, *lot;
    ry_error error;
    assert_int_equal(ry_kept_take(kept, &thing, 1, &own, &error), RYND_OK);
    assert_int_equal(ry_kept_take(kept, &other, 1, &none, &error), RYND_OK);
    assert_null(none);
    ry_kept_abandon(kept, own);
    assert_false(ry_kept_await(kept, &other, 1));
    ry_kept_drop(kept, thing.lot);
    ry_kept_drop(kept, other.lot);
    assert_true(take(kept, "a", &lot));
    ry_kept_drop(kept, lot);
    ry_kept_destroy(kept);
}

static ry_kept *shared;

/* Takes two things, makes those that are missing, and gives up every seventh time. */
static void *live(void *number)
{
    static char no_memory[] = "no memory", wrong_content[] = "wrong content";
    const char *const keys[] = {"a", "b", "c", "d", "e"};
    unsigned at = (unsigned)(uintptr_t)number;
    for (int round = 0; round < ROUNDS; round++) {
        at = at * 1664525u + 1013904223u;
        ry_kept_thing things[] = {thing_of(keys[(at >> 8) % 5]), thing_of(keys[(at >> 16) % 5])};
        ry_lot *own;
        if (ry_kept_take(shared, things, 2, &own, NULL) != RYND_OK) {
            return no_memory;
        }
        const bool gives_up = own && (at >> 24) % 7 == 0;
        if (gives_up) {
            ry_kept_abandon(shared, own);
        } else if (own) {
            char *content = calloc(1, ry_lot_size(own));
            ry_kept_finish(shared, own, content);
        }
        if (!gives_up && ry_kept_await(shared, things, 2) &&
            *((char *)ry_lot_content(things[0].lot) + things[0].offset) != 0) {
            return wrong_content;
        }
        ry_kept_drop(shared, things[0].lot);
        ry_kept_drop(shared, things[1].lot);
    }
    return NULL;
}

static void test_many_threads_share(void **state)
{
    (void)state;
    pthread_t thread[THREADS];
    shared = create(2 * SIZE);
    for (uintptr_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&thread[i], NULL, live, (void *)(i + 1)), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        void *wrong;
        pthread_join(thread[i], &wrong);
        assert_null(wrong);
    }
    const ry_kept_figures figures = ry_kept_count(shared);
    assert_int_equal(figures.bytes, figures.idle);
    assert_true(figures.idle <= 2 * SIZE);
    ry_kept_destroy(shared);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_least_recently_held_goes_first),
        cmocka_unit_test(test_things_of_a_lot_stay_together),
        cmocka_unit_test(test_an_abandoned_lot_is_found_by_nobody),
        cmocka_unit_test(test_many_threads_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
