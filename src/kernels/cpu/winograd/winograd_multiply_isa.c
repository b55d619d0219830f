/* SPDX-License-Identifier: Apache-2.0 */
/* M[p] = V[p] U[p] for every point of a block of tiles. */
#include "base/integer.h"
#include "kernels/cpu/parts/tile.h"
#include "kernels/cpu/winograd/winograd.h"

enum {
    STRETCHES = 8, /* most stretches of lines of x, and of y, that a tile of products fetches */
    DEEP = 256     /* steps of a sum that make the end of one more loop negligible */
};

/* One point and one oc block. */
typedef struct product {
    const float *v, *u;
    /* NULL, or what is read next and may not be near: behind the last ones it is harmless */
    const float *next_v, *next_u;
    bool streams; /* next_u follows u; one tile of products has a line of it for every one of u */
    float *m;
    int64_t depth, columns, tiles, parts; /* parts: tiles of products */
    winograd_prefetch *x, *y;
} product;

/* What tile of products `index` fetches. Where a tile is large, or sums are deep, the next U is
 * spread over all of them, because memory may be too far for one. */
static void find_lines(const winograd_plan *plan, const product *p, int64_t index,
                       ry_tile_lines *lines)
{
    int count = 0;
    if (p->x->lines + p->y->lines > 0) {
        count = ry_winograd_prefetch_next(p->y, lines, STRETCHES);
        count += ry_winograd_prefetch_next(p->x, lines + count, STRETCHES);
    }
    if (p->next_v) {
        const int64_t share = ry_ceil_div(plan->v_point / RY_LINE_FLOATS, p->parts);
        lines[count++] =
            (ry_tile_lines){(const char *)(p->next_v + index * share * RY_LINE_FLOATS), share};
    }
    const int64_t all = p->depth * p->columns / RY_LINE_FLOATS, share = ry_ceil_div(all, p->parts);
    const bool output_stride = !RY_TILE_FETCHES || p->depth >= DEEP;
    if (p->next_u && !p->streams && output_stride) {
        lines[count++] =
            (ry_tile_lines){(const char *)(p->next_u + index * share * RY_LINE_FLOATS), share};
    } else if (p->next_u && !output_stride && index + 1 == p->parts) {
        lines[count++] = (ry_tile_lines){(const char *)p->next_u, all};
    }
    lines[count].count = 0;
}

/* The unit's weights stay in the first-level cache while the tiles pass. */
static void multiply_point(const winograd_plan *plan, const product *p)
{
    const int64_t each = p->tiles / p->parts, extra = p->tiles - each * p->parts;
    const bool fetches = p->next_u || p->x->lines + p->y->lines > 0;
    ry_tile_lines lines[2 * STRETCHES + 3];
    ry_tile tile = {.depth = p->depth,
                    .a = p->v,
                    .b = p->u,
                    .a_step = plan->v_row,
                    .b_step = p->columns,
                    .c = p->m,
                    .c_step = plan->m_row,
                    .columns = p->columns,
                    .low = -__builtin_inff(),
                    .high = __builtin_inff(),
                    .b_streams = p->streams,
                    .lines = fetches ? lines : NULL};
    for (int64_t i = 0, row = 0, rows; i < p->parts; i++, row += rows) {
        rows = each + (i < extra);
        if (fetches) {
            find_lines(plan, p, i, lines);
        }
        tile.a = p->v + row * plan->v_row;
        tile.c = p->m + row * plan->m_row;
        RY_ISA_SYMBOL(tiles).f32[true][p->columns / RY_W - 1][rows - 1](&tile);
    }
}

/* The classes of inputs with weights at a point in a phase, as parts of the reduction: one behind
 * another. */
static winograd_range find_classes(const winograd_plan *plan, int64_t point, int64_t phase)
{
    const winograd_axis *h = &plan->axis[0], *w = &plan->axis[1];
    winograd_range range = {.first = plan->classes, .end = 0};
    for (int64_t i = 0; i < plan->classes; i++) {
        const int64_t down = i / w->classes, along = i % w->classes,
                      at = winograd_class(plan, down, along);
        if (!winograd_is_zero(h, point / w->points, phase / w->output_stride, down) &&
            !winograd_is_zero(w, point % w->points, phase % w->output_stride, along)) {
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

typedef struct operands {
    const winograd_plan *plan;
    const float *v, *u; /* at the first oc block */
    float *m;
    int64_t oc_block, tiles;
    winograd_prefetch *x, *y;
} operands;

/* One point of one phase for the oc blocks [first, end). */
static void multiply_oc_blocks(const operands *o, int64_t index, int64_t first, int64_t end)
{
    const winograd_plan *plan = o->plan;
    const int64_t point = index / plan->phases, phase = index % plan->phases,
                  class_depth = plan->depth / plan->classes;
    const winograd_range classes = find_classes(plan, point, phase);
    const int64_t start = classes.first * class_depth;
    const bool from_memory = RY_TILE_FETCHES && plan->v_fetched;
    product p = {.v = o->v + point * plan->v_point + start,
                 .depth = classes.end * class_depth - start,
                 .tiles = o->tiles,
                 .parts = ry_ceil_div(o->tiles, plan->tile_rows),
                 .x = o->x,
                 .y = o->y};
    for (int64_t i = first; i < end; i++) {
        p.columns = winograd_oc_block_columns(plan, o->oc_block + i);
        p.m = o->m + point * plan->m_point + phase * plan->m_phase + i * plan->tile_columns;
        if (p.depth <= 0) {
            clear_point(plan, p.columns, p.tiles, p.m);
            continue;
        }
        p.u = o->u + i * plan->packed_oc_block + (index * plan->depth + start) * p.columns;
        if (RY_TILE_FETCHES || plan->u_fetched) {
            p.next_u =
                p.u + (i + 1 < end ? plan->packed_oc_block
                                   : plan->depth * p.columns - (i - first) * plan->packed_oc_block);
        }
        p.streams = !RY_TILE_FETCHES && p.next_u && p.parts == 1;
        p.next_v = from_memory && i + 1 == end ? p.v + plan->v_point : NULL;
        multiply_point(plan, &p);
    }
}

/* Small tiles read operands so often that V of a point, where it is small, waits in the first-level
 * cache for all oc blocks; U is read as it is stored elsewhere. */
void RY_ISA_SYMBOL(winograd_multiply)(const winograd_plan *plan, const float *v,
                                      const float *packed, int64_t tiles, int64_t oc_block,
                                      int64_t oc_blocks, float *m, winograd_prefetch *x,
                                      winograd_prefetch *y)
{
    const operands o = {plan, v, packed + oc_block * plan->packed_oc_block, m, oc_block, tiles,
                        x,    y};
    const bool stays =
        RY_TILE_FETCHES && plan->depth * (tiles + plan->tile_columns) <= plan->point_cached;
    for (int64_t i = 0; i < oc_blocks; i += stays ? oc_blocks : 1) {
        for (int64_t p = 0; p < plan->points * plan->phases; p++) {
            multiply_oc_blocks(&o, p, i, stays ? oc_blocks : i + 1);
        }
    }
}
