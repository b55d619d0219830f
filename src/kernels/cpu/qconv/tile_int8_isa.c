/* SPDX-License-Identifier: Apache-2.0 */
/* The micro-kernels of tile.h for quads of bytes with sums in i32. */
#include "kernels/cpu/qconv/qconv.h"
#include "kernels/cpu/qconv/requantise.h"

/* Where x is read in place, a quad may begin at any address. */
typedef int32_t quad __attribute__((aligned(1), may_alias));

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

RY_INLINE void int8_end(const ry_tile *tile, const int rows, const int vectors,
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

#define ELEMENT         int32_t
#define VECTOR          ry_vi
#define V_SET           ry_vi_set
#define V_LOAD          ry_vi_load
#define V_LOAD_M        ry_vi_load_m
#define V_STORE         ry_vi_store
#define V_STORE_M       ry_vi_store_m
#define OPERAND         quad
#define O_VECTOR        ry_vi
#define O_SET           ry_vi_set
#define O_LOAD(p)       ry_vi_load((const int32_t *)(p))
#define O_LOAD_M(p, m)  ry_vi_load_m((const int32_t *)(p), m)
#define V_FMA           ry_vi_dot_bytes
#define TILE_NAME(part) int8_##part
#define TILE_ENDS
#include "kernels/cpu/parts/tile_template.h"

#define INT8_1(rows)  int8_1x##rows,
#define INT8_2(rows)  int8_2x##rows,
#define INT8_1K(rows) int8_1x##rows##k,
#define INT8_2K(rows) int8_2x##rows##k,

const ry_tile_set RY_ISA_SYMBOL(qconv_tiles) = {
    {{TILE_ROWS_LIST(INT8_1)}, {TILE_ROWS_LIST(INT8_2)}},
    {{TILE_ROWS_LIST(INT8_1K)}, {TILE_ROWS_LIST(INT8_2K)}}};
