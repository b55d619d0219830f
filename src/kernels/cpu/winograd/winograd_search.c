/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses points, tiles of a task, units and sharing by a count of cycles. */
#include "kernels/cpu/winograd/winograd_search.h"

#include "base/whole.h"
#include "kernels/cpu/winograd/winograd_cost.h"
#include "kernels/form.h"

enum {
    BLOCK_ROWS_MOST = 16, /* tiles of products that a block of tiles fills */
    ROW_PARTS_MOST = 8    /* parts of a row of tiles that a block is, or rows */
};

/* Tiles of a block for the plan's points, in whole groups of woven ones: whole tiles of products,
 * and fewer that keep all cores busy; where rows of positions are read or written, whole rows of
 * tiles and equal parts of them. */
static void add_blocks(const winograd_plan *plan, ry_knob_values *values)
{
    const int64_t weave = plan->axis[1].weave, columns = plan->axis[1].tiles;
    for (int64_t rows = 0, block = 1; rows <= BLOCK_ROWS_MOST; rows++) {
        block = rows > 0 ? rows * plan->tile_rows : 1;
        const int64_t blocks = ry_parts(plan->tiles, block);
        ry_knob_values_add(values, ry_whole(ry_parts(plan->tiles, blocks), weave));
        if (blocks < plan->tiles) {
            ry_knob_values_add(values, ry_whole(ry_parts(plan->tiles, blocks + 1), weave));
        }
        if (block >= plan->tiles) {
            break;
        }
    }
    const int64_t most = ry_least(BLOCK_ROWS_MOST * plan->tile_rows, plan->tiles);
    for (int64_t parts = 1; !(plan->x_near && plan->y_near) && parts <= ROW_PARTS_MOST; parts++) {
        if (columns % parts == 0) {
            ry_knob_values_add(values, ry_whole(columns / parts, weave));
        }
        if (columns * parts <= most) {
            ry_knob_values_add(values, ry_whole(columns * parts, weave));
        }
    }
}

static int64_t next_parts(int64_t parts)
{
    return parts < 4 ? parts + 1 : (parts & (parts - 1)) == 0 ? parts * 3 / 2 : parts * 4 / 3;
}

static void add_units(const winograd_plan *plan, ry_knob_values *values)
{
    for (int64_t parts = 1; parts <= plan->units; parts = next_parts(parts)) {
        ry_knob_values_add(values, ry_parts(plan->units, parts));
    }
}

/* Calls `visit` for the plan with each pair of points that the form allows, most points first. */
static void each_points(const ry_query *query, winograd_plan *plan, void (*visit)(const ry_query *, winograd_plan *, void *), void *user)
{
    int64_t points[2][WINOGRAD_CHOICES];
    const int high = winograd_choices(query, plan, 0, points[0]), wide = winograd_choices(query, plan, 1, points[1]);
    for (int i = high * wide; i-- > 0;) {
        const int64_t chosen[2] = {points[0][i / wide], points[1][i % wide]};
        if (ry_form_allows(query, WINOGRAD_POINTS_H, chosen[0]) && ry_form_allows(query, WINOGRAD_POINTS_W, chosen[1])) {
            winograd_set_points(plan, chosen);
            visit(query, plan, user);
        }
    }
}

static void visit_values(const ry_query *query, winograd_plan *plan, void *values)
{
    (void)query;
    add_blocks(plan, values);
}

void winograd_values(const ry_query *query, int knob, ry_knob_values *values)
{
    winograd_plan plan;
    winograd_plan_start(query, &plan);
    if (knob == WINOGRAD_SHARED) {
        *values = (ry_knob_values){2, {0, 1}};
    } else if (knob == WINOGRAD_UNITS) {
        add_units(&plan, values);
    } else if (knob == WINOGRAD_TILES) {
        each_points(query, &plan, visit_values, values);
    } else {
        values->count = winograd_choices(query, &plan, knob - WINOGRAD_POINTS_H, values->value);
    }
}

static void visit_plan(const ry_query *query, winograd_plan *plan, void *best_plan)
{
    winograd_plan *best = best_plan;
    ry_knob_values blocks = {0}, units = {0};
    add_blocks(plan, &blocks);
    add_units(plan, &units);
    for (int i = 0; i < blocks.count * units.count * 2; i++) {
        const int64_t block = blocks.value[i / 2 / units.count], each = units.value[i / 2 % units.count];
        if (!ry_form_allows(query, WINOGRAD_TILES, block) || !ry_form_allows(query, WINOGRAD_UNITS, each) ||
            !ry_form_allows(query, WINOGRAD_SHARED, i % 2)) {
            continue;
        }
        winograd_set_blocks(plan, block, each, i % 2);
        if (!winograd_fits(plan)) {
            continue;
        }
        plan->cycles = winograd_cost(plan);
        if (best->cycles < 0 || plan->cycles < best->cycles) {
            *best = *plan;
        }
    }
}

bool winograd_plan_choose(const ry_query *query, winograd_plan *plan)
{
    winograd_plan trial;
    winograd_plan_start(query, &trial);
    plan->cycles = -1;
    each_points(query, &trial, visit_plan, plan);
    if (plan->cycles < 0) {
        return false;
    }
    winograd_plan_finish(plan);
    return true;
}
