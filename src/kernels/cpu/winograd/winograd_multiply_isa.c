/* SPDX-License-Identifier: Apache-2.0 */
/* M[p] = V[p] U[p] for every point of a block of tiles. */
#include "kernels/cpu/conv/tile.h"
#include "kernels/cpu/winograd/winograd.h"

enum { STRETCHES = 8 }; /* of lines of x, and of y, that a tile of products fetches */

/* One point and one unit: the unit's weights stay in the first-level cache while the tiles pass. */
static void multiply_point(const winograd_plan *plan, int64_t depth, const float *v, const float *u, const float *next, int64_t columns,
                           int64_t tiles, float *m, winograd_ahead *x, winograd_ahead *y)
{
    const int64_t parts = (tiles + plan->tile_rows - 1) / plan->tile_rows, each = tiles / parts, extra = tiles % parts;
    ry_tile tile = {.depth = depth,
                    .a = v,
                    .b = u,
                    .a_step = plan->v_row,
                    .b_step = columns,
                    .c = m,
                    .c_step = plan->m_row,
                    .columns = columns,
                    .low = -__builtin_inff(),
                    .high = __builtin_inff()};
    ry_tile_lines lines[2 * STRETCHES + 1];
    for (int64_t i = 0, row = 0; i < parts; i++) {
        const int64_t rows = each + (i < extra);
        int count = 0;
        if (RY_TILE_FETCHES && i + 1 == parts) {
            lines[count++] = (ry_tile_lines){(const char *)next, depth}; /* behind the last ones it is harmless */
        } else if (x->lines + y->lines > 0) {
            count = winograd_ahead_next(y, lines, STRETCHES);
            count += winograd_ahead_next(x, lines + count, STRETCHES);
        }
        lines[count].count = 0;
        tile.lines = count > 0 ? lines : NULL;
        tile.a = v + row * plan->v_row;
        tile.c = m + row * plan->m_row;
        RY_ISA_SYMBOL(ry_tiles).f32[true][columns / RY_W - 1][rows - 1](&tile);
        row += rows;
    }
}

/* The classes of inputs with weights at a point in a phase, as parts of the reduction: one behind another. */
static winograd_range find_classes(const winograd_plan *plan, int64_t point, int64_t phase)
{
    const winograd_axis *h = &plan->axis[0], *w = &plan->axis[1];
    winograd_range range = {.first = plan->classes, .end = 0};
    for (int64_t i = 0; i < plan->classes; i++) {
        const int64_t down = i / w->classes, along = i % w->classes, at = winograd_class(plan, down, along);
        if (!winograd_is_zero(h, point / w->points, phase / w->spread, down) &&
            !winograd_is_zero(w, point % w->points, phase % w->spread, along)) {
            range.first = at < range.first ? at : range.first;
            range.end = at + 1 > range.end ? at + 1 : range.end;
        }
    }
    return range;
}

static void clear_point(const winograd_plan *plan, int64_t columns, int64_t tiles, float *m)
{
    for (int64_t i = 0; i < tiles; i++) {
        memset(m + i * plan->m_row, 0, (size_t)columns * sizeof *m);
    }
}

void RY_ISA_SYMBOL(winograd_multiply)(const winograd_plan *plan, const float *v, const float *packed, int64_t tiles, int64_t unit,
                                      int64_t units, float *m, winograd_ahead *x, winograd_ahead *y)
{
    const int64_t class_depth = plan->depth / plan->classes;
    for (int64_t i = 0; i < units; i++) {
        const int64_t columns = winograd_unit_columns(plan, unit + i);
        const float *u = packed + (unit + i) * plan->packed_unit;
        for (int64_t p = 0; p < plan->points * plan->phases; p++) {
            const int64_t point = p / plan->phases, phase = p % plan->phases;
            float *to = m + point * plan->m_point + phase * plan->m_phase + i * plan->tile_columns;
            const winograd_range classes = find_classes(plan, point, phase);
            const float *weights = u + p * plan->depth * columns;
            if (classes.first >= classes.end) {
                clear_point(plan, columns, tiles, to);
            } else {
                multiply_point(plan, (classes.end - classes.first) * class_depth, v + point * plan->v_point + classes.first * class_depth,
                               weights + classes.first * class_depth * columns, weights + plan->depth * columns, columns, tiles, to, x, y);
            }
        }
    }
}
