/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a quantised convolution by implicit GEMM: a copy of x where it needs one, then the products. */
#include "base/integer.h"
#include "kernels/cpu/igemm/igemm.h"
#include "kernels/cpu/qconv/qconv.h"
#include "kernels/cpu/qconv/requantise.h"

#include <string.h>

/* An element of each position: the numbers of `here` channels, at most `lane`. */
RY_INLINE void copy_element(const uint8_t *restrict from, int64_t channel_step, const int64_t step,
                            int64_t here, int64_t positions, uint32_t *restrict to,
                            const int64_t to_step, const int64_t lane)
{
    const int64_t bits = 32 / lane;
    const uint32_t keep = here == lane ? UINT32_MAX : (1u << bits * here) - 1;
    const uint8_t *channel[QCONV_QUAD];
    for (int64_t j = 0; j < lane; j++) {
        channel[j] = from + (j < here ? j * channel_step : 0);
    }
    for (int64_t i = 0; i < positions; i++) {
        uint32_t element = 0;
#pragma GCC unroll 4
        for (int64_t j = 0; j < lane; j++) {
            element |= (uint32_t)channel[j][i * step] << bits * j;
        }
        to[i * to_step] = element & keep;
    }
}

/* One row of x of a group: `channels` numbers a position, `lane` of them in an element. */
RY_INLINE void copy_lanes(const uint8_t *from, int64_t channel_step, int64_t step, int64_t channels,
                          int64_t positions, uint32_t *to, int64_t to_step, const int64_t lane)
{
    for (int64_t c = 0; c < channels; c += lane, from += lane * channel_step, to++) {
        const int64_t here = ry_min(channels - c, lane);
        if (step == 1 && to_step == 1) {
            copy_element(from, channel_step, 1, here, positions, to, 1, lane);
        } else {
            copy_element(from, channel_step, step, here, positions, to, to_step, lane);
        }
    }
}

/* The same in pairs, where channels are next to each other. */
static void widen_row(const uint8_t *from, int64_t step, int64_t channels, int64_t positions,
                      uint16_t *to, int64_t to_step)
{
    if (step == channels && to_step == channels) {
        channels *= positions;
        positions = 1;
    }
    for (int64_t i = 0; i < positions; i++, from += step, to += to_step) {
        for (int64_t c = 0; c < channels; c++) {
            to[c] = from[c];
        }
        if (channels % 2) {
            to[channels] = 0;
        }
    }
}

/* The same in quads, where channels are next to each other and not few. */
static void copy_quads(const uint8_t *from, int64_t step, int64_t channels, int64_t positions,
                       uint32_t *to, int64_t to_step)
{
    for (int64_t i = 0; i < positions; i++, from += step, to += to_step) {
        to[(channels - 1) / QCONV_QUAD] = 0;
        memcpy(to, from, (size_t)channels);
    }
}

/* The elements of a position of few channels: bytes of a quad, or `pairs` of 16 bits. */
RY_INLINE void store_few(uint32_t bytes, uint32_t keep, const int pairs, uint32_t *to)
{
    uint64_t element = bytes & keep;
    if (pairs > 0) {
        element = (element | element << 16) & 0x0000ffff0000ffffu;
        element = (element | element << 8) & 0x00ff00ff00ff00ffu;
    }
    memcpy(to, &element, pairs == 2 ? sizeof element : sizeof *to);
}

/* The same of a row. */
RY_INLINE void copy_few(const uint8_t *restrict from, int64_t step, int64_t channels,
                        int64_t positions, uint32_t *restrict to, int64_t to_step, const int pairs)
{
    const uint32_t keep = channels == QCONV_QUAD ? UINT32_MAX : (1u << 8 * channels) - 1;
    uint32_t bytes;
    /* four bytes at once, where another position follows */
    for (int64_t i = 1; i < positions; i++, from += step, to += to_step) {
        memcpy(&bytes, from, sizeof bytes);
        store_few(bytes, keep, pairs, to);
    }
    bytes = 0;
    memcpy(&bytes, from, (size_t)channels);
    store_few(bytes, keep, pairs, to);
}

/* A position's elements are next to each other, and one position follows the other closely. */
static bool are_few(const ry_tensor *x, int64_t channels, int64_t step)
{
    return channels <= QCONV_QUAD && x->stride[1] == 1 && step + channels >= QCONV_QUAD;
}

static void copy_row(const qconv_plan *plan, const ry_tensor *x, const uint8_t *from,
                     int64_t channels, uint32_t *to)
{
    const int last = x->rank - 1;
    const int64_t positions = x->dim[last], step = x->stride[last],
                  to_step = plan->in[0].stride[last];
    if (are_few(x, channels, step)) {
        if (plan->lane == QCONV_QUAD) {
            copy_few(from, step, channels, positions, to, to_step, 0);
        } else if (channels > QCONV_PAIR) {
            copy_few(from, step, channels, positions, to, to_step, 2);
        } else {
            copy_few(from, step, channels, positions, to, to_step, 1);
        }
    } else if (plan->lane == QCONV_QUAD && plan->whole_pixels) {
        copy_quads(from, step, channels, positions, to, to_step);
    } else if (plan->lane == QCONV_QUAD) {
        copy_lanes(from, x->stride[1], step, channels, positions, to, to_step, QCONV_QUAD);
    } else if (x->stride[1] == 1) {
        widen_row(from, step, channels, positions, (uint16_t *)(void *)to, 2 * to_step);
    } else {
        copy_lanes(from, x->stride[1], step, channels, positions, to, to_step, QCONV_PAIR);
    }
}

/* Copies the rows of a task. */
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
            copy_row(plan, x, (const uint8_t *)launch->in[0] + from + g * channels * x->stride[1],
                     channels, (uint32_t *)launch->workspace + to + g * plan->group_quads);
        }
    }
}

void RY_ISA_SYMBOL(qconv_run)(const ry_cpu_launch *launch, const ry_tile_set *tiles, size_t task)
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
    const ry_tile_pairs operands = {.tiles = tiles,
                                    .end = plan->rows ? &end : NULL,
                                    .store = RY_ISA_SYMBOL(qconv_store_oc_block),
                                    .how = &store};
    RY_BASE_SYMBOL(conv_igemm_run_pairs)(&as_conv, &operands, task);
}
