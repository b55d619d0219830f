/* SPDX-License-Identifier: Apache-2.0 */
/* Gathers pixels into panels: vector by vector for x with pixels side by side, row by row for x with channels side by side. */
#include "kernels/cpu/conv/gather.h"

enum { NEAR, EVERY_SECOND, EVERY_FOURTH, APART }; /* how the pixels of neighbouring lanes lie in x */

static const uint32_t every_lane = (uint32_t)((1ull << RY_W) - 1u);

/* Bit i of a mask to bit 2 i. */
static inline uint32_t spread(uint32_t m)
{
    m = (m | m << 8) & 0x00ff00ffu;
    m = (m | m << 4) & 0x0f0f0f0fu;
    m = (m | m << 2) & 0x33333333u;
    return (m | m << 1) & 0x55555555u;
}

RY_INLINE ry_vf load_whole(const ry_dtype dtype, const void *p)
{
    return dtype == RY_f16 ? ry_vf_load_f16(p) : dtype == RY_bf16 ? ry_vf_load_bf16(p) : ry_vf_load(p);
}

RY_INLINE ry_vf load_some(const ry_dtype dtype, const void *p, ry_vm m)
{
    return dtype == RY_f16 ? ry_vf_load_f16_m(p, m) : dtype == RY_bf16 ? ry_vf_load_bf16_m(p, m) : ry_vf_load_m(p, m);
}

RY_INLINE float load_one(const ry_dtype dtype, const char *p)
{
    if (dtype == RY_f16 || dtype == RY_bf16) {
        uint16_t bits;
        memcpy(&bits, p, sizeof bits);
        return dtype == RY_f16 ? ry_f16_to_f32(bits) : ry_bf16_to_f32(bits);
    }
    float x;
    memcpy(&x, p, sizeof x);
    return x;
}

/* Elements 0, 2, 4, ... from p on, of lanes whose bit 2 i is set. */
RY_INLINE ry_vf load_seconds(const ry_dtype dtype, const char *p, uint32_t bits)
{
    const int64_t size = dtype == RY_f16 || dtype == RY_bf16 ? 2 : 4;
    return ry_vf_evens(load_some(dtype, p, ry_vm_bits(bits & every_lane)),
                       load_some(dtype, p + (RY_W - 1) * size, ry_vm_bits((bits >> (RY_W - 1)) & every_lane)));
}

RY_INLINE ry_vf load_lanes(const ry_dtype dtype, const int near, const char *p, int64_t step, uint32_t mask)
{
    const int64_t size = dtype == RY_f16 || dtype == RY_bf16 ? 2 : 4;
    if (near == NEAR) {
        return mask == every_lane ? load_whole(dtype, p) : load_some(dtype, p, ry_vm_bits(mask));
    }
    if (near == EVERY_SECOND) {
        const char *high = p + (RY_W - 1) * size;
        if (mask == every_lane) {
            return ry_vf_evens(load_whole(dtype, p), load_whole(dtype, high));
        }
        return load_seconds(dtype, p, spread(mask));
    }
    if (near == EVERY_FOURTH) {
        /* every second of every second; the second half begins at element 2 (RY_W - 1) */
        const uint64_t bits = (uint64_t)spread(spread(mask & 0xffu)) | (uint64_t)spread(spread(mask >> 8)) << 32;
        return ry_vf_evens(load_seconds(dtype, p, (uint32_t)(bits & ((1ull << (2 * RY_W - 1)) - 1))),
                           load_seconds(dtype, p + 2 * (RY_W - 1) * size, (uint32_t)(bits >> (2 * (RY_W - 1)))));
    }
    float lanes[RY_W];
    for (int64_t i = 0; i < RY_W; i++) {
        lanes[i] = mask >> i & 1u ? load_one(dtype, p + i * step * size) : 0.0f;
    }
    return ry_vf_load(lanes);
}

/* One sliver: `vectors` vectors a step of k; panel rows `step` floats apart. Returns where the program goes on. */
RY_INLINE const igemm_entry *gather_sliver(const ry_dtype dtype, const int near, const igemm_entry *program, const igemm_chunk *chunk,
                                           int64_t vectors, const char *x, int64_t channel_step, int64_t lane_step, float *panel,
                                           int64_t step)
{
    const igemm_entry *e = program;
    const int64_t size = dtype == RY_f16 || dtype == RY_bf16 ? 2 : 4;
    for (int64_t c = 0; c < chunk->channels; c++, x += channel_step) {
        e = program;
        for (int64_t t = 0; t < chunk->taps; t++, panel += step) {
            for (int64_t v = 0; v < vectors; v++) {
                ry_vf value = load_lanes(dtype, near, x + e->offset * size, lane_step, e->mask);
                while (e->more) {
                    e++;
                    value = ry_vf_or(value, load_lanes(dtype, near, x + e->offset * size, lane_step, e->mask));
                }
                e++;
                ry_vf_store(panel + v * RY_W, value);
            }
        }
    }
    return e;
}

#define SLIVER(dtype, near)                                                                                                               \
    static const igemm_entry *gather_##dtype##_##near(const igemm_entry *program, const igemm_chunk *chunk, int64_t vectors,              \
                                                      const char *x, int64_t channel_step, int64_t lane_step, float *panel, int64_t step) \
    {                                                                                                                                     \
        return gather_sliver(RY_##dtype, near, program, chunk, vectors, x, channel_step, lane_step, panel, step);                         \
    }
SLIVER(f32, NEAR)
SLIVER(f32, EVERY_SECOND)
SLIVER(f32, EVERY_FOURTH)
SLIVER(f32, APART)
SLIVER(f16, NEAR)
SLIVER(f16, EVERY_SECOND)
SLIVER(f16, EVERY_FOURTH)
SLIVER(f16, APART)
SLIVER(bf16, NEAR)
SLIVER(bf16, EVERY_SECOND)
SLIVER(bf16, EVERY_FOURTH)
SLIVER(bf16, APART)

typedef const igemm_entry *(*sliver_function)(const igemm_entry *program, const igemm_chunk *chunk, int64_t vectors, const char *x,
                                              int64_t channel_step, int64_t lane_step, float *panel, int64_t step);

static const sliver_function slivers[3][4] = {
    {gather_f32_NEAR, gather_f32_EVERY_SECOND, gather_f32_EVERY_FOURTH, gather_f32_APART},
    {gather_f16_NEAR, gather_f16_EVERY_SECOND, gather_f16_EVERY_FOURTH, gather_f16_APART},
    {gather_bf16_NEAR, gather_bf16_EVERY_SECOND, gather_bf16_EVERY_FOURTH, gather_bf16_APART},
};

void RY_ISA_SYMBOL(igemm_gather)(const igemm_plan *plan, const igemm_chunk *chunk, const igemm_entry *program, int64_t vectors,
                                 int64_t sliver, ry_dtype dtype, const void *x, float *panel)
{
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t lane_step = g->stride[RY_SPACE - 1] * g->x_step[RY_SPACE - 1], size = (int64_t)ry_dtype_size(dtype);
    const int near = lane_step == 1 ? NEAR : lane_step == 2 ? EVERY_SECOND : lane_step == 4 ? EVERY_FOURTH : APART;
    const sliver_function gather = slivers[dtype == RY_f16 ? 1 : dtype == RY_bf16 ? 2 : 0][near];
    for (int64_t v = 0; v < vectors; v += sliver) {
        const int64_t here = vectors - v < sliver ? vectors - v : sliver;
        program = gather(program, chunk, here, (const char *)x + chunk->channel * g->x_channel * size, g->x_channel * size, lane_step,
                         panel, here * RY_W);
        panel += here * RY_W * chunk->depth;
    }
}

RY_INLINE void copy_row(const ry_dtype dtype, float *to, const char *from, int64_t n)
{
    const int64_t size = dtype == RY_f16 || dtype == RY_bf16 ? 2 : 4;
    int64_t i = 0;
    for (; i + RY_W <= n; i += RY_W) {
        ry_vf_store(to + i, load_whole(dtype, from + i * size));
    }
    if (i < n) {
        /* rows have room behind them (row_step) for a whole vector */
        ry_vf_store(to + i, load_some(dtype, from + i * size, ry_vm_first(n - i)));
    }
}

RY_INLINE void gather_pixel(const ry_dtype dtype, const igemm_plan *plan, const ry_conv_tap *tap, const igemm_chunk *chunk,
                            const int64_t q[RY_SPACE], const char *x, float *row)
{
    const int64_t size = dtype == RY_f16 || dtype == RY_bf16 ? 2 : 4;
    for (int64_t t = 0; t < chunk->taps; t++, tap++, row += chunk->channels) {
        bool inside = true;
        for (int i = 0; i < RY_SPACE; i++) {
            inside = inside && q[i] >= tap->first[i] && q[i] < tap->end[i];
        }
        if (!inside) {
            memset(row, 0, (size_t)chunk->channels * sizeof *row);
            continue;
        }
        copy_row(dtype, row, x + (tap->offset + chunk->channel * plan->geometry.x_channel) * size, chunk->channels);
    }
}

void RY_ISA_SYMBOL(igemm_gather_rows)(const igemm_plan *plan, const igemm_phase *phase, const igemm_chunk *chunk, int64_t image,
                                      int64_t first, int64_t count, ry_dtype dtype, const void *x, float *panel, int64_t row_step)
{
    const ry_conv_geometry *g = &plan->geometry;
    const ry_conv_tap *tap = (const ry_conv_tap *)((const char *)plan + plan->taps) + phase->at.first_tap + chunk->tap;
    const int64_t *grid = phase->at.grid, size = (int64_t)ry_dtype_size(dtype);
    int64_t n = image + first / phase->at.pixels, rest = first % phase->at.pixels;
    int64_t q[RY_SPACE] = {rest / (grid[1] * grid[2]), rest / grid[2] % grid[1], rest % grid[2]};
    for (int64_t p = 0; p < count; p++, panel += row_step) {
        int64_t at = n * g->x_batch;
        for (int i = 0; i < RY_SPACE; i++) {
            at += q[i] * g->stride[i] * g->x_step[i];
        }
        const char *from = (const char *)x + at * size;
        if (dtype == RY_f16) {
            gather_pixel(RY_f16, plan, tap, chunk, q, from, panel);
        } else if (dtype == RY_bf16) {
            gather_pixel(RY_bf16, plan, tap, chunk, q, from, panel);
        } else {
            gather_pixel(RY_f32, plan, tap, chunk, q, from, panel);
        }
        q[2]++;
        for (int i = RY_SPACE - 1; i > 0 && q[i] == grid[i]; i--) {
            q[i] = 0;
            q[i - 1]++;
        }
        if (q[0] == grid[0]) {
            q[0] = 0;
            n++;
        }
    }
}
