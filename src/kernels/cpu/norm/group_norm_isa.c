/* SPDX-License-Identifier: Apache-2.0 */
/* Group normalisation (instance normalisation where each channel is a group), f32, NCHW and NHWC:
 * moments of parts, then their joining and the result, in phases. A part of NHWC has all groups,
 * which are joined in a phase of their own. Parts are fixed by the shape alone, and are joined in
 * their order. */
#include "kernels/cpu/norm/group_norm_plan.h"

#include "kernels/cpu/norm/row_moments.h"
#include "kernels/cpu/parts/cpu_kernel.h"

#include <math.h>

/* Vectors of channels that go down the positions at once: their sums stay in registers. */
enum { VECTORS = 4 };

/* Channels that are read as `vectors` vectors, or as part of one. */
typedef struct block {
    int vectors;
    bool part;
    ry_vm mask; /* mask of the part */
} block;

RY_INLINE ry_vf load(const block *b, const float *p)
{
    return b->part ? ry_vf_load_m(p, b->mask) : ry_vf_load(p);
}

RY_INLINE void store(const block *b, float *p, ry_vf v)
{
    if (b->part) {
        ry_vf_store_m(p, b->mask, v);
    } else {
        ry_vf_store(p, v);
    }
}

/* Over `count` positions: the sums of differences from the first position's values, and of their
 * squares. */
RY_INLINE void sum_block(block b, const float *x, int64_t count, int64_t channels, float *sum,
                         float *squares)
{
    ry_vf minus[VECTORS], s[VECTORS], q[VECTORS];
    for (int v = 0; v < b.vectors; v++) {
        minus[v] = ry_vf_mul(load(&b, x + v * RY_W), ry_vf_set(-1));
        s[v] = q[v] = ry_vf_zero();
    }
    for (int64_t i = 0; i < count; i++) {
        for (int v = 0; v < b.vectors; v++) {
            const ry_vf d = ry_vf_add(load(&b, x + i * channels + v * RY_W), minus[v]);
            s[v] = ry_vf_add(s[v], d);
            q[v] = ry_vf_fma(d, d, q[v]);
        }
    }
    for (int v = 0; v < b.vectors; v++) {
        store(&b, sum + v * RY_W, s[v]);
        store(&b, squares + v * RY_W, q[v]);
    }
}

/* Joins the moments of a group's channels, from each channel's sums over n positions. */
static ry_moments group_moments(const group_norm_plan *s, int64_t group, const float *x, double n,
                                const float *sum, const float *squares)
{
    const int64_t first = group * s->width, end = first + s->width;
    const double share = 1 / n, start = (double)x[first];
    double mean = 0, gaps = 0;
    for (int64_t c = first; c < end; c++) {
        mean += ((double)x[c] - start) + (double)sum[c] * share;
    }
    mean = start + mean / (double)s->width;
    for (int64_t c = first; c < end; c++) {
        const double t = (double)sum[c] * share, d = ((double)x[c] - mean) + t;
        gaps += (double)squares[c] - (double)sum[c] * t + n * d * d;
    }
    return (ry_moments){n * (double)s->width, mean, gaps};
}

/* NHWC: sums for each channel, then groups. */
static void moments_last(const group_norm_plan *s, const float *x, int64_t count, float *scratch,
                         ry_moments *out)
{
    const int64_t channels = s->channels;
    float *sum = scratch, *squares = scratch + channels;
    int64_t at = 0;
    for (; at + VECTORS * RY_W <= channels; at += VECTORS * RY_W) {
        sum_block((block){.vectors = VECTORS}, x + at, count, channels, sum + at, squares + at);
    }
    for (; at < channels; at += RY_W) {
        sum_block((block){.vectors = 1,
                          .part = true,
                          .mask = ry_vm_first(channels - at < RY_W ? channels - at : RY_W)},
                  x + at, count, channels, sum + at, squares + at);
    }
    for (int64_t g = 0; g < s->groups; g++) {
        out[g * s->parts] = group_moments(s, g, x, (double)count, sum, squares);
    }
}

/* y = (x - mean) * factor + offset, at each of `count` positions. */
RY_INLINE void apply_block(block b, float *y, const float *x, int64_t count, int64_t channels,
                           const float *minus, const float *factor, const float *offset)
{
    ry_vf m[VECTORS], f[VECTORS], o[VECTORS];
    for (int v = 0; v < b.vectors; v++) {
        m[v] = load(&b, minus + v * RY_W);
        f[v] = load(&b, factor + v * RY_W);
        o[v] = load(&b, offset + v * RY_W);
    }
    for (int64_t i = 0; i < count; i++) {
        for (int v = 0; v < b.vectors; v++) {
            const int64_t at = i * channels + v * RY_W;
            store(&b, y + at, ry_vf_fma(ry_vf_add(load(&b, x + at), m[v]), f[v], o[v]));
        }
    }
}

/* The mean comes in two parts, so that a difference of large numbers is exact. */
static void apply_last(const ry_cpu_launch *launch, const group_norm_plan *s,
                       const ry_moments *moments, int64_t first, int64_t count, float *scratch)
{
    const int64_t channels = s->channels;
    const float *scale = launch->in[1], *bias = launch->in[2],
                *x = (const float *)launch->in[0] + first;
    float *minus = scratch, *factor = minus + channels, *offset = factor + channels,
          *y = (float *)launch->out[0] + first;
    for (int64_t g = 0; g < s->groups; g++) {
        const ry_moments m = moments[g * s->parts];
        const double inverse =
            1 / sqrt(m.squares / m.count + launch->problem->attrs.group_norm.epsilon);
        const float mean = (float)m.mean;
        for (int64_t c = g * s->width; c < (g + 1) * s->width; c++) {
            const double by = inverse * (double)scale[c];
            minus[c] = -mean;
            factor[c] = (float)by;
            offset[c] = (float)((double)bias[c] - (m.mean - (double)mean) * by);
        }
    }
    int64_t at = 0;
    for (; at + VECTORS * RY_W <= channels; at += VECTORS * RY_W) {
        apply_block((block){.vectors = VECTORS}, y + at, x + at, count, channels, minus + at,
                    factor + at, offset + at);
    }
    for (; at < channels; at += RY_W) {
        apply_block((block){.vectors = 1,
                            .part = true,
                            .mask = ry_vm_first(channels - at < RY_W ? channels - at : RY_W)},
                    y + at, x + at, count, channels, minus + at, factor + at, offset + at);
    }
}

/* Elements [from, to) of group g, channel after channel. */
static void apply_first(const ry_cpu_launch *launch, const group_norm_plan *s, ry_moments m,
                        int64_t group, int64_t from, int64_t to)
{
    const float *scale = launch->in[1], *bias = launch->in[2];
    double inverse = 1 / sqrt(m.squares / m.count + launch->problem->attrs.group_norm.epsilon);
    int64_t base = group * s->width * s->spatial;
    while (from < to) {
        int64_t in_group = from / s->spatial, c = group % s->groups * s->width + in_group;
        int64_t end = (in_group + 1) * s->spatial < to ? (in_group + 1) * s->spatial : to;
        float mean = (float)m.mean;
        ry_row_apply((float *)launch->out[0] + base + from,
                     (const float *)launch->in[0] + base + from, end - from, mean,
                     (float)(m.mean - (double)mean), (float)(inverse * (double)scale[c]), bias[c]);
        from = end;
    }
}

static void run(const ry_cpu_launch *launch, size_t task)
{
    const group_norm_plan *s = launch->state;
    if (s->last && launch->phase == 1) {
        ry_moments *all = (ry_moments *)launch->workspace + (int64_t)task * s->parts;
        *all = ry_moments_join_all(all, s->parts);
        return;
    }
    ry_cut_range range[RY_CUT_AXES];
    ry_cut_task(&s->cut, task, range);
    const int64_t unit = range[0].first, from = range[1].first, to = range[1].end,
                  part = (int64_t)task % s->parts;
    ry_moments *moments = launch->workspace;
    moments += unit * s->parts * (s->last ? s->groups : 1);
    float *scratch = launch->scratch;
    if (s->last) {
        int64_t at = (unit * s->spatial + from) * s->channels;
        if (launch->phase == 0) {
            moments_last(s, (const float *)launch->in[0] + at, to - from, scratch, moments + part);
        } else {
            apply_last(launch, s, moments, at, to - from, scratch);
        }
    } else if (launch->phase == 0) {
        moments[part] = ry_row_moments(
            (const float *)launch->in[0] + unit * s->cut.axis[1].extent + from, to - from);
    } else {
        apply_first(launch, s, ry_moments_join_all(moments, s->parts), unit, from, to);
    }
}

RY_CPU_KERNEL(group_norm_f32, group_norm, strict, .simd = RY_SIMD,
              .applicable = ry_group_norm_applicable, .prepare = ry_group_norm_prepare,
              .initialise = ry_group_norm_initialise, .run = run);
