/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses points, tiles of a task, oc blocks and sharing by a count of cycles. */
#include "kernels/cpu/winograd/winograd_search.h"

#include "base/integer.h"
#include "kernels/cpu/winograd/winograd_cost.h"
#include "kernels/form.h"

enum {
    MAX_BLOCK_ROWS = 16, /* tiles of products that a block of tiles fills */
    MAX_ROW_PARTS = 8    /* parts of a row of tiles that a block is, or rows */
};

/* Tiles of a block for the plan's points, in whole groups of interleaved ones: full tiles of
 * products, and fewer that keep all cores busy; where rows of positions are read or written, whole
 * rows of tiles and equal parts of them. */
static void add_blocks(const winograd_plan *plan, ry_knob_values *values)
{
    const int64_t interleave = plan->axis[1].interleave, columns = plan->axis[1].tiles;
    for (int64_t rows = 0, block = 1; rows <= MAX_BLOCK_ROWS; rows++) {
        block = rows > 0 ? rows * plan->tile_rows : 1;
        const int64_t blocks = ry_ceil_div(plan->tiles, block);
        ry_knob_values_add(values, ry_round_up(ry_ceil_div(plan->tiles, blocks), interleave));
        if (blocks < plan->tiles) {
            ry_knob_values_add(values,
                               ry_round_up(ry_ceil_div(plan->tiles, blocks + 1), interleave));
        }
        if (block >= plan->tiles) {
            break;
        }
    }
    const int64_t max = ry_min(MAX_BLOCK_ROWS * plan->tile_rows, plan->tiles);
    for (int64_t parts = 1;
         !(plan->x_channels_last && plan->y_channels_last) && parts <= MAX_ROW_PARTS; parts++) {
        if (columns % parts == 0) {
            ry_knob_values_add(values, ry_round_up(columns / parts, interleave));
        }
        if (columns * parts <= max) {
            ry_knob_values_add(values, ry_round_up(columns * parts, interleave));
        }
    }
}

static int64_t next_parts(int64_t parts)
{
    return parts < 4 ? parts + 1 : (parts & (parts - 1)) == 0 ? parts * 3 / 2 : parts * 4 / 3;
}

static void add_oc_blocks(const winograd_plan *plan, ry_knob_values *values)
{
    for (int64_t parts = 1; parts <= plan->oc_blocks; parts = next_parts(parts)) {
        ry_knob_values_add(values, ry_ceil_div(plan->oc_blocks, parts));
    }
}

/* Calls `visit` for the plan with each pair of points that the form allows, most points first. */
static void each_points(const ry_query *query, winograd_plan *plan,
                        void (*visit)(const ry_query *, winograd_plan *, void *), void *user)
{
    int64_t points[2][WINOGRAD_CHOICES];
    const int high = ry_winograd_choices(query, plan, 0, points[0]),
              wide = ry_winograd_choices(query, plan, 1, points[1]);
    for (int i = high * wide; i-- > 0;) {
        const int64_t chosen[2] = {points[0][i / wide], points[1][i % wide]};
        if (ry_form_allows(query, WINOGRAD_POINTS_H, chosen[0]) &&
            ry_form_allows(query, WINOGRAD_POINTS_W, chosen[1])) {
            ry_winograd_set_points(plan, chosen);
            visit(query, plan, user);
        }
    }
}

static void visit_values(const ry_query *query, winograd_plan *plan, void *values)
{
    (void)query;
    add_blocks(plan, values);
}

void ry_winograd_values(const ry_query *query, int knob, ry_knob_values *values)
{
    winograd_plan plan;
    ry_winograd_plan_start(query, &plan);
    if (knob == WINOGRAD_SHARED) {
        *values = (ry_knob_values){2, {0, 1}};
    } else if (knob == WINOGRAD_OC_BLOCKS) {
        add_oc_blocks(&plan, values);
    } else if (knob == WINOGRAD_TILES) {
        each_points(query, &plan, visit_values, values);
    } else {
        values->count = ry_winograd_choices(query, &plan, knob - WINOGRAD_POINTS_H, values->value);
    }
}

static void visit_plan(const ry_query *query, winograd_plan *plan, void *best_plan)
{
    winograd_plan *best = best_plan;
    ry_knob_values blocks = {0}, oc_blocks = {0};
    add_blocks(plan, &blocks);
    add_oc_blocks(plan, &oc_blocks);
    for (int i = 0; i < blocks.count * oc_blocks.count * 2; i++) {
        const int64_t block = blocks.value[i / 2 / oc_blocks.count],
                      each = oc_blocks.value[i / 2 % oc_blocks.count];
        if (!ry_form_allows(query, WINOGRAD_TILES, block) ||
            !ry_form_allows(query, WINOGRAD_OC_BLOCKS, each) ||
            !ry_form_allows(query, WINOGRAD_SHARED, i % 2)) {
            continue;
        }
        ry_winograd_set_blocks(plan, block, each, i % 2);
        if (!ry_winograd_fits(plan)) {
            continue;
        }
        plan->cycles = ry_winograd_cost(plan);
        if (best->cycles < 0 || plan->cycles < best->cycles) {
            *best = *plan;
        }
    }
}

bool ry_winograd_plan_choose(const ry_query *query, winograd_plan *plan)
{
    winograd_plan trial;
    ry_winograd_plan_start(query, &trial);
    plan->cycles = -1;
    each_points(query, &trial, visit_plan, plan);
    if (plan->cycles < 0) {
        return false;
    }
    ry_winograd_plan_finish(plan);
    return true;
}
