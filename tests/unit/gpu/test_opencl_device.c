/* SPDX-License-Identifier: Apache-2.0 */
/* OpenCL's device 0. Skipped where there is none. */
#include "device_contract.h"

#include "device/gpu/gpu_device.h"
#include "device/opencl/opencl_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static ry_error error;

#define OK(call)                                   \
    do {                                           \
        if ((call) != RYND_OK) {                   \
            fail_msg("%s: %s", #call, error.text); \
        }                                          \
    } while (0)

static void test_describe(void **state)
{
    (void)state;
    unsigned count = 0;
    if (ry_opencl_device_count(&count, &error) != RYND_OK || count == 0) {
        print_message("skipped: no OpenCL device: %s\n", error.text);
        skip();
    }
    ry_device *device;
    ry_opencl_info info;
    rynd_machine machine;
    OK(ry_opencl_device_count(&count, &error));
    assert_true(count > 0);
    for (unsigned i = 0; i < count; i++) {
        OK(ry_opencl_device_describe(i, &info, &error));
        print_message("OpenCL device %u: %s, %s, %u units at %u MHz\n", i, info.name, info.platform,
                      info.units, info.clock);
        assert_true(info.units > 0 && info.memory > 0 && info.group > 0 && info.local_memory > 0);
        OK(ry_opencl_machine(i, &machine, &error));
        assert_int_equal(machine.cores, info.units);
        assert_true(machine.f32.one > 0 && machine.f32.all >= machine.f32.one);
        assert_true(machine.level[RYND_LEVEL_DRAM].bandwidth.all > 0);
        assert_true(machine.region_seconds > 0 && machine.task_seconds > 0);
    }
    assert_int_equal(ry_opencl_device_describe(count, &info, &error), RYND_ERROR_NOT_FOUND);
    char words[64];
    snprintf(words, sizeof words, "there is no device opencl:%u: this machine has opencl:0 (",
             count);
    assert_non_null(strstr(error.text, words));
    assert_int_equal(ry_opencl_device_create(&ry_system_allocator, count, NULL, &device, NULL),
                     RYND_ERROR_NOT_FOUND);
}

/* A program of one entry that does nothing with two arguments. */
static const char *const entries[] = {"run"};
static const ry_gpu_source source = {"two",
                                     "#define GROUP_OF_run 1\n"
                                     "#define ARGUMENTS ARGUMENT(in0), ARGUMENT(in1)\n",
                                     "KERNEL(run)(ARGUMENTS)\n{\n}\n", 1, entries};

/* OpenCL tells how many parameters an entry has. */
static void test_argument_count(void **state)
{
    (void)state;
    unsigned count = 0;
    if (ry_opencl_device_count(&count, &error) != RYND_OK || count == 0) {
        print_message("skipped: no OpenCL device: %s\n", error.text);
        skip();
    }
    ry_device *device;
    ry_stream *stream;
    ry_program program;
    OK(ry_opencl_device_create(&ry_system_allocator, 0, NULL, &device, &error));
    OK(device->table->stream_create(device, &stream, &error));
    OK(device->table->program_create(device, &source, &program, &error));
    const ry_launch few = {.program = program,
                           .phases = 1,
                           .tasks = (size_t[]){1},
                           .group = (unsigned[]){1},
                           .argument_count = 1,
                           .arguments = (ry_pointer[]){{0}}};
    assert_int_equal(device->table->launch(stream, &few, &error), RYND_ERROR_DEVICE);
    assert_non_null(strstr(error.text, "two for each of 1 arguments"));
    device->table->program_destroy(device, program);
    device->table->stream_destroy(device, stream);
    device->table->destroy(device);
}

/* PoCL compiles a program twice for a binary, and keeps what it compiled by itself. */
static void test_driver_keeps_programs(void **state)
{
    (void)state;
    char folder[] = "/tmp/rynd_opencl_XXXXXX";
    ry_opencl_info info;
    unsigned count = 0;
    if (ry_opencl_device_count(&count, &error) != RYND_OK || count == 0) {
        skip();
    }
    OK(ry_opencl_device_describe(0, &info, &error));
    if (!info.keeps_programs) {
        skip();
    }
    ry_device *device;
    ry_program program;
    assert_non_null(mkdtemp(folder));
    setenv("RYND_CACHE", folder, 1);
    OK(ry_opencl_device_create(&ry_system_allocator, 0, NULL, &device, &error));
    OK(device->table->program_create(device, &source, &program, &error));
    device->table->program_destroy(device, program);
    device->table->destroy(device);
    setenv("RYND_CACHE", "off", 1);
    assert_int_equal(rmdir(folder), 0); /* it is empty */
}

int main(void)
{
    static const device_contract opencl = {"opencl", ry_opencl_device_count,
                                           ry_opencl_device_create, "CL_INVALID_WORK_GROUP_SIZE"};
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_describe),
                                       cmocka_unit_test(test_driver_keeps_programs),
                                       cmocka_unit_test(test_argument_count)};
    return device_contract_run(&opencl, tests, sizeof tests / sizeof *tests);
}
