/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that a context keeps by problem: figures, limits, options that tell them apart, and
 * many threads at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "each_device.h"

#define OK(call) assert_int_equal((call), RYND_OK)

static const char RELU[] = "expr x0=4x4:f32 y0=4x4:f32 program='max(x0, 0)'";

static rynd_op *take(rynd_context *context, const char *problem, const rynd_op_options *options)
{
    rynd_op *op = NULL;
    OK(rynd_op_create_cached(context, problem, options, &op));
    return op;
}

static void expect(rynd_context *context, size_t hits, size_t misses, size_t evictions, size_t ops)
{
    rynd_op_cache_info info = RYND_SIZED(rynd_op_cache_info);
    OK(rynd_context_get_op_cache(context, &info));
    assert_int_equal(info.hits, hits);
    assert_int_equal(info.misses, misses);
    assert_int_equal(info.evictions, evictions);
    assert_int_equal(info.ops, ops);
    assert_int_equal(info.bytes > 0, ops > 0);
}

static void figures(rynd_context *context)
{
    rynd_op *first = take(context, RELU, NULL), *second = take(context, RELU, NULL);
    assert_ptr_not_equal(first, second); /* both in use */
    expect(context, 0, 2, 0, 0);
    rynd_op_destroy(first);
    rynd_op_destroy(second);
    expect(context, 0, 2, 0, 2);
    assert_ptr_equal(take(context, RELU, NULL), second); /* the last one used */
    expect(context, 1, 2, 0, 1);
    rynd_op_destroy(second);
    OK(rynd_context_limit_op_cache(context, 1, SIZE_MAX));
    expect(context, 1, 2, 1, 1);
    rynd_op_destroy(take(context, "softmax x0=4x4:f32 y0=4x4:f32 axis=1", NULL));
    expect(context, 1, 3, 2, 1);
    OK(rynd_context_limit_op_cache(context, 8, 1)); /* bytes */
    expect(context, 1, 3, 3, 0);
    rynd_op_destroy(take(context, RELU, NULL));
    expect(context, 1, 4, 4, 0);
}

static void options_differ(rynd_context *context)
{
    const int64_t dim[] = {4, 4};
    rynd_tensor x = rynd_tensor_of(NULL, RYND_DTYPE_F32, 2, dim);
    const rynd_op_options plain = RYND_SIZED(rynd_op_options, .inputs = &x);
    const rynd_op_options strict = RYND_SIZED(rynd_op_options, .accuracy = RYND_ACCURACY_STRICT);
    rynd_op_destroy(take(context, RELU, NULL));
    rynd_op_destroy(take(context, RELU, &strict));
    rynd_op_destroy(take(context, RELU, &plain));
    x.stride[0] = 1;
    x.stride[1] = 4;
    rynd_op *op = take(context, RELU, &plain);
    rynd_tensor in;
    OK(rynd_op_get_input(op, 0, &in));
    assert_int_equal(in.stride[1], 4);
    rynd_op_destroy(op);
    expect(context, 0, 4, 0, 4);
    rynd_op_destroy(take(context, RELU, &plain));
    x.rank = 1000; /* is refused, and not read */
    assert_int_equal(rynd_op_create_cached(context, RELU, &plain, &op), RYND_ERROR_ARGUMENT);
    x.rank = 2;
    float data[16] = {0};
    x.data = data;
    assert_int_equal(rynd_op_create_cached(context, RELU, &plain, &op), RYND_ERROR_ARGUMENT);
    OK(rynd_context_limit_op_cache(context, 0, 0));
}

#define ON_EACH_DEVICE(test)              \
    static void each_##test(void **state) \
    {                                     \
        (void)state;                      \
        on_each_device(test);             \
    }

ON_EACH_DEVICE(figures)
ON_EACH_DEVICE(options_differ)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_figures),
        cmocka_unit_test(each_options_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
