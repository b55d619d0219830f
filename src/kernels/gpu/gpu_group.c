/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes of work-groups. */
#include "kernels/gpu/gpu_group.h"

#include "base/integer.h"
#include "kernels/form.h"
#include "kernels/gpu/gpu_define.h"
#include "kernels/gpu/gpu_texts.h"

const ry_knob ry_gpu_group_knobs[RY_GPU_GROUP_KNOBS] = {
    [RY_GPU_GROUP_KNOB] = {.name = "group", .main = true}};

/* Local memory of an item, at most, in the kernels with this knob: eight sums of an expression. */
enum { ITEM_BYTES = 64 };

int64_t ry_gpu_group_most(const ry_machine *machine, int64_t wanted, size_t item_bytes)
{
    int64_t most = machine->group_items ? ry_min(wanted, machine->group_items) : wanted, power = 1;
    if (machine->local_bytes && item_bytes) {
        most = ry_min(most, (int64_t)(machine->local_bytes / item_bytes));
    }
    while (power * 2 <= most) {
        power *= 2;
    }
    return power;
}

void ry_gpu_group_add(const ry_query *query, int64_t least, int64_t most, ry_knob_values *values)
{
    const int64_t largest = ry_gpu_group_most(query->target->machine, most, ITEM_BYTES);
    for (int64_t group = ry_min(least, largest); group <= largest; group *= 2) {
        ry_knob_values_add(values, group);
    }
}

void ry_gpu_group_values(const ry_query *query, int knob, ry_knob_values *values)
{
    (void)knob;
    ry_gpu_group_add(query, 64, 256, values);
}

int64_t ry_gpu_group_size(const ry_query *query, int64_t chosen)
{
    const int64_t wanted = ry_form_wanted(query, RY_GPU_GROUP_KNOB);
    return wanted != RY_KNOB_FREE ? wanted
                                  : ry_gpu_group_most(query->target->machine, chosen, ITEM_BYTES);
}

void ry_gpu_group_prepare(int64_t group, int64_t tasks, ry_prepared *prepared)
{
    prepared->form.value[RY_GPU_GROUP_KNOB] = group;
    prepared->phases = 1;
    prepared->tasks[0] = (size_t)tasks;
    prepared->group[0] = (unsigned)group;
}

void ry_gpu_group_define(const ry_prepared *prepared, ry_text *text)
{
    ry_gpu_define(text, "GROUP_ITEMS", prepared->form.value[RY_GPU_GROUP_KNOB]);
    ry_text_add(text, "%s", ry_gpu_text_group);
}
