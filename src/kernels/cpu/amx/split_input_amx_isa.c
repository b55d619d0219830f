/* SPDX-License-Identifier: Apache-2.0 */
/* Copies a row of x as parts in bfloat16, with its padding, and finds the range of its magnitudes.
 */
#include "base/room.h"
#include "kernels/cpu/amx/split_conv.h"
#include "kernels/cpu/simd/simd.h"

typedef struct lanes {
    uint32_t low[SPLIT_STEP], high[SPLIT_STEP];
} lanes;

/* One step of channels of one pixel; the loops are for vectorisers. */
static inline __attribute__((always_inline)) void
split_step(const float *from, int64_t parts, uint16_t *to, int64_t part_step, lanes *range)
{
    uint32_t bits[SPLIT_STEP];
    memcpy(bits, from, sizeof bits);
    for (int i = 0; i < SPLIT_STEP; i++) {
        const uint32_t magnitude = bits[i] & 0x7fffffffu, less = magnitude - 1;
        range->low[i] = less < range->low[i] ? less : range->low[i];
        range->high[i] = magnitude > range->high[i] ? magnitude : range->high[i];
    }
    for (int64_t p = 0; p < parts; p++) {
        for (int i = 0; i < SPLIT_STEP; i++) {
            uint32_t left;
            to[p * part_step + i] = (uint16_t)(split_next_part(bits[i], &left) >> 16);
            bits[i] = left;
        }
    }
}

typedef struct row {
    const split_plan *plan;
    const float *x; /* position 0 of the row, first channel of the group */
    uint16_t *to;   /* position 0 of the first plane */
    int64_t plane;  /* elements from plane to plane of the row */
    float *stage;
    lanes range;
} row;

/* The offset of a pixel from `to`; -1 if no tap reads the pixel. */
static int64_t position_of(const split_plan *plan, int64_t plane, int64_t position)
{
    const int64_t stride = plan->geometry.stride[2], at = position - plan->origin[2];
    if (at < 0 || at >= plan->extent[2]) {
        return -1;
    }
    const int64_t residue = plan->residue[2][at % stride];
    return residue < 0 ? -1 : residue * plane + at / stride * plan->pitch;
}

/* stage[position][channel] of `count` positions and a step of channels. */
static void stage_strip(const row *r, int64_t first, int64_t count, int64_t channel,
                        int64_t channels)
{
    const ry_conv_geometry *g = &r->plan->geometry;
    const float *from = r->x + first * g->x_step[2] + channel * g->x_channel;
    if (channels < SPLIT_STEP) {
        memset(r->stage, 0, (size_t)(count * SPLIT_STEP) * sizeof *r->stage);
    }
    if (g->x_step[2] != 1) {
        for (int64_t i = 0; i < count; i++) {
            for (int64_t c = 0; c < channels; c++) {
                r->stage[i * SPLIT_STEP + c] = from[i * g->x_step[2] + c * g->x_channel];
            }
        }
        return;
    }
    for (int64_t c = 0; c < channels; c += RY_W) {
        for (int64_t i = 0; i < count; i += RY_W) {
            const ry_vm mask = ry_vm_first(count - i);
            ry_vf v[RY_W];
#pragma GCC unroll 16
            for (int k = 0; k < RY_W; k++) {
                v[k] = c + k < channels ? ry_vf_load_m(from + (c + k) * g->x_channel + i, mask)
                                        : ry_vf_zero();
            }
            ry_vf_transpose(v);
#pragma GCC unroll 16
            for (int k = 0; k < RY_W; k++) {
                if (i + k < count) {
                    ry_vf_store(r->stage + (i + k) * SPLIT_STEP + c, v[k]);
                }
            }
        }
    }
}

static inline __attribute__((always_inline)) void split_strip(row *r, int64_t first, int64_t count,
                                                              int64_t channel, int64_t parts)
{
    const ry_conv_geometry *g = &r->plan->geometry;
    const int64_t left = g->channels_in - channel, channels = left < SPLIT_STEP ? left : SPLIT_STEP,
                  part_step = r->plan->steps * SPLIT_STEP;
    const bool in_place = g->x_channel == 1 && channels == SPLIT_STEP;
    if (!in_place) {
        stage_strip(r, first, count, channel, channels);
    }
    for (int64_t i = 0; i < count; i++) {
        const int64_t position = position_of(r->plan, r->plane, first + i);
        if (position >= 0) {
            const float *from =
                in_place ? r->x + (first + i) * g->x_step[2] + channel : r->stage + i * SPLIT_STEP;
            split_step(from, parts, r->to + position + channel, part_step, &r->range);
        }
    }
}

/* Zeros where planes are outside x. */
static void pad_row(const row *r, bool all)
{
    const split_plan *plan = r->plan;
    const int64_t stride = plan->geometry.stride[2];
    for (int64_t residue = 0; residue < stride; residue++) {
        const int64_t number = plan->residue[2][residue];
        for (int64_t i = 0; number >= 0 && i < plan->plane[2]; i++) {
            const int64_t position = i * stride + residue + plan->origin[2];
            if (all || position < 0 || position >= plan->geometry.in[2] ||
                i * stride + residue >= plan->extent[2]) {
                memset(r->to + number * r->plane + i * plan->pitch, 0,
                       (size_t)plan->pitch * sizeof *r->to);
            }
        }
    }
}

static void fill_row(row *r)
{
    const ry_conv_geometry *g = &r->plan->geometry;
    for (int64_t first = 0; first < g->in[2]; first += SPLIT_STRIP) {
        const int64_t count = g->in[2] - first < SPLIT_STRIP ? g->in[2] - first : SPLIT_STRIP;
        for (int64_t channel = 0; channel < g->channels_in; channel += SPLIT_STEP) {
            switch (r->plan->parts) {
            case 1: split_strip(r, first, count, channel, 1); break;
            case 2: split_strip(r, first, count, channel, 2); break;
            default: split_strip(r, first, count, channel, 3); break;
            }
        }
    }
}

void RY_ISA_SYMBOL(split_row)(const split_plan *plan, const float *x, void *workspace,
                              int64_t index, float *stage)
{
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t part = index / plan->rows, at[2] = {index % plan->rows / plan->extent[1],
                                                      index % plan->rows % plan->extent[1]};
    row r = {.plan = plan,
             .x = x + part / g->groups * g->x_batch +
                  part % g->groups * g->channels_in * g->x_channel,
             .to = RY_AT(uint16_t, workspace, plan->copies) + part * plan->copy,
             .plane = plan->plane[0] * plan->plane[1] * plan->plane[2] * plan->pitch,
             .stage = stage};
    split_range *range = (split_range *)workspace + index;
    *range = (split_range){UINT32_MAX, 0};
    bool inside = true;
    int64_t planes = 0, pixels = 0;
    for (int i = 0; i < 2; i++) {
        const int64_t residue = plan->residue[i][at[i] % g->stride[i]],
                      position = at[i] + plan->origin[i];
        if (residue < 0) {
            return;
        }
        planes = planes * plan->stored[i] + residue;
        pixels = pixels * plan->plane[i] + at[i] / g->stride[i];
        inside = inside && position >= 0 && position < g->in[i];
        r.x += position * g->x_step[i];
    }
    r.to += planes * plan->stored[2] * r.plane + pixels * plan->plane[2] * plan->pitch;
    pad_row(&r, !inside);
    if (!inside) {
        return;
    }
    for (int i = 0; i < SPLIT_STEP; i++) {
        r.range.low[i] = UINT32_MAX;
    }
    fill_row(&r);
    for (int i = 0; i < SPLIT_STEP; i++) {
        range->low = r.range.low[i] < range->low ? r.range.low[i] : range->low;
        range->high = r.range.high[i] > range->high ? r.range.high[i] : range->high;
    }
}
