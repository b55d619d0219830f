/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts of every device, and buffers for tests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "each_device.h"

#include <math.h>
#include <stdlib.h>

void on_each_device(void (*test)(rynd_context *context))
{
    for (size_t device = 0; device < rynd_device_count(); device++) {
        char name[32];
        rynd_context *context = NULL;
        assert_int_equal(rynd_device_get_name(device, name, sizeof name), RYND_OK);
        const rynd_context_options options =
            RYND_SIZED(rynd_context_options, .threads = 2, .device = name);
        assert_int_equal(rynd_context_create(&options, &context), RYND_OK);
        test(context);
        rynd_device_memory memory = RYND_SIZED(rynd_device_memory);
        assert_int_equal(rynd_context_get_memory(context, &memory), RYND_OK);
        assert_int_equal(memory.used, 0); /* everything was given back */
        rynd_context_destroy(context);
    }
}

rynd_buffer *buffer_with(rynd_context *context, const void *host, size_t size)
{
    rynd_buffer *buffer = NULL;
    assert_int_equal(rynd_buffer_create(context, size, &buffer), RYND_OK);
    assert_int_equal(rynd_buffer_write(buffer, 0, host, size), RYND_OK);
    return buffer;
}

void expect_floats(rynd_buffer *buffer, const float *wanted, size_t count, float error)
{
    float *got = malloc(count * sizeof *got);
    assert_non_null(got);
    assert_int_equal(rynd_buffer_read(buffer, 0, got, count * sizeof *got), RYND_OK);
    for (size_t i = 0; i < count; i++) {
        if (!(fabsf(got[i] - wanted[i]) <= error)) {
            fail_msg("element %zu: %g, not %g", i, (double)got[i], (double)wanted[i]);
        }
    }
    free(got);
}
