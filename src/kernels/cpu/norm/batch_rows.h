/* SPDX-License-Identifier: Apache-2.0 */
/* What batch normalisation in training and its gradient share, for *_isa.c sources: blocks of
 * vectors of channels, the rows of a channel, and the order of phases. */
#ifndef RY_KERNELS_CPU_NORM_BATCH_ROWS_H
#define RY_KERNELS_CPU_NORM_BATCH_ROWS_H

#include "kernels/cpu/norm/batch_sums_plan.h"
#include "kernels/cpu/simd/lane_sums.h"

#include <math.h>

/* Vectors of channels that go down the positions at once: their sums stay in registers. */
enum { BATCH_VECTORS = RY_W == 16 ? 4 : 2 };

/* Floats that are read as `vectors` vectors, or as the masked part of one. */
typedef struct batch_block {
    int vectors;
    bool part;
    ry_vm mask; /* mask of the part */
} batch_block;

RY_INLINE ry_vf batch_load(batch_block b, const float *p)
{
    return b.part ? ry_vf_load_m(p, b.mask) : ry_vf_load(p);
}

RY_INLINE ry_vf batch_load_bf16(batch_block b, const uint16_t *p)
{
    return b.part ? ry_vf_load_bf16_m(p, b.mask) : ry_vf_load_bf16(p);
}

RY_INLINE void batch_store(batch_block b, float *p, ry_vf v)
{
    if (b.part) {
        ry_vf_store_m(p, b.mask, v);
    } else {
        ry_vf_store(p, v);
    }
}

/* Calls `each(block, at, ...)` for the floats 0 <= at < n, in blocks; the block is a constant of
 * each call. */
#define BATCH_EACH_BLOCK(n, each, ...)                                                            \
    do {                                                                                          \
        const int64_t batch_n_ = (n);                                                             \
        int64_t batch_at_ = 0;                                                                    \
        for (; batch_at_ + BATCH_VECTORS * RY_W <= batch_n_; batch_at_ += BATCH_VECTORS * RY_W) { \
            each((batch_block){.vectors = BATCH_VECTORS}, batch_at_, __VA_ARGS__);                \
        }                                                                                         \
        for (; batch_at_ + RY_W <= batch_n_; batch_at_ += RY_W) {                                 \
            each((batch_block){.vectors = 1}, batch_at_, __VA_ARGS__);                            \
        }                                                                                         \
        if (batch_at_ < batch_n_) {                                                               \
            each((batch_block){.vectors = 1,                                                      \
                               .part = true,                                                      \
                               .mask = ry_vm_first(batch_n_ - batch_at_)},                        \
                 batch_at_, __VA_ARGS__);                                                         \
        }                                                                                         \
    } while (0)

/* The bounds of an activation that clamps: ReLU, ReLU6 and clip. */
typedef struct batch_bounds {
    bool active;
    ry_vf low, high;
} batch_bounds;

RY_INLINE batch_bounds batch_bounds_of(ry_activation activation, double low, double high)
{
    const bool clip = activation == RY_activation_clip;
    return (batch_bounds){activation != RY_activation_none, ry_vf_set(clip ? (float)low : 0),
                          ry_vf_set(clip ? (float)high : INFINITY)};
}

/* The sum of the lanes of four vectors. */
RY_INLINE double batch_lanes(const ry_vf v[4])
{
    float sum[4];
    ry_vf_sum_four(v, sum);
    return ((double)sum[0] + (double)sum[1]) + ((double)sum[2] + (double)sum[3]);
}

/* What the two operators are made of: sums of part p of channel c (NHWC: of all channels), factors
 * and statistics of channel c from all parts' sums, which are at `slot`; and the result. */
typedef struct batch_work {
    const ry_cpu_launch *launch;
    const batch_sums_plan *s;
    batch_sums in;
} batch_work;

typedef void batch_part_fn(const batch_work *w, int64_t part, int64_t c, int64_t slot);
typedef void batch_join_fn(const batch_work *w, int64_t c, int64_t slot);

RY_INLINE void batch_run(const ry_cpu_launch *launch, size_t task, batch_part_fn *sums,
                         batch_join_fn *join, batch_part_fn *apply)
{
    const batch_sums_plan *s = launch->state;
    const bool whole = !s->last && !s->cut;
    const batch_work w = {
        launch, s,
        batch_sums_in(s, whole ? launch->scratch : launch->workspace, whole ? 1 : s->channels)};
    if (launch->phase == 1) {
        const ry_cut_range c = ry_cut_part(&s->joined, task);
        for (int64_t at = c.first; at < c.end; at++) {
            join(&w, at, at);
        }
        return;
    }
    const ry_cut_range units = ry_cut_part(&s->units, task);
    for (int64_t unit = units.first; unit < units.end; unit++) {
        if (whole) {
            for (int64_t p = 0; p < s->parts; p++) {
                sums(&w, p, unit, 0);
            }
            join(&w, unit, 0);
            for (int64_t p = s->parts - 1; p >= 0; p--) { /* the last ones are in the cache */
                apply(&w, p, unit, 0);
            }
        } else {
            const int64_t c = s->cut ? unit / s->parts : 0;
            (launch->phase == 0 ? sums : apply)(&w, s->cut ? unit % s->parts : unit, c, c);
        }
    }
}

#endif
