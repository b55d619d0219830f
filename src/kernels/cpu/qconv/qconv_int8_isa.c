/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel: quantised convolution by implicit GEMM of quads of bytes. */
#include "kernels/cpu/igemm/igemm.h"
#include "kernels/cpu/igemm/igemm_prepare.h"
#include "kernels/cpu/parts/cpu_kernel.h"
#include "kernels/cpu/qconv/qconv.h"
#include "kernels/cpu/qconv/qconv_plan.h"
#include "kernels/cpu/qconv/requantise.h"

/* One row of x of a group: `quads` quads a position, `channels` of whose bytes are real. */
static void copy_row(const uint8_t *from, int64_t channel_step, int64_t step, int64_t channels,
                     int64_t positions, uint32_t *to, int64_t to_step)
{
    for (int64_t c = 0; c < channels; c += QCONV_QUAD, from += QCONV_QUAD * channel_step, to++) {
        const int64_t here = channels - c < QCONV_QUAD ? channels - c : QCONV_QUAD;
        const uint8_t *second = from + (here > 1 ? channel_step : 0),
                      *third = from + (here > 2 ? 2 * channel_step : 0),
                      *fourth = from + (here > 3 ? 3 * channel_step : 0);
        const uint32_t keep = here == QCONV_QUAD ? UINT32_MAX : (1u << 8 * here) - 1;
        for (int64_t i = 0; i < positions; i++) {
            const uint32_t quad = from[i * step] | (uint32_t)second[i * step] << 8 |
                                  (uint32_t)third[i * step] << 16 |
                                  (uint32_t)fourth[i * step] << 24;
            to[i * to_step] = quad & keep;
        }
    }
}

/* Copies the rows of a task in quads. */
static void copy(const ry_cpu_launch *launch, size_t task)
{
    const qconv_plan *plan = launch->state;
    const ry_tensor *x = &launch->problem->in[0], *quads = &plan->in[0];
    const int64_t groups = plan->conv.attrs.conv.groups, channels = x->dim[1] / groups,
                  last = x->rank - 1;
    const int64_t first = (int64_t)task * plan->rows_of_task,
                  end = first + plan->rows_of_task < plan->copy_rows ? first + plan->rows_of_task
                                                                     : plan->copy_rows;
    for (int64_t row = first; row < end; row++) {
        int64_t rest = row, from = 0, to = 0;
        for (int64_t i = last - 1; i >= 0; i--) {
            if (i != 1) {
                from += rest % x->dim[i] * x->stride[i];
                to += rest % x->dim[i] * quads->stride[i];
                rest /= x->dim[i];
            }
        }
        for (int64_t g = 0; g < groups; g++) {
            copy_row((const uint8_t *)launch->in[0] + from + g * channels * x->stride[1],
                     x->stride[1], x->stride[last], channels, x->dim[last],
                     (uint32_t *)launch->workspace + to + g * plan->group_quads,
                     quads->stride[last]);
        }
    }
}

static void run(const ry_cpu_launch *launch, size_t task)
{
    const qconv_plan *plan = launch->state;
    if (plan->copied && launch->phase == 0) {
        copy(launch, task);
        return;
    }
    ry_problem conv;
    const void *in[QCONV_INPUTS] = {plan->copied ? launch->workspace : launch->in[0], NULL,
                                    (const char *)launch->packed + plan->starts,
                                    launch->problem->inputs > 3 ? launch->in[3] : NULL};
    ry_cpu_launch as_conv = ry_qconv_launch(launch, &conv);
    as_conv.in = in;
    const float *scale = (const float *)(const void *)((const char *)launch->packed + plan->scales);
    const ry_ends ends = ry_ends_of(&launch->problem->attrs.qconv);
    const ry_tile_end end = {.how = &ends, .y = launch->out[0], .residual = in[3], .scale = scale};
    const qconv_store store = {launch->problem, scale};
    const ry_tile_pairs operands = {.tiles = &RY_ISA_SYMBOL(qconv_tiles),
                                    .end = plan->rows ? &end : NULL,
                                    .store = RY_ISA_SYMBOL(qconv_store_oc_block),
                                    .how = &store};
    RY_BASE_SYMBOL(conv_igemm_run_pairs)(&as_conv, &operands, task);
}

RY_CPU_KERNEL(qconv_igemm, qconv, strict, .simd = RY_SIMD_BYTES, .knobs = ry_igemm_knobs,
              .knob_count = IGEMM_KNOBS, .applicable = ry_qconv_takes, .values = ry_qconv_values,
              .prepare = ry_qconv_prepare, .initialise = ry_qconv_initialise, .pack = ry_qconv_pack,
              .run = run, .packed_inputs = 1u << 1 | 1u << 2 | 1u << 4,
              .packing = ry_qconv_packing);
