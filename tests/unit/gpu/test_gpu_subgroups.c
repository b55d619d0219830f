/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles whose items hand operands to each other (subgroups...), against the reference: on devices with Intel's
 * sub-groups, of which Intel's driver for processors is one (tools/intel_opencl). */
#include "gpu_product.h"
#include "gpu_run.h"
#include "machine/machine.h"
#include "random_conv.h"
#include "random_product.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { FORMS = 6 }; /* at least one of each tile */

static void need_subgroups(void)
{
    gpu_run_need();
    if (!gpu_run_target()->machine->subgroups) {
        print_message("skipped: the device has no sub-groups of Intel's kind\n");
        skip();
    }
}

static int check(product_case *c, const char *kernel, const char *reference, const char *tiles)
{
    c->problem.accuracy = RY_ACCURACY_strict;
    case_fill(c);
    const int checked = gpu_product_check_word(c, kernel, reference, tiles, 0);
    case_free(c);
    return checked;
}

static product_case odd_conv(case_layout in, case_layout out, ry_dtype dtype, int64_t channels)
{
    product_case c = {.problem = {.op = RY_OP_conv, .inputs = 4}};
    c.problem.attrs = ry_attrs_default(RY_OP_conv);
    c.problem.attrs.conv.pads = (ry_ints){4, {1, 0, 1, 2}};
    c.problem.attrs.conv.activation = RY_activation_relu;
    c.in[0] = case_tensor(dtype, 4, (const int64_t[]){2, channels, 5, 7}, in);
    c.in[1] = case_tensor(dtype, 4, (const int64_t[]){41, channels, 3, 3}, CASE_ROW_MAJOR);
    c.in[2] = case_tensor(RY_f32, 1, (const int64_t[]){41}, CASE_ROW_MAJOR);
    c.in[3] = c.out[0] = case_tensor(dtype, 4, (const int64_t[]){2, 41, 5, 7}, out);
    c.terms = (double)channels * 9;
    return c;
}

/* x and y along channels or not: which side lies along the lanes, and how the other one lies across them.
 * 19 channels do not fill their last tile, 16 do. */
static void layouts_are_all_summed(void **state)
{
    static const case_layout layouts[] = {CASE_ROW_MAJOR, CASE_CHANNELS_LAST};
    (void)state;
    need_subgroups();
    for (int i = 0; i < 4; i++) {
        product_case c = odd_conv(layouts[i % 2], layouts[i / 2], RY_f32, i % 3 ? 19 : 16);
        assert_true(check(&c, "conv_fwd_f32_igemm_gpu", "conv_ref", "subgroups") >= FORMS);
    }
}

static void types_are_converted(void **state)
{
    static const ry_dtype types[] = {RY_f16, RY_bf16};
    (void)state;
    need_subgroups();
    for (int i = 0; i < 2; i++) {
        product_case c =
            odd_conv(i ? CASE_ROW_MAJOR : CASE_CHANNELS_LAST, CASE_CHANNELS_LAST, types[i], 16);
        assert_true(check(&c, "conv_fwd_f32_igemm_gpu", "conv_ref", "subgroups16") >= 1);
    }
}

/* Strides, dilations, groups, one to three axes, phases of transposed convolutions. */
static void windows_are_all_gathered(void **state)
{
    (void)state;
    need_subgroups();
    int checked = 0;
    for (int i = 0; i < 8; i++) {
        const bool transposed = i % 2;
        const conv_limits limits = {.channels = 24,
                                    .size = 9,
                                    .kernel = 3,
                                    .dtype = RY_f32,
                                    .stride = 3,
                                    .transposed = transposed};
        product_case c;
        if (random_conv(&c, &limits)) {
            checked += check(&c, transposed ? "convt_fwd_f32_igemm_gpu" : "conv_fwd_f32_igemm_gpu",
                             transposed ? "convt_ref" : "conv_ref", "subgroups32");
        }
    }
    assert_true(checked >= 4);
}

/* Matrices in memory, in all four orders; terms fill tiles. */
static void matrices_are_multiplied(void **state)
{
    (void)state;
    need_subgroups();
    for (int i = 0; i < 4; i++) {
        product_case c = random_product(37, 53, 136, RY_f32, true);
        for (int side = 0; side < 2; side++) {
            if (i >> side & 1) {
                c.in[side].stride[0] = 1;
                c.in[side].stride[1] = c.in[side].dim[0];
            }
        }
        assert_true(check(&c, "matmul_f32_igemm_gpu", "matmul_ref", "subgroups32") >= 2);
    }
    product_case rest = random_product(37, 53, 133, RY_f32, true);
    assert_int_equal(check(&rest, "matmul_f32_igemm_gpu", "matmul_ref", "subgroups"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layouts_are_all_summed),
        cmocka_unit_test(types_are_converted),
        cmocka_unit_test(windows_are_all_gathered),
        cmocka_unit_test(matrices_are_multiplied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
