/* SPDX-License-Identifier: Apache-2.0 */
/* The tests of all devices, device 0 of a kind, and what they share. */
#include "device_contract_parts.h"

#include <string.h>

static void *take(void *user, size_t size, size_t alignment)
{
    contract_counter *c = user;
    if (atomic_fetch_sub(&c->left, 1) == 0) {
        return NULL;
    }
    void *memory = ry_system_allocator.allocate(NULL, size, alignment);
    atomic_fetch_add(&c->alive, memory != NULL);
    return memory;
}

static void give_back(void *user, void *memory)
{
    contract_counter *c = user;
    atomic_fetch_sub(&c->alive, memory != NULL);
    ry_system_allocator.release(NULL, memory);
}

contract_held held;
const ry_allocator contract_allocator = {take, give_back, &held.counter};

void contract_open_device(void)
{
    atomic_store(&held.counter.left, -1);
    OK(held.contract->create(&contract_allocator, 0, NULL, &held.device, &held.error));
    OK(held.device->table->stream_create(held.device, &held.stream, &held.error));
}

void contract_close_device(void)
{
    held.device->table->stream_destroy(held.device, held.stream);
    held.device->table->destroy(held.device);
    assert_int_equal(atomic_load(&held.counter.alive), 0);
}

static bool is_there(void)
{
    unsigned count;
    return held.contract->count(&count, &held.error) == RYND_OK && count > 0;
}

/* Skips the test without a device. */
void contract_need_device(void)
{
    if (!is_there()) {
        print_message("skipped: no %s device: %s\n", held.contract->kind, held.error.text);
        skip();
    }
}

static int set_up(void **state)
{
    (void)state;
    if (is_there()) {
        contract_open_device();
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    if (is_there()) {
        contract_close_device();
    }
    return 0;
}

/* Waits, too. */
rynd_status contract_fetch(void *host, ry_pointer from, size_t size)
{
    const rynd_status status =
        held.device->table->download(held.stream, host, from, size, &held.error);
    return status == RYND_OK ? held.device->table->synchronize(held.stream, &held.error) : status;
}

int device_contract_run(const device_contract *c, const struct CMUnitTest *more, size_t count)
{
    static const struct CMUnitTest common[] = {
        cmocka_unit_test(contract_test_bounded_files),
        cmocka_unit_test_setup_teardown(contract_test_round_trip, set_up, tear_down),
        cmocka_unit_test_setup_teardown(contract_test_launch, set_up, tear_down),
        cmocka_unit_test_setup_teardown(contract_test_elapsed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(contract_test_compile_errors, set_up, tear_down),
        cmocka_unit_test_setup_teardown(contract_test_shared_programs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(contract_test_streams, set_up, tear_down),
        cmocka_unit_test_setup_teardown(contract_test_dialect, set_up, tear_down),
        cmocka_unit_test_setup_teardown(contract_test_memory, set_up, tear_down),
        cmocka_unit_test_setup_teardown(contract_test_given_back_early, set_up, tear_down),
        cmocka_unit_test(contract_test_files),
        cmocka_unit_test(contract_test_allocation_failures),
    };
    enum { COMMON = sizeof common / sizeof *common, ROOM = 32 };
    struct CMUnitTest tests[ROOM];
    assert_true(COMMON + count <= ROOM);
    memcpy(tests, common, sizeof common);
    memcpy(tests + COMMON, more, count * sizeof *more);
    held.contract = c;
    return _cmocka_run_group_tests(c->kind, tests, COMMON + count, NULL, NULL);
}
