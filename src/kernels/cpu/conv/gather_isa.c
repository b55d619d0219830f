/* SPDX-License-Identifier: Apache-2.0 */
/* Gathers pixels into panels: vector by vector for x with pixels side by side, row by row for x with channels side by side. */
#include "kernels/cpu/conv/gather.h"

#include "kernels/cpu/conv/lanes.h"

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
                ry_vf value = ry_load_lanes(dtype, near, x + e->offset * size, lane_step, e->mask);
                while (e->more) {
                    e++;
                    value = ry_vf_or(value, ry_load_lanes(dtype, near, x + e->offset * size, lane_step, e->mask));
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
SLIVER(f32, RY_NEAR)
SLIVER(f32, RY_EVERY_SECOND)
SLIVER(f32, RY_EVERY_FOURTH)
SLIVER(f32, RY_APART)
SLIVER(f16, RY_NEAR)
SLIVER(f16, RY_EVERY_SECOND)
SLIVER(f16, RY_EVERY_FOURTH)
SLIVER(f16, RY_APART)
SLIVER(bf16, RY_NEAR)
SLIVER(bf16, RY_EVERY_SECOND)
SLIVER(bf16, RY_EVERY_FOURTH)
SLIVER(bf16, RY_APART)

typedef const igemm_entry *(*sliver_function)(const igemm_entry *program, const igemm_chunk *chunk, int64_t vectors, const char *x,
                                              int64_t channel_step, int64_t lane_step, float *panel, int64_t step);

static const sliver_function slivers[3][RY_LANE_STEPS] = {
    {gather_f32_RY_NEAR, gather_f32_RY_EVERY_SECOND, gather_f32_RY_EVERY_FOURTH, gather_f32_RY_APART},
    {gather_f16_RY_NEAR, gather_f16_RY_EVERY_SECOND, gather_f16_RY_EVERY_FOURTH, gather_f16_RY_APART},
    {gather_bf16_RY_NEAR, gather_bf16_RY_EVERY_SECOND, gather_bf16_RY_EVERY_FOURTH, gather_bf16_RY_APART},
};

void RY_ISA_SYMBOL(igemm_gather)(const igemm_plan *plan, const igemm_chunk *chunk, const igemm_entry *program, int64_t vectors,
                                 int64_t sliver, ry_dtype dtype, const void *x, float *panel)
{
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t lane_step = g->stride[RY_SPACE - 1] * g->x_step[RY_SPACE - 1], size = (int64_t)ry_dtype_size(dtype);
    const int near = ry_lane_steps(lane_step);
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
        ry_vf_store(to + i, ry_load_whole(dtype, from + i * size));
    }
    if (i < n) {
        /* rows have room behind them (row_step) for a whole vector */
        ry_vf_store(to + i, ry_load_some(dtype, from + i * size, ry_vm_first(n - i)));
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
