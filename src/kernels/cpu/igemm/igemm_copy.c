/* SPDX-License-Identifier: Apache-2.0 */
/* Decides how x is copied with its channels innermost. */
#include "kernels/cpu/igemm/igemm_copy.h"

#include "base/integer.h"

#include <string.h>

static const struct ry_blocks_costs *limits_of(const igemm_plan *plan)
{
    return ry_blocks_of(plan->sizes.costs);
}

bool ry_igemm_copy_suits(const igemm_plan *plan, ry_dtype dtype)
{
    const ry_conv_geometry *g = &plan->as_is;
    const bool dense = (g->in[2] == 1 || g->x_step[2] == 1) &&
                       (g->in[1] == 1 || g->x_step[1] == g->in[2]) &&
                       (g->in[0] == 1 || g->x_step[0] == g->in[1] * g->in[2]);
    const bool one = g->taps == g->phases && ry_conv_has_unit_stride(g);
    const double size = (double)(g->batch * g->groups * g->channels_in) *
                        (double)(g->in[0] * g->in[1] * g->in[2]) * sizeof(float);
    return (dtype == RY_f32 || dtype == RY_i32) && g->x_channel != 1 && dense &&
           g->channels_in > 1 && (!one || igemm_is_small(plan)) &&
           size <= limits_of(plan)->igemm_copy_bytes;
}

static void find_copy(ry_conv_geometry *g)
{
    int64_t step = g->groups * g->channels_in;
    g->x_channel = 1;
    for (int i = RY_SPACE - 1; i >= 0; i--) {
        g->x_step[i] = step;
        step *= g->in[i];
    }
    g->x_batch = step;
}

void ry_igemm_copy_set(igemm_plan *plan, ry_conv_tap *tap, bool copied)
{
    plan->copied = copied;
    plan->geometry = plan->as_is;
    if (copied) {
        find_copy(&plan->geometry);
    }
    for (int64_t t = 0; t < plan->geometry.taps; t++) {
        tap[t].offset = 0;
        for (int i = 0; i < RY_SPACE; i++) {
            tap[t].offset += tap[t].at[i] * plan->geometry.x_step[i];
        }
    }
}

void ry_igemm_copy_tasks(igemm_plan *plan)
{
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t channels = g->groups * g->channels_in, positions = g->x_batch / channels;
    plan->copy = (ry_task_cut){
        {{g->batch, 1},
         {positions, ry_min(positions, (int64_t)limits_of(plan)->igemm_copy_positions)},
         {channels, ry_min(channels, (int64_t)limits_of(plan)->igemm_copy_channels)}}};
    plan->gathers = ry_cut_tasks(&plan->copy);
    plan->shared_size = ry_aligned((size_t)(g->batch * g->x_batch) * sizeof(float));
}
