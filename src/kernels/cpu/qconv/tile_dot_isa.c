/* SPDX-License-Identifier: Apache-2.0 */
/* The micro-kernels of tile.h for quads of bytes with sums in i32. */
#include "kernels/cpu/qconv/qconv.h"
#include "kernels/cpu/qconv/tile_end.h"
#include "kernels/cpu/qconv/tile_words.h"

#define int8_end        ry_qconv_end
#define V_FMA           ry_vi_dot_bytes
#define TILE_NAME(part) int8_##part
#include "kernels/cpu/parts/tile_template.h"

#define INT8_1K(rows) int8_1x##rows##k,
#define INT8_2K(rows) int8_2x##rows##k,

/* Rows of quantised convolutions are always along k. */
const ry_tile_set RY_ISA_SYMBOL(qconv_tiles) = {
    {{NULL}, {NULL}}, {{TILE_ROWS_LIST(INT8_1K)}, {TILE_ROWS_LIST(INT8_2K)}}};
