/* SPDX-License-Identifier: Apache-2.0 */
/* U = G g G^T of the weights, in float64, rounded once. Row j of G are the powers 1, q, q^2, ... of
 * point j over the product of its distances from the other finite points; infinity's is 0, ...,
 * 0, 1. */
#include "kernels/cpu/winograd/winograd.h"

#include "kernels/cpu/simd/simd.h"

/* Largest square of a weight over the sum of the others, in terms of plan->contrast. In near32
 * that is 1024: the filters of eleven trained networks have 23 at most. */
#define WEIGHT_CONTRAST 4

#include <assert.h>
#include <math.h>
#include <string.h>

enum {
    COLUMNS = RY_TILE_COLUMNS,
    MAX_TAPS = 7,
    MAX_PHASES = 16, /* no plan has more */
    AT_ONCE = 4      /* input channels */
};

static void fill_matrix(const winograd_axis *axis, double g[WINOGRAD_MAX_POINTS][MAX_TAPS])
{
    const int64_t points = axis->points, finite = points - 1;
    double q[WINOGRAD_MAX_POINTS] = {0};
    if (points == 1) {
        g[0][0] = 1;
        return;
    }
    const double *magnitude = ry_winograd_magnitudes(points);
    for (int64_t i = 0; 2 * i + 2 < points; i++) {
        q[2 * i + 1] = magnitude[i];
        q[2 * i + 2] = -magnitude[i];
    }
    for (int64_t i = 0; i < finite; i++) {
        double distances = 1;
        for (int64_t j = 0; j < finite; j++) {
            distances *= j == i ? 1 : q[i] - q[j];
        }
        double power = 1 / distances;
        for (int64_t r = 0; r < axis->taps; r++, power *= q[i]) {
            g[i][r] = power;
        }
    }
    for (int64_t r = 0; r < axis->taps; r++) {
        g[finite][r] = r == axis->taps - 1;
    }
}

/* Squares of the weights of each column. */
typedef struct column_squares {
    double largest[COLUMNS], others[COLUMNS];
} column_squares;

typedef struct packing {
    const winograd_plan *plan;
    double g[2][WINOGRAD_MAX_POINTS][MAX_TAPS];
    column_squares squares[MAX_PHASES];
} packing;

/* All taps of one phase and input channel, for `channels` columns from `first` on; those behind
 * them are 0. */
static void read_taps(const packing *p, const float *w, int64_t phase, int64_t class, int64_t first,
                      int64_t channels, double taps[MAX_TAPS * MAX_TAPS][COLUMNS])
{
    const winograd_axis *high = &p->plan->axis[0], *wide = &p->plan->axis[1];
    const int64_t rows = high->taps, columns = wide->taps;
    const int64_t *w_step = p->plan->geometry.w_step;
    assert(rows > 0 && columns > 0);
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < columns; j++) {
            const int64_t r = high->tap + phase / wide->output_stride + class / wide->classes +
                              i * high->tap_step,
                          s = wide->tap + phase % wide->output_stride + class % wide->classes +
                              j * wide->tap_step;
            const bool is_there = r >= 0 && r < high->window && s >= 0 && s < wide->window;
            const float *from = w + r * w_step[1] + s * w_step[2];
            double *to = taps[i * columns + j];
            for (int64_t k = 0; k < (is_there ? channels : 0); k++) {
                to[k] = winograd_adjacent_columns(p->plan, first + k, 1) < 1
                            ? 0
                            : (double)from[winograd_column_w(p->plan, first + k)];
            }
            for (int64_t k = is_there ? channels : 0; k < COLUMNS; k++) {
                to[k] = 0;
            }
        }
    }
}

static void add_squares(const double (*taps)[COLUMNS], int64_t count, column_squares *to)
{
    for (int64_t i = 0; i < count; i++) {
        for (int k = 0; k < COLUMNS; k++) {
            const double square = taps[i][k] * taps[i][k];
            to->others[k] += square < to->largest[k] ? square : to->largest[k];
            to->largest[k] = square < to->largest[k] ? to->largest[k] : square;
        }
    }
}

typedef double lanes
    __attribute__((vector_size(RY_W * sizeof(float)), aligned(sizeof(double)), may_alias));

/* Sums of rows of COLUMNS. */
RY_INLINE void weigh(const double *g, int64_t taps, const double (*from)[COLUMNS], int64_t step,
                     double to[COLUMNS])
{
    enum { LANES = sizeof(lanes) / sizeof(double) };
    for (int k = 0; k < COLUMNS; k += LANES) {
        lanes sum = g[0] * *(const lanes *)&from[0][k];
        for (int64_t r = 1; r < taps; r++) {
            sum += g[r] * *(const lanes *)&from[r * step][k];
        }
        *(lanes *)&to[k] = sum;
    }
}

/* U of one phase, class and input channel: point after point, `step` floats apart. */
static void transform(const packing *p, const double (*taps)[COLUMNS], int64_t columns, float *to,
                      int64_t step)
{
    const winograd_axis *h = &p->plan->axis[0], *w = &p->plan->axis[1];
    assert(w->taps > 0);
    for (int64_t i = 0; i < h->points; i++) {
        double down[MAX_TAPS][COLUMNS], sum[COLUMNS];
        for (int64_t s = 0; s < w->taps; s++) {
            weigh(p->g[0][i], h->taps, taps + s, w->taps, down[s]);
        }
        for (int64_t j = 0; j < w->points; j++, to += step) {
            weigh(p->g[1][j], w->taps, (const double(*)[COLUMNS])down, 1, sum);
            for (int64_t k = 0; k < columns; k++) {
                to[k] = (float)sum[k];
            }
        }
    }
}

/* U of one phase and class for the input channels [first, end) of one depth tap, by way of a
 * buffer: neighbours at a point are neighbours in memory, and points are far apart, often a
 * multiple of a cache's ways. */
static void pack_channels(packing *p, const float *w, int64_t phase, int64_t class, int64_t first,
                          int64_t channels, int64_t columns, float *to)
{
    const winograd_plan *plan = p->plan;
    const ry_conv_geometry *g = &plan->geometry;
    double taps[MAX_TAPS * MAX_TAPS][COLUMNS];
    float buffer[WINOGRAD_MAX_POINTS * WINOGRAD_MAX_POINTS * AT_ONCE * COLUMNS];
    for (int64_t c = 0; c < plan->channel_step; c += AT_ONCE) {
        const int64_t count = plan->channel_step - c < AT_ONCE ? plan->channel_step - c : AT_ONCE,
                      step = count * columns;
        for (int64_t i = 0; i < count; i++) {
            read_taps(p, w + (c + i) * g->w_in, phase, class, first,
                      c + i < g->channels_in ? channels : 0, taps);
            add_squares((const double(*)[COLUMNS])taps, plan->axis[0].taps * plan->axis[1].taps,
                        &p->squares[phase]);
            transform(p, (const double(*)[COLUMNS])taps, columns, buffer + i * columns, step);
        }
        for (int64_t i = 0; i < plan->points; i++) {
            memcpy(to + i * plan->phases * plan->depth * columns + c * columns, buffer + i * step,
                   (size_t)step * sizeof *to);
        }
    }
}

/* One weight far above all others of its column may meet a 0 in x, and its rounding errors then
 * exceed the products of the others: NaNs in place of U make such a column's outputs direct sums
 * (winograd_fixup.h). A weight that is alone has no others. */
static void poison_uneven(const packing *p, int64_t columns, float *packed)
{
    const winograd_plan *plan = p->plan;
    for (int64_t i = 0; i < plan->phases * columns; i++) {
        const int64_t phase = i / columns, k = i % columns;
        const double largest = p->squares[phase].largest[k], others = p->squares[phase].others[k];
        for (int64_t point = 0; others > 0 && largest > WEIGHT_CONTRAST * plan->contrast * others &&
                                point < plan->points;
             point++) {
            float *u = packed + (point * plan->phases + phase) * plan->depth * columns + k;
            for (int64_t d = 0; d < plan->depth; d++) {
                u[d * columns] = NAN;
            }
        }
    }
}

void RY_ISA_SYMBOL(winograd_pack)(const winograd_plan *plan, const float *w, float *packed,
                                  int64_t group, int64_t oc_block)
{
    const ry_conv_geometry *g = &plan->geometry;
    packing p = {.plan = plan};
    fill_matrix(&plan->axis[0], p.g[0]);
    fill_matrix(&plan->axis[1], p.g[1]);
    const int64_t first = oc_block * plan->tile_columns,
                  columns = winograd_oc_block_columns(plan, oc_block);
    const int64_t channels =
        g->channels_out - first < plan->tile_columns ? g->channels_out - first : plan->tile_columns;
    w += group * g->w_group + g->w_first;
    packed += group * plan->packed_group + oc_block * plan->packed_oc_block;
    for (int64_t t = 0; t < g->kernel[0]; t++) {
        for (int64_t i = 0; i < plan->phases * plan->classes; i++) {
            const int64_t phase = i / plan->classes, class = i % plan->classes,
                          wide = plan->axis[1].classes;
            const int64_t at = t * plan->classes + winograd_class(plan, class / wide, class % wide);
            pack_channels(&p, w + t * g->w_step[0], phase, class, first, channels, columns,
                          packed + (phase * plan->depth + at * plan->channel_step) * columns);
        }
    }
    poison_uneven(&p, columns, packed);
}
