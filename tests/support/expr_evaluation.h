/* SPDX-License-Identifier: Apache-2.0 */
/* One program on row-major tensors, by one kernel, on a pool of threads. */
#ifndef EXPR_EVALUATION_H
#define EXPR_EVALUATION_H

#include "kernels/kernel.h"

typedef struct expr_evaluation {
    const ry_kernel *kernel;
    const char *text;
    ry_dtype dtype; /* the inputs' type */
    const ry_shape *shapes;
    const void *const *in;
    int inputs;
    const ry_shape *out_shape;
    ry_dtype out_dtype;
    void *out;
    const int *axes; /* reduced; -1 ends; NULL: none */
    unsigned threads;
} expr_evaluation;

void expr_evaluate(const expr_evaluation *e);

/* Maps n elements of one input, or of two (b), on one thread. */
void expr_map(const ry_kernel *kernel, const char *text, ry_dtype dtype, int64_t n, const void *a,
              const void *b, ry_dtype out_dtype, void *y);

/* The kernel of this name; NULL: not in this build, or not for this CPU. */
const ry_kernel *expr_kernel(const char *name);

#endif
