/* SPDX-License-Identifier: Apache-2.0 */
/* The micro-kernels of tile.h for pairs of 16 bits with sums in i32. */
#include "kernels/cpu/qconv/qconv.h"
#include "kernels/cpu/qconv/tile_end.h"

#define pairs_end       ry_qconv_end
#define ELEMENT         int32_t
#define VECTOR          ry_vi
#define V_SET           ry_vi_set
#define V_LOAD          ry_vi_load
#define V_LOAD_M        ry_vi_load_m
#define V_STORE         ry_vi_store
#define V_STORE_M       ry_vi_store_m
#define OPERAND         ry_bytes_element
#define O_VECTOR        ry_vi
#define O_SET           ry_vi_set
#define O_LOAD(p)       ry_vi_load((const int32_t *)(p))
#define O_LOAD_M(p, m)  ry_vi_load_m((const int32_t *)(p), m)
#define V_FMA           ry_vi_dot_pairs
#define TILE_NAME(part) pairs_##part
#define TILE_ENDS
#include "kernels/cpu/parts/tile_template.h"

#define PAIRS_1(rows)  pairs_1x##rows,
#define PAIRS_2(rows)  pairs_2x##rows,
#define PAIRS_1K(rows) pairs_1x##rows##k,
#define PAIRS_2K(rows) pairs_2x##rows##k,

const ry_tile_set RY_ISA_SYMBOL(qconv_pair_tiles) = {
    {{TILE_ROWS_LIST(PAIRS_1)}, {TILE_ROWS_LIST(PAIRS_2)}},
    {{TILE_ROWS_LIST(PAIRS_1K)}, {TILE_ROWS_LIST(PAIRS_2K)}}};
