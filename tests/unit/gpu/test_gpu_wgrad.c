/* SPDX-License-Identifier: Apache-2.0 */
/* Weight gradients of GPUs against the reference: on random odd shapes of any rank, stride,
 * dilation, groups, padding, layout and type. */
#include "gpu_product.h"
#include "gpu_run.h"
#include "machine/machine.h"
#include "random_conv.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const char *const kernels[] = {"conv_bwd_weights_f32_igemm_gpu",
                                      "conv_bwd_weights_f32_depthwise_gpu"};
enum { KERNELS = sizeof kernels / sizeof *kernels };

static void check_many(int count, conv_limits l)
{
    gpu_run_need();
    int checked = 0;
    l.weights = true;
    for (int i = 0; i < count; i++) {
        product_case c;
        if (random_conv(&c, &l)) {
            c.problem.accuracy = RY_ACCURACY_strict;
            case_fill(&c);
            for (int k = 0; k < KERNELS; k++) {
                checked += gpu_product_check(&c, kernels[k], "conv_ref", 1);
            }
            case_free(&c);
        }
    }
    assert_true(checked >= count / 2);
}

static void test_small(void **state)
{
    (void)state;
    check_many(8, (conv_limits){.channels = 9, .size = 12, .kernel = 5, .dtype = RY_f32});
}

static void test_channels(void **state)
{
    (void)state;
    check_many(6, (conv_limits){.channels = 70, .size = 12, .kernel = 3, .dtype = RY_f32});
    check_many(4, (conv_limits){
                      .channels = 150, .size = 9, .kernel = 1, .dtype = RY_f32, .pointwise = true});
}

static void test_large_images(void **state)
{
    (void)state;
    check_many(5, (conv_limits){.channels = 5, .size = 40, .kernel = 11, .dtype = RY_f32});
}

static void test_strided(void **state)
{
    (void)state;
    check_many(
        6, (conv_limits){.channels = 20, .size = 17, .kernel = 3, .dtype = RY_f32, .stride = 5});
    check_many(3, (conv_limits){.channels = 40,
                                .size = 17,
                                .kernel = 1,
                                .dtype = RY_f32,
                                .pointwise = true,
                                .stride = 2});
}

static void test_groups(void **state)
{
    (void)state;
    check_many(
        10, (conv_limits){.channels = 40, .size = 20, .kernel = 5, .dtype = RY_f32, .groups = 40});
}

static void test_half_types(void **state)
{
    (void)state;
    check_many(4, (conv_limits){.channels = 20, .size = 12, .kernel = 3, .dtype = RY_f16});
    check_many(4, (conv_limits){.channels = 20, .size = 12, .kernel = 3, .dtype = RY_bf16});
}

static const char *const units[] = {"conv_bwd_weights_half_units_gpu",
                                    "conv_bwd_weights_tf32_units_gpu",
                                    "conv_bwd_weights_bf16_units_gpu"};
enum { UNITS = sizeof units / sizeof *units };

/* Where a device has no matrix units, none of their kernels takes anything. */
static void test_matrix_units(void **state)
{
    (void)state;
    static const conv_limits limits[] = {
        {.channels = 70, .size = 12, .kernel = 3, .dtype = RY_f32, .weights = true},
        {.channels = 20, .size = 17, .kernel = 3, .dtype = RY_f32, .stride = 5, .weights = true},
        {.channels = 40, .size = 12, .kernel = 3, .dtype = RY_f16, .weights = true},
        {.channels = 40, .size = 12, .kernel = 3, .dtype = RY_bf16, .weights = true},
    };
    gpu_run_need();
    int checked = 0;
    for (size_t i = 0; i < 3 * sizeof limits / sizeof *limits; i++) {
        product_case c;
        if (random_conv(&c, &limits[i / 3])) {
            c.problem.accuracy = RY_ACCURACY_bf16;
            case_fill(&c);
            for (size_t k = 0; k < UNITS; k++) {
                checked += gpu_product_check(&c, units[k], "conv_ref", 1);
            }
            case_free(&c);
        }
    }
    assert_true(gpu_run_target()->machine->matrix_units ? checked > 10 : checked == 0);
}

/* Forms whose tiles are copied: chunks of neighbouring channels; rows, images and sums that end within a tile;
 * images smaller than one. */
static void test_copied_forms(void **state)
{
    (void)state;
    static const struct {
        ry_dtype type;
        int64_t in, out, height, width, taps, stride;
    } rows[] = {{RY_f32, 24, 70, 9, 13, 3, 1},
                {RY_f32, 36, 33, 3, 2, 3, 1},
                {RY_f16, 24, 40, 11, 9, 3, 2},
                {RY_bf16, 72, 70, 5, 7, 1, 1},
                {RY_f32, 68, 20, 8, 9, 1, 2},
                {RY_f16, 8, 150, 5, 6, 1, 1}}; /* more rows than any tile has */
    gpu_run_need();
    for (size_t i = 0; gpu_run_target()->machine->matrix_units && i < sizeof rows / sizeof *rows;
         i++) {
        const int64_t taps = rows[i].taps, stride = rows[i].stride, pad = taps / 2,
                      height = (rows[i].height - 1) / stride + 1,
                      width = (rows[i].width - 1) / stride + 1;
        product_case c = {.problem = {.op = RY_OP_conv, .inputs = 2}};
        c.problem.attrs = ry_attrs_default(RY_OP_conv);
        ry_conv_attrs *conv = &c.problem.attrs.conv;
        conv->dir = RY_direction_bwd_weights;
        conv->groups = 2;
        conv->pads = (ry_ints){4, {pad, pad, pad, pad}};
        conv->stride = (ry_ints){2, {stride, stride}};
        c.in[0] = case_tensor(rows[i].type, 4,
                              (const int64_t[]){3, 2 * rows[i].in, rows[i].height, rows[i].width},
                              CASE_CHANNELS_LAST);
        c.in[1] = case_tensor(rows[i].type, 4, (const int64_t[]){3, 2 * rows[i].out, height, width},
                              i % 2 ? CASE_ROW_MAJOR : CASE_CHANNELS_LAST);
        c.out[0] =
            case_tensor(rows[i].type, 4, (const int64_t[]){2 * rows[i].out, rows[i].in, taps, taps},
                        CASE_ROW_MAJOR);
        c.terms = (double)(3 * height * width);
        c.problem.accuracy = RY_ACCURACY_bf16;
        case_fill(&c);
        int checked = 0;
        for (int k = 0; k < UNITS; k++) {
            checked += gpu_product_check_word(&c, units[k], "conv_ref", "copied",
                                              ry_dtype_size(rows[i].type));
        }
        assert_true(checked >= (rows[i].type == RY_f32 ? 8 : 4));
        case_free(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small),        cmocka_unit_test(test_channels),
        cmocka_unit_test(test_large_images), cmocka_unit_test(test_strided),
        cmocka_unit_test(test_groups),       cmocka_unit_test(test_half_types),
        cmocka_unit_test(test_matrix_units), cmocka_unit_test(test_copied_forms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
