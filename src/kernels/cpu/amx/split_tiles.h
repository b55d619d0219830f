/* SPDX-License-Identifier: Apache-2.0 */
/* The tiles of a split product: four of sums, 0 to 3, of two of rows, 4 and 5, and two of columns,
 * 6 and 7. Macros, because a tile's number is part of its instruction. */
#ifndef RY_KERNELS_CPU_AMX_SPLIT_TILES_H
#define RY_KERNELS_CPU_AMX_SPLIT_TILES_H

#include "kernels/cpu/simd/amx_tile.h"

#define SPLIT_ZERO_SUMS(tiles) \
    do {                       \
        ry_amx_zero(tiles, 0); \
        ry_amx_zero(tiles, 1); \
        ry_amx_zero(tiles, 2); \
        ry_amx_zero(tiles, 3); \
    } while (0)

/* rows, columns: tiles of each, 1 or 2 */
#define SPLIT_MULTIPLY(tiles, rows, columns) \
    do {                                     \
        ry_amx_dot_bf16(tiles, 0, 4, 6);     \
        if ((columns) == 2) {                \
            ry_amx_dot_bf16(tiles, 1, 4, 7); \
        }                                    \
        if ((rows) == 2) {                   \
            ry_amx_dot_bf16(tiles, 2, 5, 6); \
        }                                    \
        if ((rows) == 2 && (columns) == 2) { \
            ry_amx_dot_bf16(tiles, 3, 5, 7); \
        }                                    \
    } while (0)

#endif
