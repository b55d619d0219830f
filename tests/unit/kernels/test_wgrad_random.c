/* SPDX-License-Identifier: Apache-2.0 */
/* Weight gradients against the reference on random odd shapes: any rank, stride, dilation, groups,
 * padding and layouts. */
#include "random_conv.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void check_many(int count, conv_limits l)
{
    int checked = 0;
    l.weights = true;
    l.dtype = RY_f32;
    for (int i = 0; i < count; i++) {
        product_case c;
        if (random_conv(&c, &l)) {
            case_fill(&c);
            checked += case_check_all(&c, "conv_ref");
            case_free(&c);
        }
    }
    assert_true(checked > count / 4);
}

static void test_small(void **state)
{
    (void)state;
    check_many(300, (conv_limits){.channels = 9, .size = 12, .kernel = 5});
}

static void test_channels(void **state)
{
    (void)state;
    check_many(60, (conv_limits){.channels = 70, .size = 12, .kernel = 3});
}

static void test_large_images(void **state)
{
    (void)state;
    check_many(60, (conv_limits){.channels = 5, .size = 40, .kernel = 11});
}

static void test_pointwise(void **state)
{
    (void)state;
    check_many(100, (conv_limits){.channels = 70, .size = 9, .kernel = 1, .pointwise = true});
}

static void test_groups(void **state)
{
    (void)state;
    check_many(200, (conv_limits){.channels = 40, .size = 20, .kernel = 5, .groups = 40});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small),        cmocka_unit_test(test_channels),
        cmocka_unit_test(test_large_images), cmocka_unit_test(test_pointwise),
        cmocka_unit_test(test_groups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
