/* SPDX-License-Identifier: Apache-2.0 */
/* Stages padded input rows: whole vectors with masks, so that edges cost what the interior does. */
#include "kernels/cpu/conv/direct.h"
#include "kernels/cpu/conv/lanes.h"

enum { MASKS = 64 }; /* vectors of a row whose masks are kept; those beyond it are made again for each row */

typedef struct plane {
    const direct_plan *plan;
    const char *x;       /* the channel */
    int64_t first, rows; /* staged rows */
    int64_t i, j;        /* row and column of the plane in its stride */
    float *to;
} plane;

static int64_t clamp(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

/* Lanes of vector v of a plane's row that are inside x. */
static uint32_t lanes_of(const plane *p, int64_t v)
{
    const ry_conv_geometry *g = &p->plan->geometry;
    const int64_t step = g->stride[2], column = p->j - p->plan->before[1], first = v * RY_W;
    const int64_t begin = clamp(column < 0 ? (-column + step - 1) / step : 0, first, first + RY_W) - first;
    const int64_t most = p->plan->pitch < first + RY_W ? p->plan->pitch : first + RY_W;
    const int64_t end = clamp(g->in[2] > column ? (g->in[2] - column + step - 1) / step : 0, first, most) - first;
    return end <= begin ? 0 : (uint32_t)((1ull << end) - (1ull << begin));
}

RY_INLINE void stage_plane(const ry_dtype dtype, const int near, const plane *p)
{
    const direct_plan *plan = p->plan;
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t size = dtype == RY_f32 ? 4 : 2, step = g->stride[2], vectors = (plan->pitch + RY_W - 1) / RY_W;
    uint32_t mask[MASKS];
    for (int64_t v = 0; v < vectors && v < MASKS; v++) {
        mask[v] = lanes_of(p, v);
    }
    float *to = p->to;
    for (int64_t r = 0; r < p->rows; r++, to += plan->pitch) {
        const int64_t y = (p->first + r) * g->stride[1] + p->i - plan->before[0];
        /* what a row's last vector writes behind its end is written again by the next row, or is not read */
        if (y < 0 || y >= g->in[1]) {
            for (int64_t v = 0; v < vectors; v++) {
                ry_vf_store(to + v * RY_W, ry_vf_zero());
            }
            continue;
        }
        const char *row = p->x + (y * g->x_step[1] + p->j - plan->before[1]) * size;
        for (int64_t v = 0; v < vectors; v++) {
            const uint32_t m = v < MASKS ? mask[v] : lanes_of(p, v);
            ry_vf_store(to + v * RY_W, ry_load_lanes(dtype, near, row + v * RY_W * step * size, step, m));
        }
    }
}

#define STAGE(dtype, near)                             \
    static void stage_##dtype##_##near(const plane *p) \
    {                                                  \
        stage_plane(RY_##dtype, near, p);              \
    }
STAGE(f32, RY_NEAR)
STAGE(f32, RY_EVERY_SECOND)
STAGE(f32, RY_EVERY_FOURTH)
STAGE(f32, RY_APART)
STAGE(f16, RY_NEAR)
STAGE(f16, RY_EVERY_SECOND)
STAGE(f16, RY_EVERY_FOURTH)
STAGE(f16, RY_APART)
STAGE(bf16, RY_NEAR)
STAGE(bf16, RY_EVERY_SECOND)
STAGE(bf16, RY_EVERY_FOURTH)
STAGE(bf16, RY_APART)

static void (*const stages[3][RY_LANE_STEPS])(const plane *p) = {
    {stage_f32_RY_NEAR, stage_f32_RY_EVERY_SECOND, stage_f32_RY_EVERY_FOURTH, stage_f32_RY_APART},
    {stage_f16_RY_NEAR, stage_f16_RY_EVERY_SECOND, stage_f16_RY_EVERY_FOURTH, stage_f16_RY_APART},
    {stage_bf16_RY_NEAR, stage_bf16_RY_EVERY_SECOND, stage_bf16_RY_EVERY_FOURTH, stage_bf16_RY_APART},
};

void RY_ISA_SYMBOL(direct_stage)(const direct_plan *plan, const ry_cpu_launch *launch, int64_t image, int64_t group, int64_t first_row,
                                 int64_t rows, float *to)
{
    const ry_conv_geometry *g = &plan->geometry;
    const ry_dtype dtype = ry_type_of(&launch->problem->in[0]);
    plane p = {.plan = plan, .first = first_row, .rows = rows + plan->plane / plan->pitch - plan->rows};
    for (int64_t c = 0; c < g->channels_in; c++, to += plan->channel) {
        p.x = (const char *)launch->in[0] +
              (image * g->x_batch + (group * g->channels_in + c) * g->x_channel) * (int64_t)ry_dtype_size(dtype);
        for (int64_t k = 0; k < g->stride[1] * g->stride[2]; k++) {
            if (plan->planes_used >> k & 1u) {
                p.i = k / g->stride[2];
                p.j = k % g->stride[2];
                p.to = to + k * plan->plane;
                stages[dtype == RY_f16 ? 1 : dtype == RY_bf16 ? 2 : 0][ry_lane_steps(g->stride[2])](&p);
            }
        }
    }
}
