/* SPDX-License-Identifier: Apache-2.0 */
/* The micro-kernels of tile.h for pairs of 16 bits with sums in i32. */
#include "kernels/cpu/qconv/qconv.h"
#include "kernels/cpu/qconv/tile_end.h"
#include "kernels/cpu/qconv/tile_words.h"

#define pairs_end       ry_qconv_end
#define V_FMA           ry_vi_dot_pairs
#define TILE_NAME(part) pairs_##part
#include "kernels/cpu/parts/tile_template.h"

#define PAIRS_1K(rows) pairs_1x##rows##k,
#define PAIRS_2K(rows) pairs_2x##rows##k,

/* Rows of quantised convolutions are always along k. */
const ry_tile_set RY_ISA_SYMBOL(qconv_pair_tiles) = {
    {{NULL}, {NULL}}, {{TILE_ROWS_LIST(PAIRS_1K)}, {TILE_ROWS_LIST(PAIRS_2K)}}};
