/* SPDX-License-Identifier: Apache-2.0 */
/* The micro-kernels of tile.h for quads of bytes with sums in i32. */
#include "kernels/cpu/qconv/qconv.h"
#include "kernels/cpu/qconv/tile_end.h"

#define int8_end        ry_qconv_end
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
