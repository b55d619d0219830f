/* SPDX-License-Identifier: Apache-2.0 */
/* Gathers pixels into panels: vector by vector for x with pixels side by side, row by row for x with channels side by side. */
#include "kernels/cpu/conv/gather.h"

#include "kernels/cpu/conv/grid_walk.h"
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

/* run[t]: how many taps from t on lie in memory behind one another as they do in the panel: a row of a window without dilation, where pixels
 * have nothing but the chunk's channels between them. */
static void find_tap_runs(const ry_conv_geometry *g, const ry_conv_tap *tap, const igemm_chunk *chunk, int16_t *run)
{
    const int last = RY_SPACE - 1;
    for (int64_t t = chunk->taps - 1; t >= 0; t--) {
        const bool goes_on = t + 1 < chunk->taps && g->x_step[last] == chunk->channels && tap[t + 1].at[last] == tap[t].at[last] + 1 &&
                             tap[t + 1].offset == tap[t].offset + chunk->channels;
        run[t] = (int16_t)(goes_on ? run[t + 1] + 1 : 1);
    }
}

RY_INLINE void gather_pixel(const ry_dtype dtype, const ry_conv_geometry *g, const ry_conv_tap *tap, const igemm_chunk *chunk,
                            const int16_t *run, const int64_t q[RY_SPACE], const char *x, float *row)
{
    const int64_t size = dtype == RY_f16 || dtype == RY_bf16 ? 2 : 4, channels = chunk->channels;
    const int last = RY_SPACE - 1;
    for (int64_t t = 0; t < chunk->taps;) {
        const int64_t taps = run[t], pixel = q[last] * g->stride[last] + tap[t].at[last];
        int64_t begin = pixel < 0 ? -pixel : 0, end = g->in[last] - pixel < taps ? g->in[last] - pixel : taps;
        for (int i = 0; i < last; i++) {
            end = q[i] >= tap[t].first[i] && q[i] < tap[t].end[i] ? end : 0;
        }
        if (begin >= end) {
            begin = end = 0;
        }
        for (int64_t i = 0; i < begin * channels; i++) {
            row[i] = 0;
        }
        if (end > begin) {
            copy_row(dtype, row + begin * channels, x + (tap[t].offset + begin * channels + chunk->channel) * size,
                     (end - begin) * channels);
        }
        if (end < taps) {
            memset(row + end * channels, 0, (size_t)((taps - end) * channels) * sizeof *row);
        }
        t += taps;
        row += taps * channels;
    }
}

void RY_ISA_SYMBOL(igemm_gather_rows)(const igemm_plan *plan, const igemm_phase *phase, const igemm_chunk *chunk, int64_t image,
                                      int64_t first, int64_t count, ry_dtype dtype, const void *x, float *panel, int64_t row_step)
{
    const ry_conv_geometry *g = &plan->geometry;
    const ry_conv_tap *tap = (const ry_conv_tap *)((const char *)plan + plan->taps) + phase->at.first_tap + chunk->tap;
    const int64_t *grid = phase->at.grid, size = (int64_t)ry_dtype_size(dtype);
    int16_t run[IGEMM_CHUNK_MOST];
    find_tap_runs(g, tap, chunk, run);
    ry_grid_walk at = ry_grid_walk_at(&phase->at, image, first);
    for (int64_t p = 0; p < count; p++, panel += row_step) {
        const char *from = (const char *)x + ry_grid_walk_source(&at, g) * size;
        if (dtype == RY_f16) {
            gather_pixel(RY_f16, g, tap, chunk, run, at.q, from, panel);
        } else if (dtype == RY_bf16) {
            gather_pixel(RY_bf16, g, tap, chunk, run, at.q, from, panel);
        } else {
            gather_pixel(RY_f32, g, tap, chunk, run, at.q, from, panel);
        }
        ry_grid_walk_on(&at, grid, 1);
    }
}
