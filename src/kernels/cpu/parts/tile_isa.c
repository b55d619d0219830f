/* SPDX-License-Identifier: Apache-2.0 */
/* The micro-kernels of tile.h for every number of rows and vectors, in f32 and i32. */
#include "kernels/cpu/parts/tile.h"

#define V_FMA ry_vf_fma
#if RY_GRAIN < RY_W
#define V_FMA_HALF ry_vf_fma_half
#endif
#define TILE_NAME(part) f32_##part
#include "kernels/cpu/parts/tile_template.h"

#define ELEMENT         int32_t
#define VECTOR          ry_vi
#define V_SET           ry_vi_set
#define V_LOAD          ry_vi_load
#define V_LOAD_M        ry_vi_load_m
#define V_STORE         ry_vi_store
#define V_STORE_M       ry_vi_store_m
#define V_FMA           ry_vi_fma
#define TILE_NAME(part) i32_##part
#include "kernels/cpu/parts/tile_template.h"

#define F32_1(rows)  f32_1x##rows,
#define F32_2(rows)  f32_2x##rows,
#define F32_1K(rows) f32_1x##rows##k,
#define F32_2K(rows) f32_2x##rows##k,
#define I32_1(rows)  i32_1x##rows,
#define I32_2(rows)  i32_2x##rows,
#define I32_1K(rows) i32_1x##rows##k,
#define I32_2K(rows) i32_2x##rows##k,

const ry_tile_table RY_ISA_SYMBOL(tiles) = {
    .f32 = {{{TILE_ROWS_LIST(F32_1)}, {TILE_ROWS_LIST(F32_2)}},
            {{TILE_ROWS_LIST(F32_1K)}, {TILE_ROWS_LIST(F32_2K)}}},
    .i32 = {{{TILE_ROWS_LIST(I32_1)}, {TILE_ROWS_LIST(I32_2)}},
            {{TILE_ROWS_LIST(I32_1K)}, {TILE_ROWS_LIST(I32_2K)}}},
};
