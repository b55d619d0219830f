/* SPDX-License-Identifier: Apache-2.0 */
/* Places outliers in a problem's operands, and judges each output by its own products. */
#include "outlier_case.h"

#include "kernels/form.h"

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

/* Returns 1 if the kernel's result is not good enough. */
static int judge(outlier_case *c, const ry_kernel *kernel, case_layout layout, const char *what)
{
    int64_t at = 0;
    kernel_case_run(&c->kernel, kernel, layout);
    const double worst = worst_of(c, kernel, &at);
    if (!(worst <= 1)) {
        print_error("%s, %s, %s, %s: output %lld is %g, not %g: %.3g of what is allowed\n",
                    c->kernel.text, what, kernel->name, layout == CASE_NHWC ? "nhwc" : "nchw",
                    (long long)at, (double)((const float *)c->kernel.out[0].data)[at], c->truth[at],
                    worst);
    }
    return !(worst <= 1);
}

/* Has the kernel so many points an axis in its class? */
static bool admits(outlier_case *c, const ry_kernel *kernel, case_layout layout, int64_t points)
{
    ry_tensor in[CASE_OPERANDS], out[CASE_OPERANDS];
    if (points == RY_KNOB_FREE) {
        return true;
    }
    const ry_problem problem = kernel_case_problem(&c->kernel, layout, in, out);
    const ry_query query = {kernel, &problem, kernel_case_target(kernel), NULL};
    ry_knob_values values = {0};
    if (kernel->knob_count == 0 || strcmp(kernel->knobs[0].name, "points") != 0) {
        return false;
    }
    kernel->values(&query, 0, &values);
    for (int i = 0; i < values.count; i++) {
        if (values.value[i] == points) {
            return true;
        }
    }
    return false;
}

static int check(outlier_case *c, const outlier_subject *subject, const char *what, int *compared)
{
    ry_form form = ry_form_free();
    int failures = 0;
    form.value[0] = subject->points;
    c->kernel.form = subject->points == RY_KNOB_FREE ? NULL : &form;
    for (size_t i = 0; i < every_kernel_count(); i++) {
        const ry_kernel *kernel = every_kernel(i);
        for (case_layout layout = CASE_NCHW; layout <= CASE_NHWC; layout++) {
            c->kernel.accuracy = kernel->accuracy;
            if (subject->is_tried(&c->kernel, kernel) &&
                kernel_case_applicable(&c->kernel, kernel, layout) &&
                admits(c, kernel, layout, subject->points)) {
                failures += judge(c, kernel, layout, what);
                ++*compared;
            }
        }
    }
    return failures;
}

/* Weight gradients in Winograd's form compare a channel with its other positions, but not with ones
 * whose squares are 0. */
static bool is_due(const char *problem, outliers what)
{
    return !strstr(problem, "dir=bwd_weights") || (what != ONE_OF_ZEROS && what != BESIDE_TINY);
}

int outlier_failures(const char *problem, uint32_t seed, const outlier_subject *subject,
                     int *compared)
{
    int failures = 0;
    for (outliers what = 0; what < OUTLIERS; what++) {
        const uint32_t count = what == BESIDE_TINY ? 1 : MAGNITUDES;
        for (uint32_t m = 0; is_due(problem, what) && m < count; m++) {
            char text[64];
            outlier_case c;
            snprintf(text, sizeof text, "%s of %g", outlier_names[what], (double)magnitudes[m]);
            begin(&c, problem, what, magnitudes[m], seed * 64 + what * 8 + m + 1);
            failures += check(&c, subject, text, compared);
            end(&c);
        }
    }
    return failures;
}
