/* SPDX-License-Identifier: Apache-2.0 */
/* Random convolutions, forward, transposed and the gradient of weights, with odd shapes. */
#ifndef RANDOM_CONV_H
#define RANDOM_CONV_H

#include "product_case.h"

typedef struct conv_limits {
    int64_t channels, size, kernel;
    int64_t stride; /* at most; 0: up to 4, and 1 more often */
    ry_dtype dtype;
    bool transposed, plain; /* plain: one layout, no epilogue beyond a bias */
    bool phases;            /* each phase has a bias of its own */
    bool pointwise;         /* one tap without padding, both tensors dense */
    bool weights;           /* dir=bwd_weights, without bias */
    int64_t groups;         /* at most; 0: up to 4, and 1 more often */
} conv_limits;

/* Makes a case within limits, without its data; false: what was drawn fits nowhere. */
bool random_conv(product_case *c, const conv_limits *limits);

#endif
