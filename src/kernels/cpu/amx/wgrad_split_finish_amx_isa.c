/* SPDX-License-Identifier: Apache-2.0 */
/* From tiles of sums to dw: sums of a tap are added to those of a share, shares in pairs of pairs;
 * what is not finite or too small is repaired; weights are stored in their own order. */
#include "base/integer.h"
#include "kernels/cpu/amx/wgrad_split.h"
#include "kernels/cpu/simd/simd.h"

void RY_ISA_SYMBOL(wgrad_split_add)(const float *from, int64_t rows, int64_t columns, int64_t step,
                                    bool first, float *to)
{
    for (int64_t i = 0; i < rows; i++, from += WGRAD_SPLIT_PAIR, to += step) {
        for (int64_t j = 0; j < columns; j += RY_W) {
            const ry_vf sum = ry_vf_load(from + j);
            ry_vf_store(to + j, first ? sum : ry_vf_add(ry_vf_load(to + j), sum));
        }
    }
}

/* Pairs, then pairs of pairs, ...: an order of sums that depends on the number of shares alone. The
 * first share's place has them all. */
static void add_parts(float *sums, int64_t count, const wgrad_split_plan *plan)
{
    const int64_t floats = (int64_t)(plan->share / sizeof *sums);
    for (int64_t apart = 1; apart < plan->parts; apart *= 2) {
        for (int64_t part = 0; part + apart < plan->parts; part += 2 * apart) {
            float *to = sums + part * floats, *from = to + apart * floats;
            for (int64_t i = 0; i < count; i += RY_W) {
                const ry_vm lanes = ry_vm_first(count - i);
                ry_vf_store_m(
                    to + i, lanes,
                    ry_vf_add(ry_vf_load_m(to + i, lanes), ry_vf_load_m(from + i, lanes)));
            }
        }
    }
}

/* Of `count` channels in a row, each `step` bytes from the next of so many; to[0] has all. */
static void merge(const split_range *from, int64_t count, int64_t of, size_t step, split_range *to)
{
    memcpy(to, from, (size_t)count * sizeof *to);
    for (int64_t part = 1; part < of; part++) {
        const split_range *other =
            (const split_range *)(const void *)((const char *)from + (size_t)part * step);
        for (int64_t i = 0; i < count; i++) {
            to[i].low = other[i].low < to[i].low ? other[i].low : to[i].low;
            to[i].high = other[i].high > to[i].high ? other[i].high : to[i].high;
        }
    }
}

/* Output channels of a group. */
typedef struct piece {
    int64_t group, channel, channels;
} piece;

static void repair(const ry_cpu_launch *launch, const piece *p, const wgrad_split_share *share,
                   float *sums)
{
    const wgrad_split_plan *plan = launch->state;
    const wgrad_shape *s = &plan->shape;
    split_range *of_x = (split_range *)(void *)((char *)launch->scratch + plan->merged),
                *of_dy = of_x + s->c;
    const float *x = (const float *)launch->in[0] + p->group * s->c * s->x.channel,
                *dy = (const float *)launch->in[1] + p->group * s->k * s->dy.channel;
    wgrad_split_ranges ranges = {of_dy, of_x, {UINT32_MAX, 0}};
    if (plan->splits > 1) {
        merge(share->x_ranges, s->c, plan->parts, plan->share, of_x);
        merge(share->dy_ranges + p->channel, p->channels, plan->parts, plan->share, of_dy);
        merge(of_x, 1, s->c, sizeof *of_x, &ranges.any_x);
    }
    for (int64_t row = 0; row < p->channels * s->taps; row++) {
        ranges.dy = of_dy + row / s->taps;
        ry_wgrad_split_repair(plan, x, dy, p->channel * s->taps + row, &ranges,
                              sums + row * plan->pitch);
    }
}

/* Rows of sums as they are: weights of a tap that are together. */
static void store_rows(const wgrad_split_plan *plan, const float *sums, float *dw)
{
    const wgrad_shape *s = &plan->shape;
    for (int64_t tap = 0; tap < s->taps; tap++) {
        memcpy(dw + ry_wgrad_tap_offset(s, tap), sums + tap * plan->pitch,
               (size_t)s->c * sizeof *dw);
    }
}

/* dw[channel][tap] of sums[tap][channel]. */
static void store_dense(const wgrad_split_plan *plan, const float *sums, float *dw)
{
    const wgrad_shape *s = &plan->shape;
    for (int64_t tap = 0; tap < s->taps; tap += RY_W) {
        const ry_vm lanes = ry_vm_first(s->taps - tap);
        for (int64_t c = 0; c < s->c; c += RY_W) {
            const float *from = sums + tap * plan->pitch + c;
            float *to = dw + c * s->taps + tap;
            ry_vf v[RY_W];
#pragma GCC unroll 16
            for (int i = 0; i < RY_W; i++) {
                v[i] = tap + i < s->taps ? ry_vf_load(from + i * plan->pitch) : ry_vf_zero();
            }
            ry_vf_transpose(v);
            for (int i = 0; i < RY_W && c + i < s->c; i++) {
                ry_vf_store_m(to + i * s->taps, lanes, v[i]);
            }
        }
    }
}

static void store(const wgrad_split_plan *plan, const float *sums, float *dw)
{
    const wgrad_shape *s = &plan->shape;
    if (s->dw_c == 1) {
        store_rows(plan, sums, dw);
        return;
    }
    if (s->dense) {
        store_dense(plan, sums, dw);
        return;
    }
    for (int64_t tap = 0; tap < s->taps; tap++) {
        float *to = dw + ry_wgrad_tap_offset(s, tap);
        for (int64_t c = 0; c < s->c; c++) {
            to[c * s->dw_c] = sums[tap * plan->pitch + c];
        }
    }
}

void RY_ISA_SYMBOL(wgrad_split_finish)(const ry_cpu_launch *launch, int64_t index)
{
    const wgrad_split_plan *plan = launch->state;
    const wgrad_shape *s = &plan->shape;
    piece p = {.group = index / plan->finishes,
               .channel = index % plan->finishes * plan->finish_channels};
    p.channels = ry_min(plan->finish_channels, s->k - p.channel);
    const wgrad_split_share share = wgrad_split_share_at(plan, launch->workspace, 0, p.group);
    const int64_t channel_sums = s->taps * plan->pitch;
    float *sums = share.sums + p.channel * channel_sums,
          *dw = (float *)launch->out[0] + (p.group * s->k + p.channel) * s->dw_k;
    add_parts(sums, p.channels * channel_sums, plan);
    repair(launch, &p, &share, sums);
    for (int64_t k = 0; k < p.channels; k++) {
        store(plan, sums + k * channel_sums, dw + k * s->dw_k);
    }
    if (s->bias) {
        float *db = (float *)launch->out[1] + (p.group * s->k + p.channel) * s->db_step;
        add_parts(share.bias + p.channel, p.channels, plan);
        for (int64_t k = 0; k < p.channels; k++) {
            db[k * s->db_step] = share.bias[p.channel + k];
        }
    }
}
