/* SPDX-License-Identifier: Apache-2.0 */
/* Copies and fills in a stream: between host, device and devices, of bytes and of tensors with any
 * strides and types. On every device that there is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "each_device.h"

#include <string.h>

#define OK(call)            assert_int_equal((call), RYND_OK)
#define FAILS(call, status) assert_int_equal((call), (status))

enum { SIZE = 64 };

static rynd_stream *stream_of(rynd_context *context)
{
    rynd_stream *stream = NULL;
    OK(rynd_stream_create(context, &stream));
    return stream;
}

static void bytes(rynd_context *context)
{
    unsigned char zero[SIZE] = {0}, count[SIZE], got[SIZE];
    for (int i = 0; i < SIZE; i++) {
        count[i] = (unsigned char)i;
    }
    rynd_stream *stream = stream_of(context);
    rynd_buffer *a = buffer_with(context, zero, SIZE), *b = buffer_with(context, zero, SIZE);
    OK(rynd_buffer_write_async(stream, a, 8, count, 16));
    OK(rynd_buffer_copy_async(stream, b, 0, a, 8, 16));
    OK(rynd_buffer_copy_async(stream, b, 32, b, 0, 16)); /* within a buffer */
    OK(rynd_buffer_read_async(stream, b, 0, got, SIZE));
    OK(rynd_stream_synchronize(stream));
    assert_memory_equal(got, count, 16);
    assert_memory_equal(got + 16, zero, 16);
    assert_memory_equal(got + 32, count, 16);
    FAILS(rynd_buffer_copy_async(stream, b, 8, b, 0, 16), RYND_ERROR_ARGUMENT);
    FAILS(rynd_buffer_copy_async(stream, b, 56, a, 0, 16), RYND_ERROR_ARGUMENT);
    FAILS(rynd_buffer_write_async(stream, a, 60, count, 8), RYND_ERROR_ARGUMENT);
    FAILS(rynd_buffer_read_async(stream, a, SIZE_MAX, got, 8), RYND_ERROR_ARGUMENT);
    OK(rynd_buffer_copy_async(stream, b, SIZE, a, 0, 0));
    rynd_buffer_destroy(a);
    rynd_buffer_destroy(b);
    rynd_stream_destroy(stream);
}

static void fills(rynd_context *context)
{
    unsigned char zero[SIZE] = {0}, got[SIZE];
    const unsigned char pattern[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    rynd_stream *stream = stream_of(context);
    rynd_buffer *a = buffer_with(context, zero, SIZE);
    for (size_t size = 1; size <= 8; size *= 2) {
        OK(rynd_buffer_fill_async(stream, a, 8, 40, pattern, size));
        OK(rynd_buffer_read_async(stream, a, 0, got, SIZE));
        OK(rynd_stream_synchronize(stream));
        for (size_t i = 0; i < SIZE; i++) {
            assert_int_equal(got[i], i >= 8 && i < 48 ? pattern[i % size] : 0);
        }
    }
    FAILS(rynd_buffer_fill_async(stream, a, 0, 6, pattern, 3), RYND_ERROR_ARGUMENT);
    FAILS(rynd_buffer_fill_async(stream, a, 0, 6, pattern, 4), RYND_ERROR_ARGUMENT);
    FAILS(rynd_buffer_fill_async(stream, a, 2, 8, pattern, 4), RYND_ERROR_ARGUMENT);
    FAILS(rynd_buffer_fill_async(stream, a, 56, 16, pattern, 8), RYND_ERROR_ARGUMENT);
    rynd_buffer_destroy(a);
    rynd_stream_destroy(stream);
}

/* From and to the CPU and a second context of the same device. */
static void across(rynd_context *context)
{
    unsigned char zero[SIZE] = {0}, count[SIZE], got[SIZE];
    for (size_t device = 0; device < rynd_device_count(); device++) {
        char name[32];
        rynd_context *other = NULL;
        OK(rynd_device_get_name(device, name, sizeof name));
        const rynd_context_options options =
            RYND_SIZED(rynd_context_options, .threads = 1, .device = name);
        OK(rynd_context_create(&options, &other));
        memset(count, (int)device + 1, SIZE);
        rynd_stream *here = stream_of(context), *there = stream_of(other);
        rynd_buffer *a = buffer_with(context, count, SIZE), *b = buffer_with(other, zero, SIZE);
        OK(rynd_buffer_copy_async(here, b, 8, a, 0, 24));
        OK(rynd_stream_synchronize(here));
        OK(rynd_buffer_copy_async(there, b, 32, a, 0, 24));
        OK(rynd_stream_synchronize(there));
        OK(rynd_buffer_read(b, 0, got, SIZE));
        assert_memory_equal(got + 8, count, 24);
        assert_memory_equal(got + 32, count, 24);
        assert_memory_equal(got, zero, 8);
        assert_memory_equal(got + 56, zero, 8);
        FAILS(rynd_buffer_write_async(here, b, 0, count, 8), RYND_ERROR_ARGUMENT);
        FAILS(rynd_buffer_copy_async(here, b, 0, b, 32, 8), RYND_ERROR_ARGUMENT);
        rynd_buffer_destroy(a);
        rynd_buffer_destroy(b);
        rynd_stream_destroy(here);
        rynd_stream_destroy(there);
        rynd_context_destroy(other);
    }
}

static void tensors(rynd_context *context)
{
    const int64_t dim[] = {2, 3};
    const float x[] = {1, 2, 3, 4, 5, 6}, zero[12] = {0};
    const float transposed[] = {1, 4, 2, 5, 3, 6}, gaps[] = {7, 0, 7, 0, 7, 0, 7, 0, 7, 0, 7, 0};
    int32_t integers[6] = {0};
    rynd_stream *stream = stream_of(context);
    rynd_buffer *a = buffer_with(context, x, sizeof x),
                *b = buffer_with(context, zero, sizeof zero);
    const rynd_operand from = {.buffer = a}, to = {.buffer = b};
    rynd_tensor plain = rynd_tensor_of(NULL, RYND_DTYPE_F32, 2, dim), turned = plain;
    turned.stride[0] = 1;
    turned.stride[1] = 2;
    OK(rynd_tensor_copy_async(stream, &turned, &to, &plain, &from));
    OK(rynd_stream_synchronize(stream));
    expect_floats(b, transposed, 6, 0);

    rynd_tensor whole = rynd_tensor_of(NULL, RYND_DTYPE_I32, 2, dim);
    FAILS(rynd_tensor_copy_async(stream, &whole, &to, &turned, &to), RYND_ERROR_ARGUMENT);
    OK(rynd_tensor_copy_async(stream, &whole, &to, &plain, &from));
    OK(rynd_buffer_read_async(stream, b, 0, integers, sizeof integers));
    OK(rynd_stream_synchronize(stream));
    for (int i = 0; i < 6; i++) {
        assert_int_equal(integers[i], i + 1);
    }
    /* one element by value, to a tensor with gaps */
    const float seven = 7;
    rynd_tensor spread = plain, one = plain;
    one.stride[0] = one.stride[1] = 0;
    spread.stride[0] = 6;
    spread.stride[1] = 2;
    OK(rynd_buffer_fill_async(stream, b, 0, sizeof zero, zero, 4));
    OK(rynd_tensor_copy_async(stream, &spread, &to, &one, &(rynd_operand){.value = &seven}));
    OK(rynd_stream_synchronize(stream));
    expect_floats(b, gaps, 12, 0);

    rynd_tensor other = rynd_tensor_of(NULL, RYND_DTYPE_F32, 2, (int64_t[]){3, 2});
    FAILS(rynd_tensor_copy_async(stream, &other, &to, &plain, &from), RYND_ERROR_SHAPE);
    other.dtype = RYND_DTYPE_NONE;
    FAILS(rynd_tensor_copy_async(stream, &other, &to, &plain, &from), RYND_ERROR_ARGUMENT);
    OK(rynd_context_limit_op_cache(context, 0, 0));
    rynd_buffer_destroy(a);
    rynd_buffer_destroy(b);
    rynd_stream_destroy(stream);
}

#define ON_EACH_DEVICE(test)              \
    static void each_##test(void **state) \
    {                                     \
        (void)state;                      \
        on_each_device(test);             \
    }

ON_EACH_DEVICE(bytes)
ON_EACH_DEVICE(fills)
ON_EACH_DEVICE(across)
ON_EACH_DEVICE(tensors)

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_bytes), cmocka_unit_test(each_fills),
                                       cmocka_unit_test(each_across),
                                       cmocka_unit_test(each_tensors)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
