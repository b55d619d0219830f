/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of lines that tiles fetch ahead of their use. */
#ifndef RY_KERNELS_CPU_IGEMM_IGEMM_LINES_H
#define RY_KERNELS_CPU_IGEMM_IGEMM_LINES_H

#include "base/integer.h"
#include "kernels/cpu/parts/tile.h"

/* Part number `index` of `parts`, as a list that ends there. */
static inline void igemm_take_lines(const ry_tile_lines *all, int64_t index, int64_t parts,
                                    ry_tile_lines *lines)
{
    const int64_t each = ry_ceil_div(all->count, parts);
    lines[0] = (ry_tile_lines){all->at + index * each * RY_LINE_BYTES,
                               ry_min(each, ry_max(all->count - index * each, 0))};
    lines[1].count = 0;
}

#endif
