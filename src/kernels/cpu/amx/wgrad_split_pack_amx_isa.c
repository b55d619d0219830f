/* SPDX-License-Identifier: Apache-2.0 */
/* Packs blocks of x and of dy as parts in bfloat16, two places a lane, from either layout: where
 * channels are together, a place's channels are a vector; else a channel's places are staged in
 * a row with its zeros. Squares are transposed in registers where the other way is wanted. */
#include "base/integer.h"
#include "kernels/cpu/amx/wgrad_split.h"
#include "kernels/cpu/simd/simd_bf16.h"

enum { PLACES = 2 * RY_W }; /* places in a vector of pairs */

/* The parts of RY_W pairs of vectors. */
typedef struct square {
    ry_vf part[SPLIT_MAX_PARTS][RY_W];
} square;

/* The first, and then each what the parts before it leave. What is left of an infinity is NaN: sums
 * that are not finite are repaired. */
RY_INLINE ry_vf next_part(ry_vf *even, ry_vf *odd, bool last)
{
    const ry_vi pairs = ry_vi_pairs_bf16(*even, *odd);
    if (!last) {
        const ry_vf minus = ry_vf_set(-1.0f);
        *even = ry_vf_fma(minus, ry_vf_lows_bf16(pairs), *even);
        *odd = ry_vf_fma(minus, ry_vf_highs_bf16(pairs), *odd);
    }
    return (ry_vf)pairs;
}

RY_INLINE void store_pairs(uint16_t *to, ry_vf pairs)
{
    ry_vf_store((float *)(void *)to, pairs);
}

/* Lanes of channels, or of one channel's places. */
typedef struct tally {
    ry_vi low, high; /* a split_range */
    ry_vf total;
} tally;

RY_INLINE tally no_tally(void)
{
    return (tally){ry_vi_set(-1), ry_vi_set(0), ry_vf_zero()};
}

RY_INLINE void widen(tally *t, ry_vf v)
{
    const ry_vi magnitudes = ry_vi_magnitudes(v);
    t->low = ry_vi_min_u(t->low, ry_vi_add(magnitudes, ry_vi_set(-1)));
    t->high = ry_vi_max_u(t->high, magnitudes);
}

/* Widens of[step * i] by lane i, for the first `count` lanes. */
static void keep_ranges(const tally *t, int64_t count, split_range *of, int64_t step)
{
    uint32_t low[RY_W], high[RY_W];
    memcpy(low, &t->low, sizeof low);
    memcpy(high, &t->high, sizeof high);
    for (int64_t i = 0; i < count; i++) {
        split_range *range = &of[step * i];
        range->low = low[i] < range->low ? low[i] : range->low;
        range->high = high[i] > range->high ? high[i] : range->high;
    }
}

/* Staged rows: gaps are the same for all channels. */

RY_INLINE void copy_run(const float *from, int64_t step, int64_t count, float *to)
{
    if (step == 1) {
        int64_t i = 0;
        for (; i + RY_W <= count; i += RY_W) {
            ry_vf_store(to + i, ry_vf_load(from + i));
        }
        ry_vf_store_first(to + i, count - i, ry_vf_load_m(from + i, ry_vm_first(count - i)));
        return;
    }
    int64_t i = 0;
    for (; step == 2 && i + RY_W <= count; i += RY_W) {
        ry_vf_store(to + i,
                    ry_vf_evens(ry_vf_load(from + 2 * i), ry_vf_load(from + 2 * i + RY_W - 1)));
    }
    for (; i < count; i++) {
        to[i] = from[i * step];
    }
}

static void stage_channel(const wgrad_split_source *s, int64_t channel, float *to)
{
    const float *from = s->from + channel * s->channel;
    for (int64_t i = 0; i < s->run_count; i++) {
        const wgrad_split_run *run = &s->runs[i];
        copy_run(from + run->from, s->step, run->count, to + run->at);
    }
    if (!s->ranges && !s->totals) {
        return;
    }
    tally t = no_tally();
    for (int64_t i = 0; s->ranges && i < s->positions; i += RY_W) {
        widen(&t, ry_vf_load(to + i));
    }
    for (int64_t i = 0; s->totals && i < s->positions; i += RY_W) {
        t.total = ry_vf_add(t.total, ry_vf_load(to + i));
    }
    if (s->ranges) {
        keep_ranges(&t, RY_W, &s->ranges[channel], 0);
    }
    if (s->totals) {
        s->totals[channel] += ry_vf_sum(t.total);
    }
}

/* Places: the address of each place's channels, or of zeros in the padding. */

static void find_positions(const wgrad_split_source *s)
{
    const float *zeros = s->stage;
    int64_t at = 0;
    for (int64_t i = 0; i < s->run_count; i++) {
        const wgrad_split_run *run = &s->runs[i];
        for (; at < run->at; at++) {
            s->positions_from[at] = zeros;
        }
        for (int64_t j = 0; j < run->count; j++) {
            s->positions_from[at++] = s->from + run->from + j * s->step;
        }
    }
    for (; at < s->positions; at++) {
        s->positions_from[at] = zeros;
    }
}

static void keep_tally(const wgrad_split_source *s, int64_t channel, const tally *t)
{
    const int64_t count = ry_min(RY_W, s->channels - channel);
    if (s->ranges) {
        keep_ranges(t, count, &s->ranges[channel], 1);
    }
    if (s->totals) {
        float *to = s->totals + channel;
        const ry_vm lanes = ry_vm_first(count);
        ry_vf_store_m(to, lanes, ry_vf_add(ry_vf_load_m(to, lanes), t->total));
    }
}

/* RY_W channels of some pairs of places, a lane a channel. */
typedef struct pixels {
    const float *const *from;
    int64_t channel;
    ry_vm lanes;
    bool ranges;
    tally tally;
} pixels;

RY_INLINE pixels pixels_at(const wgrad_split_source *s, const int64_t splits, int64_t at,
                           int64_t channel)
{
    return (pixels){.from = s->positions_from + at,
                    .channel = channel,
                    .lanes = ry_vm_first(s->channels - channel),
                    .ranges = splits > 1 && s->ranges,
                    .tally = no_tally()};
}

RY_INLINE void load_pair(pixels *p, int i, ry_vf *even, ry_vf *odd)
{
    *even = ry_vf_load_m(p->from[2 * i] + p->channel, p->lanes);
    *odd = ry_vf_load_m(p->from[2 * i + 1] + p->channel, p->lanes);
    if (p->ranges) {
        widen(&p->tally, *even);
        widen(&p->tally, *odd);
    }
    p->tally.total = ry_vf_add(p->tally.total, ry_vf_add(*even, *odd));
}

/* The staged channel's places from `at` on, a lane a pair of places. */
RY_INLINE void load_staged(const float *row, int64_t at, ry_vf *even, ry_vf *odd)
{
    ry_vf_deinterleave(ry_vf_load(row + at), ry_vf_load(row + at + RY_W), even, odd);
}

RY_INLINE void rows_of_positions(const wgrad_split_source *s, const int64_t splits, uint16_t *to,
                                 int64_t row, int64_t part_step)
{
    for (int64_t at = 0; at < s->positions; at += PLACES) {
        for (int64_t c = 0; c < s->channels; c += RY_W) {
            square parts;
            pixels from = pixels_at(s, splits, at, c);
#pragma GCC unroll 16
            for (int i = 0; i < RY_W; i++) {
                ry_vf even, odd;
                load_pair(&from, i, &even, &odd);
#pragma GCC unroll 3
                for (int64_t part = 0; part < splits; part++) {
                    parts.part[part][i] = next_part(&even, &odd, part + 1 == splits);
                }
            }
            keep_tally(s, c, &from.tally);
            for (int64_t part = 0; part < splits; part++) {
                ry_vf_transpose(parts.part[part]);
                uint16_t *into = to + part * part_step + c * row + at;
#pragma GCC unroll 16
                for (int i = 0; i < RY_W; i++) {
                    store_pairs(into + i * row, parts.part[part][i]);
                }
            }
        }
    }
}

RY_INLINE void rows_of_channels(const wgrad_split_source *s, const int64_t splits, uint16_t *to,
                                int64_t row, int64_t part_step)
{
    for (int64_t c = 0; c < s->channels; c++, to += row) {
        stage_channel(s, c, s->stage);
        for (int64_t at = 0; at < s->positions; at += PLACES) {
            ry_vf even, odd;
            load_staged(s->stage, at, &even, &odd);
            for (int64_t part = 0; part < splits; part++) {
                store_pairs(to + part * part_step + at, next_part(&even, &odd, part + 1 == splits));
            }
        }
    }
}

/* Where 16 channels' pairs from place `at` on are stored. */
static uint16_t *pairs_at(uint16_t *to, int64_t splits, int64_t plane, int64_t at, int64_t c)
{
    return to + c / SPLIT_LANES * splits * plane + at * SPLIT_LANES + c % SPLIT_LANES * 2;
}

RY_INLINE void pairs_of_positions(const wgrad_split_source *s, const int64_t splits, int64_t plane,
                                  uint16_t *to)
{
    for (int64_t at = 0; at < s->positions; at += PLACES) {
        for (int64_t c = 0; c < s->channels; c += RY_W) {
            uint16_t *into = pairs_at(to, splits, plane, at, c);
            pixels from = pixels_at(s, splits, at, c);
#pragma GCC unroll 16
            for (int i = 0; i < RY_W; i++) {
                ry_vf even, odd;
                load_pair(&from, i, &even, &odd);
#pragma GCC unroll 3
                for (int64_t part = 0; part < splits; part++) {
                    store_pairs(into + part * plane + i * WGRAD_SPLIT_PAIR,
                                next_part(&even, &odd, part + 1 == splits));
                }
            }
            keep_tally(s, c, &from.tally);
        }
    }
}

RY_INLINE void pairs_of_channels(const wgrad_split_source *s, const int64_t splits, int64_t plane,
                                 uint16_t *to)
{
    for (int64_t c = 0; c < s->channels; c += RY_W) {
        for (int64_t i = 0; i < ry_min(RY_W, s->channels - c); i++) {
            stage_channel(s, c + i, s->stage + i * s->positions);
        }
        for (int64_t at = 0; at < s->positions; at += PLACES) {
            square parts;
#pragma GCC unroll 16
            for (int i = 0; i < RY_W; i++) {
                ry_vf even, odd;
                load_staged(s->stage + i * s->positions, at, &even, &odd);
#pragma GCC unroll 3
                for (int64_t part = 0; part < splits; part++) {
                    parts.part[part][i] = next_part(&even, &odd, part + 1 == splits);
                }
            }
            uint16_t *into = pairs_at(to, splits, plane, at, c);
            for (int64_t part = 0; part < splits; part++, into += plane) {
                ry_vf_transpose(parts.part[part]);
#pragma GCC unroll 16
                for (int i = 0; i < RY_W; i++) {
                    store_pairs(into + i * WGRAD_SPLIT_PAIR, parts.part[part][i]);
                }
            }
        }
    }
}

/* Pairs that begin at odd places, of those that begin at even ones: of a lane's second element and
 * the first of the lane 16 further. No tap reads beyond the last place. */
static void shift_pairs(const uint16_t *from, int64_t count, uint16_t *to)
{
    for (int64_t i = 0; i < count; i += 2 * RY_W) {
        const int64_t next = i + WGRAD_SPLIT_PAIR < count ? WGRAD_SPLIT_PAIR : 0;
        ry_vi low, high;
        memcpy(&low, from + i, sizeof low);
        memcpy(&high, from + i + next, sizeof high);
        const ry_vi pairs = ry_vi_next_pairs_bf16(low, high);
        memcpy(to + i, &pairs, sizeof pairs);
    }
}

RY_INLINE void pack_rows(const wgrad_split_source *s, const int64_t splits, uint16_t *to,
                         int64_t row, int64_t part_step)
{
    if (s->channel == 1) {
        rows_of_positions(s, splits, to, row, part_step);
    } else {
        rows_of_channels(s, splits, to, row, part_step);
    }
}

RY_INLINE void pack_pairs(const wgrad_split_source *s, const int64_t splits, int64_t plane,
                          uint16_t *to)
{
    if (s->channel == 1) {
        pairs_of_positions(s, splits, plane, to);
    } else {
        pairs_of_channels(s, splits, plane, to);
    }
}

/* The zeros of `rows` staged rows, which are in the same places for all channels; or of a place. */
static void clear(const wgrad_split_source *s, int64_t rows)
{
    const bool positions = s->channel == 1;
    for (int64_t i = 0; i < (positions ? 1 : rows); i++) {
        memset(s->stage + i * s->positions, 0,
               (size_t)(positions ? s->channels : s->positions) * sizeof *s->stage);
    }
    if (positions) {
        find_positions(s);
    }
}

void RY_ISA_SYMBOL(wgrad_split_pack_rows)(const wgrad_split_source *s, int64_t splits, uint16_t *to,
                                          int64_t row, int64_t part_step)
{
    clear(s, 1);
    switch (splits) {
    case 1: pack_rows(s, 1, to, row, part_step); break;
    case 2: pack_rows(s, 2, to, row, part_step); break;
    default: pack_rows(s, 3, to, row, part_step); break;
    }
}

void RY_ISA_SYMBOL(wgrad_split_pack_pairs)(const wgrad_split_source *s, int64_t splits,
                                           int64_t plane, uint16_t *to, uint16_t *odd)
{
    clear(s, RY_W);
    switch (splits) {
    case 1: pack_pairs(s, 1, plane, to); break;
    case 2: pack_pairs(s, 2, plane, to); break;
    default: pack_pairs(s, 3, plane, to); break;
    }
    for (int64_t i = 0; odd && i < ry_ceil_div(s->channels, SPLIT_LANES) * splits; i++) {
        shift_pairs(to + i * plane, plane, odd + i * plane);
    }
}
