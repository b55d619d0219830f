/* SPDX-License-Identifier: Apache-2.0 */
/* Which tiles, and which of their outputs, are too uneven for Winograd's form. */
#include "kernels/cpu/winograd/winograd_contrast.h"

#include "base/integer.h"
#include "kernels/cpu/simd/simd.h"

#include <float.h>
#include <math.h>

enum { MAX_INPUTS = 2 * WINOGRAD_MAX_POINTS, LANES = 8 };

/* Sums of squares in float32 err by less than that; and below LEAST_SUM they are not to be
 * trusted, because squares of numbers below 2^-63 are subnormal. */
#define SLACK     (1 - 0x1p-6f)
#define LEAST_SUM 0x1p-100f

/* The sums of squares at the probes of the groups that serve the tile's outputs. */
typedef struct probes {
    const winograd_plan *plan;
    const float *squares;
    int64_t rows, columns; /* groups */
} probes;

static int64_t count_groups(const winograd_axis *axis, const winograd_tile *tile)
{
    int64_t count = 0;
    while (count < axis->groups && axis->group[count].first < tile->outputs) {
        count++;
    }
    return count;
}

/* The sum of a pair of groups' probes, but for the largest if there are several: of each lane, a
 * bound from below of what the sums of lanes give. */
static ry_vf sum_but_largest(const probes *p, int64_t row, int64_t column)
{
    const winograd_axis *h = &p->plan->axis[0], *w = &p->plan->axis[1];
    const int64_t step = w->groups * w->probes * RY_W;
    const float *from = p->squares + row * h->probes * step + column * w->probes * RY_W;
    if (h->probes * w->probes == 1) {
        return ry_vf_load(from);
    }
    ry_vf sum = ry_vf_zero(), largest = ry_vf_zero();
    for (int64_t i = 0; i < h->probes; i++, from += step) {
        for (int64_t j = 0; j < w->probes; j++) {
            const ry_vf probe = ry_vf_load(from + j * RY_W);
            sum = ry_vf_add(sum, probe);
            largest = ry_vf_max(largest, probe);
        }
    }
    return sum - largest;
}

/* The least sum of a pair of groups. by_lane: of each lane, a bound from below that takes fewer
 * sums over lanes. */
static float find_least(const probes *p, bool by_lane)
{
    ry_vf lanes = ry_vf_set(FLT_MAX / RY_W);
    float least = FLT_MAX;
    for (int64_t i = 0; i < p->rows; i++) {
        for (int64_t j = 0; j < p->columns; j++) {
            const ry_vf sum = sum_but_largest(p, i, j);
            lanes = ry_vf_min(sum, lanes);
            least = by_lane ? least : fminf(least, ry_vf_sum(sum));
        }
    }
    return by_lane ? ry_vf_sum(lanes) : least;
}

/* all: the sum of the tile's squares, finite */
static bool may_be_uneven(const probes *p, float all)
{
    const float limit = (float)p->plan->contrast * SLACK;
    if (all == 0 || p->rows * p->columns == 0) {
        return all > 0;
    }
    const float bound = find_least(p, true);
    if (bound >= LEAST_SUM && all <= limit * bound) {
        return false;
    }
    const float least = find_least(p, false);
    return least < LEAST_SUM || all > limit * least;
}

bool RY_ISA_SYMBOL(winograd_mark_uneven)(const winograd_plan *plan, int64_t first, int64_t count,
                                         const float *squares, bool *uneven)
{
    const winograd_axis *h = &plan->axis[0], *w = &plan->axis[1];
    const int64_t step = winograd_tile_squares(plan);
    int64_t row = first / w->tiles % h->tiles, column = first % w->tiles;
    bool finite = true;
    for (int64_t i = 0; i < count; i++, squares += step) {
        const winograd_tile *down = winograd_tiles(plan, 0) + row,
                            *along = winograd_tiles(plan, 1) + column;
        const probes p = {plan, squares + RY_W, count_groups(h, down), count_groups(w, along)};
        const float all = ry_vf_sum(ry_vf_load(squares));
        finite = finite && all <= FLT_MAX;
        uneven[i] =
            down->outputs * along->outputs > 0 && (!(all <= FLT_MAX) || may_be_uneven(&p, all));
        column = column + 1 < w->tiles ? column + 1 : 0;
        row = column > 0 ? row : row + 1 < h->tiles ? row + 1 : 0;
    }
    return finite;
}

/* Sums of squares at the positions of a tile, over channels and depth taps; infinities and NaNs
 * count as 0, and in the padding sums are OUTSIDE. */
enum { OUTSIDE = -1 };
typedef struct squares {
    double at[MAX_INPUTS][MAX_INPUTS], all;
} squares;

/* For numbers. fmax takes NaNs, too, so it is a call: one a position of each window. */
static double larger(double a, double b)
{
    return a > b ? a : b;
}

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

static double square(float x)
{
    const double finite = x - x == 0 ? (double)x : 0.0;
    return finite * finite;
}

static double sum_channels(const float *x, int64_t channels)
{
    double part[LANES] = {0}, sum = 0;
    int64_t c = 0;
    for (; c + LANES <= channels; c += LANES) {
        for (int i = 0; i < LANES; i++) {
            part[i] += square(x[c + i]);
        }
    }
    for (; c < channels; c++) {
        sum += square(x[c]);
    }
    for (int i = 0; i < LANES; i++) {
        sum += part[i];
    }
    return sum;
}

/* x: of a row of the tile's inputs; start: position of the first */
static void add_row(const winograd_plan *plan, const float *x, int64_t start, double *sums)
{
    const ry_conv_geometry *g = &plan->geometry;
    const winograd_axis *w = &plan->axis[1];
    const int64_t count = w->points * w->classes;
    int64_t at[MAX_INPUTS], column[MAX_INPUTS], inside = 0;
    for (int64_t v = 0; v < count; v++) {
        at[inside] = start + winograd_position(w, v);
        column[inside] = v;
        inside += at[inside] >= 0 && at[inside] < g->in[2];
    }
    if (g->x_channel == 1) {
        for (int64_t i = 0; i < inside; i++) {
            sums[column[i]] += sum_channels(x + at[i] * g->x_step[2], g->channels_in);
        }
        return;
    }
    for (int64_t c = 0; c < g->channels_in; c++) {
        for (int64_t i = 0; i < inside; i++) {
            sums[column[i]] += square(x[c * g->x_channel + at[i]]);
        }
    }
}

static void sum_squares(const winograd_plan *plan, const float *x, const winograd_run *run,
                        squares *s)
{
    const ry_conv_geometry *g = &plan->geometry;
    const winograd_axis *h = &plan->axis[0], *w = &plan->axis[1];
    const int64_t top = winograd_tiles(plan, 0)[run->row].origin * h->stride - h->pad,
                  start = winograd_tiles(plan, 1)[run->column].origin * w->stride - w->pad,
                  rows = h->points * h->classes, columns = w->points * w->classes;
    for (int64_t u = 0; u < rows; u++) {
        for (int64_t v = 0; v < columns; v++) {
            const int64_t row = top + winograd_position(h, u),
                          column = start + winograd_position(w, v);
            const bool inside = row >= 0 && row < g->in[1] && column >= 0 && column < g->in[2];
            s->at[u][v] = inside ? 0 : OUTSIDE;
        }
    }
    for (int64_t t = 0; t < g->kernel[0]; t++) {
        const int64_t depth = run->depth * g->stride[0] + t * g->dilation[0] - g->before[0];
        for (int64_t u = 0; depth >= 0 && depth < g->in[0] && u < rows; u++) {
            const int64_t row = top + winograd_position(h, u);
            if (row >= 0 && row < g->in[1]) {
                add_row(plan,
                        x + run->image * g->x_batch + depth * g->x_step[0] + row * g->x_step[1],
                        start, s->at[u]);
            }
        }
    }
    s->all = 0;
    for (int64_t i = 0; i < rows * columns; i++) {
        s->all += larger(s->at[i / columns][i % columns], 0);
    }
}

typedef struct window_sums {
    double all, rest; /* rest: without the largest position */
} window_sums;

/* row, column: of the output's first input in the tile */
static window_sums sum_window(const squares *s, const winograd_range read_span[2], int64_t row,
                              int64_t column)
{
    window_sums sums = {0};
    double largest = 0;
    int64_t inside = 0;
    for (int64_t u = read_span[0].first; u < read_span[0].end; u++) {
        for (int64_t v = read_span[1].first; v < read_span[1].end; v++) {
            const double at = s->at[row + u][column + v];
            inside += at != OUTSIDE;
            sums.all += larger(at, 0);
            largest = larger(largest, at);
        }
    }
    /* a position that is alone must not outweigh the tile's others either */
    sums.rest = inside > 1 ? sums.all - largest : smaller(largest, s->all - largest);
    return sums;
}

void RY_ISA_SYMBOL(winograd_find_uneven)(const winograd_plan *plan, const float *x, int64_t tile,
                                         winograd_outputs *outputs)
{
    const winograd_axis *h = &plan->axis[0], *w = &plan->axis[1];
    const winograd_run run = ry_winograd_find_run(plan, tile, 1, 1, INT64_MAX);
    squares s;
    sum_squares(plan, x, &run, &s);
    for (int64_t phase = 0; phase < plan->phases; phase++) {
        const int64_t p[2] = {phase / w->output_stride, phase % w->output_stride};
        const winograd_range read_span[2] = {winograd_tap_range(h, p[0]),
                                             winograd_tap_range(w, p[1])},
                             down = ry_winograd_inside(plan, 0, winograd_tiles(plan, 0) + run.row,
                                                       p[0]),
                             along = ry_winograd_inside(plan, 1,
                                                        winograd_tiles(plan, 1) + run.column, p[1]);
        for (int64_t i = down.first; i < down.end; i++) {
            for (int64_t j = along.first; j < along.end; j++) {
                const uint64_t bit = UINT64_C(1) << (i * w->outputs + j);
                const window_sums window =
                    sum_window(&s, read_span, i * h->classes, j * w->classes);
                outputs[phase].uneven |= s.all > plan->contrast * window.rest ? bit : 0;
                outputs[phase].zero |= s.all > 0 && window.all == 0 ? bit : 0;
            }
        }
    }
}
