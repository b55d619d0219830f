/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers beyond the size that a driver of Intel's GPUs takes without a word: refused with advice, and
 * taken with RYND_OPENCL_LARGE=1. Behind narrow_opencl (tests/opencl), which plays such a driver. */
#include "device/gpu/gpu_device.h"
#include "device/opencl/opencl_device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 65536 };

static ry_error error;

static const ry_gpu_source source = {
    "one", "#define GROUP_OF_run 1\n#define ARGUMENTS ARGUMENT(out0)\n",
    "KERNEL(run)(ARGUMENTS)\n{\n    OUT(int, 0)[0] = 1;\n}\n", 1, (const char *const[]){"run"}};

static ry_device *open_device(void)
{
    ry_device *device;
    if (ry_opencl_device_create(&ry_system_allocator, 0, NULL, &device, &error) != RYND_OK) {
        fail_msg("%s", error.text);
    }
    return device;
}

static rynd_status take(ry_device *device, size_t size)
{
    ry_buffer *buffer;
    const rynd_status status = device->table->buffer_create(device, size, &buffer, &error);
    if (status == RYND_OK) {
        device->table->buffer_destroy(device, buffer);
    }
    return status;
}

static void large_buffers_are_refused_with_advice(void **state)
{
    (void)state;
    unsetenv("RYND_OPENCL_LARGE");
    ry_device *device = open_device();
    assert_int_equal(take(device, MOST), RYND_OK);
    assert_int_equal(take(device, MOST + 1), RYND_ERROR_OUT_OF_MEMORY);
    assert_non_null(strstr(error.text, "at most 65536 of them in one buffer "
                                       "(CL_DEVICE_MAX_MEM_ALLOC_SIZE; RYND_OPENCL_LARGE=1"));
    device->table->destroy(device);
}

static void large_buffers_are_taken_if_told_so(void **state)
{
    ry_program program;
    (void)state;
    setenv("RYND_OPENCL_LARGE", "1", 1);
    unsetenv("NARROW_LARGE");
    ry_device *device = open_device();
    assert_int_equal(take(device, 4 * MOST), RYND_OK);
    assert_int_equal(device->table->program_create(device, &source, &program, &error), RYND_OK);
    assert_non_null(getenv("NARROW_LARGE")); /* compiled for them */
    device->table->program_destroy(device, program);
    device->table->destroy(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(large_buffers_are_refused_with_advice),
        cmocka_unit_test(large_buffers_are_taken_if_told_so),
    };
    if (!getenv("NARROW_BUFFER")) {
        puts("skipped: there is no OpenCL loader for the stand-in");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
