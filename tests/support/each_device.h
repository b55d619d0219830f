/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a test with a context of every device. */
#ifndef TESTS_SUPPORT_EACH_DEVICE_H
#define TESTS_SUPPORT_EACH_DEVICE_H

#include <rynd/rynd.h>

/* Calls `test` with a context of each device, of two threads on the CPU. */
void on_each_device(void (*test)(rynd_context *context));

/* A buffer that holds `size` bytes of host memory; the caller destroys it. */
rynd_buffer *buffer_with(rynd_context *context, const void *host, size_t size);

/* Compares the beginning of a buffer with floats, within `error` of each. */
void expect_floats(rynd_buffer *buffer, const float *wanted, size_t count, float error);

#endif
