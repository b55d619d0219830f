/* SPDX-License-Identifier: Apache-2.0 */
/* Fills a task of the implicit GEMM: pixels, channels, bias, places in y. */
#include "kernels/cpu/igemm/igemm_task.h"

#include "base/integer.h"

#include <string.h>

void RY_ISA_SYMBOL(igemm_set_block)(const igemm_plan *plan, const igemm_phase *p,
                                    const ry_cpu_launch *launch, const ry_cut_range *block,
                                    char *scratch, igemm_task *t)
{
    *t = (igemm_task){.plan = plan,
                      .phase = p,
                      .launch = launch,
                      .image = block[0].first,
                      .group = block[1].first,
                      .first = block[2].first,
                      .count = block[2].count,
                      .segment = (igemm_segment *)(scratch + plan->segments),
                      .program = (igemm_entry *)(scratch + plan->program)};
}

void RY_ISA_SYMBOL(igemm_decode)(const igemm_plan *plan, const ry_cpu_launch *launch, int64_t index,
                                 char *scratch, igemm_task *t)
{
    const igemm_phase *p = plan->phase;
    while (index >= p->cut.first_task + p->cut.tasks) {
        p++;
    }
    ry_cut_range range[RY_CUT_AXES];
    ry_cut_task(&p->cut.task, (size_t)(index - p->cut.first_task), range);
    const ry_cut_range *oc_blocks = p->cut.blocks_first ? &range[0] : &range[3];
    RY_ISA_SYMBOL(igemm_set_block)
    (plan, p, launch, p->cut.blocks_first ? &range[1] : &range[0], scratch, t);
    t->oc_block = oc_blocks->first;
    t->oc_blocks = oc_blocks->count;
    t->channel = igemm_oc_block_first(plan, t->oc_block);
    t->channels = igemm_oc_block_first(plan, t->oc_block + t->oc_blocks - 1) +
                  igemm_oc_block_count(plan, t->oc_block + t->oc_blocks - 1) - t->channel;
    t->integer = ry_type_of(&launch->problem->out[0]) == RY_i32;
    t->activation = ry_conv_activation(launch->problem);
    t->bounds = ry_activation_bounds(t->activation, &t->low, &t->high);
    t->panel = (float *)(scratch + plan->panel);
    t->block = (float *)(scratch + plan->block);
    t->transposed = (float *)(scratch + plan->transposed);
    t->interleaved_row = (float *)(scratch + plan->interleaved_row);
    t->bias = (float *)(scratch + plan->bias);
    t->run = (epilogue_run *)(scratch + plan->runs);
    t->block_channel = t->channel;
    const int64_t columns = p->cut.passes == 1 ? plan->max_oc_block : t->channels;
    t->block_step = ((plan->mode == IGEMM_PIXELS ? t->count : columns) + RY_W - 1) / RY_W * RY_W;
}

void RY_ISA_SYMBOL(igemm_read_bias)(igemm_task *t)
{
    const ry_problem *problem = t->launch->problem;
    const int64_t room = t->channels + t->plan->tile_columns;
    memset(t->bias, 0, (size_t)room * sizeof *t->bias);
    if (!ry_problem_has_input(problem, 2)) {
        return;
    }
    const ry_tensor *bias = &problem->in[2];
    const int64_t first = t->group * t->plan->geometry.channels_out + t->channel;
    const ry_dtype dtype = ry_type_of(bias);
    const bool as_is = dtype == RY_f32 || dtype == RY_i32;
    const int64_t run = as_is && bias->stride[0] == 1 ? t->channels : 1;
    for (int64_t i = 0; i < t->channels; i += run) {
        const int64_t at = t->phase->where.at.bias_offset + (first + i) * bias->stride[0];
        if (as_is) {
            memcpy(t->bias + i, (const char *)t->launch->in[2] + at * 4, 4 * (size_t)run);
        } else {
            t->bias[i] = (float)ry_get_f64(dtype, t->launch->in[2], at);
        }
    }
}

void RY_ISA_SYMBOL(igemm_place_direct)(igemm_task *t)
{
    const ry_conv_geometry *g = &t->plan->geometry;
    const igemm_phase *p = t->phase;
    const int64_t channel = t->group * g->channels_out + t->channel;
    t->y = (char *)t->launch->out[0] + channel * g->y_channel * 4;
    if (ry_problem_has_input(t->launch->problem, 3)) {
        t->residual = (const char *)t->launch->in[3] + channel * g->r_channel * 4;
    }
    if (p->where.by_rows) {
        RY_ISA_SYMBOL(igemm_find_runs)(t);
        return;
    }
    t->run[0] = (epilogue_run){
        .length = t->count,
        .y = p->where.at.y_offset + t->image * g->y_batch + t->first * p->where.y_pixel,
        .y_step = p->where.y_pixel,
        .r = p->where.at.r_offset + t->image * g->r_batch + t->first * p->where.r_pixel,
        .r_step = p->where.r_pixel};
    t->runs = 1;
}
