/* SPDX-License-Identifier: Apache-2.0 */
/* How a tile of finished sums becomes bytes, for texts of tile_template.h. */
#ifndef RY_KERNELS_CPU_QCONV_TILE_END_H
#define RY_KERNELS_CPU_QCONV_TILE_END_H

#include "base/integer.h"
#include "kernels/cpu/parts/tile.h"
#include "kernels/cpu/qconv/requantise.h"

/* An element of x. Where x is read in place, it may begin at any address. */
typedef int32_t ry_bytes_element __attribute__((aligned(1), may_alias));

/* Has the end of a tile, with or without a residual, a text for whole vectors? */
RY_INLINE bool is_whole(const ry_tile *tile, const int vectors)
{
    return tile->columns == vectors * RY_W &&
           (!tile->end->residual || ((const ry_ends *)tile->end->how)->plain);
}

/* Rows of stored sums, in every case. */
static __attribute__((noinline)) void end_stored(const ry_tile *tile, const int32_t *sum, int rows,
                                                 int vectors)
{
    const ry_tile_end *end = tile->end;
    const ry_ends *how = end->how;
    for (int i = 0; i < rows; i++) {
        for (int v = 0; v < vectors; v++, sum += RY_W) {
            const int64_t at = v * RY_W, count = ry_min(RY_W, tile->columns - at);
            const ry_vf scale = ry_vf_load_m(end->scale + at, ry_vm_first(count));
            const ry_vi own = ry_vi_load(sum);
            ry_vi bytes;
            if (end->residual) {
                const uint8_t *from = end->residual + i * end->residual_step + at;
                bytes = ry_requantise_residual(how, own, scale, ry_vf_load_u8(from, count));
            } else {
                bytes = ry_requantise(how, own, scale);
            }
            ry_vi_store_u8(end->y + i * end->y_step + at, count, bytes);
        }
    }
}

/* Four vectors of sums, from row `row` on, to bytes; `rows` rows of the tile are there. */
RY_INLINE void end_four(const ry_tile_end *end, const ry_ends *how,
                        const ry_vf scales[RY_TILE_VECTORS], const ry_vi sum[4], const int row,
                        const int rows, const int vectors, const bool residual)
{
    ry_vi q[4];
#pragma GCC unroll 4
    for (int k = 0; k < 4; k++) {
        const int i = row + k / vectors, at = k % vectors * RY_W;
        if (i >= rows) {
            q[k] = q[k - 1];
            continue;
        }
        const ry_vf scale = scales[k % vectors];
        if (residual) {
            const uint8_t *from = end->residual + i * end->residual_step + at;
            q[k] =
                ry_vi_round(ry_add_residual_plain(how, sum[k], scale, ry_vf_load_u8(from, RY_W)));
        } else {
            q[k] = ry_round_below(how->y.high, ry_scale_sums(sum[k], scale));
        }
    }
    const ry_vi bytes = ry_vi_pack_bytes(q, &how->pack);
#pragma GCC unroll 4
    for (int i = 0; i < 4 / vectors; i++) {
        if (row + i < rows) {
            ry_vi_store_part(end->y + (row + i) * end->y_step, bytes, i, 4 / vectors);
        }
    }
}

/* sums: rows of `vectors` vectors. */
RY_INLINE void ry_qconv_end_sums(const ry_tile *tile, const int32_t *sums, const int rows,
                                 const int vectors)
{
    const int step = 4 / vectors;
    const ry_ends how = *(const ry_ends *)tile->end->how;
    const ry_tile_end e = *tile->end;
    ry_vf scales[RY_TILE_VECTORS];
    if (!is_whole(tile, vectors)) {
        end_stored(tile, sums, rows, vectors);
        return;
    }
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++) {
        scales[v] = ry_vf_load(e.scale + v * RY_W);
    }
    for (int i = 0; i < rows; i += step, sums += 4 * RY_W) {
        const int last = (rows - i) * vectors - 1;
        ry_vi sum[4];
#pragma GCC unroll 4
        for (int k = 0; k < 4; k++) {
            sum[k] = ry_vi_load(sums + ry_min(k, last) * RY_W);
        }
        if (tile->end->residual) {
            end_four(&e, &how, scales, sum, i, rows, vectors, true);
        } else {
            end_four(&e, &how, scales, sum, i, rows, vectors, false);
        }
    }
}

/* Sums in registers, of which all columns are real. */
RY_INLINE void end_registers(const ry_tile_end *end, const int rows, const int vectors,
                             ry_vi sum[RY_TILE_ROWS][RY_TILE_VECTORS], const bool residual)
{
    const int step = 4 / vectors;
    const ry_ends how = *(const ry_ends *)end->how;
    const ry_tile_end e = *end;
    ry_vf scales[RY_TILE_VECTORS];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++) {
        scales[v] = ry_vf_load(e.scale + v * RY_W);
    }
#pragma GCC unroll 16
    for (int i = 0; i < rows; i += step) {
        ry_vi four[4];
#pragma GCC unroll 4
        for (int k = 0; k < 4; k++) {
            four[k] = sum[ry_min(i + k / vectors, rows - 1)][k % vectors];
        }
        end_four(&e, &how, scales, four, i, rows, vectors, residual);
    }
}

RY_INLINE void ry_qconv_end(const ry_tile *tile, const int rows, const int vectors,
                            ry_vi sum[RY_TILE_ROWS][RY_TILE_VECTORS])
{
    if (is_whole(tile, vectors)) {
        if (tile->end->residual) {
            end_registers(tile->end, rows, vectors, sum, true);
        } else {
            end_registers(tile->end, rows, vectors, sum, false);
        }
        return;
    }
    int32_t sums[RY_TILE_ROWS * RY_TILE_VECTORS * RY_W];
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++) {
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) {
            ry_vi_store(sums + (i * vectors + v) * RY_W, sum[i][v]);
        }
    }
    end_stored(tile, sums, rows, vectors);
}

#endif
