/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of the quantised convolution against exact integers, at every instruction set, with
 * bytes of the whole range. */
#include "every_kernel.h"
#include "kernel_case.h"
#include "predict/predict.h"
#include "qconv_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const qconv_case problems[] = {
    {"1x64x7x9", "32x64x1x1", "1x32x7x9", {0}, {0}, {0}, 1},
    {"2x24x9x5", "37x24x3x3", "2x37x9x5", {4, {1, 1, 1, 1}}, {0}, {0}, 1},
    {"1x3x21x19", "17x3x7x7", "1x17x11x10", {4, {3, 3, 3, 3}}, {2, {2, 2}}, {0}, 1},
    {"1x30x6x11", "40x30x1x1", "1x40x6x11", {0}, {0}, {0}, 1},
    {"1x16x12x13", "24x4x3x2", "1x24x6x5", {4, {0, 1, 2, 0}}, {2, {2, 3}}, {2, {2, 1}}, 4},
    {"1x18x8x8", "15x6x3x3", "1x15x8x8", {4, {1, 1, 1, 1}}, {0}, {0}, 3},
    {"1x38x5x6", "6x19x3x3", "1x6x5x6", {4, {1, 1, 1, 1}}, {0}, {0}, 2},
    {"5x300x1", "70x300x1", "5x70x1", {0}, {0}, {0}, 1},
    {"1x2048x3x3", "33x2048x1x1", "1x33x3x3", {0}, {0}, {0}, 1},
    {"1x8x4x5x6", "9x8x3x1x3", "1x9x4x5x6", {6, {1, 0, 1, 1, 0, 1}}, {0}, {0}, 1},
    {"2x1x9x8", "5x1x3x3", "2x5x9x8", {4, {1, 1, 1, 1}}, {0}, {0}, 1},
    {"1x2x9x8", "5x2x3x3", "1x5x4x4", {4, {0, 1, 0, 1}}, {2, {2, 2}}, {0}, 1},
    {"1x6x7x5", "4x3x3x3", "1x4x7x5", {4, {1, 1, 1, 1}}, {0}, {0}, 2},
    {"1x4x1x1", "4x4x3x3", "1x4x5x5", {4, {3, 3, 3, 3}}, {0}, {0}, 1},
};

static const qconv_case depthwise[] = {
    {"1x64x7x9", "64x1x3x3", "1x64x7x9", {4, {1, 1, 1, 1}}, {0}, {0}, 64},
    {"2x37x12x10", "37x1x5x5", "2x37x6x5", {4, {2, 2, 2, 2}}, {2, {2, 2}}, {0}, 37},
    {"1x131x9x300", "131x1x3x3", "1x131x9x300", {4, {1, 1, 1, 1}}, {0}, {0}, 131},
    {"1x20x11x13", "20x1x3x2", "1x20x7x12", {4, {0, 0, 0, 1}}, {0}, {2, {2, 2}}, 20},
    {"1x6x50", "6x1x9", "1x6x17", {2, {4, 4}}, {1, {3}}, {0}, 6},
    {"1x16x5x6x7", "16x1x3x3x3", "1x16x5x6x7", {6, {1, 1, 1, 1, 1, 1}}, {0}, {0}, 16},
};

static void check_dense(kernel_case *c)
{
    kernel_case_check_isas(c, "qconv_igemm", 0);
    kernel_case_check_isas(c, "qconv_pairs", 0);
    kernel_case_check_isas(c, "qconv_matrix", 0);
}

static void igemm_is_exact(void **state)
{
    (void)state;
    uint32_t seed = 1;
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        for (qconv_kind kind = 0; kind < QCONV_KINDS; kind++) {
            kernel_case c;
            qconv_case_begin(&c, &problems[i], kind, seed++);
            c.forms = kind == QCONV_RESIDUAL;
            check_dense(&c);
            kernel_case_end(&c);
        }
    }
}

static void depthwise_is_exact(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof depthwise / sizeof *depthwise; i++) {
        static const qconv_kind kinds[] = {QCONV_BYTES, QCONV_FLOATS, QCONV_SUMS};
        for (uint32_t seed = 0; seed < 9; seed++) {
            kernel_case c;
            qconv_case_begin(&c, &depthwise[i], kinds[seed / 3], 10 * (uint32_t)i + seed);
            kernel_case_check_isas(&c, "qconv_depthwise", 0);
            kernel_case_check_isas(&c, "qconv_depthwise_pairs", 0);
            kernel_case_end(&c);
        }
    }
}

/* A sum that the scale takes beyond the integers is bounded, on either side. */
static void large_numbers_are_bounded(void **state)
{
    (void)state;
    const double x[] = {255, 0}, w[] = {127, -128, -127, 127}, scale[] = {1e30, 1e30},
                 y[] = {255, 0};
    kernel_case c;
    kernel_case_begin(&c, RY_OP_qconv);
    kernel_case_values(&c, RY_u8, "1x2x1", x);
    kernel_case_values(&c, RY_i8, "2x2x1", w);
    kernel_case_absent(&c);
    kernel_case_absent(&c);
    kernel_case_values(&c, RY_f32, "2", scale);
    kernel_case_output(&c, RY_u8, "1x2x1");
    kernel_case_known(&c, "qconv_ref", y, 2, 0);
    check_dense(&c);
    kernel_case_end(&c);
}

/* Bounds on one side of the zero point, and scales that take a residual beyond the integers. */
static void far_bounds_hold(void **state)
{
    (void)state;
    static const struct {
        int64_t sum_low, sum_high, low, high;
        double scale;
    } bounds[] = {{200, 250, 0, 255, 0.5}, {3, 40, 0, 255, 0.5},  {0, 255, 130, 140, 0.5},
                  {0, 255, 5, 60, 0.5},    {0, 255, 0, 255, 1e9}, {90, 255, 100, 255, -1e9}};
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
        kernel_case c;
        qconv_case_begin(&c, &problems[0], QCONV_RESIDUAL, (uint32_t)i);
        c.attrs.qconv.sum_low = bounds[i].sum_low;
        c.attrs.qconv.sum_high = bounds[i].sum_high;
        c.attrs.qconv.low = bounds[i].low;
        c.attrs.qconv.high = bounds[i].high;
        c.attrs.qconv.residual_scale = bounds[i].scale;
        check_dense(&c);
        kernel_case_end(&c);
    }
}

/* Halves round to even: sums 1, 3, 5 and -1 by 1/2 are 0, 2, 2 and 0. */
static void halves_round_to_even(void **state)
{
    (void)state;
    const double x[] = {1, 3, 5, 7}, w[] = {1}, scale[] = {0.5}, y[] = {10, 12, 12, 14};
    kernel_case c;
    kernel_case_begin(&c, RY_OP_qconv);
    c.attrs.qconv.zero = 10;
    kernel_case_values(&c, RY_u8, "1x1x4", x);
    kernel_case_values(&c, RY_i8, "1x1x1", w);
    kernel_case_absent(&c);
    kernel_case_absent(&c);
    kernel_case_values(&c, RY_f32, "1", scale);
    kernel_case_output(&c, RY_u8, "1x1x4");
    kernel_case_known(&c, "qconv_ref", y, 4, 0);
    check_dense(&c);
    kernel_case_end(&c);
}

typedef struct expected {
    ry_isa isa;
    const char *dense, *depthwise;
} expected;

static const expected kernels[] = {
    {RY_ISA_generic, "qconv_pairs_generic", "qconv_depthwise_pairs_generic"},
    {RY_ISA_avx2, "qconv_pairs_avx2", "qconv_depthwise_pairs_avx2"},
    {RY_ISA_avx_vnni, "qconv_igemm_avx_vnni", "qconv_depthwise_avx_vnni"},
    {RY_ISA_avx512, "qconv_pairs_avx512", "qconv_depthwise_pairs_avx512"},
    {RY_ISA_avx512_vnni, "qconv_igemm_avx512_vnni", "qconv_depthwise_avx512_vnni"},
    {RY_ISA_avx512_bf16, "qconv_igemm_avx512_vnni", "qconv_depthwise_avx512_vnni"},
    {RY_ISA_amx, "qconv_matrix_amx", "qconv_depthwise_avx512_vnni"},
#if defined(__aarch64__)
    {RY_ISA_neon, "qconv_pairs_neon", "qconv_depthwise_pairs_neon"},
    {RY_ISA_neon_dot, "qconv_igemm_neon_dot", "qconv_depthwise_neon_dot"},
#endif
};

static void is_chosen(const char *text, const char *name, ry_isa isa)
{
    kernel_case c;
    ry_tensor in[CASE_OPERANDS], out[CASE_OPERANDS];
    kernel_case_parse(&c, text);
    const ry_problem asked = kernel_case_problem(&c, CASE_NCHW, in, out);
    const ry_shape x = ry_tensor_shape(&in[0]), y = ry_tensor_shape(&out[0]);
    in[0] = ry_tensor_channels_last(RY_u8, &x, NULL);
    out[0] = ry_tensor_channels_last(RY_u8, &y, NULL);
    ry_choice choice;
    ry_error error;
    assert_int_equal(
        ry_predict_choose(&asked, every_kernel_target(isa), ~0u, NULL, &choice, &error), RYND_OK);
    assert_string_equal(choice.prepared.kernel->name, name);
    size_t at = 0;
    for (const ry_kernel *kernel;
         (kernel = ry_kernel_next(&asked, every_kernel_target(isa), &at)) != NULL;) {
        assert_true(ry_isa_includes(isa, kernel->isa));
    }
    kernel_case_end(&c);
}

static void each_instruction_set_has_its_own(void **state)
{
    (void)state;
    for (const expected *e = kernels; e < kernels + sizeof kernels / sizeof *kernels; e++) {
        if (ry_kernel_find(e->dense)) {
            is_chosen("qconv x0=1x128x28x28:u8 x1=128x128x3x3:i8 x4=128:f32 y0=1x128x28x28:u8 "
                      "pads=1,1,1,1",
                      e->dense, e->isa);
            is_chosen("qconv x0=1x256x56x56:u8 x1=64x256x1x1:i8 x4=64:f32 y0=1x64x56x56:u8",
                      e->dense, e->isa);
            is_chosen("qconv x0=1x96x56x56:u8 x1=96x1x3x3:i8 x4=96:f32 y0=1x96x56x56:u8 "
                      "pads=1,1,1,1 groups=96",
                      e->depthwise, e->isa);
        }
    }
}

/* AVX-VNNI and AVX-512 include AVX2, but not each other. */
static void vnni_stands_apart(void **state)
{
    (void)state;
    assert_true(ry_isa_includes(RY_ISA_avx_vnni, RY_ISA_avx2));
    assert_true(ry_isa_includes(RY_ISA_avx_vnni, RY_ISA_avx_vnni));
    assert_false(ry_isa_includes(RY_ISA_avx_vnni, RY_ISA_avx512));
    assert_false(ry_isa_includes(RY_ISA_avx512_vnni, RY_ISA_avx_vnni));
    assert_true(ry_isa_includes(RY_ISA_amx, RY_ISA_avx512_vnni));
    assert_int_equal(ry_isa_common(RY_ISA_avx_vnni, RY_ISA_amx), RY_ISA_avx2);
    assert_int_equal(ry_isa_common(RY_ISA_amx, RY_ISA_avx_vnni), RY_ISA_avx2);
    assert_int_equal(ry_isa_common(RY_ISA_avx_vnni, RY_ISA_avx_vnni), RY_ISA_avx_vnni);
    assert_int_equal(ry_isa_common(RY_ISA_avx2, RY_ISA_avx_vnni), RY_ISA_avx2);
    assert_int_equal(ry_isa_common(RY_ISA_amx, RY_ISA_avx512), RY_ISA_avx512);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(igemm_is_exact),
        cmocka_unit_test(depthwise_is_exact),
        cmocka_unit_test(large_numbers_are_bounded),
        cmocka_unit_test(far_bounds_hold),
        cmocka_unit_test(halves_round_to_even),
        cmocka_unit_test(each_instruction_set_has_its_own),
        cmocka_unit_test(vnni_stands_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
