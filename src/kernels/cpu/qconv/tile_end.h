/* SPDX-License-Identifier: Apache-2.0 */
/* How a tile of finished sums becomes bytes, for texts of tile_template.h. */
#ifndef RY_KERNELS_CPU_QCONV_TILE_END_H
#define RY_KERNELS_CPU_QCONV_TILE_END_H

#include "kernels/cpu/parts/tile.h"
#include "kernels/cpu/qconv/requantise.h"

/* An element of x. Where x is read in place, it may begin at any address. */
typedef int32_t ry_bytes_element __attribute__((aligned(1), may_alias));

/* Rows of finished sums to bytes. The numbers of the end stay in registers. */
RY_INLINE void end_rows(const ry_tile *tile, const int32_t *sum, const int rows, const int vectors,
                        const bool residual, const bool full)
{
    const ry_tile_end *end = tile->end;
    const ry_ends how = *(const ry_ends *)end->how;
    const uint8_t *from = end->residual;
    uint8_t *y = end->y;
    ry_vf scale[RY_TILE_VECTORS];
    int64_t count[RY_TILE_VECTORS];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++) {
        count[v] = full || v < vectors - 1 ? RY_W : tile->columns - v * RY_W;
        scale[v] = ry_vf_load_m(end->scale + v * RY_W, ry_vm_first(count[v]));
    }
#pragma GCC unroll 2
    for (int i = 0; i < rows; i++, sum += vectors * RY_W, y += end->y_step) {
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) {
            const ry_vi own = ry_vi_load(sum + v * RY_W);
            const ry_vi bytes =
                residual ? ry_requantise_residual(&how, own, scale[v],
                                                  ry_vi_load_u8(from + v * RY_W, count[v]))
                         : ry_requantise(&how, own, scale[v]);
            ry_vi_store_u8(y + v * RY_W, count[v], bytes);
        }
        from = residual ? from + end->residual_step : from;
    }
}

/* sums: rows of `vectors` vectors. */
RY_INLINE void ry_qconv_end_sums(const ry_tile *tile, const int32_t *sums, const int rows,
                                 const int vectors)
{
    const bool residual = tile->end->residual, full = tile->columns == vectors * RY_W;
    if (residual && full) {
        end_rows(tile, sums, rows, vectors, true, true);
    } else if (residual) {
        end_rows(tile, sums, rows, vectors, true, false);
    } else if (full) {
        end_rows(tile, sums, rows, vectors, false, true);
    } else {
        end_rows(tile, sums, rows, vectors, false, false);
    }
}

RY_INLINE void ry_qconv_end(const ry_tile *tile, const int rows, const int vectors,
                            ry_vi sum[RY_TILE_ROWS][RY_TILE_VECTORS])
{
    int32_t sums[RY_TILE_ROWS * RY_TILE_VECTORS * RY_W];
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++) {
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) {
            ry_vi_store(sums + (i * vectors + v) * RY_W, sum[i][v]);
        }
    }
    ry_qconv_end_sums(tile, sums, rows, vectors);
}

#endif
