/* SPDX-License-Identifier: Apache-2.0 */
/* Joins the taps of axes, and sums pixels of every element type by them. */
#include "kernels/cpu/sample/points.h"

#include "base/room.h"
#include "kernels/cpu/simd/simd.h"

/* The taps of one pass over a block: tap k of position i is pixel[k * pitch + i] (-1: none). */
typedef struct table {
    void *pixel;
    bool far;     /* is it of int64_t? */
    void *weight; /* SUM */
    int64_t count, taps, pitch;
    bool first, last; /* is it the first pass, the last? */
    bool largest;
} table;

#define RY_LANE_TEXT "kernels/cpu/sample/points_lanes.h"
#include "kernels/cpu/sample/each_type.h"

typedef void (*reader)(const table *t, const ry_points_memory *m, void *carried);

typedef struct readers {
    reader planes, pixels, picks;
} readers;

#define READERS(type)                              \
    {                                              \
        planes_##type, pixels_##type, picks_##type \
    }

static const readers all_readers[] = {RY_LANE_TABLE(READERS)};

/* Joins a tap of axis `a` to those of the axes before it. */
#define JOIN(type)                                                                            \
    static void join_##type(const ry_points_plan *plan, const ry_points_axis *axis, int a,    \
                            int64_t tap, const table *t, int64_t to, double *restrict weight) \
    {                                                                                         \
        const int64_t from = tap * plan->axis_length;                                         \
        const type *restrict index = (const type *)axis[a].index + from;                      \
        const double *restrict w = axis[a].weight + from;                                     \
        const int32_t *restrict position = axis[a].position;                                  \
        const type size = (type)plan->size[a];                                                \
        type *restrict pixel = (type *)t->pixel + to;                                         \
        for (int64_t i = 0; i < t->count; i++) {                                              \
            const int64_t j = position ? position[i] : i;                                     \
            const type at = index[j], before = a > 0 ? pixel[i] : 0;                          \
            pixel[i] = (at | before) < 0 ? -1 : before * size + at;                           \
            weight[i] = a > 0 ? weight[i] * w[j] : w[j];                                      \
        }                                                                                     \
    }
JOIN(int32_t)
JOIN(int64_t)

/* Taps k .. k + t->taps - 1 of all: the axes' taps in every combination, the last axis fastest. */
static void join_axes(const ry_points_plan *plan, const ry_points_axis *axis, int64_t k, table *t)
{
    double weight[RY_POINTS_BLOCK];
    for (int64_t tap = 0; tap < t->taps; tap++) {
        int64_t digit[RY_MAX_RANK], rest = k + tap;
        for (int a = plan->rank - 1; a >= 0; a--) {
            digit[a] = rest % axis[a].taps;
            rest /= axis[a].taps;
        }
        for (int a = 0; a < plan->rank; a++) {
            (t->far ? join_int64_t : join_int32_t)(plan, axis, a, digit[a], t, tap * t->pitch,
                                                   weight);
        }
        for (int64_t i = 0; !plan->wide && i < t->count; i++) {
            ((float *)t->weight)[tap * t->pitch + i] = (float)weight[i];
        }
        for (int64_t i = 0; plan->wide && i < t->count; i++) {
            ((double *)t->weight)[tap * t->pitch + i] = weight[i];
        }
    }
}

/* All channels by one pass. */
static void one_pass(const ry_points_plan *plan, const ry_points_axis *axis, table *t,
                     const ry_points_memory *memory)
{
    const readers *r = &all_readers[plan->dtype];
    join_axes(plan, axis, 0, t);
    (plan->picks ? r->picks : plan->last ? r->pixels : r->planes)(t, memory, NULL);
}

void RY_ISA_SYMBOL(points_run)(const ry_points_plan *plan, const ry_points_axis *axis,
                               int64_t count, const ry_points_memory *memory, void *scratch)
{
    int64_t taps = 1;
    for (int a = 0; a < plan->rank; a++) {
        taps *= axis[a].taps;
    }
    table t = {.pixel = (char *)scratch + plan->pixel,
               .far = plan->far,
               .weight = (char *)scratch + plan->weight,
               .count = count,
               .taps = taps,
               .pitch = plan->block,
               .first = true,
               .last = true,
               .largest = plan->largest};
    if (taps <= plan->pass) {
        one_pass(plan, axis, &t, memory);
        return;
    }
    const readers *r = &all_readers[plan->dtype];
    const int64_t size = (int64_t)ry_dtype_size((ry_dtype)plan->dtype);
    for (int64_t c = 0; c < memory->channels; c += RY_POINTS_CHANNELS) {
        ry_points_memory part = *memory;
        const int64_t left = memory->channels - c;
        part.x = (const char *)memory->x + c * memory->x_channel * size;
        part.y = (char *)memory->y + c * memory->y_channel * size;
        part.channels = left < RY_POINTS_CHANNELS ? left : RY_POINTS_CHANNELS;
        for (int64_t k = 0; k < taps; k += plan->pass) {
            t.taps = taps - k < plan->pass ? taps - k : plan->pass;
            t.first = k == 0;
            t.last = k + t.taps == taps;
            join_axes(plan, axis, k, &t);
            (plan->last ? r->pixels : r->planes)(&t, &part, (char *)scratch + plan->carry);
        }
    }
}
