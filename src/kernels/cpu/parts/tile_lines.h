/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of a cache: runs that a tile of products fetches ahead, and rows that share a set. */
#ifndef RY_KERNELS_CPU_PARTS_TILE_LINES_H
#define RY_KERNELS_CPU_PARTS_TILE_LINES_H

#include <stdint.h>

enum { RY_LINE_BYTES = 64, RY_LINE_FLOATS = RY_LINE_BYTES / 4 };

/* Rows that are a multiple of so many floats apart meet in one set of the first-level cache, which
 * holds RY_SET_LINES of their lines. A gap between rows keeps them in different sets. */
enum { RY_SET_FLOATS = 1024, RY_SET_LINES = 8, RY_ROW_GAP = RY_LINE_FLOATS };

typedef struct ry_tile_lines {
    const char *at;
    int64_t count; /* number of cache lines */
} ry_tile_lines;

#endif
