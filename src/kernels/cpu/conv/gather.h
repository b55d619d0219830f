/* SPDX-License-Identifier: Apache-2.0 */
/* Gathering of pixels into panels, by programs of masked loads (igemm_plan.h). */
#ifndef RY_KERNELS_CPU_CONV_GATHER_H
#define RY_KERNELS_CPU_CONV_GATHER_H

#include "kernels/cpu/common/isa.h"
#include "kernels/cpu/common/simd.h"
#include "kernels/cpu/conv/gather_program.h"

/* Runs the program for the chunk's channels. x: the first channel of the group. The panel is slivers
 * of [k][columns], one after another. dtype: f32, i32, f16 or bf16 (the last two are converted). */
void RY_ISA_SYMBOL(igemm_gather)(const igemm_plan *plan, const igemm_chunk *chunk, const igemm_entry *program, int64_t vectors,
                                 int64_t sliver, ry_dtype dtype, const void *x, float *panel);

/* ROWS: panel[pixel][k], row_step floats from pixel to pixel. */
void RY_ISA_SYMBOL(igemm_gather_rows)(const igemm_plan *plan, const igemm_phase *phase, const igemm_chunk *chunk, int64_t image,
                                      int64_t first, int64_t count, ry_dtype dtype, const void *x, float *panel, int64_t row_step);

/* Panel [sliver][k][columns] of `pixels` pixels that lie next to each other in x, of `channels` channels that lie x_channel floats apart. A last sliver of
 * fewer pixels has as few whole vectors as they fill; behind them are zeros. */
void RY_ISA_SYMBOL(igemm_copy_slivers)(const float *x, int64_t x_channel, int64_t channels, int64_t pixels, float *panel);

#endif
