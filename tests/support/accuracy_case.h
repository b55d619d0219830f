/* SPDX-License-Identifier: Apache-2.0 */
/* Error of kernels with sums of products (conv, convt, matmul in f32) against float64, on ordinary
 * and on hard data, and what an accuracy class allows there.
 *
 *   accuracy_case c;
 *   accuracy_case_begin(&c, "conv c=64 h=15 w=17 k=40 r=3 s=3 pad=1", ACCURACY_CANCELLING);
 *   accuracy_error error = accuracy_case_measure(&c, kernel, CASE_NHWC);
 *   accuracy_case_judge(&c, kernel->accuracy, error, message, sizeof message)       "" when the
 * class's promise holds accuracy_case_end(&c);
 *
 * Errors are relative to the root mean square of the exact outputs. Beside the exact result stand
 * two models, made of plain loops:
 *
 *   direct    sum over channels, then taps, in float32; each product and each sum is rounded
 *   rounded   the same, of operands rounded to tf32 or to bfloat16; numbers below 2^-126 count as
 * zero, as in the hardware's bfloat16 products
 *
 * strict: at most twice direct's error. near32: at most 1e-5, or 32 times direct's error where that
 * is more (no method sums cancelling terms well), 256 times for data of products below 2^-126.
 * tf32, bf16: at most 2^-10, 2^-7, what rounding two operands makes of a product at worst, or twice
 * rounded's error where that is more. The largest error is at most four times the model's largest,
 * or what the root mean square may be (ten times that for operands in float32). And outputs are
 * finite, infinite or NaN where the direct sum is; where a weight is not finite, a product with
 * padding may count as a product with zero (NaN) or be left out. */
#ifndef ACCURACY_CASE_H
#define ACCURACY_CASE_H

#include "kernel_case.h"

typedef enum accuracy_data {
    ACCURACY_ORDINARY,   /* x >= 0 as after a ReLU, normal weights */
    ACCURACY_SIGNED,     /* uniform in [-1, 1) */
    ACCURACY_CHANNELS,   /* channels of x differ by up to 2^32 */
    ACCURACY_PIXELS,     /* elements of x differ by up to 2^24 */
    ACCURACY_CANCELLING, /* channels cancel to 1e-4 of their terms */
    ACCURACY_SUBNORMAL,  /* x below 2^-126 */
    ACCURACY_TINY,       /* products below 2^-126 of normal operands */
    ACCURACY_HUGE,       /* products of 2^115, far from overflow themselves */
    ACCURACY_NONFINITE,  /* a few elements of x are infinite or NaN */
    ACCURACY_WEIGHTS,    /* a few weights are */
    ACCURACY_DATA
} accuracy_data;

extern const char *const accuracy_data_names[ACCURACY_DATA];

typedef struct accuracy_error {
    double rms, largest;
    int64_t misplaced; /* outputs of another kind (finite, +-infinite, NaN) than the direct sum's */
    int64_t first_misplaced;
} accuracy_error;

typedef struct accuracy_case {
    kernel_case kernel;
    accuracy_data data;
    int64_t outputs;
    double *truth;
    float *direct, *padded; /* padded: the direct sum with products of padding */
    float *result;          /* result of the last measurement, row-major */
    accuracy_error direct_error, tf32_error, bf16_error;
} accuracy_case;

/* The problem has f32 tensors, no residual and no activation. */
void accuracy_case_begin(accuracy_case *c, const char *problem, accuracy_data data);
void accuracy_case_end(accuracy_case *c);
bool accuracy_case_applicable(accuracy_case *c, const ry_kernel *kernel, case_layout layout);
accuracy_error accuracy_case_measure(accuracy_case *c, const ry_kernel *kernel, case_layout layout);
/* Errors of any result, as many floats as there are outputs, row-major. */
accuracy_error accuracy_case_compare(const accuracy_case *c, const float *result);
/* What a class allows for the root mean square. */
double accuracy_case_allowed(const accuracy_case *c, ry_accuracy accuracy);
/* Whether the class's promise holds; if not, message says why. */
bool accuracy_case_judge(const accuracy_case *c, ry_accuracy accuracy, accuracy_error error,
                         char *message, size_t size);

/* A kernel with sums of products of floats that this machine can run; not the reference, which
 * computes in float64. */
bool accuracy_is_measured(const ry_kernel *kernel);

/* The problems on which every kernel is measured; NULL-terminated. Together they reach every kernel
 * for f32 tensors. */
extern const char *const accuracy_problems[];

#endif
