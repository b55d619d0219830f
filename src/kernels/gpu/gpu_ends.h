/* SPDX-License-Identifier: Apache-2.0 */
/* How igemm.cl ends sums: which of an item's sums are neighbours in y, so that they are stored at once, and
 * what is read and added to them. */
#ifndef RY_KERNELS_GPU_GPU_ENDS_H
#define RY_KERNELS_GPU_GPU_ENDS_H

#include "kernels/gpu/gpu_matrix.h"
#include "kernels/gpu/gpu_tile_use.h"
#include "kernels/gpu/gpu_window.h"

/* Writes igemm.cl's end of a convolution, and of a matrix product, by work-items of `tile`. */
void ry_gpu_ends_define_window(const ry_problem *problem, const ry_gpu_window *w,
                               const ry_gpu_product *product, const ry_gpu_tile *tile,
                               bool images_first, ry_text *text);
void ry_gpu_ends_define_matrix(const ry_problem *problem, const ry_gpu_matrix *matrix,
                               const ry_gpu_product *product, const ry_gpu_tile *tile,
                               ry_text *text);

/* Writes it for sums that go as floats to `to` as they are: PRODUCT_AT(batch, m, n), whose rows are `row` and
 * columns `column` apart, and whose batches begin at multiples of `others`. */
void ry_gpu_ends_define_floats(const ry_gpu_product *product, int64_t row, int64_t column,
                               int64_t others, const char *to, const ry_gpu_tile *tile,
                               ry_text *text);

#endif
