/* SPDX-License-Identifier: Apache-2.0 */
/* From tiles of sums to dw: sums of a tap are added to those of a share, shares in pairs of pairs;
 * what is not finite or too small is repaired; weights are stored in their own order. */
#include "base/room.h"
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
    for (int64_t distance = 1; distance < plan->parts; distance *= 2) {
        for (int64_t part = 0; part + distance < plan->parts; part += 2 * distance) {
            float *to = sums + part * floats, *from = to + distance * floats;
            for (int64_t i = 0; i < count; i += RY_W) {
                const ry_vm lanes = ry_vm_first(count - i);
                ry_vf_store_m(
                    to + i, lanes,
                    ry_vf_add(ry_vf_load_m(to + i, lanes), ry_vf_load_m(from + i, lanes)));
            }
        }
    }
}

/* Merges the ranges of `count` channels into to[0]; each channel has `of` ranges, `step` apart. */
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

static void repair(const ry_cpu_launch *launch, const wgrad_split_piece *p,
                   const wgrad_split_sums *of)
{
    const wgrad_split_plan *plan = launch->state;
    const wgrad_shape *s = &plan->shape;
    split_range *of_x = RY_AT(split_range, launch->scratch, plan->merged),
                *of_dy = of_x + p->channels;
    const float *x = (const float *)launch->in[0] + (p->group * s->c + p->channel) * s->x.channel,
                *dy = (const float *)launch->in[1] + (p->group * s->k + p->out) * s->dy.channel;
    wgrad_split_ranges ranges = {of_dy, of_x, {UINT32_MAX, 0}};
    if (plan->splits > 1) {
        merge(of->x_ranges, p->channels, plan->parts, plan->share, of_x);
        merge(of->dy_ranges, p->outs, plan->parts, plan->share, of_dy);
        merge(of_x, 1, p->channels, sizeof *of_x, &ranges.any_x);
    }
    for (int64_t row = 0; row < p->outs * s->taps; row++) {
        const int64_t k = row / s->taps;
        ranges.dy = of_dy + k;
        ry_wgrad_split_repair(plan, x, dy + k * s->dy.channel, row % s->taps, &ranges, p->channels,
                              of->sums + row * plan->pitch);
    }
}

/* Rows of sums as they are: weights of a tap that are together. */
static void store_rows(const wgrad_split_plan *plan, const float *sums, int64_t channels, float *dw)
{
    const wgrad_shape *s = &plan->shape;
    for (int64_t tap = 0; tap < s->taps; tap++) {
        memcpy(dw + ry_wgrad_tap_offset(s, tap), sums + tap * plan->pitch,
               (size_t)channels * sizeof *dw);
    }
}

/* dw[channel][tap] of sums[tap][channel]. */
static void store_dense(const wgrad_split_plan *plan, const float *sums, int64_t channels,
                        float *dw)
{
    const wgrad_shape *s = &plan->shape;
    for (int64_t tap = 0; tap < s->taps; tap += RY_W) {
        const ry_vm lanes = ry_vm_first(s->taps - tap);
        for (int64_t c = 0; c < channels; c += RY_W) {
            const float *from = sums + tap * plan->pitch + c;
            float *to = dw + c * s->taps + tap;
            ry_vf v[RY_W];
#pragma GCC unroll 16
            for (int i = 0; i < RY_W; i++) {
                v[i] = tap + i < s->taps ? ry_vf_load(from + i * plan->pitch) : ry_vf_zero();
            }
            ry_vf_transpose(v);
            for (int i = 0; i < RY_W && c + i < channels; i++) {
                ry_vf_store_m(to + i * s->taps, lanes, v[i]);
            }
        }
    }
}

/* The weights of an output channel. */
static void store(const wgrad_split_plan *plan, const float *sums, int64_t channels, float *dw)
{
    const wgrad_shape *s = &plan->shape;
    if (s->dw_c == 1) {
        store_rows(plan, sums, channels, dw);
        return;
    }
    if (s->dense) {
        store_dense(plan, sums, channels, dw);
        return;
    }
    for (int64_t tap = 0; tap < s->taps; tap++) {
        float *to = dw + ry_wgrad_tap_offset(s, tap);
        for (int64_t c = 0; c < channels; c++) {
            to[c * s->dw_c] = sums[tap * plan->pitch + c];
        }
    }
}

void RY_ISA_SYMBOL(wgrad_split_finish)(const ry_cpu_launch *launch, const wgrad_split_piece *p,
                                       void *share)
{
    const wgrad_split_plan *plan = launch->state;
    const wgrad_shape *s = &plan->shape;
    const wgrad_split_sums of = ry_wgrad_split_sums_of(plan, share, p);
    const int64_t channel_sums = s->taps * plan->pitch, out = p->group * s->k + p->out;
    float *dw = (float *)launch->out[0] + out * s->dw_k + p->channel * s->dw_c;
    add_parts(of.sums, p->outs * channel_sums, plan);
    repair(launch, p, &of);
    for (int64_t k = 0; k < p->outs; k++) {
        store(plan, of.sums + k * channel_sums, p->channels, dw + k * s->dw_k);
    }
    if (s->bias && p->channel == 0) {
        float *db = (float *)launch->out[1] + out * s->db_step;
        add_parts(of.bias, p->outs, plan);
        for (int64_t k = 0; k < p->outs; k++) {
            db[k * s->db_step] = of.bias[k];
        }
    }
}
