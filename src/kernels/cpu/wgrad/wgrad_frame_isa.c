/* SPDX-License-Identifier: Apache-2.0 */
/* Copies lines into frames: whole rows, every second element of a row, vectors of channels, or
 * element by element. */
#include "kernels/cpu/wgrad/wgrad_frame.h"

#include "base/integer.h"
#include "kernels/cpu/simd/simd.h"

/* What is copied: the element of a place is `at` and as many steps along each axis as the place's;
 * places outside of `there` are zeros. */
typedef struct frame_source {
    const float *at; /* the first image */
    int64_t image, step[WGRAD_SPACE];
    ry_window_range there[WGRAD_SPACE];
    int64_t channels; /* channels of a place, if a place is a vector */
    ry_vi order;      /* the channel of each lane */
    ry_vm line;       /* mask of the real channels, if a position is one vector */
} frame_source;

/* What is written behind the end of a line, less than a vector, the next one overwrites. */
static void put_zeros(float *to, int64_t count)
{
    for (int64_t i = 0; i < count; i += RY_W) {
        ry_vf_store(to + i, ry_vf_zero());
    }
}

static void put_row(const float *from, int64_t count, float *to)
{
    int64_t i = 0;
    for (; i + RY_W <= count; i += RY_W) {
        ry_vf_store(to + i, ry_vf_load(from + i));
    }
    if (i < count) {
        ry_vf_store(to + i, ry_vf_load_m(from + i, ry_vm_first(count - i)));
    }
}

static void put_evens(const float *from, int64_t count, float *to)
{
    int64_t i = 0;
    for (; i + RY_W <= count; i += RY_W) {
        ry_vf_store(to + i,
                    ry_vf_evens(ry_vf_load(from + 2 * i), ry_vf_load(from + 2 * i + RY_W - 1)));
    }
    const int64_t left = 2 * (count - i) - 1;
    if (left > 0) {
        from += 2 * i;
        const ry_vf high = left < RY_W
                               ? ry_vf_zero()
                               : ry_vf_load_m(from + RY_W - 1, ry_vm_first(left - RY_W + 1));
        ry_vf_store(to + i, ry_vf_evens(ry_vf_load_m(from, ry_vm_first(left)), high));
    }
}

static void put_channels(const frame_source *source, const float *from, int64_t count, float *to)
{
    const ry_vm some = ry_vm_first(source->channels);
    for (int64_t i = 0; i < count; i++, from += source->step[2], to += RY_W) {
        const ry_vf v = source->channels == RY_W ? ry_vf_load(from) : ry_vf_load_m(from, some);
        ry_vf_store(to, ry_vf_permute(v, source->order));
    }
}

/* A line of `places`, whose first place would be of element `from`. */
static void put_line(const frame_source *source, const float *from, int64_t positions,
                     int64_t lanes, float *to)
{
    const int64_t before = source->there[2].begin, end = source->there[2].end, count = end - before,
                  step = source->step[2];
    if (lanes == 1 && step == 1 && positions <= RY_W) {
        ry_vf_store(to, ry_vf_load_m(from, source->line));
        return;
    }
    from += before * step;
    float *first = to + before * lanes;
    put_zeros(to, before * lanes);
    if (lanes > 1) {
        put_channels(source, from, count, first);
    } else if (step == 1) {
        put_row(from, count, first);
    } else if (step == 2) {
        put_evens(from, count, first);
    } else {
        for (int64_t i = 0; i < count; i++) {
            first[i] = from[i * step];
        }
    }
    put_zeros(to + end * lanes, (positions - end) * lanes);
}

static void fill(const wgrad_direct_plan *plan, frame_source *source, int64_t images, float *to)
{
    const int64_t positions = plan->positions[2], floats = positions * plan->lanes;
    const ry_window_range *there = source->there;
    source->line =
        ry_vm_bits(((1u << (there[2].end & 31)) - 1) & ~((1u << (there[2].begin & 31)) - 1));
    for (int64_t image = 0; image < images; image++) {
        for (int64_t d = 0; d < plan->positions[0]; d++) {
            const float *plane = source->at + image * source->image + d * source->step[0];
            const bool inside = d >= there[0].begin && d < there[0].end;
            for (int64_t h = 0; h < plan->positions[1]; h++, to += floats) {
                if (inside && h >= there[1].begin && h < there[1].end) {
                    put_line(source, plane + h * source->step[1], positions, plan->lanes, to);
                } else {
                    put_zeros(to, floats);
                }
            }
        }
    }
    put_zeros(to, 2 * RY_W);
}

/* Lanes of a group read the same channel, number `channel` of it. */
static ry_vi order_of(int64_t each, int64_t channel)
{
    int32_t order[RY_W];
    for (int32_t lane = 0; lane < RY_W; lane++) {
        order[lane] = (int32_t)(lane / each * each + channel);
    }
    return ry_vi_load(order);
}

void RY_ISA_SYMBOL(wgrad_fill_x)(const wgrad_direct_plan *plan, const wgrad_frame *frame,
                                 int64_t lanes, int64_t channel, const float *x, float *to)
{
    const wgrad_shape *s = &plan->shape;
    const ry_vi order = order_of(s->c, channel);
    for (int64_t i = 0; i < plan->frames; i++, to += plan->frame) {
        const int64_t at[WGRAD_SPACE] = {i / plan->residues[2] / plan->residues[1],
                                         i / plan->residues[2] % plan->residues[1],
                                         i % plan->residues[2]};
        frame_source source = {.at = x + frame->image * s->x.image,
                               .image = s->x.image,
                               .channels = lanes,
                               .order = order};
        for (int j = 0; j < WGRAD_SPACE; j++) {
            const ry_window_axis *axis = &s->axis[j];
            const int64_t met = frame->from[j] * axis->stride + at[j] - axis->pad;
            source.there[j] = ry_window_inside(axis->in, met, axis->stride, plan->positions[j]);
            source.at += met * s->x.step[j];
            source.step[j] = axis->stride * s->x.step[j];
        }
        fill(plan, &source, frame->images, to);
    }
}

void RY_ISA_SYMBOL(wgrad_fill_dy)(const wgrad_direct_plan *plan, const wgrad_frame *frame,
                                  int64_t lanes, const float *dy, float *to)
{
    const wgrad_operand *o = &plan->shape.dy;
    frame_source source = {.at = dy + frame->image * o->image,
                           .image = o->image,
                           .channels = lanes,
                           .order = order_of(1, 0)};
    for (int i = 0; i < WGRAD_SPACE; i++) {
        source.at += frame->from[i] * o->step[i];
        source.step[i] = o->step[i];
        source.there[i].end = frame->count[i];
    }
    fill(plan, &source, frame->images, to);
}
