/* SPDX-License-Identifier: Apache-2.0 */
/* Dropout: the vector kernels beside the reference, at every instruction set; which elements are
 * dropped, how many, and how they are scaled. */
#include "kernel_case.h"
#include <rynd/rynd.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MANY = 1 << 16 };

static void kernels_agree(void **state)
{
    (void)state;
    static const char *const shapes[] = {"1", "63", "64x1", "65", "3x5x7x11", "2x70000", "7x0"};
    static const double ratios[] = {0, 0.1, 0.5, 0.999999999},
                        steps[] = {0, 1, 4294967295.0, 4294967297.0};
    for (size_t i = 0; i < 4 * sizeof shapes / sizeof *shapes; i++) {
        kernel_case c;
        kernel_case_begin(&c, RY_OP_dropout);
        c.attrs.dropout =
            (ry_dropout_attrs){.ratio = ratios[i % 4], .seed = -(int64_t)i * 77777, .stream = 9};
        kernel_case_random(&c, RY_f32, shapes[i / 4], i);
        kernel_case_values(&c, RY_f64, "", &steps[i % 4]);
        kernel_case_output(&c, RY_f32, shapes[i / 4]);
        kernel_case_check_isas(&c, "dropout_f32", 1e-6);
        kernel_case_end(&c);
    }
}

/* Of a tensor of ones. */
static void drop(rynd_context *context, double ratio, double step, float *y)
{
    char text[256];
    snprintf(text, sizeof text,
             "dropout x0=%d:f32 x1=scalar:f64 y0=%d:f32 ratio=%.17g seed=11 stream=5", MANY, MANY,
             ratio);
    rynd_op *op = NULL;
    float *x = malloc(MANY * sizeof *x);
    assert_non_null(x);
    for (int i = 0; i < MANY; i++) {
        x[i] = 1;
    }
    if (rynd_op_create(context, text, NULL, &op) != RYND_OK) {
        fail_msg("%s: %s", text, rynd_last_error());
    }
    assert_int_equal(rynd_op_execute(op, (const void *[]){x, &step}, (void *[]){y}), RYND_OK);
    rynd_op_destroy(op);
    free(x);
}

/* What stays is where the public numbers are at least the ratio; of so many the mean is 1 and the
 * variance p / (1 - p), each within five deviations of its own. */
static void the_mask_is_of_the_public_numbers(void **state)
{
    (void)state;
    static float y[MANY], number[MANY];
    static const double ratios[] = {0.1, 0.5, 0.8};
    rynd_context *context = NULL;
    assert_int_equal(rynd_context_create(NULL, &context), RYND_OK);
    for (size_t r = 0; r < sizeof ratios / sizeof *ratios; r++) {
        const double p = ratios[r];
        const rynd_random random = {.seed = 11, .stream = 5, .step = (uint32_t)r};
        double sum = 0, squares = 0;
        drop(context, p, (double)r, y);
        assert_int_equal(rynd_random_uniform(&random, 0, MANY, number), RYND_OK);
        for (int i = 0; i < MANY; i++) {
            assert_true(y[i] == ((double)number[i] < p ? 0.0f : (float)(1 / (1 - p))));
            sum += (double)y[i];
            squares += ((double)y[i] - 1) * ((double)y[i] - 1);
        }
        const double variance = p / (1 - p), of_mean = sqrt(variance / MANY);
        assert_true(fabs(sum / MANY - 1) < 5 * of_mean);
        /* of squares: 0 and 1 / (1 - p) are 1 and p / (1 - p) away from 1 */
        const double spread = sqrt(p * (1 - p)) * fabs(1 - pow(p / (1 - p), 2));
        assert_true(fabs(squares / MANY - variance) <= 5 * spread / sqrt(MANY) + 1e-6);
    }
    rynd_context_destroy(context);
}

static void bad_ratios_are_refused(void **state)
{
    (void)state;
    rynd_context *context = NULL;
    rynd_op *op = NULL;
    assert_int_equal(rynd_context_create(NULL, &context), RYND_OK);
    assert_int_equal(
        rynd_op_create(context, "dropout x0=4:f32 x1=scalar:f64 y0=4:f32 ratio=1", NULL, &op),
        RYND_ERROR_SHAPE);
    assert_non_null(strstr(rynd_last_error(), "ratio is 1, expected 0 to below 1"));
    assert_int_equal(rynd_op_create(context, "dropout x0=4:f32 x1=scalar:f32 y0=4:f32", NULL, &op),
                     RYND_ERROR_SHAPE);
    assert_non_null(strstr(rynd_last_error(), "expected f64"));
    rynd_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_agree),
        cmocka_unit_test(the_mask_is_of_the_public_numbers),
        cmocka_unit_test(bad_ratios_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
