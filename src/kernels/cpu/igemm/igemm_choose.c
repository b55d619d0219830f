/* SPDX-License-Identifier: Apache-2.0 */
/* Tries the ways to cut a convolution into matrix products, and takes the cheapest. */
#include "kernels/cpu/igemm/igemm_choose.h"

#include "base/integer.h"
#include "kernels/costs.h"
#include "kernels/cpu/igemm/igemm_copy.h"
#include "kernels/cpu/igemm/igemm_cost.h"
#include "kernels/cpu/igemm/igemm_layout.h"
#include "kernels/cpu/igemm/igemm_padding.h"
#include "kernels/form_least.h"
#include "kernels/knob_values.h"

static void list_range(ry_knob_values *values, int64_t first, int64_t last, int64_t step)
{
    for (int64_t i = first; i <= last; i += step) {
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
        max = ry_max(max,
                     p->where.at.pixels * (ry_igemm_may_join(plan, p) ? plan->geometry.batch : 1));
    }
    return max;
}

static void list_values(const ry_query *query, const void *user, int knob, ry_knob_values *values)
{
    const igemm_plan *plan = user;
    const bool copies = ry_igemm_copy_suits(plan, ry_type_of(&query->problem->in[0]));
    const int64_t oc_blocks =
        ry_ceil_div(plan->geometry.channels_out, ry_min(plan->max_rows, plan->tile_columns));
    const int64_t k_multiple = (int64_t)ry_blocks_of(plan->sizes.costs)->igemm_k_multiple;
    switch ((igemm_knob)knob) {
    case IGEMM_KNOB_MODE:
        list_range(values, igemm_is_quantised(plan) ? IGEMM_ROWS : IGEMM_PIXELS,
                   has_rows(plan) || copies ? IGEMM_ROWS : IGEMM_GATHERED, 1);
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
        /* padding of quads is a zero point, which counts */
        list_range(values, 0,
                   !igemm_is_quantised(plan) &&
                       ry_igemm_rows_in_bounds(plan) <=
                           ry_costs_of(plan->sizes.costs)->igemm.rows_in_bounds,
                   1);
        break;
    case IGEMM_KNOB_K_BLOCK: list_range(values, k_multiple, IGEMM_MAX_K_BLOCK, k_multiple); break;
    case IGEMM_KNOB_PIXEL_BLOCKS: ry_knob_values_counts(values, max_pixels(plan)); break;
    case IGEMM_KNOB_CHANNEL_BLOCKS: ry_knob_values_counts(values, oc_blocks); break;
    case IGEMM_KNOBS: break;
    }
}

void ry_igemm_list_values(const ry_query *query, igemm_knob knob, igemm_plan *plan,
                          ry_knob_values *values)
{
    ry_igemm_begin(query, false, plan);
    list_values(query, plan, (int)knob, values);
}

/* Bytes of the panels that a fused group's task has at once. */
static int64_t panels_of(const igemm_plan *plan, const igemm_phase *first, int64_t block)
{
    int64_t panels = 0;
    for (int64_t i = 0; i < first->where.fused; i++) {
        const int64_t panel =
            first[i].where.in_place ? 0 : ry_igemm_panel_floats(plan, &first[i], block) * 4;
        panels = first->cut.passes == 1 && first->where.source < 0 ? panels + panel
                                                                   : ry_max(panel, panels);
    }
    return panels;
}

/* Bytes of sums that pass through scratch. */
static int64_t sums_of(const igemm_plan *plan, const igemm_phase *first, int64_t block,
                       int64_t oc_blocks)
{
    return first->where.direct ? 0
                               : first->where.fused * (first->cut.passes == 1 ? 1 : oc_blocks) *
                                     plan->max_oc_block * block * 4;
}

/* Does what a fused group's tasks have at hand stay in the caches, if blocks are larger than they must?
 */
static bool fits(const igemm_plan *plan, const igemm_phase *p, int64_t block, int64_t oc_blocks,
                 bool fewest_oc_blocks)
{
    /* quads have one mode: of the cuts that are tried, some block must fit the least cache */
    const int64_t least = (igemm_is_quantised(plan) ? 2 : 1) * ry_igemm_block_multiple(plan, p);
    const bool larger = block > least,
               passes = p->where.in_place && plan->mode != IGEMM_ROWS && oc_blocks > 1;
    if (larger && (panels_of(plan, p, block) > plan->sizes.panel ||
                   (passes && ry_igemm_panel_floats(plan, p, block) * 4 > plan->sizes.panel))) {
        return false;
    }
    return fewest_oc_blocks || sums_of(plan, p, block, oc_blocks) <= plan->sizes.second;
}

/* Counts all fused groups, after their pixels are cut. False if a fused group's tasks do not fit, or if the
 * total exceeds `best` (negative: no limit). */
static bool count_oc_blocks(const igemm_plan *plan, int64_t channel_blocks, double best,
                            igemm_count *count)
{
    const int64_t oc_blocks = ry_igemm_block_oc_blocks(plan, channel_blocks);
    const bool fewest_oc_blocks = ry_next_parts(channel_blocks) > plan->oc_blocks;
    *count = (igemm_count){.tasks = 0};
    for (int64_t i = 0; i < plan->geometry.phases; i += plan->phase[i].where.fused) {
        const bool worse = best >= 0 && count->work.all + count->gather.all >= best;
        if (worse ||
            !fits(plan, &plan->phase[i], plan->phase[i].cut.block, oc_blocks, fewest_oc_blocks)) {
            return false;
        }
        ry_igemm_count_fused(plan, &plan->phase[i], oc_blocks, count);
    }
    return true;
}

/* Cuts the pixels of all fused groups; false: nothing changes, as blocks are full tiles. */
static bool cut_pixels(igemm_plan *plan, int64_t pixel_blocks)
{
    bool changes = false;
    for (int64_t i = 0; i < plan->geometry.phases; i += plan->phase[i].where.fused) {
        const int64_t block = ry_igemm_block_pixels(plan, &plan->phase[i], pixel_blocks);
        changes = changes || block != plan->phase[i].cut.block;
        for (igemm_phase *p = &plan->phase[i]; p < &plan->phase[i + plan->phase[i].where.fused];
             p++) {
            p->cut.block = block;
        }
    }
    for (int64_t i = 0; changes && i < plan->geometry.phases; i++) {
        plan->phase[i].cut.in_bounds =
            ry_igemm_k_blocks_in_bounds(plan, &plan->phase[i], plan->phase[i].cut.block);
    }
    return changes;
}

/* The most parts that pixels are cut into: blocks of one grain. */
static int64_t finest_cut(const igemm_plan *plan)
{
    int64_t finest = 1;
    for (int64_t i = 0; i < plan->geometry.phases; i++) {
        finest = ry_max(finest, ry_ceil_div(plan->phase[i].where.pixels,
                                            ry_igemm_block_multiple(plan, &plan->phase[i])));
    }
    return finest;
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
        all = all && plan->phase[i].where.in_place;
    }
    return all;
}

/* A plan that is chosen. */
typedef struct trial {
    igemm_plan *plan;
    bool first;        /* no form of other main knobs is legal so far */
    igemm_count count; /* the best form's */
} trial;

/* The values worth trying: blocks follow from the mode. */
static void search_values(const ry_query *query, const void *user, int knob, ry_knob_values *values)
{
    const igemm_plan *plan = ((const trial *)user)->plan;
    if (knob == IGEMM_KNOB_PIXEL_BLOCKS) {
        ry_knob_values_counts(values, finest_cut(plan));
    } else if (knob == IGEMM_KNOB_CHANNEL_BLOCKS) {
        ry_knob_values_counts(values, plan->oc_blocks);
    } else {
        list_values(query, plan, knob, values);
    }
}

/* The mode is the last of the main knobs. */
static bool set_axis(const ry_query *query, void *user, int knob, const ry_form *form)
{
    trial *t = user;
    igemm_plan *plan = t->plan;
    if (knob == IGEMM_KNOB_MODE) {
        t->first = false;
        if (!go_together(plan, form)) {
            return false;
        }
        plan->form = *form;
        ry_igemm_set_mode(query->problem, plan);
        for (int64_t i = 0; i < plan->geometry.phases; i++) {
            plan->phase[i].cut.block = 0;
        }
        return !plan->shared || !all_in_place(plan);
    }
    plan->form.value[knob] = form->value[knob];
    return knob != IGEMM_KNOB_PIXEL_BLOCKS || cut_pixels(plan, form->value[knob]);
}

/* Do shared panels come back from the last-level cache? */
static bool shares(igemm_plan *plan)
{
    ry_igemm_set_blocks(plan);
    ry_igemm_set_tasks(plan);
    return (int64_t)plan->shared_size <= plan->sizes.kept;
}

static double cost_of(const ry_query *query, void *user, double least)
{
    (void)query;
    trial *t = user;
    igemm_plan *plan = t->plan;
    igemm_count count;
    if (!count_oc_blocks(plan, plan->form.value[IGEMM_KNOB_CHANNEL_BLOCKS], least, &count)) {
        return -1;
    }
    const double cost = ry_igemm_cost_of(plan, &count);
    if (least < 0 || cost < least) {
        t->first = t->first || least < 0;
        if (!t->first && plan->shared && !shares(plan)) {
            return -1;
        }
        t->count = count;
    }
    return cost;
}

static const ry_form_axis axes[] = {{.knob = IGEMM_KNOB_SPLIT},
                                    {.knob = IGEMM_KNOB_APART},
                                    {.knob = IGEMM_KNOB_SHARED},
                                    {.knob = IGEMM_KNOB_INPUT},
                                    {.knob = IGEMM_KNOB_MODE},
                                    {.knob = IGEMM_KNOB_PIXEL_BLOCKS, .after = 5},
                                    {.knob = IGEMM_KNOB_CHANNEL_BLOCKS, .after = 5}};
static const ry_form_search search = {
    axes, sizeof axes / sizeof *axes, search_values, set_axis, NULL, cost_of};

bool ry_igemm_choose(const ry_query *query, bool alone, igemm_plan *plan)
{
    trial t = {.plan = plan};
    ry_igemm_begin(query, alone, plan);
    if (!ry_form_least(&search, query, &t)) {
        return false;
    }
    ry_igemm_set_blocks(plan);
    ry_igemm_set_tasks(plan);
    ry_igemm_set_scratch(plan);
    plan->count = t.count;
    return true;
}
