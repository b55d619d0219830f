/* SPDX-License-Identifier: Apache-2.0 */
/* What quantised convolutions on GPUs add to those of floats: the text qconv.cl and its numbers. */
#ifndef RY_KERNELS_GPU_GPU_QCONV_H
#define RY_KERNELS_GPU_GPU_QCONV_H

#include "kernels/gpu/gpu_window.h"

/* Defines the zero points, the requantisation, LOAD_X, LOAD_W, the elements of quads, and
 * FINISH_SUM; call it behind ry_gpu_window_define. */
void ry_gpu_qconv_define(const ry_problem *problem, const ry_gpu_window *window, ry_text *text);

#endif
