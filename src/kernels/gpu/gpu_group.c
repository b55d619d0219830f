/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes of work-groups. */
#include "kernels/gpu/gpu_group.h"

#include "kernels/form.h"
#include "kernels/gpu/gpu_define.h"
#include "kernels/gpu/gpu_texts.h"

const ry_knob ry_gpu_group_knobs[RY_GPU_GROUP_KNOBS] = {
    [RY_GPU_GROUP_KNOB] = {"group", NULL, true}};

void ry_gpu_group_values(const ry_query *query, int knob, ry_knob_values *values)
{
    (void)query;
    (void)knob;
    for (int64_t group = 64; group <= 256; group *= 2) {
        ry_knob_values_add(values, group);
    }
}

int64_t ry_gpu_group_size(const ry_query *query, int64_t chosen)
{
    const int64_t wanted = ry_form_wanted(query, RY_GPU_GROUP_KNOB);
    return wanted == RY_KNOB_FREE ? chosen : wanted;
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
