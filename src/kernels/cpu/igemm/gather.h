/* SPDX-License-Identifier: Apache-2.0 */
/* Gathering of pixels into panels, by programs of masked loads (igemm_plan.h). */
#ifndef RY_KERNELS_CPU_IGEMM_GATHER_H
#define RY_KERNELS_CPU_IGEMM_GATHER_H

#include "kernels/cpu/igemm/gather_program.h"
#include "kernels/cpu/simd/isa.h"
#include "kernels/cpu/simd/simd.h"

/* Runs the program for the k block's channels. x: the first channel of the group. The panel is
 * micro-panels of [k][columns], one after another. dtype: f32, i32, f16 or bf16 (the last two are
 * converted). */
void RY_ISA_SYMBOL(igemm_gather)(const igemm_plan *plan, const igemm_k_block *k_block,
                                 const igemm_entry *program, int64_t vectors, int64_t micropanel,
                                 ry_dtype dtype, const void *x, float *panel);

/* ROWS: panel[pixel][k], row_step floats from pixel to pixel. */
void RY_ISA_SYMBOL(igemm_gather_rows)(const igemm_plan *plan, const igemm_phase *phase,
                                      const igemm_k_block *k_block, int64_t image, int64_t first,
                                      int64_t count, ry_dtype dtype, const void *x, float *panel,
                                      int64_t row_step);

/* Panel [micro-panel][k][columns] of `pixels` pixels that are next to each other in x, of
 * `channels` channels that are stored x_channel floats apart. A last micro-panel of fewer pixels
 * has as few full vectors as they fill; behind them are zeros. */
void RY_ISA_SYMBOL(igemm_copy_micropanels)(const float *x, int64_t x_channel, int64_t channels,
                                           int64_t pixels, float *panel);

#endif
