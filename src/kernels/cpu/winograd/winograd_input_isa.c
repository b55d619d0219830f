/* SPDX-License-Identifier: Apache-2.0 */
/* V = B^T d B of blocks of tiles. */
#include "base/integer.h"
#include "kernels/cpu/parts/winograd_transform.h"
#include "kernels/cpu/winograd/winograd.h"

#include <assert.h>

/* Where the tiles of a run read: inputs, or a strip of them. */
typedef struct source {
    const float *x; /* of the first position of the first tile */
    int64_t row_step, column_step;
    ry_vm lanes;
    bool full; /* all lanes */
    bool near; /* in a strip */
} source;

enum { POSITIONS_ALIGNED = 64 }; /* of a row, that are worth a vector more */

/* Transforms along the height: from `columns` columns of inputs to [point][column]. */
typedef void (*down_function)(const source *from, int64_t columns, uint32_t rows_inside,
                              uint32_t columns_inside, float *to);

RY_INLINE void down(const int points, const source *from, int64_t columns, uint32_t rows_inside,
                    uint32_t columns_inside, float *to)
{
    const bool inside =
        from->full && rows_inside == (1u << points) - 1u && columns_inside == (1u << columns) - 1u;
    for (int64_t j = 0; j < columns; j++) {
        const float *x = from->x + j * from->column_step;
        ry_vf d[WINOGRAD_MAX_POINTS];
        if (inside) {
#pragma GCC unroll 8
            for (int i = 0; i < points; i++) {
                d[i] = ry_vf_load(x + i * from->row_step);
            }
        } else if (columns_inside >> j & 1u) {
#pragma GCC unroll 8
            for (int i = 0; i < points; i++) {
                d[i] = rows_inside >> i & 1u ? ry_vf_load_m(x + i * from->row_step, from->lanes)
                                             : ry_vf_zero();
            }
        } else {
#pragma GCC unroll 8
            for (int i = 0; i < points; i++) {
                ry_vf_store(to + (i * columns + j) * RY_W, ry_vf_zero());
            }
            continue;
        }
        winograd_input(points, d);
#pragma GCC unroll 8
        for (int i = 0; i < points; i++) {
            ry_vf_store(to + (i * columns + j) * RY_W, d[i]);
        }
    }
}

/* Transforms along the width: from [row][column] to V. */
typedef void (*along_function)(const float *from, int64_t rows, float *v, int64_t v_point);

RY_INLINE void along(const int points, const float *from, int64_t rows, float *v, int64_t v_point)
{
    for (int64_t i = 0; i < rows; i++) {
        ry_vf d[WINOGRAD_MAX_POINTS];
#pragma GCC unroll 8
        for (int j = 0; j < points; j++) {
            d[j] = ry_vf_load(from + (i * points + j) * RY_W);
        }
        winograd_input(points, d);
#pragma GCC unroll 8
        for (int j = 0; j < points; j++) {
            ry_vf_store(v + (i * points + j) * v_point, d[j]);
        }
    }
}

#define OF_POINTS(points)                                                                  \
    static void down_##points(const source *from, int64_t columns, uint32_t rows_inside,   \
                              uint32_t columns_inside, float *to)                          \
    {                                                                                      \
        down(points, from, columns, rows_inside, columns_inside, to);                      \
    }                                                                                      \
    static void along_##points(const float *from, int64_t rows, float *v, int64_t v_point) \
    {                                                                                      \
        along(points, from, rows, v, v_point);                                             \
    }

OF_POINTS(1)
OF_POINTS(4)
OF_POINTS(6)
OF_POINTS(8)

static const down_function down_table[] = {[1] = down_1, [4] = down_4, [6] = down_6, [8] = down_8};
static const along_function along_table[] = {
    [1] = along_1, [4] = along_4, [6] = along_6, [8] = along_8};

/* Both axes of a tile whose inputs are all inside, four or six by four to eight points. Points of
 * the height come in groups that fit the registers with all their columns: those of six in two
 * halves, which read the inputs twice and store nothing between the axes. */
typedef void (*both_function)(const source *from, float *v, int64_t v_point);

RY_INLINE void both(const int high, const int wide, const source *from, float *v, int64_t v_point)
{
    const int rows = high == 6 ? 3 : high;
#pragma GCC unroll 2
    for (int group = 0; group * rows < high; group++) {
        ry_vf t[WINOGRAD_MAX_POINTS][WINOGRAD_MAX_POINTS]; /* [row][column] */
#pragma GCC unroll 8
        for (int j = 0; j < wide; j++) {
            ry_vf d[WINOGRAD_MAX_POINTS], three[3];
#pragma GCC unroll 8
            for (int i = 0; i < high; i++) {
                d[i] = ry_vf_load(from->x + j * from->column_step + i * from->row_step);
            }
            if (high == 6) {
                winograd_input_half(group, d, three);
            } else {
                winograd_input(high, d);
            }
#pragma GCC unroll 8
            for (int i = 0; i < rows; i++) {
                t[i][j] = high == 6 ? three[i] : d[i];
            }
        }
#pragma GCC unroll 8
        for (int i = 0; i < rows; i++) {
            winograd_input(wide, t[i]);
#pragma GCC unroll 8
            for (int j = 0; j < wide; j++) {
                ry_vf_store(v + ((group * rows + i) * wide + j) * v_point, t[i][j]);
            }
        }
    }
}

#define OF_BOTH(high, wide)                                                         \
    static void both_##high##_##wide(const source *from, float *v, int64_t v_point) \
    {                                                                               \
        both(high, wide, from, v, v_point);                                         \
    }

OF_BOTH(4, 4)
OF_BOTH(6, 6)
OF_BOTH(6, 8)

static const both_function both_table[WINOGRAD_MAX_POINTS + 1][WINOGRAD_MAX_POINTS + 1] = {
    [4] = {[4] = both_4_4}, [6] = {[6] = both_6_6, [8] = both_6_8}};

/* Bit i: position start + i * step is inside. */
static uint32_t inside(int64_t start, int64_t step, int64_t count, int64_t extent)
{
    uint32_t bits = 0;
    for (int64_t i = 0; i < count; i++) {
        bits |= (uint32_t)(start + i * step >= 0 && start + i * step < extent) << i;
    }
    return bits;
}

RY_INLINE void store_transposed(ry_vf v[RY_W], float *to)
{
    ry_vf_transpose(v);
#pragma GCC unroll 16
    for (int i = 0; i < RY_W; i++) {
        ry_vf_store(to + i * RY_W, v[i]);
    }
}

/* A vector of positions of each of `channels` channels, transposed: to[position][lane]. Those that
 * are not among `bits` are 0. */
static void transpose_part(const float *x, int64_t channel_step, int64_t channels, uint32_t bits,
                           float *to)
{
    const ry_vm inside = ry_vm_bits(bits);
    ry_vf v[RY_W];
    if (channels == RY_W) {
#pragma GCC unroll 16
        for (int i = 0; i < RY_W; i++) {
            v[i] = ry_vf_load_m(x + i * channel_step, inside);
        }
    } else {
#pragma GCC unroll 16
        for (int i = 0; i < RY_W; i++) {
            v[i] = i < channels ? ry_vf_load_m(x + i * channel_step, inside) : ry_vf_zero();
        }
    }
    store_transposed(v, to);
}

/* One vector of channels of a row of inputs, from position `start` on, transposed:
 * to[position][lane]. In long rows vectors of positions begin with lines of the cache, so that none
 * is read twice: up to a vector of them before `to` and behind the row is written, too. */
static void transpose_row(const float *x, int64_t channel_step, int64_t channels, int64_t start,
                          int64_t positions, int64_t extent, float *to)
{
    const int64_t output_offset =
        positions < POSITIONS_ALIGNED ? 0 : (int64_t)((uintptr_t)(x + start) / sizeof *x % RY_W);
    for (int64_t p = -output_offset; p < positions; p += RY_W) {
        const float *from = x + start + p;
        const int64_t low = start + p < 0 ? -(start + p) : 0, high = extent - (start + p);
        if (low == 0 && high >= RY_W && channels == RY_W) {
            ry_vf v[RY_W];
#pragma GCC unroll 16
            for (int i = 0; i < RY_W; i++) {
                v[i] = ry_vf_load(from + i * channel_step);
            }
            store_transposed(v, to + p * RY_W);
        } else if (low >= RY_W || high <= 0) {
            memset(to + p * RY_W, 0, RY_W * RY_W * sizeof *to);
        } else {
            const uint32_t first = (uint32_t)((1ull << ry_min(high, RY_W)) - 1u);
            transpose_part(from, channel_step, channels, first >> low << low, to + p * RY_W);
        }
    }
}

/* The same where channels are next to each other, `step` floats from position to position. */
static void copy_row(const float *x, int64_t step, int64_t channels, int64_t start,
                     int64_t positions, int64_t extent, float *to)
{
    const ry_vm lanes = ry_vm_first(channels);
    const int64_t first = ry_min(ry_max(-start, 0), positions),
                  end = ry_max(ry_min(extent - start, positions), first);
    memset(to, 0, (size_t)(first * RY_W) * sizeof *to);
    for (int64_t p = first; p < end; p++) {
        ry_vf_store(to + p * RY_W, ry_vf_load_m(x + (start + p) * step, lanes));
    }
    memset(to + end * RY_W, 0, (size_t)((positions - end) * RY_W) * sizeof *to);
}

typedef struct context {
    const winograd_plan *plan;
    winograd_run run;
    int64_t class;           /* of the height */
    int64_t top, left, span; /* of the run's inputs */
    uint32_t rows_inside;
    bool finite; /* infinities and NaNs count as 0 */
    float *stage;
} context;

/* One tile, one vector of channels. */
static void transform_tile(const winograd_plan *plan, const source *from, uint32_t rows_inside,
                           uint32_t columns_inside, float *v)
{
    float points[WINOGRAD_MAX_POINTS * WINOGRAD_MAX_POINTS * RY_W];
    const int64_t high = plan->axis[0].points, wide = plan->axis[1].points;
    assert(down_table[high] && along_table[wide]);
    if (both_table[high][wide] && from->full && (from->near || high == 4) &&
        rows_inside == (1u << high) - 1u && columns_inside == (1u << wide) - 1u) {
        both_table[high][wide](from, v, plan->v_point);
    } else {
        down_table[high](from, wide, rows_inside, columns_inside, points);
        along_table[wide](points, high, v, plan->v_point);
    }
}

/* Channels are next to each other in x: tile by tile, through all channels. x: the image's and
 * depth's first channel. */
static void read_channels(const context *c, const float *x, int64_t channels, float *v)
{
    const winograd_plan *plan = c->plan;
    const ry_conv_geometry *g = &plan->geometry;
    const winograd_axis *w = &plan->axis[1];
    const winograd_tile *tile = winograd_tiles(plan, 1) + c->run.column;
    source from = {.row_step = plan->axis[0].step * g->x_step[1],
                   .column_step = w->step * g->x_step[2]};
    for (int64_t j = 0; j < c->run.count * w->classes; j++) {
        const int64_t i = j / w->classes, class = j % w->classes;
        const int64_t left = tile[i].origin * w->stride + class - w->pad;
        const uint32_t columns_inside = inside(left, w->step, w->points, g->in[2]);
        float *to =
            v + i * plan->v_row + winograd_class(plan, c->class, class) * plan->channel_step;
        for (int64_t k = 0; k < channels; k += RY_W) {
            from.x = x + c->top * g->x_step[1] + left * g->x_step[2] + k;
            from.lanes = ry_vm_first(channels - k);
            from.full = channels - k >= RY_W;
            transform_tile(plan, &from, c->rows_inside, columns_inside, to + k);
        }
    }
}

/* Floats from row to row of a strip. */
static int64_t strip_step(const context *c)
{
    return (ry_round_up(c->span, RY_W) + (c->span < POSITIONS_ALIGNED ? 0 : RY_W)) * RY_W;
}

static void keep_finite(float *x, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        x[i] = x[i] - x[i] == 0 ? x[i] : 0;
    }
}

/* The strip that the run reads, of a vector of channels. */
static void fill_strip(const context *c, const float *x, int64_t channels)
{
    const winograd_plan *plan = c->plan;
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t strip = strip_step(c);
    float *stage = c->stage + RY_W * RY_W;
    for (int64_t i = 0; i < plan->axis[0].points; i++) {
        const int64_t row = c->top + i * plan->axis[0].step;
        if ((c->rows_inside >> i & 1u) && plan->x_channels_last) {
            copy_row(x + row * g->x_step[1], g->x_step[2], channels, c->left, c->span, g->in[2],
                     stage + i * strip);
        } else if (c->rows_inside >> i & 1u) {
            transpose_row(x + row * g->x_step[1], g->x_channel, channels, c->left, c->span,
                          g->in[2], stage + i * strip);
        } else {
            memset(stage + i * strip, 0, (size_t)strip * sizeof(float));
        }
        if (c->finite) {
            keep_finite(stage + i * strip, c->span * RY_W);
        }
    }
}

/* Positions of a row are next to each other in x, or far apart: vector by vector of channels,
 * through all tiles of the run. */
static void read_strips(const context *c, const float *x, int64_t channels, float *v)
{
    const winograd_plan *plan = c->plan;
    const ry_conv_geometry *g = &plan->geometry;
    const winograd_axis *h = &plan->axis[0], *w = &plan->axis[1];
    const winograd_tile *tile = winograd_tiles(plan, 1) + c->run.column;
    source from = {.row_step = strip_step(c),
                   .column_step = w->step * RY_W,
                   .lanes = ry_vm_first(RY_W),
                   .full = true,
                   .near = true};
    for (int64_t k = 0; k < channels; k += RY_W) {
        const int64_t left = channels - k;
        fill_strip(c, x + k * g->x_channel, left < RY_W ? left : RY_W);
        for (int64_t j = 0; j < c->run.count * w->classes; j++) {
            const int64_t i = j / w->classes, class = j % w->classes;
            from.x = c->stage + RY_W * RY_W +
                     ((tile[i].origin - tile[0].origin) * w->stride + class) * RY_W;
            transform_tile(plan, &from, (1u << h->points) - 1u, (1u << w->points) - 1u,
                           v + i * plan->v_row +
                               winograd_class(plan, c->class, class) * plan->channel_step + k);
        }
    }
}

static void clear(const winograd_plan *plan, int64_t tiles, int64_t channels, float *v)
{
    for (int64_t p = 0; p < plan->points; p++) {
        for (int64_t i = 0; i < tiles; i++) {
            memset(v + p * plan->v_point + i * plan->v_row, 0, (size_t)channels * sizeof *v);
        }
    }
}

static void transform(const winograd_plan *plan, const float *x, int64_t first, int64_t count,
                      int64_t channel, int64_t channels, bool finite, float *v, float *stage)
{
    const bool staged = plan->x_staged || finite;
    const ry_conv_geometry *g = &plan->geometry;
    const winograd_axis *w = &plan->axis[1];
    const winograd_axis *h = &plan->axis[0];
    const int64_t reach = (w->points - 1) * w->step + w->classes;
    for (int64_t done = 0; done < count;) {
        context c = {.plan = plan, .finite = finite, .stage = stage};
        c.run = ry_winograd_find_run(plan, first + done, count - done,
                                     ry_ceil_div(reach, w->stride) + w->interleave - 1,
                                     staged ? plan->run_span / w->stride : INT64_MAX);
        const winograd_tile *tile = winograd_tiles(plan, 1) + c.run.column;
        c.left = tile[0].origin * w->stride - w->pad;
        c.span = (tile[c.run.count - 1].origin - tile[0].origin) * w->stride + reach;
        for (int64_t i = 0; i < g->kernel[0] * h->classes; i++) {
            const int64_t t = i / h->classes; /* where there are several, the other is 1 */
            c.class = i % h->classes;
            c.top = winograd_tiles(plan, 0)[c.run.row].origin * h->stride + c.class - h->pad;
            c.rows_inside = inside(c.top, h->step, h->points, g->in[1]);
            const int64_t depth = c.run.depth * g->stride[0] + t * g->dilation[0] - g->before[0];
            const float *from =
                x + c.run.image * g->x_batch + depth * g->x_step[0] + channel * g->x_channel;
            float *to = v + done * plan->v_row + t * plan->channel_step + channel;
            if (depth < 0 || depth >= g->in[0]) {
                for (int64_t j = 0; j < w->classes; j++) {
                    clear(plan, c.run.count, ry_round_up(channels, RY_W),
                          to + winograd_class(plan, c.class, j) * plan->channel_step);
                }
            } else if (!staged) {
                read_channels(&c, from, channels, to);
            } else {
                read_strips(&c, from, channels, to);
            }
        }
        done += c.run.count;
    }
}

/* One point of all tiles. */
static ry_vf add_point(const winograd_plan *plan, const float *v, int64_t count, int64_t channels,
                       ry_vf zero)
{
    for (int64_t i = 0; i < count; i++) {
        for (int64_t j = 0; j < plan->depth; j += plan->channel_step) {
            for (int64_t k = 0; k < channels; k += RY_W) {
                zero = ry_vf_fma(ry_vf_zero(), ry_vf_load(v + i * plan->v_row + j + k), zero);
            }
        }
    }
    return zero;
}

/* An axis' first input adds to the point 0, its last one to infinity, and all others to the second
 * point. */
static bool is_finite(const winograd_plan *plan, const float *v, int64_t count, int64_t channels)
{
    const winograd_axis *h = &plan->axis[0], *w = &plan->axis[1];
    ry_vf zero = ry_vf_zero();
    for (int64_t i = 0; i < ry_min(h->points, 3); i++) {
        for (int64_t j = 0; j < ry_min(w->points, 3); j++) {
            const int64_t point =
                (i < 2 ? i : h->points - 1) * w->points + (j < 2 ? j : w->points - 1);
            zero = add_point(plan, v + point * plan->v_point, count, channels, zero);
        }
    }
    return ry_vf_sum(zero) == 0;
}

bool RY_ISA_SYMBOL(winograd_transform_input)(const winograd_plan *plan, const float *x,
                                             int64_t first, int64_t count, int64_t channel,
                                             int64_t channels, float *v, float *stage)
{
    transform(plan, x, first, count, channel, channels, false, v, stage);
    if (is_finite(plan, v + channel, count, channels)) {
        return true;
    }
    transform(plan, x, first, count, channel, channels, true, v, stage);
    return false;
}
