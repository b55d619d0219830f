/* SPDX-License-Identifier: Apache-2.0 */
/* Copies pixels that are next to each other in x to the micro-panels of a panel (gather.h). */
#include "kernels/cpu/igemm/gather.h"

#include "kernels/cpu/simd/simd.h"

void RY_ISA_SYMBOL(igemm_copy_micropanels)(const float *x, int64_t x_channel, int64_t channels,
                                           int64_t pixels, float *panel)
{
    const int64_t full = pixels / RY_TILE_COLUMNS, rest = pixels % RY_TILE_COLUMNS,
                  width = (rest + RY_W - 1) / RY_W * RY_W;
    float *last = panel + full * RY_TILE_COLUMNS * channels;
    /* a channel's pixels at once, so that each cache line of x is read once */
    for (int64_t c = 0; c < channels;
         c++, x += x_channel, panel += RY_TILE_COLUMNS, last += width) {
        const float *from = x;
        float *to = panel;
        for (int64_t s = 0; s < full;
             s++, from += RY_TILE_COLUMNS, to += RY_TILE_COLUMNS * channels) {
#pragma GCC unroll 4
            for (int v = 0; v < RY_TILE_VECTORS; v++) {
                ry_vf_store(to + v * RY_W, ry_vf_load(from + v * RY_W));
            }
        }
        for (int64_t i = 0; i < rest; i += RY_W) {
            ry_vf_store(last + i, ry_vf_load_m(from + i, ry_vm_first(rest - i)));
        }
    }
}
