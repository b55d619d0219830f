/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes, layouts and copies between them. */
#include "tensor/tensor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void test_products(void **state)
{
    (void)state;
    static const struct {
        ry_shape shape;
        int64_t elements, bytes; /* of f32 */
    } cases[] = {
        {{0, {0}}, 1, 4},
        {{3, {2, 3, 4}}, 24, 96},
        {{2, {2, 0}}, 0, 0},
        {{3, {INT64_MAX, INT64_MAX, 0}}, 0, 0},
        {{2, {INT64_MAX, 2}}, -1, -1},
        {{1, {INT64_MAX / 2}}, INT64_MAX / 2, -1},
        {{2, {2, -1}}, -1, -1},
        {{-1, {0}}, -1, -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(ry_shape_elements(&cases[i].shape), cases[i].elements);
        assert_int_equal(ry_shape_bytes(&cases[i].shape, RY_f32), cases[i].bytes);
    }
}

static void test_broadcast(void **state)
{
    (void)state;
    ry_shape a = {3, {2, 1, 4}}, b = {2, {3, 1}}, c = {2, {3, 4}}, scalar = {0, {0}},
             empty = {1, {0}}, two = {1, {2}}, out;
    assert_true(ry_shape_broadcast(&a, &b, &out));
    assert_true(ry_shape_equal(&out, &(ry_shape){3, {2, 3, 4}}));
    assert_true(ry_shape_broadcast(&scalar, &c, &out) && ry_shape_equal(&out, &c));
    assert_true(ry_shape_broadcast(&scalar, &scalar, &out) && out.rank == 0);
    assert_false(ry_shape_broadcast(&c, &two, &out));
    assert_false(ry_shape_broadcast(&empty, &two, &out));
    assert_true(ry_shape_broadcast(&empty, &(ry_shape){1, {1}}, &out) && out.dim[0] == 0);
}

static void test_axis(void **state)
{
    (void)state;
    assert_int_equal(ry_axis(0, 3), 0);
    assert_int_equal(ry_axis(-1, 3), 2);
    assert_int_equal(ry_axis(-3, 3), 0);
    assert_int_equal(ry_axis(3, 3), -1);
    assert_int_equal(ry_axis(-4, 3), -1);
    assert_int_equal(ry_axis(INT64_MIN, 3), -1);
    assert_int_equal(ry_axis(0, 0), -1);
}

static void test_layouts(void **state)
{
    (void)state;
    ry_shape image = {4, {2, 3, 4, 5}}, grey = {4, {2, 1, 4, 5}}, pixel = {4, {2, 3, 1, 1}},
             matrix = {2, {3, 4}}, none = {4, {2, 3, 0, 5}};
    ry_tensor rows = ry_tensor_row_major(RY_f32, &image, NULL),
              last = ry_tensor_channels_last(RY_f32, &image, NULL);
    assert_memory_equal(rows.stride, ((int64_t[]){60, 20, 5, 1}), 4 * sizeof(int64_t));
    assert_memory_equal(last.stride, ((int64_t[]){60, 1, 15, 3}), 4 * sizeof(int64_t));
    assert_string_equal(ry_layout_name(&rows), "nchw");
    assert_string_equal(ry_layout_name(&last), "nhwc");
    assert_false(ry_tensor_is_channels_last(&rows));
    ry_tensor one = ry_tensor_channels_last(RY_f32, &grey, NULL),
              point = ry_tensor_channels_last(RY_f32, &pixel, NULL);
    /* one channel: both */
    assert_true(ry_tensor_is_row_major(&one) && ry_tensor_is_channels_last(&one));
    assert_true(ry_tensor_is_row_major(&point) && ry_tensor_is_channels_last(&point));
    one.stride[1] = 77; /* of a dim of size 1 */
    assert_true(ry_tensor_is_row_major(&one));
    one.stride[3] = 2;
    assert_string_equal(ry_layout_name(&one), "strided");
    ry_tensor flat = ry_tensor_channels_last(RY_f32, &matrix, NULL),
              empty = ry_tensor_channels_last(RY_f32, &none, NULL);
    assert_true(ry_tensor_is_row_major(&flat));
    assert_true(ry_tensor_is_row_major(&empty));
    assert_int_equal(ry_tensor_bytes(&rows), 480);
    assert_int_equal(ry_tensor_count(&empty), 0);
    /* Products that overflow beside a zero are nobody's strides, but must not trap. */
    ry_shape wide = {3, {0, INT64_MAX / 2, INT64_MAX / 2}};
    ry_tensor odd = ry_tensor_row_major(RY_f32, &wide, NULL);
    assert_int_equal(ry_tensor_count(&odd), 0);
    assert_true(ry_tensor_is_row_major(&odd));
}

static void test_copy(void **state)
{
    (void)state;
    enum { COUNT = 2 * 3 * 4 * 5 };
    ry_shape image = {4, {2, 3, 4, 5}};
    float rows[COUNT], back[COUNT];
    int16_t last[COUNT];
    for (int i = 0; i < COUNT; i++) {
        rows[i] = (float)(i - 50) + 0.75f;
    }
    ry_tensor from = ry_tensor_row_major(RY_f32, &image, rows),
              to = ry_tensor_channels_last(RY_i16, &image, last);
    ry_tensor_copy(&to, &from);
    assert_int_equal(last[0], -49); /* toward zero */
    /* n 1, c 2, h 3, w 4 */
    assert_int_equal(last[60 + 3 * 15 + 4 * 3 + 2], (int)rows[60 + 2 * 20 + 3 * 5 + 4]);
    ry_tensor again = ry_tensor_row_major(RY_f32, &image, back);
    ry_tensor_copy(&again, &to);
    for (int i = 0; i < COUNT; i++) {
        assert_true(back[i] == (float)(int)rows[i]);
    }
    /* Backwards: a negative stride. */
    ry_shape line = {1, {COUNT}};
    ry_tensor reversed = ry_tensor_row_major(RY_f32, &line, back + COUNT - 1),
              forward = ry_tensor_row_major(RY_f32, &line, rows);
    reversed.stride[0] = -1;
    ry_tensor_copy(&reversed, &forward);
    assert_true(back[0] == rows[COUNT - 1] && back[COUNT - 1] == rows[0]);
    /* 64-bit integers do not go through a double. */
    int64_t large[] = {INT64_MAX, INT64_MIN + 1};
    uint64_t same[2];
    ry_shape two = {1, {2}};
    ry_tensor i = ry_tensor_row_major(RY_i64, &two, large),
              u = ry_tensor_row_major(RY_u64, &two, same);
    ry_tensor_copy(&u, &i);
    assert_memory_equal(large, same, sizeof large);
    ry_shape none = {2, {0, 7}};
    ry_tensor a = ry_tensor_row_major(RY_f32, &none, NULL),
              b = ry_tensor_row_major(RY_f64, &none, NULL);
    ry_tensor_copy(&a, &b);
    ry_shape scalar = {0, {0}};
    ry_tensor s = ry_tensor_row_major(RY_f32, &scalar, back),
              t = ry_tensor_row_major(RY_f32, &scalar, rows + 5);
    ry_tensor_copy(&s, &t);
    assert_true(back[0] == rows[5]);
}

static void test_index(void **state)
{
    (void)state;
    int64_t dim[] = {2, 3}, index[] = {0, 0};
    int steps = 1;
    while (ry_index_next(2, dim, index)) {
        assert_int_equal(index[0] * 3 + index[1], steps);
        steps++;
    }
    assert_int_equal(steps, 6);
    assert_int_equal(index[0] + index[1], 0);
    assert_false(ry_index_next(0, dim, index));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products), cmocka_unit_test(test_broadcast),
        cmocka_unit_test(test_axis),     cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_copy),     cmocka_unit_test(test_index),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
