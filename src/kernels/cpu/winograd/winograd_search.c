/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses points, tiles of a task, oc blocks and sharing by a count of cycles. */
#include "kernels/cpu/winograd/winograd_search.h"

#include "base/integer.h"
#include "kernels/cpu/winograd/winograd_cost.h"
#include "kernels/form_least.h"

/* Tiles of a block for the plan's points, in whole groups of interleaved ones: full tiles of
 * products, and fewer that keep all cores busy; where rows of positions are read or written, whole
 * rows of tiles and equal parts of them. */
static void add_blocks(const winograd_plan *plan, ry_knob_values *values)
{
    const struct ry_blocks_costs *limit = ry_blocks_of(plan->limits.costs);
    const int64_t interleave = plan->axis[1].interleave, columns = plan->axis[1].tiles,
                  max_rows = (int64_t)limit->winograd_block_rows,
                  max_parts = (int64_t)limit->winograd_row_parts;
    for (int64_t rows = 0, block = 1; rows <= max_rows; rows++) {
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
    const int64_t max = ry_min(max_rows * plan->tile_rows, plan->tiles);
    for (int64_t parts = 1; !(plan->x_channels_last && plan->y_channels_last) && parts <= max_parts;
         parts++) {
        if (columns % parts == 0) {
            ry_knob_values_add(values, ry_round_up(columns / parts, interleave));
        }
        if (columns * parts <= max) {
            ry_knob_values_add(values, ry_round_up(columns * parts, interleave));
        }
    }
}

static void add_oc_blocks(const winograd_plan *plan, ry_knob_values *values)
{
    for (int64_t parts = 1; parts <= plan->oc_blocks; parts = ry_next_parts(parts)) {
        ry_knob_values_add(values, ry_ceil_div(plan->oc_blocks, parts));
    }
}

/* A plan that is chosen. */
typedef struct trial {
    winograd_plan *plan;
    winograd_price price;
    double least; /* the best form's cost; negative: none yet */
} trial;

static void list_values(const ry_query *query, const void *user, int knob, ry_knob_values *values)
{
    const winograd_plan *plan = ((const trial *)user)->plan;
    if (knob == WINOGRAD_SHARED) {
        *values = (ry_knob_values){2, {0, 1}};
    } else if (knob == WINOGRAD_OC_BLOCKS) {
        add_oc_blocks(plan, values);
    } else if (knob == WINOGRAD_TILES) {
        add_blocks(plan, values);
    } else {
        values->count = ry_winograd_choices(query, plan, knob - WINOGRAD_POINTS_H, values->value);
    }
}

static bool set_axis(const ry_query *query, void *user, int knob, const ry_form *form)
{
    trial *t = user;
    winograd_plan *plan = t->plan;
    (void)query;
    switch (knob) {
    case WINOGRAD_POINTS_W:
        ry_winograd_set_points(plan, &form->value[WINOGRAD_POINTS_H]);
        ry_winograd_price_points(plan, &t->price);
        break;
    case WINOGRAD_TILES:
        ry_winograd_set_tiles(plan, form->value[knob]);
        ry_winograd_price_tiles(plan, &t->price);
        return t->least < 0 || ry_winograd_cost_bound(plan, &t->price) < t->least;
    case WINOGRAD_OC_BLOCKS: ry_winograd_set_oc_blocks(plan, form->value[knob]); break;
    case WINOGRAD_SHARED: plan->shared = form->value[knob] != 0; break;
    default: break;
    }
    return true;
}

static double cost_of(const ry_query *query, void *user, double least)
{
    trial *t = user;
    (void)query;
    if (!ry_winograd_fits(t->plan)) {
        return -1;
    }
    const double cost = ry_winograd_cost(t->plan, &t->price);
    t->least = least < 0 || cost < least ? cost : least;
    return cost;
}

static const ry_form_axis axes[] = {{.knob = WINOGRAD_POINTS_H, .largest_first = true},
                                    {.knob = WINOGRAD_POINTS_W, .largest_first = true},
                                    {.knob = WINOGRAD_TILES, .after = 2},
                                    {.knob = WINOGRAD_OC_BLOCKS},
                                    {.knob = WINOGRAD_SHARED}};
static const ry_form_search search = {
    axes, sizeof axes / sizeof *axes, list_values, set_axis, NULL, cost_of};

void ry_winograd_values(const ry_query *query, int knob, ry_knob_values *values)
{
    winograd_plan plan;
    trial t = {.plan = &plan, .least = -1};
    ry_winograd_plan_start(query, &plan);
    ry_form_list(&search, query, &t, knob, values);
}

bool ry_winograd_plan_choose(const ry_query *query, winograd_plan *plan)
{
    trial t = {.plan = plan, .least = -1};
    ry_winograd_plan_start(query, plan);
    const bool found = ry_form_least(&search, query, &t);
    if (found) {
        ry_winograd_plan_finish(plan);
    }
    return found;
}
