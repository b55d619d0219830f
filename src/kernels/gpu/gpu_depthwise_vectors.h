/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise convolutions of floats on processors: an item sums a part of a plane in vectors
 * (depthwise_vectors.cl). */
#ifndef RY_KERNELS_GPU_GPU_DEPTHWISE_VECTORS_H
#define RY_KERNELS_GPU_GPU_DEPTHWISE_VECTORS_H

#include "kernels/form.h"
#include "kernels/gpu/gpu_window.h"

/* Do items sum in vectors? They need a processor and floats; y's, and the residual's, beside each
 * other along a row or along channels. */
bool ry_gpu_vectors_take(const ry_query *query, const ry_gpu_window *w);

/* Adds the numbers of output rows that an item can have. */
void ry_gpu_vectors_rows(const ry_query *query, const ry_gpu_window *w, ry_knob_values *values);

/* Fills tasks, work, group and use for so many rows. false: local memory is too small. */
bool ry_gpu_vectors_fill(const ry_query *query, const ry_gpu_window *w, int64_t rows,
                         ry_prepared *prepared);

/* Adds the entry `run` for the form's rows, behind depthwise.cl. */
void ry_gpu_vectors_define(const ry_query *query, const ry_gpu_window *w,
                           const ry_prepared *prepared, ry_text *text);

#endif
