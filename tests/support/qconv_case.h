/* SPDX-License-Identifier: Apache-2.0 */
/* Quantised convolutions with bytes of the whole range, for tests of the CPU's and GPUs' kernels. */
#ifndef QCONV_CASE_H
#define QCONV_CASE_H

#include "kernel_case.h"

/* Shapes of x, w and y; no padding, stride or dilation is an empty list. */
typedef struct qconv_case {
    const char *x, *w, *y;
    ry_ints pads, stride, dilation;
    int64_t groups;
} qconv_case;

/* What y is: bytes, bytes with a residual, floats, sums of 32 bits. */
typedef enum qconv_kind {
    QCONV_BYTES,
    QCONV_RESIDUAL,
    QCONV_FLOATS,
    QCONV_SUMS,
    QCONV_KINDS
} qconv_kind;

/* Begins a case whose numbers, zero points and bias follow from the seed. */
void qconv_case_begin(kernel_case *c, const qconv_case *p, qconv_kind kind, uint32_t seed);

#endif
