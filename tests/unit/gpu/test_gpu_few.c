/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles for few positions (few..., fewunits...), whose group sums in slices of the terms: against the
 * reference, with ends of rows, columns and terms inside a tile, and sums that groups share. */
#include "gpu_product.h"
#include "gpu_run.h"
#include "machine/machine.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* 40 outputs of 5 by 7 positions and 171 terms, with bias, residual and activation. */
static product_case odd_conv(case_layout layout)
{
    product_case c = {.problem = {.op = RY_OP_conv, .inputs = 4}};
    c.problem.attrs = ry_attrs_default(RY_OP_conv);
    c.problem.attrs.conv.pads = (ry_ints){4, {1, 1, 1, 1}};
    c.problem.attrs.conv.activation = RY_activation_relu;
    c.in[0] = case_tensor(RY_f32, 4, (const int64_t[]){1, 19, 5, 7}, layout);
    c.in[1] = case_tensor(RY_f32, 4, (const int64_t[]){40, 19, 3, 3}, CASE_ROW_MAJOR);
    c.in[2] = case_tensor(RY_f32, 1, (const int64_t[]){40}, CASE_ROW_MAJOR);
    c.in[3] = c.out[0] = case_tensor(RY_f32, 4, (const int64_t[]){1, 40, 5, 7}, layout);
    c.terms = 19 * 9;
    return c;
}

static void floats_are_summed_in_slices(void **state)
{
    (void)state;
    gpu_run_need();
    for (int layout = 0; layout < 2; layout++) {
        product_case c = odd_conv(layout ? CASE_CHANNELS_LAST : CASE_ROW_MAJOR);
        c.problem.accuracy = RY_ACCURACY_strict;
        case_fill(&c);
        assert_true(gpu_product_check_word(&c, "conv_fwd_f32_igemm_gpu", "conv_ref", "few", 0) >=
                    3);
        case_free(&c);
    }
}

static void units_sum_in_slices(void **state)
{
    static const char *const kernels[] = {"conv_fwd_tf32_units_gpu", "conv_fwd_bf16_units_gpu"};
    (void)state;
    gpu_run_need();
    if (!gpu_run_target()->machine->matrix_units) {
        print_message("skipped: the device has no matrix units\n");
        skip();
    }
    for (int k = 0; k < 2; k++) {
        product_case c = odd_conv(k ? CASE_CHANNELS_LAST : CASE_ROW_MAJOR);
        c.problem.accuracy = RY_ACCURACY_bf16;
        case_fill(&c);
        assert_true(gpu_product_check_word(&c, kernels[k], "conv_ref", "few", 0) >= 3);
        case_free(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floats_are_summed_in_slices),
        cmocka_unit_test(units_sum_in_slices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
