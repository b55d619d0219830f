/* SPDX-License-Identifier: Apache-2.0 */
/* A number far above its neighbours spoils no output whose window does not hold it: every kernel of
 * convolutions holds each output to an error in proportion to the sum of the output's own products'
 * magnitudes. */
#include "accuracy_case.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef enum outliers {
    ONE,    /* in x */
    CORNER, /* the first position of a channel */
    ONE_OF_RECTIFIED,
    ONE_OF_ZEROS,
    ALL_CHANNELS, /* one position */
    FEW,          /* one element in 300 */
    RIGHT_HALF,   /* the right half of rows */
    BESIDE_TINY,  /* a few ordinary numbers, all others subnormal */
    ONE_WEIGHT,   /* large weights in three filters; x is rectified */
    OUTLIERS
} outliers;

static const char *const outlier_names[OUTLIERS] = {
    "one", "corner",     "one of rectified", "one of zeros", "all channels",
    "few", "right half", "beside tiny",      "one weight"};

static const float magnitudes[] = {1e3f, 65504.0f, 1e12f, 2e38f};
enum { MAGNITUDES = sizeof magnitudes / sizeof *magnitudes };

/* Four, six and eight points on one axis and two; strides, phases (of which some have single taps,
 * or no tap in common), interleaved rows, depth, groups; V shared or not; the other methods. */
static const char *const problems[] = {
    "conv c=20 h=21 w=26 k=19 r=3 s=3 pad=1",
    "conv c=40 h=14 w=14 k=37 r=3 s=3",
    "conv n=2 c=17 h=9 w=17 k=6 r=5 s=3 pad=2,0,1,2",
    "conv c=130 h=7 w=6 k=140 r=3 s=3 pad=1",
    "conv c=8 h=12 w=31 k=20 r=3 s=3 pad=1,3,1,3 dilation=1,3",
    "conv c=24 h=20 w=23 k=24 r=3 s=3 pad=1 stride=2",
    "conv c=6 d=4 h=9 w=10 k=7 t=3 r=3 s=3 pad=1",
    "conv c=36 h=13 w=18 k=33 r=3 s=3 pad=1 groups=3",
    "conv c=17 w=60 k=19 s=7 pad=3",
    "conv c=9 h=16 w=17 k=18 r=5 s=5 pad=2",
    "conv c=16 h=13 w=14 k=17 r=2 s=2",
    "conv c=12 h=19 w=20 k=20 r=7 s=7 pad=3 stride=2",
    "conv c=33 h=9 w=11 k=40",
    "conv c=24 h=11 w=9 k=24 r=3 s=3 pad=1 groups=24",
    "convt c=20 h=8 w=13 k=20 r=4 s=4 stride=2 pad=1",
    "convt c=17 h=9 w=8 k=9 r=3 s=3 stride=2 pad=1 opad=1",
    "convt c=16 h=7 w=8 k=12 r=4 s=4 stride=3 pad=1",
    "convt c=11 h=8 w=13 k=5 r=6 s=6 stride=2 pad=2",
    "convt c=18 h=10 w=11 k=16 r=3 s=3 pad=1",
    "conv n=3 c=20 h=16 w=18 k=19 r=3 s=3 pad=1 dir=bwd_weights",
    "conv n=2 c=17 h=13 w=22 k=33 r=3 s=3 dir=bwd_weights",
};

typedef struct outlier_case {
    kernel_case kernel;
    int64_t outputs;
    double *truth, *size; /* exact outputs; sums of their products' magnitudes */
} outlier_case;

static void scatter(kernel_case *c, outliers what, float magnitude, uint32_t seed)
{
    const ry_tensor *x = &c->in[0];
    const int64_t count = ry_tensor_count(x), width = x->dim[x->rank - 1],
                  plane = count / (x->dim[0] * x->dim[1]);
    const int64_t at = (int64_t)(seed * 2654435761u >> 8) % count;
    float *data = x->data;
    for (int64_t i = 0; i < count; i++) {
        const float v = data[i];
        const bool chosen = what == ALL_CHANNELS ? i % plane == at % plane
                            : what == CORNER     ? i == at - at % plane
                            : what == FEW        ? (i * 7919 + at) % 300 == 0
                            : what == RIGHT_HALF ? i % width >= width / 2
                                                 : i == at;
        const bool rectified = what == ONE_OF_RECTIFIED || what == ONE_WEIGHT;
        data[i] = rectified && v < 0 ? 0 : what == ONE_OF_ZEROS ? 0 : v;
        if (what == BESIDE_TINY) {
            data[i] = (i * 7919 + at) % 300 == 0 ? v : v * 0x1p-128f;
        } else if (what != ONE_WEIGHT && chosen) {
            data[i] = what == ALL_CHANNELS || what == RIGHT_HALF ? v * magnitude : magnitude;
        }
    }
    const int64_t weights = ry_tensor_count(&c->in[1]);
    for (int64_t i = 0; what == ONE_WEIGHT && i < 3; i++) {
        ((float *)c->in[1].data)[(2 * i + 1) * weights / 7] = magnitude;
    }
}

static bool is_gradient(const kernel_case *c)
{
    return c->op == RY_OP_conv && c->attrs.conv.dir == RY_direction_bwd_weights;
}

static void run_reference(const kernel_case *c, double *to)
{
    ry_tensor in[CASE_OPERANDS], out[CASE_OPERANDS];
    ry_problem problem = kernel_case_problem(c, CASE_NCHW, in, out);
    out[0].dtype = RYND_DTYPE_F64;
    const ry_kernel *reference = every_kernel_find(c->op == RY_OP_conv ? "conv_ref" : "convt_ref");
    const void *data[CASE_OPERANDS] = {c->in[0].data, c->in[1].data};
    void *outputs[1] = {to};
    ry_error error = {0};
    assert_int_equal(every_kernel_execute(reference, &problem, data, outputs, NULL,
                                          &ry_system_allocator, &error),
                     RYND_OK);
}

static void swap_signs(const ry_tensor *tensor, float *kept, bool back)
{
    float *data = tensor->data;
    for (int64_t i = 0; i < ry_tensor_count(tensor); i++) {
        kept[i] = back ? kept[i] : data[i];
        data[i] = back ? kept[i] : fabsf(data[i]);
    }
}

static void begin(outlier_case *c, const char *problem, outliers what, float magnitude,
                  uint32_t seed)
{
    kernel_case_parse(&c->kernel, problem);
    scatter(&c->kernel, what, magnitude, seed);
    c->outputs = ry_tensor_count(&c->kernel.out[0]);
    c->truth = calloc((size_t)c->outputs, sizeof *c->truth);
    c->size = calloc((size_t)c->outputs, sizeof *c->size);
    float *kept[2];
    assert_true(c->truth && c->size);
    run_reference(&c->kernel, c->truth);
    for (int i = 0; i < 2; i++) {
        kept[i] = calloc((size_t)ry_tensor_count(&c->kernel.in[i]), sizeof(float));
        assert_non_null(kept[i]);
        swap_signs(&c->kernel.in[i], kept[i], false);
    }
    run_reference(&c->kernel, c->size);
    for (int i = 0; i < 2; i++) {
        swap_signs(&c->kernel.in[i], kept[i], true);
        free(kept[i]);
    }
}

static void end(outlier_case *c)
{
    free(c->truth);
    free(c->size);
    kernel_case_end(&c->kernel);
}

/* Largest error of an output over the sum of its products' magnitudes. */
static double bound_of(ry_accuracy accuracy)
{
    return accuracy == RY_ACCURACY_strict ? 1e-5 : accuracy == RY_ACCURACY_near32 ? 1e-4 : 0x1p-7;
}

/* Returns the largest error, relative to the bound, and its output in *at. */
static double worst_of(const outlier_case *c, const ry_kernel *kernel, int64_t *at)
{
    /* some subnormal steps for each product; bfloat16's products have none */
    const double least = kernel->accuracy <= RY_ACCURACY_near32 ? 1e-39 : 0x1p-116,
                 bound = bound_of(kernel->accuracy);
    const float *y = c->kernel.out[0].data;
    double worst = 0;
    for (int64_t i = 0; i < c->outputs; i++) {
        if (c->size[i] < FLT_MAX / 2) {
            const double error = fabs((double)y[i] - c->truth[i]) / (bound * c->size[i] + least);
            *at = error <= worst ? *at : i;
            worst = error <= worst ? worst : isnan(error) ? INFINITY : error;
        }
    }
    return worst;
}

static int check(outlier_case *c, const char *what)
{
    int failures = 0;
    for (size_t i = 0; i < every_kernel_count(); i++) {
        const ry_kernel *kernel = every_kernel(i);
        for (case_layout layout = CASE_NCHW; layout <= CASE_NHWC; layout++) {
            c->kernel.accuracy = kernel->accuracy;
            if (!(is_gradient(&c->kernel) || accuracy_is_measured(kernel)) ||
                kernel->device != RY_DEVICE_cpu || !kernel_case_machine_has(kernel->isa) ||
                !kernel_case_applicable(&c->kernel, kernel, layout)) {
                continue;
            }
            int64_t at = 0;
            kernel_case_run(&c->kernel, kernel, layout);
            const double worst = worst_of(c, kernel, &at);
            if (!(worst <= 1)) {
                print_error("%s, %s, %s, %s: output %lld is %g, not %g: %.3g of what is allowed\n",
                            c->kernel.text, what, kernel->name,
                            layout == CASE_NHWC ? "nhwc" : "nchw", (long long)at,
                            (double)((const float *)c->kernel.out[0].data)[at], c->truth[at],
                            worst);
                failures++;
            }
        }
    }
    return failures;
}

/* Weight gradients in Winograd's form compare a channel with its other positions, but not with ones
 * whose squares are 0. */
static bool is_tried(const char *problem, outliers what)
{
    return !strstr(problem, "dir=bwd_weights") || (what != ONE_OF_ZEROS && what != BESIDE_TINY);
}

static void test_every_output(void **state)
{
    (void)state;
    int failures = 0;
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        for (outliers what = 0; what < OUTLIERS; what++) {
            const uint32_t count = what == BESIDE_TINY ? 1 : MAGNITUDES;
            for (uint32_t m = 0; is_tried(problems[i], what) && m < count; m++) {
                char text[64];
                outlier_case c;
                snprintf(text, sizeof text, "%s of %g", outlier_names[what], (double)magnitudes[m]);
                begin(&c, problems[i], what, magnitudes[m], (uint32_t)i * 64 + what * 8 + m + 1);
                failures += check(&c, text);
                end(&c);
            }
        }
    }
    assert_int_equal(failures, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_output),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
