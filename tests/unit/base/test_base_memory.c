/* SPDX-License-Identifier: Apache-2.0 */
/* Allocators, arenas and messages. */
#include "base/machine_memory.h"
#include "base/memory.h"
#include "base/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct counter {
    int alive, left; /* left: allocations until they fail */
} counter;

static void *take(void *user, size_t size, size_t alignment)
{
    counter *c = user;
    assert_true(size > 0 && alignment == RY_ALIGNMENT);
    if (c->left-- <= 0) {
        return NULL;
    }
    c->alive++;
    return ry_system_allocator.allocate(NULL, size, alignment);
}

static void give_back(void *user, void *memory)
{
    ((counter *)user)->alive -= memory != NULL;
    ry_system_allocator.release(NULL, memory);
}

static void test_allocate(void **state)
{
    (void)state;
    void *nothing = ry_allocate(&ry_system_allocator, 0);
    assert_non_null(nothing);
    assert_int_equal((uintptr_t)nothing % RY_ALIGNMENT, 0);
    ry_release(&ry_system_allocator, nothing);
    ry_release(&ry_system_allocator, NULL);
    assert_null(ry_allocate(&ry_system_allocator, SIZE_MAX));
    assert_null(ry_allocate_array(&ry_system_allocator, SIZE_MAX / 2, 3));
    unsigned char *cleared = ry_allocate_array(&ry_system_allocator, 100, 7);
    for (int i = 0; i < 700; i++) {
        assert_int_equal(cleared[i], 0);
    }
    ry_release(&ry_system_allocator, cleared);
    size_t product;
    assert_false(ry_mul_size(SIZE_MAX, 2, &product));
    assert_true(ry_mul_size(SIZE_MAX, 1, &product) && product == SIZE_MAX);
}

static void test_arena(void **state)
{
    (void)state;
    counter c = {.left = 1000};
    ry_allocator allocator = {take, give_back, &c};
    ry_arena arena;
    ry_arena_init(&arena, &allocator);
    unsigned char *parts[400];
    for (int i = 0; i < 400; i++) { /* small ones, and now and then one larger than a block */
        size_t size = i % 50 == 0 ? 100000 : (size_t)i;
        parts[i] = ry_arena_take(&arena, size, 1);
        assert_non_null(parts[i]);
        assert_int_equal((uintptr_t)parts[i] % 16, 0);
        for (size_t k = 0; k < size; k++) {
            assert_int_equal(parts[i][k], 0);
        }
        memset(parts[i], i & 255, size);
    }
    for (int i = 0; i < 400; i++) {
        size_t size = i % 50 == 0 ? 100000 : (size_t)i;
        for (size_t k = 0; k < size; k++) {
            assert_int_equal(parts[i][k], i & 255);
        }
    }
    assert_true(arena.total >= 8 * 100000);
    assert_null(ry_arena_take(&arena, SIZE_MAX, 1));
    assert_null(ry_arena_take(&arena, SIZE_MAX / 2, 3));
    ry_arena_free(&arena);
    assert_int_equal(c.alive, 0);
    assert_int_equal(arena.total, 0);
}

static void test_arena_fails(void **state)
{
    (void)state;
    counter c = {.left = 0};
    ry_allocator allocator = {take, give_back, &c};
    ry_arena arena;
    size_t capacity = 0;
    ry_arena_init(&arena, &allocator);
    assert_null(ry_arena_take(&arena, 1, 1));
    assert_null(ry_arena_string(&arena, "text", 4));
    assert_null(ry_arena_format(&arena, "%d", 5));
    assert_null(ry_arena_grow(&arena, NULL, 0, &capacity, 8));
    assert_int_equal(capacity, 0);
    c.left = 1;
    assert_non_null(ry_arena_take(&arena, 1, 1)); /* it recovers */
    ry_arena_free(&arena);
    assert_int_equal(c.alive, 0);
}

static void test_arena_texts(void **state)
{
    (void)state;
    ry_arena arena;
    ry_arena_init(&arena, &ry_system_allocator);
    assert_string_equal(ry_arena_string(&arena, "abcdef", 3), "abc");
    assert_string_equal(ry_arena_string(&arena, "", 0), "");
    assert_string_equal(ry_arena_format(&arena, "%s-%d", "x", 7), "x-7");
    size_t capacity = 0, used = 0;
    int *numbers = NULL;
    for (int i = 0; i < 1000; i++) {
        numbers = ry_arena_grow(&arena, numbers, used, &capacity, sizeof *numbers);
        assert_non_null(numbers);
        numbers[used++] = i;
    }
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(numbers[i], i);
    }
    ry_arena_free(&arena);
}

static rynd_status deeper(ry_error *error)
{
    return ry_fail(error, RYND_ERROR_SHAPE, "axis %d", 3);
}

static rynd_status forward(ry_error *error)
{
    RY_TRY(deeper(error));
    return RYND_OK;
}

static void test_messages(void **state)
{
    (void)state;
    ry_error error = {""};
    assert_int_equal(forward(&error), RYND_ERROR_SHAPE);
    ry_error_prefix(&error, "node '%s': ", "c1");
    assert_string_equal(error.text, "node 'c1': axis 3");
    assert_int_equal(forward(NULL), RYND_ERROR_SHAPE);
    ry_error_prefix(NULL, "nobody listens");
    char longer[2 * sizeof error.text];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    (void)ry_fail(&error, RYND_ERROR_IO, "%s", longer);
    assert_int_equal(strlen(error.text), sizeof error.text - 1);
    ry_error_prefix(&error, "%s", longer);
    assert_int_equal(strlen(error.text), sizeof error.text - 1);
    assert_int_equal(ry_fail_memory(&error), RYND_ERROR_OUT_OF_MEMORY);
    assert_string_equal(rynd_status_text(RYND_ERROR_SHAPE), "shape or type mismatch");
    assert_string_equal(rynd_status_text((rynd_status)99), "unknown status");
}

static void test_machine_memory(void **state)
{
    (void)state;
    const char *meminfo = "MemTotal:       2000 kB\nMemFree:         100 kB\n"
                          "MemAvailable:   1000 kB\nSwapFree:        500 kB\n";
    assert_int_equal(ry_memory_of(meminfo, ""), 1500 * 1024);
    assert_int_equal(ry_memory_of(meminfo, "max\n"), 1500 * 1024);
    assert_int_equal(ry_memory_of(meminfo, "1048576\n"), 1048576);
    assert_int_equal(ry_memory_of(meminfo, "9223372036854771712\n"), 1500 * 1024);
    assert_true(ry_memory_of("", "") == SIZE_MAX);
    assert_int_equal(ry_memory_of("", "4096\n"), 4096);
    assert_true(ry_machine_memory() > 0);
}

/* Addresses are granted whatever the machine has: what it cannot hold is refused all the same. */
static void test_more_than_the_machine_has(void **state)
{
    (void)state;
    if (ry_machine_memory() == SIZE_MAX) {
        print_message("skipped: the memory of the machine is unknown\n");
        skip();
    }
    assert_null(ry_allocate(&ry_system_allocator, (size_t)1 << 46));
    assert_true(ry_memory_refused() == (size_t)1 << 46);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_allocate),
        cmocka_unit_test(test_arena),
        cmocka_unit_test(test_arena_fails),
        cmocka_unit_test(test_arena_texts),
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_machine_memory),
        cmocka_unit_test(test_more_than_the_machine_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
