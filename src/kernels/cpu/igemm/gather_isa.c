/* SPDX-License-Identifier: Apache-2.0 */
/* Gathers pixels into panels: vector by vector for x with pixels side by side, row by row for x
 * with channels side by side. */
#include "kernels/cpu/igemm/gather.h"

#include "base/integer.h"
#include "kernels/cpu/parts/grid_walk.h"
#include "kernels/cpu/parts/tile_lines.h"
#include "kernels/cpu/simd/lanes.h"

/* How the pixels of neighbouring lanes are stored: next to each other, a step apart that
 * permutations bridge, or further. */
enum { NEAR, PICKED, APART, STEPS };

enum {
    PREFETCH_LOADS = 64, /* vector loads between a prefetch and its use */
    /* pixels of one tap prefetched: hardware prefetchers do not bridge the gap between pixels */
    PREFETCH_PIXELS = 3
};

#define EVERY_ELEMENT ((uint32_t)((1ull << (2 * RY_W)) - 1u))

/* `lane`: where the lanes' pixels are stored; `ahead`: from here to what is fetched for later. */
RY_INLINE ry_vf load_entry(const ry_dtype dtype, const int steps, const char *x,
                           const igemm_entry *e, int64_t lane_step, ry_vi lane, int64_t ahead)
{
    const int64_t size = dtype == RY_f16 || dtype == RY_bf16 ? 2 : 4;
    const char *from = x + e->offset * size, *behind = from + RY_W * size;
    __builtin_prefetch(from + ahead, 0, 3);
    if (steps == PICKED) {
        __builtin_prefetch(behind + ahead, 0, 3);
    }
    if (steps != PICKED) {
        return ry_load_lanes(dtype, steps == NEAR ? RY_UNIT_STRIDE : RY_APART, from, lane_step,
                             e->mask);
    }
    const ry_vi index = ry_vi_add(lane, ry_vi_set(-(int32_t)e->shift));
    const ry_vm keep = ry_vm_bits(e->mask);
    if (e->reads == EVERY_ELEMENT) {
        return ry_vf_permute2(ry_load_full(dtype, from), ry_load_full(dtype, behind), index, keep);
    }
    return ry_vf_permute2(ry_load_masked(dtype, from, ry_vm_bits(e->reads & RY_EVERY_LANE)),
                          ry_load_masked(dtype, behind, ry_vm_bits(e->reads >> RY_W)), index, keep);
}

/* One micro-panel: `vectors` vectors a step of k; panel rows `step` floats apart. Returns where the
 * program goes on. */
RY_INLINE const igemm_entry *gather_micropanel(const ry_dtype dtype, const int steps,
                                               const igemm_entry *program,
                                               const igemm_k_block *k_block, int64_t vectors,
                                               const char *x, int64_t channel_step,
                                               int64_t lane_step, float *panel, int64_t step)
{
    const igemm_entry *e = program;
    int32_t lanes[RY_W];
    for (int i = 0; i < RY_W; i++) {
        lanes[i] = steps == PICKED ? i * (int32_t)lane_step : 0;
    }
    const ry_vi lane = ry_vi_load(lanes);
    /* memory's prefetchers do not see that the next channels follow: they are fetched some hundred
     * cycles before */
    const int64_t distance = 1 + PREFETCH_LOADS / (1 + k_block->taps * vectors);
    for (int64_t c = 0; c < k_block->channels; c++, x += channel_step) {
        const int64_t ahead = c + distance < k_block->channels ? distance * channel_step : 0;
        e = program;
        for (int64_t t = 0; t < k_block->taps; t++, panel += step) {
            for (int64_t v = 0; v < vectors; v++) {
                ry_vf value = load_entry(dtype, steps, x, e, lane_step, lane, ahead);
                while (e->more) {
                    e++;
                    value = ry_vf_or(value, load_entry(dtype, steps, x, e, lane_step, lane, ahead));
                }
                e++;
                ry_vf_store(panel + v * RY_W, value);
            }
        }
    }
    return e;
}

#define MICROPANEL(dtype, steps)                                                                  \
    static const igemm_entry *gather_##dtype##_##steps(                                           \
        const igemm_entry *program, const igemm_k_block *k_block, int64_t vectors, const char *x, \
        int64_t channel_step, int64_t lane_step, float *panel, int64_t step)                      \
    {                                                                                             \
        return gather_micropanel(RY_##dtype, steps, program, k_block, vectors, x, channel_step,   \
                                 lane_step, panel, step);                                         \
    }
MICROPANEL(f32, NEAR)
MICROPANEL(f32, PICKED)
MICROPANEL(f32, APART)
MICROPANEL(f16, NEAR)
MICROPANEL(f16, PICKED)
MICROPANEL(f16, APART)
MICROPANEL(bf16, NEAR)
MICROPANEL(bf16, PICKED)
MICROPANEL(bf16, APART)

typedef const igemm_entry *(*micropanel_function)(const igemm_entry *program,
                                                  const igemm_k_block *k_block, int64_t vectors,
                                                  const char *x, int64_t channel_step,
                                                  int64_t lane_step, float *panel, int64_t step);

static const micropanel_function micropanels[3][STEPS] = {
    {gather_f32_NEAR, gather_f32_PICKED, gather_f32_APART},
    {gather_f16_NEAR, gather_f16_PICKED, gather_f16_APART},
    {gather_bf16_NEAR, gather_bf16_PICKED, gather_bf16_APART},
};

void RY_ISA_SYMBOL(igemm_gather)(const igemm_plan *plan, const igemm_k_block *k_block,
                                 const igemm_entry *program, int64_t vectors, int64_t micropanel,
                                 ry_dtype dtype, const void *x, float *panel)
{
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t lane_step = igemm_lane_step(g), size = (int64_t)ry_dtype_size(dtype);
    const int steps = lane_step == 1                             ? NEAR
                      : igemm_permute_lanes(lane_step, RY_W) > 0 ? PICKED
                                                                 : APART;
    const micropanel_function gather = micropanels[dtype == RY_f16    ? 1
                                                   : dtype == RY_bf16 ? 2
                                                                      : 0][steps];
    for (int64_t v = 0; v < vectors; v += micropanel) {
        const int64_t here = vectors - v < micropanel ? vectors - v : micropanel;
        program =
            gather(program, k_block, here, (const char *)x + k_block->channel * g->x_channel * size,
                   g->x_channel * size, lane_step, panel, here * RY_W);
        panel += here * RY_W * k_block->depth;
    }
}

RY_INLINE void copy_row(const ry_dtype dtype, float *to, const char *from, int64_t n)
{
    const int64_t size = dtype == RY_f16 || dtype == RY_bf16 ? 2 : 4;
    int64_t i = 0;
    for (; i + RY_W <= n; i += RY_W) {
        ry_vf_store(to + i, ry_load_full(dtype, from + i * size));
    }
    if (i < n) {
        /* rows have room behind them (row_step) for a full vector */
        ry_vf_store(to + i, ry_load_masked(dtype, from + i * size, ry_vm_first(n - i)));
    }
}

/* run[t]: how many taps from t on are in memory behind one another as they do in the panel: a row
 * of a window without dilation, where pixels have nothing but the k block's channels between them.
 */
static void find_tap_runs(const ry_conv_geometry *g, const ry_conv_tap *tap,
                          const igemm_k_block *k_block, int16_t *run)
{
    const int last = RY_SPACE - 1;
    for (int64_t t = k_block->taps - 1; t >= 0; t--) {
        const bool goes_on = t + 1 < k_block->taps && g->x_step[last] == k_block->channels &&
                             tap[t + 1].at[last] == tap[t].at[last] + 1 &&
                             tap[t + 1].offset == tap[t].offset + k_block->channels;
        run[t] = (int16_t)(goes_on ? run[t + 1] + 1 : 1);
    }
}

RY_INLINE void gather_pixel(const ry_dtype dtype, const ry_conv_geometry *g, const ry_conv_tap *tap,
                            const igemm_k_block *k_block, const int16_t *run,
                            const int64_t q[RY_SPACE], const char *x, const int32_t fill,
                            float *row)
{
    const int64_t size = dtype == RY_f16 || dtype == RY_bf16 ? 2 : 4, channels = k_block->channels;
    const int last = RY_SPACE - 1;
    for (int64_t t = 0; t < k_block->taps;) {
        const int64_t taps = run[t], pixel = q[last] * g->stride[last] + tap[t].at[last];
        int64_t begin = pixel < 0 ? -pixel : 0,
                end = g->in[last] - pixel < taps ? g->in[last] - pixel : taps;
        for (int i = 0; i < last; i++) {
            end = q[i] >= tap[t].first[i] && q[i] < tap[t].end[i] ? end : 0;
        }
        if (begin >= end) {
            begin = end = 0;
        }
        for (int64_t i = 0; i < begin * channels; i++) {
            memcpy(&row[i], &fill, sizeof fill);
        }
        if (end > begin) {
            copy_row(dtype, row + begin * channels,
                     x + (tap[t].offset + begin * channels + k_block->channel) * size,
                     (end - begin) * channels);
        }
        for (int64_t i = end * channels; i < taps * channels; i++) {
            memcpy(&row[i], &fill, sizeof fill);
        }
        t += taps;
        row += taps * channels;
    }
}

/* The runs of taps of a k block, for pixels whose taps all read inside x. */
typedef struct inner_runs {
    int64_t begin[RY_SPACE], end[RY_SPACE]; /* grid positions of these pixels */
    int64_t count;
    struct {
        int64_t from, length; /* elements: from the pixel's place in x; of the run */
    } run[IGEMM_MAX_K_BLOCK];
} inner_runs;

static void find_inner_runs(const ry_conv_tap *tap, const igemm_k_block *k_block,
                            const int16_t *run, const int64_t *grid, inner_runs *inner)
{
    inner->count = 0;
    for (int i = 0; i < RY_SPACE; i++) {
        inner->begin[i] = 0;
        inner->end[i] = grid[i];
        for (int64_t t = 0; t < k_block->taps; t++) {
            inner->begin[i] = ry_max(inner->begin[i], tap[t].first[i]);
            inner->end[i] = ry_min(inner->end[i], tap[t].end[i]);
        }
    }
    for (int64_t t = 0; t < k_block->taps; t += run[t]) {
        inner->run[inner->count].from = tap[t].offset + k_block->channel;
        inner->run[inner->count++].length = run[t] * k_block->channels;
    }
}

static bool is_inner(const inner_runs *inner, const int64_t q[RY_SPACE])
{
    bool inside = true;
    for (int i = 0; i < RY_SPACE; i++) {
        inside = inside && q[i] >= inner->begin[i] && q[i] < inner->end[i];
    }
    return inside;
}

RY_INLINE void gather_inner(const ry_dtype dtype, const inner_runs *inner, const char *x,
                            float *row)
{
    const int64_t size = dtype == RY_f16 || dtype == RY_bf16 ? 2 : 4;
    for (int64_t r = 0; r < inner->count; r++) {
        copy_row(dtype, row, x + inner->run[r].from * size, inner->run[r].length);
        row += inner->run[r].length;
    }
}

static void fetch_run(const char *from, int64_t bytes)
{
    for (int64_t i = 0; i < bytes; i += RY_LINE_BYTES) {
        __builtin_prefetch(from + i, 0, 3);
    }
}

#define GATHER(type)                                                                  \
    if (inside) {                                                                     \
        gather_inner(RY_##type, &inner, from, panel);                                 \
    } else {                                                                          \
        gather_pixel(RY_##type, g, tap, k_block, run, at.q, from, plan->fill, panel); \
    }

void RY_ISA_SYMBOL(igemm_gather_rows)(const igemm_plan *plan, const igemm_phase *phase,
                                      const igemm_k_block *k_block, int64_t image, int64_t first,
                                      int64_t count, ry_dtype dtype, const void *x, float *panel,
                                      int64_t row_step)
{
    const ry_conv_geometry *g = &plan->geometry;
    const ry_conv_tap *tap = igemm_phase_taps(plan, phase) + k_block->tap;
    const int64_t *grid = phase->where.at.grid, size = (int64_t)ry_dtype_size(dtype);
    int16_t run[IGEMM_MAX_K_BLOCK];
    inner_runs inner;
    find_tap_runs(g, tap, k_block, run);
    find_inner_runs(tap, k_block, run, grid, &inner);
    const bool fetches = k_block->taps == 1 && plan->from_memory;
    ry_grid_walk at = ry_grid_walk_at(&phase->where.at, image, first, phase->where.alternating);
    ry_grid_walk next =
        ry_grid_walk_at(&phase->where.at, image, first + PREFETCH_PIXELS, phase->where.alternating);
    for (int64_t p = 0; p < count; p++, panel += row_step) {
        const char *from = (const char *)x + ry_grid_walk_source(&at, g) * size;
        if (fetches) {
            fetch_run((const char *)x +
                          (ry_grid_walk_source(&next, g) + tap->offset + k_block->channel) * size,
                      k_block->channels * size);
            ry_grid_walk_on(&next, grid, 1);
        }
        const bool inside = is_inner(&inner, at.q);
        if (dtype == RY_f16) {
            GATHER(f16)
        } else if (dtype == RY_bf16) {
            GATHER(bf16)
        } else {
            GATHER(f32)
        }
        ry_grid_walk_on(&at, grid, 1);
    }
}
