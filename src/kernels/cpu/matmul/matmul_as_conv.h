/* SPDX-License-Identifier: Apache-2.0 */
/* A matrix product as the convolution of one tap that it is: a row is a pixel, a column of the left operand a channel. */
#ifndef RY_KERNELS_CPU_MATMUL_MATMUL_AS_CONV_H
#define RY_KERNELS_CPU_MATMUL_MATMUL_AS_CONV_H

#include "kernels/kernel.h"

typedef struct matmul_as_conv {
    ry_problem problem; /* inputs as the product's: x, w, bias, residual */
    ry_tensor in[4], out[1];
} matmul_as_conv;

/* false: a batch of products that is not one of rows or images, factors other than 1, or a sum that no bias is. Types are as they are. */
bool matmul_as_conv_of(const ry_problem *matmul, matmul_as_conv *conv);

/* Ties the problem to its descriptions, after they were copied. */
static inline void matmul_as_conv_tie(matmul_as_conv *conv)
{
    conv->problem.in = conv->in;
    conv->problem.out = conv->out;
}

#endif
