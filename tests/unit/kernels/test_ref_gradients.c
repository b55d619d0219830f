/* SPDX-License-Identifier: Apache-2.0 */
/* The reference gradients against differences of the reference operators, in float64, and against
 * PyTorch where a gradient is a choice: ties, NaN, windows in padding. */
#include "kernel_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A problem and its gradient. inputs: what each input of the gradient is: g y's gradient, a digit
 * an input of the problem, A.. its outputs, v the reciprocal deviation of its variance, - absent.
 * outputs: of which input each output is the gradient. */
typedef struct gradient_row {
    const char *forward, *gradient, *inputs, *outputs;
} gradient_row;

/* clang-format off */
#define X      "2x3x5x4:f64"
#define VECTOR "3:f64"
#define NORM   " x0=" X " x1=" VECTOR " x2=" VECTOR " x3=" VECTOR " x4=" VECTOR
#define TRAIN  "batch_norm_train" NORM
#define TRAINED " y0=" X " y1=" VECTOR " y2=" VECTOR " y3=" VECTOR " y4=" VECTOR
#define GRAD   "batch_norm_grad x0=" X " x1=" X " x2=" VECTOR " x3=" VECTOR " x4=" VECTOR
#define GIVEN  " y0=" X " y1=" VECTOR " y2=" VECTOR
static const gradient_row rows[] = {
    {TRAIN TRAINED, GRAD GIVEN, "g01BC", "012"},
    {TRAIN TRAINED " epsilon=0.5 activation=relu", GRAD " x5=" X GIVEN " activation=relu", "g01BCA", "012"},
    {TRAIN " x5=" X TRAINED " activation=relu", GRAD " x5=" X GIVEN " y3=" X " activation=relu", "g01BCA", "0125"},
    {TRAIN TRAINED " activation=clip act_alpha=-0.25 act_beta=0.5",
     GRAD " x5=" X GIVEN " activation=clip act_alpha=-0.25 act_beta=0.5", "g01BCA", "012"},
    {"batch_norm_train x0=7x3:f64 x1=3:f64 x2=3:f64 x3=3:f64 x4=3:f64 y0=7x3:f64 y1=3:f64 y2=3:f64",
     "batch_norm_grad x0=7x3:f64 x1=7x3:f64 x2=3:f64 x3=3:f64 x4=3:f64 y0=7x3:f64 y1=3:f64 y2=3:f64", "g01BC", "012"},
    {"batch_norm" NORM " y0=" X, GRAD GIVEN " fixed=1", "g013v", "012"},

    {"pool x0=2x3x7x8:f64 y0=2x3x3x4:f64 kernel=3,2 stride=2,2",
     "pool_grad x0=2x3x3x4:f64 x1=2x3x7x8:f64 y0=2x3x7x8:f64 kernel=3,2 stride=2,2 image=7,8", "g0", "0"},
    {"pool x0=1x2x7x8:f64 y0=1x2x7x8:f64 kernel=3,3 pads=1,1,1,1",
     "pool_grad x0=1x2x7x8:f64 x1=1x2x7x8:f64 y0=1x2x7x8:f64 kernel=3,3 pads=1,1,1,1 image=7,8", "g0", "0"},
    {"pool x0=1x2x9x9:f64 y0=1x2x4x3:f64 kernel=2,3 stride=2,2 dilation=2,2 pads=1,0,0,0",
     "pool_grad x0=1x2x4x3:f64 x1=1x2x9x9:f64 y0=1x2x9x9:f64 kernel=2,3 stride=2,2 dilation=2,2 pads=1,0,0,0 image=9,9", "g0", "0"},
    {"pool x0=1x2x6x6:f64 y0=1x2x3x3:f64 kernel=3,3 stride=2,2 ceil_mode=1",
     "pool_grad x0=1x2x3x3:f64 x1=1x2x6x6:f64 y0=1x2x6x6:f64 kernel=3,3 stride=2,2 ceil_mode=1 image=6,6", "g0", "0"},
    {"pool kind=average x0=1x2x6x6:f64 y0=1x2x4x4:f64 kernel=3,3 stride=2,2 ceil_mode=1 pads=1,1,1,1",
     "pool_grad kind=average x0=1x2x4x4:f64 y0=1x2x6x6:f64 kernel=3,3 stride=2,2 ceil_mode=1 pads=1,1,1,1 image=6,6", "g", "0"},
    {"pool kind=average x0=1x2x6x6:f64 y0=1x2x4x4:f64 kernel=3,3 stride=2,2 ceil_mode=1 pads=1,1,1,1 count_include_pad=1",
     "pool_grad kind=average x0=1x2x4x4:f64 y0=1x2x6x6:f64 kernel=3,3 stride=2,2 ceil_mode=1 pads=1,1,1,1 count_include_pad=1 image=6,6",
     "g", "0"},
    {"pool kind=average x0=2x3x4x5:f64 y0=2x3x1x1:f64 kernel=4,5",
     "pool_grad kind=average x0=2x3x1x1:f64 y0=2x3x4x5:f64 kernel=4,5 image=4,5", "g", "0"},
    {"pool x0=2x3x9:f64 y0=2x3x4:f64 kernel=3 stride=2", "pool_grad x0=2x3x4:f64 x1=2x3x9:f64 y0=2x3x9:f64 kernel=3 stride=2 image=9", "g0", "0"},
    {"pool kind=average x0=1x2x4x5x4:f64 y0=1x2x2x4x2:f64 kernel=2,2,2 stride=2,1,2",
     "pool_grad kind=average x0=1x2x2x4x2:f64 y0=1x2x4x5x4:f64 kernel=2,2,2 stride=2,1,2 image=4,5,4", "g", "0"},
    {"pool kind=lp x0=1x2x6x6:f64 y0=1x2x3x3:f64 kernel=3,3 stride=2,2 pads=1,1,0,0",
     "pool_grad kind=lp x0=1x2x3x3:f64 x1=1x2x6x6:f64 x2=1x2x3x3:f64 y0=1x2x6x6:f64 kernel=3,3 stride=2,2 pads=1,1,0,0 image=6,6", "g0A", "0"},
    {"pool kind=lp x0=1x2x6:f64 y0=1x2x5:f64 kernel=2 p=3",
     "pool_grad kind=lp x0=1x2x5:f64 x1=1x2x6:f64 x2=1x2x5:f64 y0=1x2x6:f64 kernel=2 p=3 image=6", "g0A", "0"},
    {"pool kind=average x0=2x3x7x5:f64 y0=2x3x5x3:f64 output=5,3",
     "pool_grad kind=average x0=2x3x5x3:f64 y0=2x3x7x5:f64 image=7,5 adaptive=1", "g", "0"},
    {"pool x0=1x2x7x5:f64 y0=1x2x5x8:f64 output=5,8",
     "pool_grad x0=1x2x5x8:f64 x1=1x2x7x5:f64 y0=1x2x7x5:f64 image=7,5 adaptive=1", "g0", "0"},

    {"softmax x0=3x5x2:f64 y0=3x5x2:f64 axis=1", "softmax_grad x0=3x5x2:f64 x1=3x5x2:f64 y0=3x5x2:f64 axis=1", "gA", "0"},
    {"softmax x0=3x5x2:f64 y0=3x5x2:f64 axis=1 kind=log_softmax flatten=1",
     "softmax_grad x0=3x5x2:f64 x1=3x5x2:f64 y0=3x5x2:f64 axis=1 kind=log_softmax flatten=1", "gA", "0"},

#define RESIZE(x, y, image, attributes) {"resize x0=" x " y0=" y " " attributes, "resize_grad x0=" y " y0=" x " image=" image " " attributes, "g", "0"}
    RESIZE("1x2x3x4:f64", "1x2x6x8:f64", "1,2,3,4", ""),
    RESIZE("1x2x3x4:f64", "1x2x6x8:f64", "1,2,3,4", "mode=linear"),
    RESIZE("1x2x3x4:f64", "1x2x7x5:f64", "1,2,3,4", "mode=linear coordinates=align_corners"),
    RESIZE("1x2x6x5:f64", "1x2x3x2:f64", "1,2,6,5", "mode=linear coordinates=pytorch_half_pixel"),
    RESIZE("1x2x6x7:f64", "1x2x4x3:f64", "1,2,6,7", "mode=linear antialias=1"),
    RESIZE("1x2x5x4:f64", "1x2x8x9:f64", "1,2,5,4", "mode=cubic"),
    RESIZE("1x2x5x4:f64", "1x2x8x3:f64", "1,2,5,4", "mode=cubic exclude_outside=1 cubic_a=-0.5"),
    RESIZE("1x1x6x7:f64", "1x1x4x3:f64", "1,1,6,7", "coordinates=asymmetric nearest=floor"),
    RESIZE("1x1x6x7:f64", "1x1x4x3:f64", "1,1,6,7", "mode=linear coordinates=tf_crop_and_resize roi=0,0,0.9,-0.2,1,1,0.1,0.8"),
    RESIZE("1x1x9x11:f64", "1x1x12x14:f64", "1,1,9,11", "mode=linear scales=1,1,1.4,1.3 coordinates=half_pixel_symmetric"),
    RESIZE("2x3x4:f64", "4x5x3:f64", "2,3,4", "mode=linear"),
};
/* clang-format on */

static double weighted_sum(kernel_case *forward, const ry_kernel *kernel, const double *g)
{
    double sum = 0;
    kernel_case_run(forward, kernel, CASE_NCHW);
    for (int64_t i = 0; i < ry_tensor_count(&forward->out[0]); i++) {
        sum += kernel_case_get(forward, 0, i) * g[i];
    }
    return sum;
}

/* The derivative of sum(y * g) by element i of an input. */
static double difference(kernel_case *forward, const ry_kernel *kernel, const double *g, int input,
                         int64_t i)
{
    const double step = 1e-5;
    double *at = (double *)forward->in[input].data + i;
    const double value = *at;
    *at = value + step;
    const double above = weighted_sum(forward, kernel, g);
    *at = value - step;
    const double below = weighted_sum(forward, kernel, g);
    *at = value;
    return (above - below) / (2 * step);
}

static const ry_kernel *reference(const kernel_case *c)
{
    char name[64];
    snprintf(name, sizeof name, "%s_ref", ry_op_name(c->op));
    return every_kernel_find(name);
}

/* The forward case has run: what the gradient takes is there. */
static void fill_inputs(kernel_case *gradient, const kernel_case *forward, const char *inputs)
{
    for (int i = 0; inputs[i]; i++) {
        double *to = gradient->in[i].data;
        const int64_t count = ry_tensor_count(&gradient->in[i]);
        for (int64_t k = 0; k < count && inputs[i] == 'v'; k++) {
            to[k] =
                1 / sqrt(((double *)forward->in[4].data)[k] + forward->attrs.batch_norm.epsilon);
        }
        if (inputs[i] == 'g' || inputs[i] == 'v') {
            continue;
        }
        const ry_tensor *from =
            inputs[i] >= 'A' ? &forward->out[inputs[i] - 'A'] : &forward->in[inputs[i] - '0'];
        assert_int_equal(ry_tensor_count(from), count);
        memcpy(to, from->data, (size_t)count * sizeof *to);
    }
}

static void check_row(const gradient_row *row)
{
    kernel_case forward, gradient;
    kernel_case_parse(&forward, row->forward);
    kernel_case_parse(&gradient, row->gradient);
    const double *g = gradient.in[0].data;
    kernel_case_run(&forward, reference(&forward), CASE_NCHW);
    fill_inputs(&gradient, &forward, row->inputs);
    assert_true(kernel_case_steady(&gradient, reference(&gradient)->name) >= 1);
    kernel_case_run(&gradient, reference(&gradient), CASE_NCHW);
    for (int o = 0; row->outputs[o]; o++) {
        const int input = row->outputs[o] - '0';
        const int64_t count = ry_tensor_count(&gradient.out[o]);
        assert_int_equal(ry_tensor_count(&forward.in[input]), count);
        for (int64_t i = 0; i < count; i++) {
            const double expected = difference(&forward, reference(&forward), g, input, i),
                         got = kernel_case_get(&gradient, o, i);
            if (!kernel_case_close(got, expected, 1e-7 * fmax(1, fabs(expected)))) {
                fail_msg("%s: output %d, element %lld is %.9g, not %.9g", row->gradient, o,
                         (long long)i, got, expected);
            }
        }
    }
    kernel_case_end(&forward);
    kernel_case_end(&gradient);
}

static void differences(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        check_row(&rows[i]);
    }
}

/* The running statistics: PyTorch's momentum, and n - 1 of the n values for the variance. */
static void running_statistics(void **state)
{
    (void)state;
    static const double x[] = {1, 3, 5, 7}, scale[] = {2}, bias[] = {1}, mean[] = {10},
                        variance[] = {2};
    static const double y[] = {-1.6832815729997477, 0.10557280900008414, 1.8944271909999157,
                               3.6832815729997477};
    kernel_case c;
    kernel_case_begin(&c, RY_OP_batch_norm_train);
    c.attrs.batch_norm_train.epsilon = 0;
    c.attrs.batch_norm_train.momentum = 0.25;
    kernel_case_values(&c, RY_f64, "2x1x2", x);
    kernel_case_values(&c, RY_f64, "1", scale);
    kernel_case_values(&c, RY_f64, "1", bias);
    kernel_case_values(&c, RY_f64, "1", mean);
    kernel_case_values(&c, RY_f64, "1", variance);
    kernel_case_output(&c, RY_f64, "2x1x2");
    for (int i = 0; i < 4; i++) {
        kernel_case_output(&c, RY_f64, "1");
    }
    kernel_case_known(&c, "batch_norm_train_ref", y, 4, 1e-14);
    kernel_case_expect(&c, 1, (double[]){4}, 1, 1e-14);
    kernel_case_expect(&c, 2, (double[]){0.44721359549995793}, 1, 1e-14);
    kernel_case_expect(&c, 3, (double[]){8.5}, 1, 1e-14);
    kernel_case_expect(&c, 4, (double[]){0.75 * 2 + 0.25 * 20 / 3}, 1, 1e-14);
    kernel_case_end(&c);
}

/* At a bound itself nothing passes; a NaN does. */
static void activation_at_its_bounds(void **state)
{
    (void)state;
    static const double dy[] = {1, 2, 3, 4, 5}, x[] = {0, 0, 0, 0, 0}, one[] = {1}, zero[] = {0},
                        y[] = {0, 0.5, 6, NAN, 7}, passed[] = {0, 2, 0, 4, 0};
    kernel_case c;
    kernel_case_begin(&c, RY_OP_batch_norm_grad);
    c.attrs.batch_norm_grad.fixed = 1;
    c.attrs.batch_norm_grad.activation = RY_activation_clip;
    c.attrs.batch_norm_grad.act_beta = 6;
    kernel_case_values(&c, RY_f32, "5x1", dy);
    kernel_case_values(&c, RY_f32, "5x1", x);
    kernel_case_values(&c, RY_f32, "1", one);
    kernel_case_values(&c, RY_f32, "1", zero);
    kernel_case_values(&c, RY_f32, "1", one);
    kernel_case_values(&c, RY_f32, "5x1", y);
    kernel_case_output(&c, RY_f32, "5x1");
    kernel_case_known(&c, "batch_norm_grad_ref", passed, 5, 0);
    kernel_case_end(&c);
}

/* The first of equals in row-major order gets the gradient, and a NaN before any number. */
static void maximum_ties(void **state)
{
    (void)state;
    static const double dy[] = {1, 2, 4, 8}, x[] = {3, 3, 1, 3, 3, 0, NAN, 1, 5},
                        dx[] = {1, 2, 0, 0, 0, 0, 4, 0, 8};
    kernel_case c;
    kernel_case_begin(&c, RY_OP_pool_grad);
    c.attrs.pool_grad.kernel = (ry_ints){2, {2, 2}};
    c.attrs.pool_grad.image = (ry_ints){2, {3, 3}};
    kernel_case_values(&c, RY_f32, "1x1x2x2", dy);
    kernel_case_values(&c, RY_f32, "1x1x3x3", x);
    kernel_case_output(&c, RY_f32, "1x1x3x3");
    kernel_case_known(&c, "pool_grad_ref", dx, 9, 0);
    kernel_case_end(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(differences), cmocka_unit_test(running_statistics),
        cmocka_unit_test(activation_at_its_bounds), cmocka_unit_test(maximum_ties)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
