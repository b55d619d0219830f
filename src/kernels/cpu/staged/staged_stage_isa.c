/* SPDX-License-Identifier: Apache-2.0 */
/* Stages rows of x: as lines with zeros around them, from either layout, and parts the lines where
 * the stride is above 1; or as positions with their channels. */
#include "kernels/cpu/staged/staged_stage.h"

#include "base/integer.h"
#include "kernels/cpu/parts/epilogue.h"
#include "kernels/cpu/simd/deinterleave_row.h"

#include <string.h>

enum { ROWS_AT_ONCE = 64 }; /* rows of x staged channel by channel */

/* Where x is in a line of `count` elements: [*first, *end). */
static void find_inside(const staged_stage *s, int64_t count, int64_t *first, int64_t *end)
{
    const int64_t before = s->before, behind = s->plan->geometry.in[2] + before;
    *first = before < 0 ? 0 : ry_min(before, count);
    *end = behind < *first ? *first : ry_min(behind, count);
}

static void zero(float *to, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        to[i] = 0;
    }
}

/* One channel's row of x as a line; `x` is its column 0. */
static void read_line(const staged_stage *s, const char *x, int64_t count, float *to)
{
    const ry_dtype dtype = s->dtype;
    const int64_t size = (int64_t)ry_dtype_size(dtype), step = s->plan->geometry.x_step[2];
    int64_t first, end;
    find_inside(s, count, &first, &end);
    zero(to, first);
    const char *from = x + (first - s->before) * step * size;
    if (step != 1) {
        for (int64_t i = first; i < end; i++, from += step * size) {
            to[i] = ry_load_one(dtype, from);
        }
    } else if (dtype == RY_f32) {
        memcpy(to + first, from, (size_t)(end - first) * sizeof *to);
    } else {
        for (int64_t i = first; i < end; i += RY_W, from += RY_W * size) {
            const ry_vm some = ry_vm_first(end - i);
            ry_vf_store_m(to + i, some, ry_load_masked(dtype, from, some));
        }
    }
    zero(to + end, count - end);
}

/* A row of x of RY_W channels that are next to each other, the first `channels` of them, as lines
 * `line` floats apart. Full vectors are written. */
RY_INLINE void turn_text(const staged_stage *s, const ry_dtype dtype, const char *x,
                         int64_t channels, int64_t count, float *to, int64_t line)
{
    const int64_t size = dtype == RY_f32 ? 4 : 2, step = s->plan->geometry.x_step[2] * size;
    const ry_vm some = ry_vm_first(channels);
    int64_t first, end;
    find_inside(s, count, &first, &end);
    for (int64_t i = 0; i < count; i += RY_W) {
        ry_vf v[RY_W];
        const char *from = x + (i - s->before) * step;
        if (i >= first && i + RY_W <= end) {
#pragma GCC unroll 16
            for (int j = 0; j < RY_W; j++) {
                v[j] = ry_load_masked(dtype, from + j * step, some);
            }
        } else {
#pragma GCC unroll 16
            for (int j = 0; j < RY_W; j++) {
                v[j] = i + j >= first && i + j < end ? ry_load_masked(dtype, from + j * step, some)
                                                     : ry_vf_zero();
            }
        }
        ry_vf_transpose(v);
        const int64_t lines = channels < RY_W ? channels : RY_W;
        if (lines == RY_W) {
#pragma GCC unroll 16
            for (int j = 0; j < RY_W; j++) {
                ry_vf_store(to + j * line + i, v[j]);
            }
            continue;
        }
#pragma GCC unroll 16
        for (int j = 0; j < RY_W; j++) {
            if (j < lines) {
                ry_vf_store(to + j * line + i, v[j]);
            }
        }
    }
}

static void transpose_lines(const staged_stage *s, const char *x, int64_t channels, int64_t count,
                            float *to, int64_t line)
{
    if (s->dtype == RY_f32) {
        turn_text(s, RY_f32, x, channels, count, to, line);
    } else if (s->dtype == RY_f16) {
        turn_text(s, RY_f16, x, channels, count, to, line);
    } else {
        turn_text(s, RY_bf16, x, channels, count, to, line);
    }
}

#define PART(dtype, stride)                                                  \
    static void part_##dtype##_##stride(const ry_row_of_x *x, int64_t pitch, \
                                        float *const to[STAGED_MAX_STRIDE])  \
    {                                                                        \
        ry_deinterleave_row(RY_##dtype, stride, x, pitch, to);               \
    }
#define PARTS(dtype) PART(dtype, 1) PART(dtype, 2) PART(dtype, 3) PART(dtype, 4)
PARTS(f32)
PARTS(f16)
PARTS(bf16)

typedef void (*part_function)(const ry_row_of_x *x, int64_t pitch,
                              float *const to[STAGED_MAX_STRIDE]);
#define NAMES(dtype)                                                           \
    {                                                                          \
        part_##dtype##_1, part_##dtype##_2, part_##dtype##_3, part_##dtype##_4 \
    }
static const part_function parts[3][STAGED_MAX_STRIDE] = {NAMES(f32), NAMES(f16), NAMES(bf16)};

/* Where a task's row is stored. */
typedef struct staged_row {
    bool inside;   /* x has it */
    const char *x; /* its column 0 of the k block's first channel */
    /* the planes' rows of the k block's first channel; NULL: no tap reads it */
    float *to[STAGED_MAX_STRIDE];
} staged_row;

static void find_row(const staged_stage *s, int64_t image, int64_t residue, int64_t row,
                     staged_row *r)
{
    const staged_plan *plan = s->plan;
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t y = (s->row + row) * g->stride[1] + residue - plan->before[0],
                  at = (image * plan->image_rows + row) * plan->pitch;
    const int64_t from = (s->image + image) * g->x_batch + s->slice * g->x_step[0] +
                         y * g->x_step[1] + s->channel * g->x_channel;
    r->inside = y >= 0 && y < g->in[1];
    r->x = s->x + (r->inside ? from * (int64_t)ry_dtype_size(s->dtype) : 0);
    for (int64_t j = 0; j < g->stride[2]; j++) {
        r->to[j] = plan->slot[residue][j] < 0
                       ? NULL
                       : s->staged + plan->slot[residue][j] * plan->plane + at;
    }
}

/* The planes' rows of channel c. */
static void rows_of(const staged_plan *plan, const staged_row *r, int64_t c,
                    float *to[STAGED_MAX_STRIDE])
{
    for (int64_t j = 0; j < plan->geometry.stride[2]; j++) {
        to[j] = r->to[j] ? r->to[j] + c * plan->planes * plan->plane : NULL;
    }
}

static void zero_row(const staged_plan *plan, float *const to[STAGED_MAX_STRIDE])
{
    for (int64_t j = 0; j < plan->geometry.stride[2]; j++) {
        if (to[j]) {
            zero(to[j], plan->pitch);
        }
    }
}

/* Memory's prefetchers do not see that the next channel's row is next. */
static void fetch_row(const char *x, int64_t bytes)
{
    for (int64_t i = 0; i < bytes; i += 64) {
        __builtin_prefetch(x + i, 0, 3);
    }
}

/* x's pixels are next to each other: channel by channel, row by row, as memory likes it. */
static void stage_contiguous(const staged_stage *s, const staged_row *row, int64_t rows)
{
    const staged_plan *plan = s->plan;
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t size = (int64_t)ry_dtype_size(s->dtype);
    const part_function part = parts[s->dtype == RY_f16    ? 1
                                     : s->dtype == RY_bf16 ? 2
                                                           : 0][g->stride[2] - 1];
    ry_row_of_x x;
    find_inside(s, (plan->pitch + RY_W) * g->stride[2], &x.first, &x.end);
    for (int64_t c = 0; c < s->channels; c++) {
        for (int64_t i = 0; i < rows; i++) {
            float *to[STAGED_MAX_STRIDE] = {NULL};
            rows_of(plan, &row[i], c, to);
            if (row[i].inside) {
                x.column = row[i].x + (c * g->x_channel - s->before) * size;
                if (plan->fetches && c + 1 < s->channels) {
                    fetch_row(x.column + g->x_channel * size, plan->pitch * g->stride[2] * size);
                }
                part(&x, plan->pitch, to);
            } else {
                zero_row(plan, to);
            }
        }
    }
}

/* One row of all channels of the k block, by way of lines. */
static void stage_lines(const staged_stage *s, const staged_row *r)
{
    const staged_plan *plan = s->plan;
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t stride = g->stride[2], size = (int64_t)ry_dtype_size(s->dtype),
                  count = plan->pitch * stride;
    const bool transposed = g->x_channel == 1 && s->channels > 1;
    const int64_t line = ((plan->pitch + RY_W) * stride + RY_W - 1) / RY_W * RY_W,
                  step = plan->planes * plan->plane;
    for (int64_t c = 0; c < s->channels; c++) {
        float *to[STAGED_MAX_STRIDE] = {NULL};
        rows_of(plan, r, c, to);
        if (!r->inside) {
            zero_row(plan, to);
            continue;
        }
        const char *x = r->x + c * g->x_channel * size;
        if (transposed && c % RY_W == 0) {
            transpose_lines(s, x, ry_min(RY_W, s->channels - c), count,
                            stride == 1 ? to[0] : s->lines, stride == 1 ? step : line);
        } else if (!transposed) {
            read_line(s, x, count, stride == 1 ? to[0] : s->lines);
        }
        if (stride > 1) {
            const ry_row_of_x from = {(const char *)(s->lines + (transposed ? c % RY_W * line : 0)),
                                      0, line};
            parts[0][stride - 1](&from, plan->pitch, to);
        }
    }
}

static bool is_used(const staged_plan *plan, int64_t residue)
{
    bool used = false;
    for (int64_t j = 0; j < plan->geometry.stride[2]; j++) {
        used = used || plan->slot[residue][j] >= 0;
    }
    return used;
}

/* CHANNELS: one row of x as [position][channel]; NULL: zeros. */
static void stage_positions(const staged_stage *s, const float *x, float *to)
{
    const staged_plan *plan = s->plan;
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t channels = g->channels_in;
    int64_t first, end;
    find_inside(s, plan->pitch / channels, &first, &end);
    if (!x || end <= first) {
        zero(to, plan->pitch);
        return;
    }
    zero(to, first * channels);
    zero(to + end * channels, plan->pitch - end * channels);
    x += (first - s->before) * g->x_step[2];
    to += first * channels;
    const int64_t count = end - first;
    if (g->x_step[2] == channels && (g->x_channel == 1 || channels == 1)) {
        memcpy(to, x, (size_t)(count * channels) * sizeof *to);
        return;
    }
    const int64_t interleave =
        g->x_step[2] == 1 && channels > 1 && channels <= 4 ? count / RY_W * RY_W : 0;
    if (interleave > 0) {
        RY_ISA_SYMBOL(interleave)(x, g->x_channel, channels, interleave, to);
    }
    for (int64_t c = 0; c < channels; c++) {
        for (int64_t i = interleave; i < count; i++) {
            to[i * channels + c] = x[c * g->x_channel + i * g->x_step[2]];
        }
    }
}

static void stage_channels(const staged_stage *s)
{
    const staged_plan *plan = s->plan;
    const ry_conv_geometry *g = &plan->geometry;
    for (int64_t i = 0; i < plan->image_rows; i++) {
        const int64_t y = s->row * g->stride[1] + i - plan->before[0];
        const float *x =
            (const float *)(const void *)s->x + s->image * g->x_batch + y * g->x_step[1];
        stage_positions(s, y >= 0 && y < g->in[1] ? x : NULL, s->staged + i * plan->pitch);
    }
}

void RY_ISA_SYMBOL(staged_stage_k_block)(const staged_stage *s)
{
    const staged_plan *plan = s->plan;
    if (plan->form == STAGED_CHANNELS) {
        stage_channels(s);
        return;
    }
    const bool cached = plan->geometry.x_step[2] == 1 || plan->geometry.in[2] == 1;
    staged_row row[ROWS_AT_ONCE];
    int64_t rows = 0;
    for (int64_t image = 0; image < s->images; image++) {
        for (int64_t i = 0; i < plan->image_rows * plan->geometry.stride[1]; i++) {
            const int64_t residue = i % plan->geometry.stride[1];
            if (!is_used(plan, residue)) {
                continue;
            }
            find_row(s, image, residue, i / plan->geometry.stride[1], &row[rows]);
            if (!cached) {
                stage_lines(s, &row[rows]);
            } else if (++rows == ROWS_AT_ONCE) {
                stage_contiguous(s, row, rows);
                rows = 0;
            }
        }
    }
    stage_contiguous(s, row, rows);
}
