/* SPDX-License-Identifier: Apache-2.0 */
/* Reference convolutions: known values (PyTorch's), identities, adjointness of the three
 * directions, exact integers. */
#include "kernel_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#define COUNT(list) ((int64_t)(sizeof(list) / sizeof *(list)))

static void grouped_dilated_asymmetric(void **state)
{
    (void)state;
    static const double y[] = {6,   19,  -1, -21, -4, -18, 17,  -3,  -56, 16,  15, 2,
                               -55, 20,  9,  -6,  -8, -10, 21,  -7,  -15, -16, 27, 4,
                               -17, -6,  35, -1,  -4, 3,   -19, 36,  -19, -8,  24, 27,
                               15,  -8,  13, -5,  24, -2,  16,  1,   -10, 7,   20, -11,
                               -9,  -10, 38, -37, 9,  -33, 0,   -37, 27,  -30, 12, 28};
    kernel_case c;
    kernel_case_begin(&c, RY_OP_conv);
    c.attrs.conv.stride = (ry_ints){2, {2, 1}};
    c.attrs.conv.dilation = (ry_ints){2, {1, 2}};
    c.attrs.conv.pads = (ry_ints){4, {1, 0, 2, 1}};
    c.attrs.conv.groups = 2;
    kernel_case_pattern(&c, RY_f32, "1x4x5x6", 7, 11, 1);
    kernel_case_pattern(&c, RY_f32, "4x2x3x2", 5, 9, 1);
    kernel_case_pattern(&c, RY_f32, "4", 3, 7, 1);
    kernel_case_output(&c, RY_f32, "1x4x3x5");
    kernel_case_known(&c, "conv_ref", y, COUNT(y), 0);
    kernel_case_end(&c);
}

static void one_and_three_dimensions(void **state)
{
    (void)state;
    static const double y1[] = {15,  45, 3,  -39, 0, 0,  24, 15,  -15, -36, -18, 33,
                                -18, 4,  39, -14, 3, -8, -6, -26, 15,  -20, -24, 16};
    static const double y3[] = {-10, -10, -54, 23, -54, 45,  -10, 45,
                                10,  15,  14,  -3, 22,  -28, 15,  -35};
    kernel_case c;
    kernel_case_begin(&c, RY_OP_conv);
    c.attrs.conv.stride = (ry_ints){1, {2}};
    c.attrs.conv.pads = (ry_ints){2, {2, 1}};
    kernel_case_pattern(&c, RY_f16, "2x2x7", 7, 11, 1);
    kernel_case_pattern(&c, RY_f16, "3x2x3", 5, 9, 1);
    kernel_case_output(&c, RY_f16, "2x3x4");
    kernel_case_known(&c, "conv_ref", y1, COUNT(y1), 0);
    kernel_case_end(&c);
    kernel_case_begin(&c, RY_OP_conv);
    kernel_case_pattern(&c, RY_f64, "1x1x3x3x3", 7, 11, 1);
    kernel_case_pattern(&c, RY_f64, "2x1x2x2x2", 5, 9, 1);
    kernel_case_output(&c, RY_f64, "1x2x2x2x2");
    kernel_case_known(&c, "conv_ref", y3, COUNT(y3), 0);
    kernel_case_end(&c);
}

static void transposed(void **state)
{
    (void)state;
    static const double y[] = {1,  -7, -5,  -14, 11,  -24, -4,  -21, 0,  -1,  -29, -9, -17, 16, -1,
                               -2, -7, 3,   30,  -5,  -10, 4,   5,   -3, -13, 6,   3,  -12, -3, -3,
                               17, 0,  -15, -3,  -3,  -3,  6,   -9,  0,  6,   -6,  9,  -17, 23, -2,
                               -1, 13, -3,  10,  -19, 4,   -4,  -2,  3,  -27, -5,  -1, -18, 3,  3,
                               14, -7, -14, 19,  2,   -3,  -28, -7,  28, 1,   -4,  0};
    kernel_case c;
    kernel_case_begin(&c, RY_OP_convt);
    c.attrs.convt.stride = (ry_ints){2, {2, 2}};
    /* an output padding of 1 has been taken off the end */
    c.attrs.convt.pads = (ry_ints){4, {1, 1, 0, 0}};
    c.attrs.convt.groups = 2;
    kernel_case_pattern(&c, RY_f32, "1x4x3x3", 7, 11, 1);
    kernel_case_pattern(&c, RY_f32, "4x1x3x3", 5, 9, 1);
    kernel_case_pattern(&c, RY_f32, "2", 3, 7, 1);
    kernel_case_output(&c, RY_f32, "1x2x6x6");
    kernel_case_known(&c, "convt_ref", y, COUNT(y), 0);
    kernel_case_end(&c);
}

/* y[n,k,2i+a,3j+b] = sum over c of x[n,c,i,j] * w[c,k,a,b] + bias[k,a,b] */
static void biased_by_phases(void **state)
{
    (void)state;
    static const double y[] = {19,  -7,  21,  -17, 8,  -12, -12, 16,  -17, 6,   -14, 4,
                               13,  -10, 21,  -23, 5,  -12, -9,  22,  -8,  9,   -8,  13,
                               2,   -22, -3,  11,  2,  9,   25,  -8,  20,  -11, 7,   -13,
                               -13, -7,  -12, -4,  17, 0,   19,  -11, 20,  -17, 4,   -13};
    kernel_case c;
    kernel_case_begin(&c, RY_OP_convt);
    c.attrs.convt.stride = (ry_ints){2, {2, 3}};
    kernel_case_pattern(&c, RY_f32, "1x2x2x2", 7, 11, 1);
    kernel_case_pattern(&c, RY_f32, "2x2x2x3", 5, 9, 1);
    kernel_case_pattern(&c, RY_f32, "2x2x3", 3, 7, 1);
    kernel_case_output(&c, RY_f32, "1x2x4x6");
    kernel_case_known(&c, "convt_ref", y, COUNT(y), 0);
    kernel_case_end(&c);
}

static void deformed(void **state)
{
    (void)state;
    static const double y[] = {8.125,  -0.75,   -7.125, -15.25,  -0.75,   9.125,
                               -4.875, -29.375, 2.25,   -2.9375, -3.25,   -8.75,
                               2.875,  -9.25,   12,     2,       21.3125, -10.125};
    kernel_case c;
    kernel_case_begin(&c, RY_OP_deform_conv);
    kernel_case_pattern(&c, RY_f32, "1x2x4x4", 7, 11, 1);
    kernel_case_pattern(&c, RY_f32, "2x2x2x2", 5, 9, 1);
    kernel_case_pattern(&c, RY_f32, "1x8x3x3", 3, 8, 0.25);
    kernel_case_absent(&c);
    kernel_case_pattern(&c, RY_f32, "1x4x3x3", 5, 7, 0.5);
    kernel_case_output(&c, RY_f32, "1x2x3x3");
    kernel_case_known(&c, "deform_conv_ref", y, COUNT(y), 1e-6);
    kernel_case_end(&c);
}

/* Without displacement it is a convolution. */
static void deformed_by_nothing(void **state)
{
    (void)state;
    static const double zeros[2 * 18 * 20] = {0};
    kernel_case c, plain;
    kernel_case_begin(&c, RY_OP_deform_conv);
    c.attrs.deform_conv = (ry_deform_conv_attrs){{0}, {0}, {4, {1, 0, 1, 1}}, 2, 1};
    kernel_case_begin(&plain, RY_OP_conv);
    plain.attrs.conv.pads = c.attrs.deform_conv.pads;
    plain.attrs.conv.groups = 2;
    kernel_case *both[] = {&c, &plain};
    for (int i = 0; i < 2; i++) {
        kernel_case_random(both[i], RY_f32, "2x4x5x5", 1);
        kernel_case_random(both[i], RY_f32, "6x2x3x3", 2);
        if (i == 0) {
            kernel_case_values(&c, RY_f32, "2x18x5x4", zeros);
        }
        kernel_case_random(both[i], RY_f32, "6", 3);
        kernel_case_output(both[i], RY_f32, "2x6x5x4");
    }
    kernel_case_run(&plain, every_kernel_find("conv_ref"), CASE_NCHW);
    kernel_case_run(&c, every_kernel_find("deform_conv_ref"), CASE_NHWC);
    for (int64_t i = 0; i < ry_tensor_count(&c.out[0]); i++) {
        assert_true(fabs(kernel_case_get(&c, 0, i) - kernel_case_get(&plain, 0, i)) < 1e-6);
    }
    kernel_case_end(&c);
    kernel_case_end(&plain);
}

static void summed_columns(void **state)
{
    (void)state;
    static const double y[] = {-5, 6, -2, -4, 7, 2, -3, -2, 1, -4, -1, 2,
                               -2, 1, 4,  -1, 2, 3, -2, -7, 4, 2,  -6, 5};
    kernel_case c;
    kernel_case_begin(&c, RY_OP_col2im);
    c.attrs.col2im.image = (ry_ints){2, {3, 4}};
    c.attrs.col2im.block = (ry_ints){2, {2, 2}};
    kernel_case_pattern(&c, RY_f32, "1x8x6", 7, 11, 1);
    kernel_case_output(&c, RY_f32, "1x2x3x4");
    kernel_case_known(&c, "col2im_ref", y, COUNT(y), 0);
    kernel_case_end(&c);
}

/* A kernel that is 1 in its middle copies, adds bias and residual, and the activation comes last.
 */
static void delta_with_epilogue(void **state)
{
    (void)state;
    static const double delta[] = {0, 0, 0, 0, 1, 0, 0, 0, 0};
    static const double bias[] = {-0.25};
    kernel_case c;
    kernel_case_begin(&c, RY_OP_conv);
    c.attrs.conv.pads = (ry_ints){4, {1, 1, 1, 1}};
    c.attrs.conv.activation = RY_activation_leaky_relu;
    c.attrs.conv.act_alpha = 0.5;
    kernel_case_random(&c, RY_f32, "2x1x4x3", 1);
    kernel_case_values(&c, RY_f32, "1x1x3x3", delta);
    kernel_case_values(&c, RY_f32, "1", bias);
    kernel_case_random(&c, RY_f32, "2x1x4x3", 2);
    kernel_case_output(&c, RY_f32, "2x1x4x3");
    for (case_layout layout = 0; layout < CASE_LAYOUTS; layout++) {
        kernel_case_run(&c, every_kernel_find("conv_ref"), layout);
        for (int64_t i = 0; i < 24; i++) {
            double x =
                ry_get_f64(RY_f32, c.in[0].data, i) - 0.25 + ry_get_f64(RY_f32, c.in[3].data, i);
            assert_true(fabs(kernel_case_get(&c, 0, i) - (x < 0 ? x / 2 : x)) < 1e-7);
        }
    }
    kernel_case_end(&c);
}

/* <conv(x, w), dy> = <x, backward_data(dy, w)> = <w, backward_weights(x, dy)>: what makes the
 * gradients right. */
static void directions_are_adjoint(const ry_conv_attrs *attrs, const char *x, const char *w,
                                   const char *y)
{
    kernel_case forward, data, weights;
    kernel_case *all[] = {&forward, &data, &weights};
    for (int i = 0; i < 3; i++) {
        kernel_case_begin(all[i], RY_OP_conv);
        all[i]->attrs.conv = *attrs;
        all[i]->attrs.conv.dir = (ry_direction)i;
    }
    kernel_case_random(&forward, RY_f64, x, 1);
    kernel_case_random(&forward, RY_f64, w, 2);
    kernel_case_output(&forward, RY_f64, y);
    kernel_case_random(&data, RY_f64, y, 3);
    kernel_case_random(&data, RY_f64, w, 2);
    kernel_case_output(&data, RY_f64, x);
    kernel_case_random(&weights, RY_f64, x, 1);
    kernel_case_random(&weights, RY_f64, y, 3);
    kernel_case_output(&weights, RY_f64, w);
    for (case_layout layout = 0; layout < CASE_LAYOUTS; layout++) {
        for (int i = 0; i < 3; i++) {
            kernel_case_run(all[i], every_kernel_find("conv_ref"), layout);
        }
        double product = kernel_case_dot(&forward.out[0], &data.in[0]);
        assert_true(fabs(product) > 0.01);
        assert_true(fabs(product - kernel_case_dot(&data.out[0], &forward.in[0])) <
                    1e-12 * fabs(product) + 1e-12);
        assert_true(fabs(product - kernel_case_dot(&weights.out[0], &forward.in[1])) <
                    1e-12 * fabs(product) + 1e-12);
    }
    for (int i = 0; i < 3; i++) {
        kernel_case_end(all[i]);
    }
}

static void adjoint(void **state)
{
    (void)state;
    ry_conv_attrs attrs = ry_attrs_default(RY_OP_conv).conv;
    directions_are_adjoint(&attrs, "2x3x6x5", "4x3x3x2", "2x4x4x4");
    attrs.groups = 3;
    attrs.stride = (ry_ints){2, {2, 3}};
    attrs.dilation = (ry_ints){2, {3, 2}};
    attrs.pads = (ry_ints){4, {2, 1, 0, 3}};
    directions_are_adjoint(&attrs, "2x6x9x10", "3x2x3x3", "2x3x3x4");
    attrs = ry_attrs_default(RY_OP_conv).conv;
    attrs.stride = (ry_ints){3, {1, 2, 2}};
    attrs.pads = (ry_ints){6, {1, 1, 0, 1, 0, 1}};
    directions_are_adjoint(&attrs, "1x2x4x5x6", "3x2x2x3x3", "1x3x5x2x3");
}

static void bias_gradient_is_the_sum(void **state)
{
    (void)state;
    kernel_case c;
    kernel_case_begin(&c, RY_OP_conv);
    c.attrs.conv.dir = RY_direction_bwd_weights;
    kernel_case_random(&c, RY_f32, "2x2x4x4", 1);
    kernel_case_pattern(&c, RY_f32, "2x3x4x4", 7, 11, 1);
    kernel_case_output(&c, RY_f32, "3x2x1x1");
    kernel_case_output(&c, RY_f32, "3");
    double expected[3] = {0};
    for (int64_t i = 0; i < 96; i++) {
        expected[i / 16 % 3] += ry_get_f64(RY_f32, c.in[1].data, i);
    }
    assert_true(kernel_case_steady(&c, "conv_ref") > 0);
    kernel_case_expect(&c, 1, expected, 3, 0);
    kernel_case_end(&c);
}

/* u8 by i8 into i32, as quantised convolutions are; the sums pass 2^24, where float32 would round.
 */
static void integers_are_exact(void **state)
{
    (void)state;
    enum { CHANNELS = 600 };
    double x[CHANNELS], w[CHANNELS];
    for (int i = 0; i < CHANNELS; i++) {
        x[i] = 255 - (i == 7);
        w[i] = 127;
    }
    const double y[] = {255.0 * 127 * CHANNELS - 127};
    kernel_case c;
    kernel_case_begin(&c, RY_OP_conv);
    kernel_case_values(&c, RY_u8, "1x600x1x1", x);
    kernel_case_values(&c, RY_i8, "1x600x1x1", w);
    kernel_case_output(&c, RY_i32, "1x1x1x1");
    kernel_case_known(&c, "conv_ref", y, 1, 0);
    kernel_case_end(&c);
}

static void no_channels_and_no_images(void **state)
{
    (void)state;
    static const double bias[] = {3, -1}, y[] = {3, 3, -1, -1};
    kernel_case c;
    kernel_case_begin(&c, RY_OP_conv);
    kernel_case_values(&c, RY_f32, "1x0x2", NULL);
    kernel_case_values(&c, RY_f32, "2x0x1", NULL);
    kernel_case_values(&c, RY_f32, "2", bias);
    kernel_case_output(&c, RY_f32, "1x2x2");
    kernel_case_known(&c, "conv_ref", y, 4, 0);
    kernel_case_end(&c);
    kernel_case_begin(&c, RY_OP_conv);
    kernel_case_values(&c, RY_f32, "0x1x2", NULL);
    kernel_case_random(&c, RY_f32, "2x1x1", 1);
    kernel_case_output(&c, RY_f32, "0x2x2");
    kernel_case_known(&c, "conv_ref", NULL, 0, 0);
    kernel_case_end(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grouped_dilated_asymmetric),
        cmocka_unit_test(one_and_three_dimensions),
        cmocka_unit_test(transposed),
        cmocka_unit_test(biased_by_phases),
        cmocka_unit_test(deformed),
        cmocka_unit_test(deformed_by_nothing),
        cmocka_unit_test(summed_columns),
        cmocka_unit_test(delta_with_epilogue),
        cmocka_unit_test(adjoint),
        cmocka_unit_test(bias_gradient_is_the_sum),
        cmocka_unit_test(integers_are_exact),
        cmocka_unit_test(no_channels_and_no_images),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
