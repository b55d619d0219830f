/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels of products first are asked before they run. */
#include "kernels/cpu/kn2row/kn2row_prepare.h"

#include "base/integer.h"
#include "kernels/common/work.h"
#include "kernels/cpu/igemm/igemm_prepare.h"
#include "kernels/cpu/parts/conv_packing.h"
#include "kernels/form.h"

const ry_knob ry_kn2row_knobs[KN2ROW_KNOBS] = {
    [KN2ROW_KNOB_ROW_BLOCK] = {.name = "row_block", .main = true},
    [KN2ROW_KNOB_MODE] = {"mode", ry_igemm_modes, true, true},
    [KN2ROW_KNOB_INPUT] = {.name = "input", .words = ry_igemm_inputs, .main = true},
    [KN2ROW_KNOB_SHARED] = {.name = "shared", .main = true},
    [KN2ROW_KNOB_APART] = {.name = "apart", .main = true},
    [KN2ROW_KNOB_PIXEL_BLOCKS] = {.name = "pixel_blocks"},
    [KN2ROW_KNOB_CHANNEL_BLOCKS] = {.name = "channel_blocks"},
    [KN2ROW_KNOB_ROWS] = {.name = "rows"},
};

void ry_kn2row_values(const ry_query *query, int knob, ry_knob_values *values)
{
    kn2row_plan *room = ry_allocate(&ry_system_allocator, ry_kn2row_plan_size(query->problem));
    if (!room) {
        *values = (ry_knob_values){1, {knob >= KN2ROW_KNOB_PIXEL_BLOCKS}};
        return;
    }
    ry_kn2row_list_values(query, (kn2row_knob)knob, room, values);
    ry_release(&ry_system_allocator, room);
}

void ry_kn2row_initialise(const ry_query *query, void *state)
{
    ry_kn2row_plan_make(query, state);
}

static void describe(const kn2row_plan *plan, size_t size, ry_prepared *prepared)
{
    const igemm_plan *product = kn2row_product_plan(plan);
    const int64_t groups = plan->geometry.groups;
    const bool banded = plan->row_block.out > 0;
    const int before = banded ? 0 : 1 + igemm_has_gathering(product); /* phases before the sums */
    *prepared = (ry_prepared){.phases = 1 + before,
                              .state_size = ry_aligned(size),
                              .packed = ry_aligned((size_t)(groups * product->packed_group) * 4),
                              .pack_tasks = (size_t)ry_cut_tasks(&plan->packs),
                              .workspace = banded ? 0 : plan->products + product->shared_size,
                              .scratch = ry_aligned(plan->scratch),
                              .form = plan->form};
    prepared->tasks[0] = (size_t)product->gathers;
    if (before > 0) {
        prepared->tasks[before - 1] = (size_t)product->tasks;
        prepared->work[0] = ry_work_of_cycles(product->count.gather, product->width);
        prepared->work[before - 1] = ry_work_of_cycles(product->count.work, product->width);
    }
    prepared->tasks[before] = (size_t)ry_cut_tasks(&plan->tasks);
    prepared->work[before] = ry_work_of_cycles(plan->work, product->width);
}

rynd_status ry_kn2row_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    const size_t size = ry_kn2row_plan_size(query->problem);
    kn2row_plan *plan = ry_allocate(&ry_system_allocator, size);
    if (!plan) {
        return ry_fail_memory(error);
    }
    const bool found = ry_kn2row_plan_choose(query, plan);
    if (found) {
        describe(plan, size, prepared);
    }
    ry_release(&ry_system_allocator, plan);
    return found ? RYND_OK : ry_form_fail(query, error);
}

void ry_kn2row_packing(const ry_prepared *prepared, ry_text *key)
{
    const kn2row_plan *plan = prepared->state;
    ry_conv_packing_add(&plan->geometry,
                        (const ry_conv_tap *)(const void *)((const char *)plan + plan->taps), key);
    ry_igemm_packing_of(kn2row_product_plan(plan), key);
}
