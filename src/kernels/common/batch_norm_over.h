/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernels of batch normalisation in training may write where they read (kernel.h): their
 * sums are there before the pass that goes from element to element. */
#ifndef RY_KERNELS_COMMON_BATCH_NORM_OVER_H
#define RY_KERNELS_COMMON_BATCH_NORM_OVER_H

/* y over x and the residual */
#define RY_BATCH_NORM_TRAIN_OVER \
    {                            \
        1u << 0 | 1u << 5        \
    }
/* dx and dresidual over dy, x and y */
#define RY_BATCH_NORM_GRAD_OVER                                        \
    {                                                                  \
        1u << 0 | 1u << 1 | 1u << 5, 0, 0, 1u << 0 | 1u << 1 | 1u << 5 \
    }

#endif
