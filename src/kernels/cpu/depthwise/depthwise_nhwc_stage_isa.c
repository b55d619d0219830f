/* SPDX-License-Identifier: Apache-2.0 */
/* Stages rows of x as f32 with channels side by side. */
#include "kernels/cpu/depthwise/depthwise_nhwc.h"
#include "kernels/cpu/simd/lanes.h"

/* Some pixels of a row whose channels are side by side. */
RY_INLINE void convert_pixels(const depthwise_work *w, const ry_dtype dtype, const char *x,
                              float *to, int64_t pixels)
{
    const int64_t size = dtype == RY_f32 ? 4 : 2, step = w->plan->geometry.x_step[2] * size,
                  inputs = w->plan->inputs;
    for (int64_t p = 0; p < pixels; p++, x += step, to += inputs) {
        for (int64_t c = 0; c < w->inputs; c += RY_W) {
            ry_vf_store_first(to + c, w->inputs - c,
                              ry_load_masked(dtype, x + c * size, ry_vm_first(w->inputs - c)));
        }
    }
}

/* squares that are fetched before their turn: memory's prefetchers follow fewer rows than there
 * are */
enum { PREFETCHED = 4 };

/* Some neighbouring pixels of planes. */
RY_INLINE void transpose_pixels(const depthwise_work *w, const ry_dtype dtype, const char *x,
                                float *to, int64_t pixels)
{
    const int64_t size = dtype == RY_f32 ? 4 : 2, channel = w->plan->geometry.x_channel * size,
                  inputs = w->plan->inputs;
    for (int64_t c = 0; c < w->inputs; c += RY_W) {
        /* lanes behind the last channel repeat it */
        const char *from[RY_W];
        for (int64_t i = 0; i < RY_W; i++) {
            from[i] = x + (c + i < w->inputs ? c + i : w->inputs - 1) * channel;
        }
        for (int64_t p = 0; p < pixels; p += RY_W) {
            ry_vf v[RY_W];
            const int64_t count = pixels - p < RY_W ? pixels - p : RY_W,
                          next = p + PREFETCHED * RY_W;
            const ry_vm m = ry_vm_first(count);
            /* behind the last pixel follow the next channels' */
            const int64_t ahead =
                (next < pixels ? next * size : (next - pixels) * size + RY_W * channel);
#pragma GCC unroll 16
            for (int i = 0; i < RY_W; i++) {
                v[i] = ry_load_masked(dtype, from[i] + p * size, m);
                __builtin_prefetch(from[i] + ahead, 0, 3);
            }
            ry_vf_transpose(v);
            float *position = to + p * inputs + c;
            if (count == RY_W) {
#pragma GCC unroll 16
                for (int i = 0; i < RY_W; i++) {
                    ry_vf_store(position + i * inputs, v[i]);
                }
                continue;
            }
#pragma GCC unroll 16
            for (int i = 0; i < RY_W; i++) {
                if (i < count) {
                    ry_vf_store(position + i * inputs, v[i]);
                }
            }
        }
    }
}

typedef void (*stage_function)(const depthwise_work *w, const char *x, float *to, int64_t pixels);

#define STAGE(dtype)                                                                               \
    static void convert_##dtype(const depthwise_work *w, const char *x, float *to, int64_t pixels) \
    {                                                                                              \
        convert_pixels(w, RY_##dtype, x, to, pixels);                                              \
    }                                                                                              \
    static void transpose_##dtype(const depthwise_work *w, const char *x, float *to,               \
                                  int64_t pixels)                                                  \
    {                                                                                              \
        transpose_pixels(w, RY_##dtype, x, to, pixels);                                            \
    }
STAGE(f32)
STAGE(f16)
STAGE(bf16)

static const stage_function stages[3][2] = {
    {convert_f32, transpose_f32}, {convert_f16, transpose_f16}, {convert_bf16, transpose_bf16}};

/* Rows first to end - 1 of slice z, which are all inside x. */
static void stage_rows(const depthwise_work *w, int64_t z, int64_t first, int64_t end)
{
    const depthwise_nhwc_plan *plan = w->plan;
    const ry_conv_geometry *g = &plan->geometry;
    const ry_dtype dtype = ry_type_of(&w->launch->problem->in[0]);
    const stage_function stage = stages[dtype == RY_f16    ? 1
                                        : dtype == RY_bf16 ? 2
                                                           : 0][plan->planes_in];
    const int64_t size = (int64_t)ry_dtype_size(dtype);
    const char *x = (const char *)w->launch->in[0] +
                    (w->image * g->x_batch + w->input * g->x_channel + z * g->x_step[0]) * size;
    float *slice = w->ring + z % plan->slices * plan->plane;
    for (int64_t y = first; y < end;) {
        /* rows of planes without gaps are one */
        const int64_t slot = y % plan->ring,
                      left = end - y < plan->ring - slot ? end - y : plan->ring - slot;
        const int64_t rows = plan->planes_in && plan->dense_in ? left : 1;
        stage(w, x + y * g->x_step[1] * size, slice + slot * g->in[2] * plan->inputs,
              rows * g->in[2]);
        y += rows;
    }
}

static int64_t inside(int64_t at, int64_t end)
{
    return at < 0 ? 0 : at < end ? at : end;
}

void RY_ISA_SYMBOL(depthwise_nhwc_stage)(depthwise_work *w, int64_t z, int64_t y, int64_t height)
{
    const depthwise_nhwc_plan *plan = w->plan;
    const ry_conv_geometry *g = &plan->geometry;
    const int axis = g->in[0] > 1 ? 0 : 1;
    const int64_t line = axis ? y : z, lines = axis ? height : 1;
    const depthwise_axis *of = &plan->axis[axis];
    int64_t first = inside(line / of->classes * of->move + of->low, of->in);
    int64_t end = inside((line + lines - 1) / of->classes * of->move + of->high + 1, of->in);
    if (axis == 1 && plan->ring == g->in[1]) {
        /* there is room for all that the task reads of the plane */
        first = w->stage_first;
        end = w->stage_end;
    }
    first = first > w->staged_end ? first : w->staged_end;
    if (axis == 1) {
        stage_rows(w, 0, first, end);
    } else {
        for (int64_t i = first; i < end; i++) {
            stage_rows(w, i, 0, g->in[1]);
        }
    }
    w->staged_end = end > w->staged_end ? end : w->staged_end;
}
