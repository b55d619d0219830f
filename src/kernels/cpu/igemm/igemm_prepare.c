/* SPDX-License-Identifier: Apache-2.0 */
/* Common to all kernels of the implicit GEMM: applicable problems, sizes and counts. */
#include "kernels/cpu/igemm/igemm_prepare.h"

#include "base/integer.h"
#include "kernels/common/work.h"
#include "kernels/cpu/igemm/igemm_choose.h"
#include "kernels/cpu/igemm/igemm_layout.h"
#include "kernels/cpu/parts/conv_packing.h"
#include "kernels/form.h"
#include "kernels/packing.h"

const char *const ry_igemm_modes[] = {
    [IGEMM_PIXELS] = "pixels", [IGEMM_GATHERED] = "gathered", [IGEMM_ROWS] = "rows"};
const char *const ry_igemm_inputs[] = {
    [IGEMM_AS_IS] = "as_is", [IGEMM_INTO_PANELS] = "panels", [IGEMM_COPIED] = "copied"};

const ry_knob ry_igemm_knobs[IGEMM_KNOBS] = {
    [IGEMM_KNOB_MODE] = {"mode", ry_igemm_modes, true, true},
    [IGEMM_KNOB_INPUT] = {.name = "input", .words = ry_igemm_inputs, .main = true},
    [IGEMM_KNOB_SHARED] = {.name = "shared", .main = true},
    [IGEMM_KNOB_APART] = {.name = "apart", .main = true},
    [IGEMM_KNOB_SPLIT] = {"split", NULL, true, true},
    [IGEMM_KNOB_K_BLOCK] = {.name = "k_block"},
    [IGEMM_KNOB_PIXEL_BLOCKS] = {.name = "pixel_blocks"},
    [IGEMM_KNOB_CHANNEL_BLOCKS] = {.name = "channel_blocks"},
};

void ry_igemm_values(const ry_query *query, int knob, ry_knob_values *values)
{
    igemm_plan *plan = ry_allocate(&ry_system_allocator, ry_igemm_plan_size(query->problem));
    if (!plan) {
        *values = (ry_knob_values){
            1, {knob == IGEMM_KNOB_K_BLOCK ? IGEMM_MAX_K_BLOCK : knob > IGEMM_KNOB_K_BLOCK}};
        return;
    }
    ry_igemm_list_values(query, (igemm_knob)knob, plan, values);
    ry_release(&ry_system_allocator, plan);
}

void ry_igemm_initialise(const ry_query *query, void *state)
{
    ry_igemm_plan_make(query, false, state);
}

static void describe(const igemm_plan *plan, ry_prepared *prepared)
{
    const int64_t groups = plan->geometry.groups;
    const bool gathering = igemm_has_gathering(plan);
    *prepared = (ry_prepared){.phases = 1 + gathering,
                              .tasks = {(size_t)(gathering ? plan->gathers : plan->tasks),
                                        (size_t)(gathering ? plan->tasks : 0)},
                              .state_size = ry_aligned(plan->size),
                              .packed = ry_aligned((size_t)(groups * plan->packed_group) * 4),
                              .pack_tasks = (size_t)(groups * plan->oc_blocks),
                              .scratch = ry_aligned(plan->scratch),
                              .workspace = plan->shared_size,
                              .form = plan->form};
    prepared->work[0] = ry_work_of_cycles(plan->count.gather, plan->width);
    prepared->work[gathering] = ry_work_of_cycles(plan->count.work, plan->width);
}

rynd_status ry_igemm_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    igemm_plan *plan = ry_allocate(&ry_system_allocator, ry_igemm_plan_size(query->problem));
    if (!plan) {
        return ry_fail_memory(error);
    }
    const bool found = ry_igemm_choose(query, false, plan);
    if (found) {
        describe(plan, prepared);
    }
    ry_release(&ry_system_allocator, plan);
    return found ? RYND_OK : ry_form_fail(query, error);
}

/* Do k blocks leave the weights in the reduction's own order? Those of odd depth end with half a
 * pair. */
static bool is_plain_order(const igemm_plan *plan, const igemm_phase *p)
{
    const int64_t depth = p->cut.k_block_taps * p->cut.k_block_channels;
    const bool inner_whole = plan->mode == IGEMM_ROWS
                                 ? p->cut.k_block_channels == plan->geometry.channels_in
                                 : p->cut.k_block_taps == p->where.at.taps;
    const bool outer_single =
        plan->mode == IGEMM_ROWS ? p->cut.k_block_taps == 1 : p->cut.k_block_channels == 1;
    return (inner_whole || outer_single) &&
           (!plan->pairs || p->cut.k_blocks == 1 || depth % 2 == 0) &&
           (!plan->pairs || p->cut.tap_row == 0);
}

void ry_igemm_packing_of(const igemm_plan *plan, ry_text *key)
{
    const ry_conv_tap *taps = (const ry_conv_tap *)(const void *)((const char *)plan + plan->taps);
    ry_conv_packing_add(&plan->geometry, taps, key);
    RY_PACKING_NUMBERS(key, plan->mode, plan->oc_blocks, plan->max_oc_block, plan->packed_group,
                       plan->pairs);
    for (int64_t i = 0; i < plan->geometry.phases; i++) {
        const igemm_phase *p = &plan->phase[i];
        const bool plain = is_plain_order(plan, p);
        RY_PACKING_NUMBERS(key, p->rooms.packed, p->cut.depth, p->cut.steps, p->where.at.first_tap,
                           p->where.at.taps, plain, plain ? 0 : p->cut.k_block_taps,
                           plain ? 0 : p->cut.k_block_channels, plain ? 0 : p->cut.tap_row);
    }
}

void ry_igemm_packing(const ry_prepared *prepared, ry_text *key)
{
    ry_igemm_packing_of(prepared->state, key);
}
