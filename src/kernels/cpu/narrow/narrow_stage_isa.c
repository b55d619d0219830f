/* SPDX-License-Identifier: Apache-2.0 */
/* Stages rows of x: as lines with zeros around them, from either layout, and parts the lines where the stride is above 1. */
#include "base/whole.h"
#include "kernels/cpu/narrow/narrow_stage.h"

#include "kernels/cpu/conv/lanes.h"

/* Where x lies in a line of `count` elements: [*first, *end). */
static void find_inside(const narrow_plan *plan, int64_t count, int64_t *first, int64_t *end)
{
    const int64_t before = plan->before[1], behind = plan->geometry.in[2] + before;
    *first = before < 0 ? 0 : ry_least(before, count);
    *end = behind < *first ? *first : ry_least(behind, count);
}

static void zero(float *to, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        to[i] = 0;
    }
}

/* One channel's row of x as a line; `x` is its column 0. */
static void read_line(const narrow_plan *plan, ry_dtype dtype, const char *x, int64_t count, float *to)
{
    const int64_t size = (int64_t)ry_dtype_size(dtype), step = plan->geometry.x_step[2];
    int64_t first, end;
    find_inside(plan, count, &first, &end);
    zero(to, first);
    const char *from = x + (first - plan->before[1]) * step * size;
    if (step != 1) {
        for (int64_t i = first; i < end; i++, from += step * size) {
            to[i] = ry_load_one(dtype, from);
        }
    } else if (dtype == RY_f32) {
        memcpy(to + first, from, (size_t)(end - first) * sizeof *to);
    } else {
        for (int64_t i = first; i < end; i += RY_W, from += RY_W * size) {
            const ry_vm some = ry_vm_first(end - i);
            ry_vf_store_m(to + i, some, ry_load_some(dtype, from, some));
        }
    }
    zero(to + end, count - end);
}

/* A row of x of RY_W channels that lie next to each other, the first `channels` of them, as lines `line` floats apart. Whole vectors are written. */
RY_INLINE void turn_text(const narrow_plan *plan, const ry_dtype dtype, const char *x, int64_t channels, int64_t count, float *to,
                         int64_t line)
{
    const int64_t size = dtype == RY_f32 ? 4 : 2, step = plan->geometry.x_step[2] * size;
    const ry_vm some = ry_vm_first(channels);
    int64_t first, end;
    find_inside(plan, count, &first, &end);
    for (int64_t i = 0; i < count; i += RY_W) {
        ry_vf v[RY_W];
        const char *from = x + (i - plan->before[1]) * step;
#pragma GCC unroll 16
        for (int j = 0; j < RY_W; j++) {
            v[j] = i + j >= first && i + j < end ? ry_load_some(dtype, from + j * step, some) : ry_vf_zero();
        }
        ry_vf_transpose(v);
#pragma GCC unroll 16
        for (int j = 0; j < RY_W; j++) {
            if (j < channels) {
                ry_vf_store(to + j * line + i, v[j]);
            }
        }
    }
}

static void turn_lines(const narrow_plan *plan, ry_dtype dtype, const char *x, int64_t channels, int64_t count, float *to, int64_t line)
{
    if (dtype == RY_f32) {
        turn_text(plan, RY_f32, x, channels, count, to, line);
    } else if (dtype == RY_f16) {
        turn_text(plan, RY_f16, x, channels, count, to, line);
    } else {
        turn_text(plan, RY_bf16, x, channels, count, to, line);
    }
}

/* Elements j, j + 3, j + 6, ... of three vectors. */
RY_INLINE ry_vf every_third(const ry_vf v[3], int j)
{
    int32_t low[RY_W], high[RY_W];
    uint32_t from_low = 0;
    for (int i = 0; i < RY_W; i++) {
        const int at = 3 * i + j;
        low[i] = at < 2 * RY_W ? at : 0;
        high[i] = at < 2 * RY_W ? 0 : at - RY_W;
        from_low |= at < 2 * RY_W ? 1u << i : 0u;
    }
    return ry_vf_or(ry_vf_pick(v[0], v[1], ry_vi_load(low), ry_vm_bits(from_low)),
                    ry_vf_pick(v[1], v[2], ry_vi_load(high), ry_vm_bits(~from_low & RY_EVERY_LANE)));
}

/* One vector of every plane's row from the line, `stride` vectors. */
RY_INLINE void part_vector(const int stride, const float *line, float *const to[NARROW_STRIDE_MOST], int64_t at)
{
    ry_vf v[NARROW_STRIDE_MOST], part[NARROW_STRIDE_MOST];
#pragma GCC unroll 4
    for (int i = 0; i < stride; i++) {
        v[i] = ry_vf_load(line + i * RY_W);
    }
    if (stride == 2) {
        ry_vf_part(v[0], v[1], &part[0], &part[1]);
    } else if (stride == 4) {
        ry_vf even[2], odd[2];
        ry_vf_part(v[0], v[1], &even[0], &odd[0]);
        ry_vf_part(v[2], v[3], &even[1], &odd[1]);
        ry_vf_part(even[0], even[1], &part[0], &part[2]);
        ry_vf_part(odd[0], odd[1], &part[1], &part[3]);
    } else {
#pragma GCC unroll 3
        for (int j = 0; j < 3; j++) {
            part[j] = every_third(v, j);
        }
    }
#pragma GCC unroll 4
    for (int i = 0; i < stride; i++) {
        if (to[i]) {
            ry_vf_store(to[i] + at, part[i]);
        }
    }
}

/* The rows of planes that a line holds; a whole vector behind each is written. */
static void part_line(const narrow_plan *plan, const float *line, float *const to[NARROW_STRIDE_MOST])
{
    for (int64_t i = 0; i < plan->pitch; i += RY_W) {
        switch (plan->geometry.stride[2]) {
        case 2: part_vector(2, line + 2 * i, to, i); break;
        case 3: part_vector(3, line + 3 * i, to, i); break;
        default: part_vector(4, line + 4 * i, to, i); break;
        }
    }
}

/* One row of the planes of residue `i` of an image, of all channels of the chunk. */
static void stage_row(const narrow_stage *s, int64_t image, int64_t i, int64_t row)
{
    const narrow_plan *plan = s->plan;
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t stride = g->stride[2], size = (int64_t)ry_dtype_size(s->dtype);
    const int64_t y = (s->row + row) * g->stride[1] + i - plan->before[0], at = (image * plan->image_rows + row) * plan->pitch;
    const bool inside = y >= 0 && y < g->in[1], turned = g->x_step[2] != 1 && g->x_channel == 1 && s->channels > 1;
    const int64_t line = ((plan->pitch + RY_W) * stride + RY_W - 1) / RY_W * RY_W, step = plan->planes * plan->plane;
    for (int64_t c = 0; c < s->channels; c++) {
        float *to[NARROW_STRIDE_MOST] = {NULL};
        for (int64_t j = 0; j < stride; j++) {
            to[j] = plan->slot[i][j] < 0 ? NULL : s->staged + c * step + plan->slot[i][j] * plan->plane + at;
            if (to[j] && !inside) {
                zero(to[j], plan->pitch);
            }
        }
        if (!inside) {
            continue;
        }
        const char *x = s->x + ((s->image + image) * g->x_batch + y * g->x_step[1] + (s->channel + c) * g->x_channel) * size;
        if (turned && c % RY_W == 0) {
            const int64_t channels = ry_least(RY_W, s->channels - c);
            turn_lines(plan, s->dtype, x, channels, plan->pitch * stride, stride == 1 ? to[0] : s->lines, stride == 1 ? step : line);
        } else if (!turned) {
            read_line(plan, s->dtype, x, plan->pitch * stride, stride == 1 ? to[0] : s->lines);
        }
        if (stride > 1) {
            part_line(plan, s->lines + (turned ? c % RY_W * line : 0), to);
        }
    }
}

void RY_ISA_SYMBOL(narrow_stage_chunk)(const narrow_stage *s)
{
    const narrow_plan *plan = s->plan;
    for (int64_t image = 0; image < s->images; image++) {
        for (int64_t row = 0; row < plan->image_rows; row++) {
            for (int64_t i = 0; i < plan->geometry.stride[1]; i++) {
                bool used = false;
                for (int64_t j = 0; j < plan->geometry.stride[2]; j++) {
                    used = used || plan->slot[i][j] >= 0;
                }
                if (used) {
                    stage_row(s, image, i, row);
                }
            }
        }
    }
}
