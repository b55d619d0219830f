/* SPDX-License-Identifier: Apache-2.0 */
/* Packs weights in quads or pairs, and what each output channel's sum starts from and is scaled by. */
#include "kernels/cpu/igemm/igemm_k_block.h"
#include "kernels/cpu/qconv/qconv_plan.h"

#include <string.h>

enum { ELEMENT_BYTES = 4 };

typedef struct packing {
    const igemm_plan *igemm;
    const igemm_phase *phase;
    int64_t lane;          /* channels of an element */
    int64_t channels;      /* input channels of a group */
    int64_t taps;          /* all taps of w, padding's too */
    const int8_t *channel; /* weights of the output channel */
    uint8_t *to;           /* the channel's element of step 0 of the k block */
    int64_t step;          /* bytes from element to element */
} packing;

/* Packs a k block of one output channel, and returns the sum of its weights. */
static int32_t pack_channel(const packing *p, const igemm_k_block *k_block)
{
    const ry_conv_tap *tap = igemm_phase_taps(p->igemm, p->phase) + k_block->tap;
    const size_t size = ELEMENT_BYTES / (size_t)p->lane;
    uint8_t *to = p->to;
    int32_t sum = 0;
    for (int64_t t = 0; t < k_block->taps; t++) {
        for (int64_t q = k_block->channel; q < k_block->channel + k_block->channels; q++) {
            for (int64_t c = p->lane * q; c < p->lane * (q + 1); c++) {
                const int32_t weight =
                    c < p->channels ? p->channel[c * p->taps + tap[t].weight] : 0;
                memcpy(to + (size_t)(c % p->lane) * size, &weight, size); /* its low bytes */
                sum += weight;
            }
            to += p->step;
        }
    }
    return sum;
}

static int32_t bias_of(const ry_cpu_launch *launch, int64_t channel)
{
    const ry_problem *problem = launch->problem;
    return ry_problem_has_input(problem, 2)
               ? ((const int32_t *)launch->in[2])[channel * problem->in[2].stride[0]]
               : 0;
}

static float scale_of(const ry_cpu_launch *launch, int64_t channel)
{
    const ry_problem *problem = launch->problem;
    return ry_problem_has_input(problem, 4)
               ? ((const float *)launch->in[4])[channel * problem->in[4].stride[0]]
               : 1;
}

void ry_qconv_pack(const ry_cpu_launch *launch, size_t task)
{
    const qconv_plan *plan = launch->state;
    const igemm_plan *igemm = qconv_igemm(plan);
    const igemm_phase *phase = igemm->phase;
    const ry_tensor *w = &launch->problem->in[1];
    const int64_t group = (int64_t)task / igemm->oc_blocks,
                  oc_block = (int64_t)task % igemm->oc_blocks;
    const int64_t first = igemm_oc_block_first(igemm, oc_block),
                  count = igemm_oc_block_count(igemm, oc_block),
                  columns = (count + igemm->width - 1) / igemm->width * igemm->width;
    uint8_t *to = (uint8_t *)launch->packed_out +
                  ELEMENT_BYTES * (group * igemm->packed_group + phase->rooms.packed +
                                   first * phase->cut.steps);
    int32_t *start = (int32_t *)(void *)((char *)launch->packed_out + plan->starts);
    float *scale = (float *)(void *)((char *)launch->packed_out + plan->scales);
    packing p = {.igemm = igemm,
                 .phase = phase,
                 .lane = plan->lane,
                 .channels = w->dim[1],
                 .taps = ry_tensor_count(w) / (w->dim[0] * w->dim[1]),
                 .step = ELEMENT_BYTES * columns};
    memset(to, 0, (size_t)(phase->cut.steps * p.step));
    for (int64_t m = 0; m < count; m++) {
        const int64_t channel = group * igemm->geometry.channels_out + first + m;
        int32_t sum = 0;
        igemm_k_block k_block = {0};
        p.channel = (const int8_t *)launch->in[1] + channel * p.channels * p.taps;
        for (int64_t j = 0; j < phase->cut.k_blocks; j++) {
            ry_igemm_next_k_block(igemm, phase, &k_block);
            p.to = to + k_block.first * p.step + ELEMENT_BYTES * m;
            sum = (int32_t)((uint32_t)sum + (uint32_t)pack_channel(&p, &k_block));
        }
        start[channel] = (int32_t)((uint32_t)bias_of(launch, channel) -
                                   (uint32_t)(launch->problem->attrs.qconv.x_zero - plan->offset) *
                                       (uint32_t)sum);
        scale[channel] = scale_of(launch, channel);
    }
}
