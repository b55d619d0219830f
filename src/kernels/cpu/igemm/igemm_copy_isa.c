/* SPDX-License-Identifier: Apache-2.0 */
/* Copies x with its channels innermost, a square of channels and positions at a time. */
#include "base/integer.h"
#include "kernels/cpu/igemm/igemm_task.h"
#include "kernels/cpu/simd/simd.h"

/* RY_W channels, or fewer, at `count` positions of a run. */
static void copy_run(const float *from, int64_t channel_step, int64_t channels, int64_t count,
                     float *to, int64_t to_step)
{
    const ry_vm some = ry_vm_first(channels);
    for (int64_t i = 0; i < count; i += RY_W) {
        const int64_t here = count - i;
        const ry_vm mask = ry_vm_first(here);
        ry_vf v[RY_W];
#pragma GCC unroll 16
        for (int k = 0; k < RY_W; k++) {
            const float *x = from + (k < channels ? k : channels - 1) * channel_step + i;
            v[k] = here >= RY_W ? ry_vf_load(x) : ry_vf_load_m(x, mask);
        }
        ry_vf_transpose(v);
#pragma GCC unroll 16
        for (int k = 0; k < RY_W; k++) {
            if (k < here && channels >= RY_W) {
                ry_vf_store(to + (i + k) * to_step, v[k]);
            } else if (k < here) {
                ry_vf_store_m(to + (i + k) * to_step, some, v[k]);
            }
        }
    }
}

void RY_ISA_SYMBOL(igemm_copy)(const igemm_plan *plan, const ry_cpu_launch *launch, float *copy,
                               int64_t index)
{
    const ry_conv_geometry *g = &plan->geometry, *x = &plan->as_is;
    const int64_t all = g->groups * g->channels_in;
    ry_cut_range range[RY_CUT_AXES];
    ry_cut_task(&plan->copy, (size_t)index, range);
    const int64_t image = range[0].first, from = range[1].first, count = range[1].count,
                  first = range[2].first, end = first + range[2].count;
    const float *source = (const float *)launch->in[0] + image * x->x_batch + from;
    for (int64_t c = first; c < end; c += RY_W) {
        copy_run(source + c * x->x_channel, x->x_channel, ry_min(RY_W, end - c), count,
                 copy + image * g->x_batch + from * all + c, all);
    }
}
