/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions by their shape, for tests of one method. */
#ifndef WINDOW_SHAPE_H
#define WINDOW_SHAPE_H

#include "product_case.h"

typedef struct window_shape {
    int64_t batch, channels, out, groups;
    int64_t size[3], kernel[3], dilation[3], before[3], after[3];
    int64_t stride[3]; /* stride of a transposed convolution; 0 means 1 */
    bool transposed;
} window_shape;

/* A 3x3 convolution that keeps channels and size. */
window_shape window_shape_3x3(int64_t channels, int64_t size);

/* The case of a shape with `space` spatial dimensions, the last ones, with a random bias, residual
 * and activation. False if nothing fits. */
bool window_shape_case(product_case *c, const window_shape *s, int space, case_layout x_layout,
                       case_layout y_layout);

#endif
