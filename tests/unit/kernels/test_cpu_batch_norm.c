/* SPDX-License-Identifier: Apache-2.0 */
/* The vector kernels of batch normalisation in training and of its gradient against the
 * references, in every layout: small images, rows in pieces, few channels, many. */
#include "kernel_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#define NEAR32 1e-5

static const char *const shapes[][2] = {
    {"2x5x7x9", "5"},     {"3x64x7x7", "64"},  {"1x3x50x60", "3"},   {"37x67", "67"},
    {"2x1x5x5", "1"},     {"5x9x1x1", "9"},    {"2x6x4x3x5", "6"},   {"2x3x91x101", "3"},
    {"5x2x33x70", "2"},   {"70x3x5x5", "3"},   {"2x130x3x1", "130"}, {"600x7x2x2", "7"},
    {"2x40x17x16", "40"}, {"1x33x4100", "33"}, {"300x70", "70"}};

enum { SHAPES = sizeof shapes / sizeof *shapes };

static const ry_activation activations[] = {RY_activation_none, RY_activation_relu,
                                            RY_activation_clip};

static void vectors(kernel_case *c, size_t shape, int count)
{
    for (int k = 0; k < count; k++) {
        kernel_case_random(c, RY_f32, shapes[shape][1], (uint64_t)k + 2);
    }
}

/* Values around `mean`, whose deviation is a little one. */
static void move(ry_tensor *t, double mean)
{
    for (int64_t i = 0; i < ry_tensor_count(t); i++) {
        ry_set_f64((ry_dtype)t->dtype, t->data, i,
                   ry_get_f64((ry_dtype)t->dtype, t->data, i) + mean);
    }
}

static void check_train(size_t shape, ry_activation activation, bool residual, double mean)
{
    kernel_case c;
    kernel_case_begin(&c, RY_OP_batch_norm_train);
    c.attrs.batch_norm_train.activation = activation;
    c.attrs.batch_norm_train.act_alpha = -0.25;
    c.attrs.batch_norm_train.act_beta = 0.75;
    c.attrs.batch_norm_train.momentum = 0.3;
    kernel_case_random(&c, RY_f32, shapes[shape][0], 1);
    move(&c.in[0], mean);
    vectors(&c, shape, 4);
    if (residual) {
        kernel_case_random(&c, RY_f32, shapes[shape][0], 9);
    }
    kernel_case_output(&c, RY_f32, shapes[shape][0]);
    for (int i = 0; i < 4; i++) {
        kernel_case_output(&c, RY_f32, shapes[shape][1]);
    }
    kernel_case_check_isas(&c, "batch_norm_train_f32", NEAR32);
    kernel_case_end(&c);
}

static void test_train(void **state)
{
    (void)state;
    for (size_t i = 0; i < SHAPES; i++) {
        for (int k = 0; k < 6; k++) {
            check_train(i, activations[k % 3], k >= 3, 0);
        }
    }
}

/* A mean that is large beside the deviation must not eat the variance. */
static void test_far_from_zero(void **state)
{
    (void)state;
    for (size_t i = 0; i < SHAPES; i++) {
        check_train(i, RY_activation_none, false, 1024);
    }
}

/* Outputs that nobody reads are absent. */
static void test_train_alone(void **state)
{
    (void)state;
    kernel_case c;
    kernel_case_begin(&c, RY_OP_batch_norm_train);
    kernel_case_random(&c, RY_f32, shapes[0][0], 1);
    vectors(&c, 0, 4);
    kernel_case_output(&c, RY_f32, shapes[0][0]);
    kernel_case_output_absent(&c);
    kernel_case_output(&c, RY_f32, shapes[0][1]);
    kernel_case_check_isas(&c, "batch_norm_train_f32", NEAR32);
    kernel_case_end(&c);
}

/* stored: the type of x and y */
static void check_grad(size_t shape, ry_dtype stored, ry_activation activation, bool residual,
                       bool fixed)
{
    kernel_case c;
    kernel_case_begin(&c, RY_OP_batch_norm_grad);
    c.attrs.batch_norm_grad.activation = activation;
    c.attrs.batch_norm_grad.act_alpha = -0.25;
    c.attrs.batch_norm_grad.act_beta = 0.75;
    c.attrs.batch_norm_grad.fixed = fixed;
    kernel_case_random(&c, RY_f32, shapes[shape][0], 1);
    kernel_case_random(&c, stored, shapes[shape][0], 7);
    vectors(&c, shape, 3);
    if (activation != RY_activation_none) {
        kernel_case_random(&c, stored, shapes[shape][0], 9);
        ry_set_f64(stored, c.in[5].data, 1, activation == RY_activation_clip ? 0.75 : 0);
        ry_set_f64(stored, c.in[5].data, 2, -0.25);
    }
    kernel_case_output(&c, RY_f32, shapes[shape][0]);
    kernel_case_output(&c, RY_f32, shapes[shape][1]);
    kernel_case_output(&c, RY_f32, shapes[shape][1]);
    if (residual) {
        kernel_case_output(&c, RY_f32, shapes[shape][0]);
    }
    kernel_case_check_isas(&c, "batch_norm_grad_f32", NEAR32);
    kernel_case_end(&c);
}

static void test_grad(void **state)
{
    (void)state;
    for (size_t i = 0; i < SHAPES; i++) {
        for (int k = 0; k < 6; k++) {
            check_grad(i, RY_f32, activations[k % 3], k >= 3, i % 3 == 2);
            check_grad(i, RY_bf16, activations[k % 3], k >= 3, i % 3 == 2);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_train), cmocka_unit_test(test_far_from_zero),
        cmocka_unit_test(test_train_alone), cmocka_unit_test(test_grad)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
