/* SPDX-License-Identifier: Apache-2.0 */
/* The weight gradient of a convolution as the forward convolution that it is, which the texts of
 * GPUs compute: of x by y's gradient. Its images are input channels of a group, its channels are
 * images, its weights' window is y's positions, its outputs are the taps. */
#ifndef RY_KERNELS_GPU_GPU_WGRAD_H
#define RY_KERNELS_GPU_GPU_WGRAD_H

#include "kernels/gpu/gpu_window.h"

/* Self-referential (`problem` points to `in` and `out`): do not copy. */
typedef struct ry_gpu_wgrad {
    ry_tensor in[2], out[1];
    ry_problem problem;
} ry_gpu_wgrad;

/* Is it a weight gradient whose convolution ry_gpu_window_takes? */
bool ry_gpu_wgrad_takes(const ry_problem *problem);

/* False: it is no weight gradient of one to three spatial dims with nothing empty. */
bool ry_gpu_wgrad_fill(const ry_problem *problem, ry_gpu_wgrad *exchanged);

/* The window of the convolution, whose groups are x's. */
ry_gpu_window ry_gpu_wgrad_window(const ry_problem *problem, const ry_gpu_wgrad *exchanged);

/* Are neighbouring channels of x neighbours in memory? */
bool ry_gpu_wgrad_along_channels(const ry_problem *problem);

/* SUMS_OF_W; and TYPE_SUMS, STORE_SUMS and SUMS_STEP of the bias' gradient, where it is wanted. */
void ry_gpu_wgrad_define_bias(const ry_problem *problem, ry_text *text);

#endif
