/* SPDX-License-Identifier: Apache-2.0 */
/* Tries the ways to cut a convolution into matrix products, and takes the cheapest. */
#include "kernels/cpu/igemm/igemm_choose.h"

#include "base/integer.h"
#include "kernels/costs.h"
#include "kernels/cpu/igemm/igemm_copy.h"
#include "kernels/cpu/igemm/igemm_cost.h"
#include "kernels/cpu/igemm/igemm_layout.h"
#include "kernels/cpu/igemm/igemm_padding.h"
#include "kernels/form.h"

enum { K_BLOCK_STEP = 32 };

static void list_range(ry_knob_values *values, int64_t first, int64_t last, int64_t step)
{
    for (int64_t i = first; i <= last; i += step) {
        ry_knob_values_add(values, i);
    }
}

static void list_parts(ry_knob_values *values, int64_t max)
{
    for (int64_t i = 1; i <= max && values->count < RY_MAX_KNOB_VALUES; i = ry_next_parts(i)) {
        ry_knob_values_add(values, i);
    }
}

static bool has_rows(const igemm_plan *plan)
{
    const ry_conv_geometry *g = &plan->as_is;
    return g->x_channel == 1 || (g->channels_in == 1 && g->groups == 1);
}

/* May x, read in place, be better gathered? Rows of a small tile's pixels that are stored planes
 * apart touch two cache lines each, and a page. */
static bool gathering_suits(const igemm_plan *plan)
{
    return igemm_is_small(plan) && plan->as_is.taps == 1 && plan->as_is.x_channel != 1;
}

static bool any_joins(const igemm_plan *plan)
{
    bool any = false;
    for (int64_t i = 0; i < plan->geometry.phases; i++) {
        any = any || ry_igemm_may_join(plan, &plan->phase[i]);
    }
    return any;
}

static int64_t max_pixels(const igemm_plan *plan)
{
    int64_t max = 1;
    for (int64_t i = 0; i < plan->geometry.phases; i++) {
        const igemm_phase *p = &plan->phase[i];
        max = ry_max(max, p->at.pixels * (ry_igemm_may_join(plan, p) ? plan->geometry.batch : 1));
    }
    return max;
}

void ry_igemm_list_values(const igemm_plan *plan, ry_dtype dtype, igemm_knob knob,
                          ry_knob_values *values)
{
    const bool copies = ry_igemm_copy_suits(plan, dtype);
    const int64_t oc_blocks =
        ry_ceil_div(plan->geometry.channels_out, ry_min(plan->max_rows, plan->tile_columns));
    switch (knob) {
    case IGEMM_KNOB_MODE:
        list_range(values, IGEMM_PIXELS, has_rows(plan) || copies ? IGEMM_ROWS : IGEMM_GATHERED, 1);
        break;
    case IGEMM_KNOB_INPUT:
        ry_knob_values_add(values, IGEMM_AS_IS);
        if (gathering_suits(plan)) {
            ry_knob_values_add(values, IGEMM_INTO_PANELS);
        }
        if (copies) {
            ry_knob_values_add(values, IGEMM_COPIED);
        }
        break;
    case IGEMM_KNOB_SHARED: list_range(values, 0, 1, 1); break;
    case IGEMM_KNOB_APART: list_range(values, 0, any_joins(plan), 1); break;
    case IGEMM_KNOB_SPLIT:
        list_range(values, 0,
                   ry_igemm_rows_in_bounds(plan) <=
                       ry_costs_of(plan->sizes.costs)->igemm.rows_in_bounds,
                   1);
        break;
    case IGEMM_KNOB_K_BLOCK:
        list_range(values, K_BLOCK_STEP, IGEMM_MAX_K_BLOCK, K_BLOCK_STEP);
        break;
    case IGEMM_KNOB_PIXEL_BLOCKS: list_parts(values, max_pixels(plan)); break;
    case IGEMM_KNOB_CHANNEL_BLOCKS: list_parts(values, oc_blocks); break;
    case IGEMM_KNOBS: break;
    }
}

/* Bytes of the panels that a bundle's task has at once. */
static int64_t panels_of(const igemm_plan *plan, const igemm_phase *first, int64_t block)
{
    int64_t panels = 0;
    for (int64_t i = 0; i < first->bundle; i++) {
        const int64_t panel =
            first[i].in_place ? 0 : ry_igemm_panel_floats(plan, &first[i], block) * 4;
        panels = first->passes == 1 && first->source < 0 ? panels + panel : ry_max(panel, panels);
    }
    return panels;
}

/* Bytes of sums that pass through scratch. */
static int64_t sums_of(const igemm_plan *plan, const igemm_phase *first, int64_t block,
                       int64_t oc_blocks)
{
    return first->direct ? 0
                         : first->bundle * (first->passes == 1 ? 1 : oc_blocks) *
                               plan->max_oc_block * block * 4;
}

/* Does what a bundle's tasks have at hand stay in the caches, if blocks are larger than they must?
 */
static bool fits(const igemm_plan *plan, const igemm_phase *p, int64_t block, int64_t oc_blocks,
                 bool fewest_oc_blocks)
{
    const bool larger = block > ry_igemm_block_grain(plan, p),
               passes = p->in_place && plan->mode != IGEMM_ROWS && oc_blocks > 1;
    if (larger && (panels_of(plan, p, block) > plan->sizes.panel ||
                   (passes && ry_igemm_panel_floats(plan, p, block) * 4 > plan->sizes.panel))) {
        return false;
    }
    return fewest_oc_blocks || sums_of(plan, p, block, oc_blocks) <= plan->sizes.second;
}

/* Counts all bundles, after their pixels are cut. False if a bundle's tasks do not fit, or if the
 * total exceeds `best` (negative: no limit). */
static bool count_oc_blocks(const igemm_plan *plan, int64_t channel_blocks, double best,
                            igemm_count *count)
{
    const int64_t oc_blocks = ry_igemm_block_oc_blocks(plan, channel_blocks);
    const bool fewest_oc_blocks = ry_next_parts(channel_blocks) > plan->oc_blocks;
    *count = (igemm_count){.tasks = 0};
    for (int64_t i = 0; i < plan->geometry.phases; i += plan->phase[i].bundle) {
        const bool worse = best >= 0 && count->work.all + count->gather.all >= best;
        if (worse ||
            !fits(plan, &plan->phase[i], plan->phase[i].block, oc_blocks, fewest_oc_blocks)) {
            return false;
        }
        ry_igemm_count_bundle(plan, &plan->phase[i], oc_blocks, count);
    }
    return true;
}

/* Cuts the pixels of all bundles; false: nothing changes, as blocks are full tiles. */
static bool cut_pixels(igemm_plan *plan, int64_t pixel_blocks, bool first)
{
    bool changes = first;
    for (int64_t i = 0; i < plan->geometry.phases; i += plan->phase[i].bundle) {
        const int64_t block = ry_igemm_block_pixels(plan, &plan->phase[i], pixel_blocks);
        changes = changes || block != plan->phase[i].block;
        for (igemm_phase *p = &plan->phase[i]; p < &plan->phase[i + plan->phase[i].bundle]; p++) {
            p->block = block;
        }
    }
    for (int64_t i = 0; changes && i < plan->geometry.phases; i++) {
        plan->phase[i].in_bounds =
            ry_igemm_k_blocks_in_bounds(plan, &plan->phase[i], plan->phase[i].block);
    }
    return changes;
}

/* Sets the form's blocks; returns their cost, negative where the query's do not fit. */
static double choose_blocks(const ry_query *query, igemm_plan *plan, igemm_count *chosen)
{
    const int64_t pixel_wanted = ry_form_wanted(query, IGEMM_KNOB_PIXEL_BLOCKS);
    const int64_t channel_wanted = ry_form_wanted(query, IGEMM_KNOB_CHANNEL_BLOCKS);
    const bool pixels_free = pixel_wanted == RY_KNOB_FREE,
               channels_free = channel_wanted == RY_KNOB_FREE;
    int64_t finest = 1;
    for (int64_t i = 0; i < plan->geometry.phases; i++) {
        finest = ry_max(finest, ry_ceil_div(plan->phase[i].pixels,
                                            ry_igemm_block_grain(plan, &plan->phase[i])));
    }
    const int64_t last = pixels_free ? finest : pixel_wanted,
                  last_channels = channels_free ? plan->oc_blocks : channel_wanted;
    double best = -1;
    const int64_t first = pixels_free ? 1 : pixel_wanted;
    for (int64_t i = first; i <= last; i = ry_next_parts(i)) {
        const bool changes = cut_pixels(plan, i, i == first);
        for (int64_t j = channels_free ? 1 : channel_wanted; changes && j <= last_channels;
             j = ry_next_parts(j)) {
            igemm_count count;
            const double cost =
                count_oc_blocks(plan, j, best, &count) ? ry_igemm_cost_of(plan, &count) : -1;
            if (cost >= 0 && (best < 0 || cost < best)) {
                best = cost;
                *chosen = count;
                plan->form.value[IGEMM_KNOB_PIXEL_BLOCKS] = i;
                plan->form.value[IGEMM_KNOB_CHANNEL_BLOCKS] = j;
            }
        }
    }
    return best;
}

/* Do the form's main knobs go together? */
static bool go_together(const igemm_plan *plan, const ry_form *form)
{
    const int64_t mode = form->value[IGEMM_KNOB_MODE], input = form->value[IGEMM_KNOB_INPUT];
    return input == IGEMM_COPIED        ? mode == IGEMM_ROWS && !form->value[IGEMM_KNOB_SHARED]
           : input == IGEMM_INTO_PANELS ? mode == IGEMM_PIXELS
                                        : mode != IGEMM_ROWS || has_rows(plan);
}

static bool all_in_place(const igemm_plan *plan)
{
    bool all = true;
    for (int64_t i = 0; i < plan->geometry.phases; i++) {
        all = all && plan->phase[i].in_place;
    }
    return all;
}

/* Makes the plan of the form's main knobs, without scratch. Returns its cost, negative if not
 * legal. */
static double try_form(const ry_query *query, const ry_form *form, igemm_plan *plan,
                       igemm_count *count)
{
    plan->form = *form;
    ry_igemm_set_mode(query->problem, plan);
    if (plan->shared && all_in_place(plan)) {
        return -1;
    }
    const double cost = choose_blocks(query, plan, count);
    if (cost < 0) {
        return -1;
    }
    ry_igemm_set_blocks(plan);
    ry_igemm_set_tasks(plan);
    return cost;
}

/* The main knobs' values that the query leaves, as if they were digits of a number. */
typedef struct main_values {
    ry_knob_values of[IGEMM_KNOB_K_BLOCK];
} main_values;

static void list_main(const ry_query *query, const igemm_plan *plan, main_values *main)
{
    for (int i = 0; i < IGEMM_KNOB_K_BLOCK; i++) {
        ry_knob_values *values = &main->of[i];
        values->count = 0;
        if (ry_form_wanted(query, i) == RY_KNOB_FREE) {
            ry_igemm_list_values(plan, ry_type_of(&query->problem->in[0]), (igemm_knob)i, values);
        } else {
            ry_knob_values_add(values, ry_form_wanted(query, i));
        }
    }
}

static bool form_at(const main_values *main, size_t index, ry_form *form)
{
    for (int i = 0; i < IGEMM_KNOB_K_BLOCK; i++) {
        form->value[i] = main->of[i].value[index % (size_t)main->of[i].count];
        index /= (size_t)main->of[i].count;
    }
    return index == 0;
}

bool ry_igemm_choose(const ry_query *query, bool alone, igemm_plan *plan)
{
    main_values main;
    ry_igemm_begin(query, alone, plan);
    list_main(query, plan, &main);
    ry_form form = ry_form_free(), best = form;
    form.value[IGEMM_KNOB_K_BLOCK] = ry_form_wanted(query, IGEMM_KNOB_K_BLOCK);
    igemm_count chosen = {.tasks = 0};
    double min = -1;
    for (size_t i = 0; form_at(&main, i, &form); i++) {
        igemm_count count = {.tasks = 0};
        const double cost = go_together(plan, &form) ? try_form(query, &form, plan, &count) : -1;
        /* shared panels come back from the last-level cache */
        const bool shares = plan->copied || (int64_t)plan->shared_size <= plan->sizes.kept;
        if (cost >= 0 && (min < 0 || (cost < min && shares))) {
            min = cost;
            best = plan->form;
            chosen = count;
        }
    }
    if (min < 0) {
        return false;
    }
    plan->form = best;
    ry_igemm_set_mode(query->problem, plan);
    ry_igemm_set_blocks(plan);
    ry_igemm_set_tasks(plan);
    ry_igemm_set_scratch(plan);
    plan->count = chosen;
    return true;
}
