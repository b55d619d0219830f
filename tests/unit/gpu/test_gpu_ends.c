/* SPDX-License-Identifier: Apache-2.0 */
/* Ends of the sums of GPUs' convolutions against the reference. */
#include "gpu_product.h"
#include "gpu_run.h"
#include "machine/machine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* Sums that are neighbours in y and stored at once, with bias, residual and activation; and inputs at
 * addresses where fours cannot be read at once. */
static void test_runs(void **state)
{
    (void)state;
    static const struct {
        ry_dtype type;
        case_layout layout;
        const char *kernel, *word;
        int split; /* 12: 8 on processors, whose splits are powers of two */
    } rows[] = {{RY_f32, CASE_CHANNELS_LAST, "conv_fwd_f32_igemm_gpu", "64x", 0},
                {RY_f32, CASE_ROW_MAJOR, "conv_fwd_f32_igemm_gpu", "64x64", 0},
                {RY_f32, CASE_CHANNELS_LAST, "conv_fwd_f32_igemm_gpu", "16x64", 0},
                {RY_f32, CASE_ROW_MAJOR, "conv_fwd_f32_igemm_gpu", "4x64", 0},
                {RY_f32, CASE_CHANNELS_LAST, "conv_fwd_f32_igemm_gpu", "32x32", 12},
                {RY_f16, CASE_CHANNELS_LAST, "conv_fwd_f32_igemm_gpu", "64x64", 0},
                {RY_bf16, CASE_ROW_MAJOR, "conv_fwd_f32_igemm_gpu", "64x64", 0},
                {RY_bf16, CASE_CHANNELS_LAST, "conv_fwd_f32_igemm_gpu", "32x32", 0},
                {RY_f16, CASE_CHANNELS_LAST, "conv_fwd_half_units_gpu", "copied64x", 0},
                {RY_bf16, CASE_ROW_MAJOR, "conv_fwd_half_units_gpu", "units64x", 0},
                {RY_f32, CASE_CHANNELS_LAST, "conv_fwd_tf32_units_gpu", "copied64x", 0},
                {RY_f32, CASE_CHANNELS_LAST, "conv_fwd_f32_units_gpu", "copied64x64", 0},
                {RY_f32, CASE_ROW_MAJOR, "conv_fwd_f32_units_gpu", "copied64x64", 0},
                {RY_f32, CASE_ROW_MAJOR, "conv_fwd_bf16_units_gpu", "copied64x64", 0}};
    gpu_run_need();
    const bool matrix_units = gpu_run_target()->machine->matrix_units != 0,
               processor = gpu_run_target()->machine->step_items == 1;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const int64_t in = rows[i].split ? 96 : 32;
        const ry_dtype type = rows[i].type;
        product_case c = {.problem = {.op = RY_OP_conv, .inputs = 4}};
        c.problem.attrs = ry_attrs_default(RY_OP_conv);
        c.problem.attrs.conv.pads = (ry_ints){4, {1, 1, 1, 1}};
        c.problem.attrs.conv.activation = RY_activation_relu;
        c.problem.accuracy = RY_ACCURACY_bf16;
        c.in[0] = case_tensor(type, 4, (const int64_t[]){2, in, 6, 12}, rows[i].layout);
        c.in[1] = case_tensor(type, 4, (const int64_t[]){72, in, 3, 3}, CASE_ROW_MAJOR);
        c.in[2] = case_tensor(RY_f32, 1, (const int64_t[]){72}, CASE_ROW_MAJOR);
        c.in[3] = c.out[0] = case_tensor(type, 4, (const int64_t[]){2, 72, 6, 12}, rows[i].layout);
        c.terms = (double)(in * 9);
        case_fill(&c);
        const int split = processor && rows[i].split ? 8 : rows[i].split,
                  checked =
                      gpu_product_check_split(&c, rows[i].kernel, "conv_ref", rows[i].word, split);
        assert_true(checked > 0 || (strstr(rows[i].kernel, "units") && !matrix_units));
        case_free(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_runs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
