/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the contract share. */
#ifndef DEVICE_CONTRACT_PARTS_H
#define DEVICE_CONTRACT_PARTS_H

#include "device_contract.h"

#include "device/gpu/gpu_device.h"

#include <stdatomic.h>

/* The device's allocator: fails a chosen allocation and counts live ones. */
typedef struct contract_counter {
    atomic_int left, alive;
} contract_counter;

/* The device that the running test has. */
typedef struct contract_held {
    contract_counter counter;
    ry_device *device;
    ry_stream *stream;
    ry_error error;
    const device_contract *contract;
} contract_held;

extern contract_held held;
extern const ry_allocator contract_allocator;

#define OK(call)                                        \
    do {                                                \
        const rynd_status status_ = (call);             \
        if (status_ != RYND_OK) {                       \
            fail_msg("%s: %s", #call, held.error.text); \
        }                                               \
    } while (0)

void contract_open_device(void);
void contract_close_device(void);
/* Skips the test without a device. */
void contract_need_device(void);
/* Waits for the device, too. */
rynd_status contract_fetch(void *host, ry_pointer from, size_t size);

/* device_contract_launch.c: a program of two entries, its output FACTOR * x, mirrored in groups,
 * and with the second input where `adds`. */
enum { N = 1003, ITEMS = 64, ARGUMENTS = 5 };
ry_gpu_source contract_source_of(int factor, bool adds, char defines[512]);
ry_program contract_program_of(int factor, bool adds);
rynd_status contract_launch(ry_program program, const ry_pointer *arguments);
void contract_run(ry_program program, int factor, bool adds);

#define TEST(name) void contract_test_##name(void **state)
TEST(round_trip);
TEST(launch);
TEST(elapsed);
TEST(compile_errors);
TEST(shared_programs);
TEST(streams);
TEST(dialect);
TEST(memory);
TEST(given_back_early);
TEST(files);
TEST(bounded_files);
TEST(allocation_failures);
#undef TEST

#endif
