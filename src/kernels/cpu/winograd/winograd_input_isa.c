/* SPDX-License-Identifier: Apache-2.0 */
/* V = B^T d B of blocks of tiles. */
#include "base/integer.h"
#include "kernels/cpu/parts/winograd_transform.h"
#include "kernels/cpu/winograd/winograd.h"
#include "kernels/cpu/winograd/winograd_contrast.h"
#include "kernels/cpu/winograd/winograd_strip.h"

#include <assert.h>

/* Where the tiles of a run read: inputs, or a strip of them. */
typedef struct source {
    const float *x; /* first position of the first tile */
    int64_t row_step, column_step;
    ry_vm lanes;
    bool full;                    /* all lanes */
    bool near;                    /* in a strip */
    const int8_t *rows, *columns; /* probes; NULL: another class has them */
    float *squares;               /* the tile's sums, added to */
} source;

/* Adds the squares of a column of inputs. */
RY_INLINE ry_vf add_squares(const int points, const ry_vf d[WINOGRAD_MAX_POINTS], ry_vf sum)
{
    ry_vf column = ry_vf_mul(d[0], d[0]);
#pragma GCC unroll 8
    for (int i = 1; i < points; i++) {
        column = ry_vf_fma(d[i], d[i], column);
    }
    return ry_vf_add(sum, column);
}

/* Transforms along the height: from `columns` columns of inputs to [point][column]. Returns the sum
 * of their squares. */
typedef ry_vf (*down_function)(const source *from, int64_t columns, uint32_t rows_inside,
                               uint32_t columns_inside, float *to);

RY_INLINE ry_vf down(const int points, const source *from, int64_t columns, uint32_t rows_inside,
                     uint32_t columns_inside, float *to)
{
    const bool inside =
        from->full && rows_inside == (1u << points) - 1u && columns_inside == (1u << columns) - 1u;
    ry_vf squares = ry_vf_zero();
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
        squares = add_squares(points, d, squares);
        winograd_input(points, d);
#pragma GCC unroll 8
        for (int i = 0; i < points; i++) {
            ry_vf_store(to + (i * columns + j) * RY_W, d[i]);
        }
    }
    return squares;
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
    static ry_vf down_##points(const source *from, int64_t columns, uint32_t rows_inside,  \
                               uint32_t columns_inside, float *to)                         \
    {                                                                                      \
        return down(points, from, columns, rows_inside, columns_inside, to);               \
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
 * halves, which read the inputs twice and store nothing between the axes. Returns the sum of the
 * inputs' squares. */
typedef ry_vf (*both_function)(const source *from, float *v, int64_t v_point);

RY_INLINE ry_vf both(const int high, const int wide, const source *from, float *v, int64_t v_point)
{
    const int rows = high == 6 ? 3 : high;
    ry_vf squares = ry_vf_zero();
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
            if (group == 0) {
                squares = add_squares(high, d, squares);
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
    return squares;
}

#define OF_BOTH(high, wide)                                                          \
    static ry_vf both_##high##_##wide(const source *from, float *v, int64_t v_point) \
    {                                                                                \
        return both(high, wide, from, v, v_point);                                   \
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

typedef struct context {
    const winograd_plan *plan;
    winograd_run run;
    int64_t class; /* along the height */
    winograd_strip strip;
    float *squares; /* the run's first tile's */
} context;

/* Adds the squares of a vector of channels at the probes. */
static void add_probes(const winograd_plan *plan, const source *from, uint32_t rows_inside,
                       uint32_t columns_inside)
{
    const winograd_axis *h = &plan->axis[0], *w = &plan->axis[1];
    const int64_t rows = h->groups * h->probes, columns = w->groups * w->probes;
    for (int64_t i = 0; i < rows; i++) {
        const int row = from->rows[i];
        float *sum = from->squares + (1 + i * columns) * RY_W;
        for (int64_t j = 0; (rows_inside >> row & 1u) && j < columns; j++, sum += RY_W) {
            const int column = from->columns[j];
            if (columns_inside >> column & 1u) {
                const float *x = from->x + row * from->row_step + column * from->column_step;
                const ry_vf probe = from->full ? ry_vf_load(x) : ry_vf_load_m(x, from->lanes);
                ry_vf_store(sum, ry_vf_fma(probe, probe, ry_vf_load(sum)));
            }
        }
    }
}

/* One tile, one vector of channels. */
static void transform_tile(const winograd_plan *plan, const source *from, uint32_t rows_inside,
                           uint32_t columns_inside, float *v)
{
    float points[WINOGRAD_MAX_POINTS * WINOGRAD_MAX_POINTS * RY_W];
    const int64_t high = plan->axis[0].points, wide = plan->axis[1].points;
    ry_vf squares;
    assert(down_table[high] && along_table[wide]);
    if (both_table[high][wide] && from->full && (from->near || high == 4) &&
        rows_inside == (1u << high) - 1u && columns_inside == (1u << wide) - 1u) {
        squares = both_table[high][wide](from, v, plan->v_point);
    } else {
        squares = down_table[high](from, wide, rows_inside, columns_inside, points);
        along_table[wide](points, high, v, plan->v_point);
    }
    ry_vf_store(from->squares, ry_vf_add(ry_vf_load(from->squares), squares));
    if (from->rows) {
        add_probes(plan, from, rows_inside, columns_inside);
    }
}

/* Tile i of the run, in a class of the width. */
static void begin_tile(const context *c, int64_t i, int64_t class, source *from)
{
    const winograd_plan *plan = c->plan;
    const winograd_axis *h = &plan->axis[0], *w = &plan->axis[1];
    const int row = winograd_tiles(plan, 0)[c->run.row].outputs,
              column = winograd_tiles(plan, 1)[c->run.column + i].outputs;
    const bool probes =
        row > 0 && column > 0 && c->class == h->probe_class && class == w->probe_class;
    from->rows = probes ? h->probe[row] : NULL;
    from->columns = w->probe[column];
    from->squares = c->squares + i * winograd_tile_squares(plan);
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
        begin_tile(c, i, class, &from);
        for (int64_t k = 0; k < channels; k += RY_W) {
            from.x = x + c->strip.top * g->x_step[1] + left * g->x_step[2] + k;
            from.lanes = ry_vm_first(channels - k);
            from.full = channels - k >= RY_W;
            transform_tile(plan, &from, c->strip.rows_inside, columns_inside, to + k);
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
    source from = {.row_step = winograd_strip_step(&c->strip),
                   .column_step = w->step * RY_W,
                   .lanes = ry_vm_first(RY_W),
                   .full = true,
                   .near = true};
    for (int64_t k = 0; k < channels; k += RY_W) {
        const int64_t left = channels - k;
        RY_ISA_SYMBOL(winograd_fill_strip)
        (plan, &c->strip, x + k * g->x_channel, left < RY_W ? left : RY_W);
        for (int64_t j = 0; j < c->run.count * w->classes; j++) {
            const int64_t i = j / w->classes, class = j % w->classes;
            begin_tile(c, i, class, &from);
            from.x = c->strip.to + ((tile[i].origin - tile[0].origin) * w->stride + class) * RY_W;
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
                      int64_t channel, int64_t channels, bool finite, const winograd_inputs *into)
{
    const bool staged = plan->x_staged || finite;
    const ry_conv_geometry *g = &plan->geometry;
    const winograd_axis *w = &plan->axis[1];
    const winograd_axis *h = &plan->axis[0];
    const int64_t read_span = (w->points - 1) * w->step + w->classes,
                  squares = winograd_tile_squares(plan);
    memset(into->squares, 0, (size_t)(count * squares) * sizeof(float));
    for (int64_t done = 0; done < count;) {
        context c = {.plan = plan,
                     .strip = {.finite = finite, .to = into->stage + RY_W * RY_W},
                     .squares = into->squares + done * squares};
        c.run = ry_winograd_find_run(plan, first + done, count - done,
                                     ry_ceil_div(read_span, w->stride) + w->interleave - 1,
                                     staged ? plan->run_span / w->stride : INT64_MAX);
        const winograd_tile *tile = winograd_tiles(plan, 1) + c.run.column;
        c.strip.left = tile[0].origin * w->stride - w->pad;
        c.strip.span = (tile[c.run.count - 1].origin - tile[0].origin) * w->stride + read_span;
        for (int64_t i = 0; i < g->kernel[0] * h->classes; i++) {
            const int64_t t = i / h->classes; /* where there are several, the other is 1 */
            c.class = i % h->classes;
            c.strip.top = winograd_tiles(plan, 0)[c.run.row].origin * h->stride + c.class - h->pad;
            c.strip.rows_inside = inside(c.strip.top, h->step, h->points, g->in[1]);
            const int64_t depth = c.run.depth * g->stride[0] + t * g->dilation[0] - g->before[0];
            const float *from =
                x + c.run.image * g->x_batch + depth * g->x_step[0] + channel * g->x_channel;
            float *to = into->v + done * plan->v_row + t * plan->channel_step + channel;
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
                                             int64_t channels, const winograd_inputs *to)
{
    transform(plan, x, first, count, channel, channels, false, to);
    if (RY_ISA_SYMBOL(winograd_mark_uneven)(plan, first, count, to->squares, to->uneven) ||
        is_finite(plan, to->v + channel, count, channels)) {
        return true;
    }
    transform(plan, x, first, count, channel, channels, true, to);
    (void)RY_ISA_SYMBOL(winograd_mark_uneven)(plan, first, count, to->squares, to->uneven);
    return false;
}
