/* SPDX-License-Identifier: Apache-2.0 */
/* argmax and argmin, f32, along any axis: blocks of columns side by side, or rows, whose lanes are
 * columns that meet at the end. Ties go to the first position (or the last), and NaN wins over
 * every number, as in numpy. */
#include "kernels/cpu/parts/cpu_kernel.h"
#include "kernels/cpu/search/arg_reduce_plan.h"
#include "kernels/cpu/simd/simd.h"

#include <math.h>
#include <string.h>

enum { LANES = 64 };

/* What beats the best so far: sign -1 turns a minimum into a maximum; `ties`: an equal element does
 * too. */
typedef struct rule {
    float sign;
    int32_t ties;
} rule;

/* best and position of n columns meet row `index`. Without branches, so that it vectorises. */
static void meet(float *restrict best, int32_t *restrict position, const float *restrict x,
                 int64_t n, int32_t index, rule r)
{
    for (int64_t i = 0; i < n; i++) {
        float value = x[i] * r.sign;
        int32_t nan = value != value, best_nan = best[i] != best[i];
        int32_t wins = (value > best[i]) | (r.ties & (value == best[i]));
        wins = (wins & ~best_nan) | (nan & (~best_nan | r.ties));
        best[i] = wins & 1 ? value : best[i];
        position[i] = wins & 1 ? index : position[i];
    }
}

static void columns_of(int64_t *y, const float *x, int64_t length, int64_t step, int64_t columns,
                       rule r)
{
    float best[RY_LANE_COLUMNS] = {0};
    int32_t position[RY_LANE_COLUMNS];
    for (int64_t i = 0; i < columns; i++) {
        best[i] = x[i] * r.sign;
        position[i] = 0;
    }
    for (int64_t k = 1; k < length; k++) {
        meet(best, position, x + k * step, columns, (int32_t)k, r);
    }
    for (int64_t i = 0; i < columns; i++) {
        y[i] = position[i];
    }
}

/* Lane i sees elements i, i + LANES, ...; then the lanes' bests meet, ties by their positions. */
static int64_t row_of(const float *x, int64_t n, rule r)
{
    float best[LANES] = {0};
    int32_t turn[LANES] = {0};
    int64_t lanes = n < LANES ? n : LANES, turns = n / lanes, found = 0;
    for (int64_t i = 0; i < lanes; i++) {
        best[i] = x[i] * r.sign;
    }
    for (int64_t k = 1; k < turns; k++) {
        meet(best, turn, x + k * LANES, LANES, (int32_t)k, r);
    }
    meet(best, turn, x + turns * lanes, n - turns * lanes, (int32_t)turns, r);
    for (int64_t i = 1; i < lanes; i++) {
        int64_t at = turn[i] * lanes + i, old = turn[found] * lanes + found;
        bool nan = best[i] != best[i], found_nan = best[found] != best[found];
        bool equal = best[i] == best[found] || (nan && found_nan);
        bool better = nan ? !found_nan : !found_nan && best[i] > best[found];
        if (better || (equal && (r.ties ? at > old : at < old))) {
            found = i;
        }
    }
    return turn[found] * lanes + found;
}

static void run(const ry_cpu_launch *launch, size_t task)
{
    const ry_lane_blocks *s = launch->state;
    const ry_arg_reduce_attrs *a = &launch->problem->attrs.arg_reduce;
    const rule r = {a->min ? -1 : 1, a->select_last != 0};
    const int64_t length = s->lanes.length, inner = s->lanes.inner;
    const float *x = launch->in[0];
    int64_t *y = launch->out[0];
    const ry_lane_range units = ry_lane_blocks_task(s, task);
    for (int64_t unit = units.first; unit < units.end; unit++) {
        if (s->blocks == 0) {
            y[unit] = row_of(x + unit * length, length, r);
        } else {
            const ry_lane_unit u = ry_lane_blocks_unit(s, unit);
            columns_of(y + u.outer * inner + u.column, x + u.at, length, inner, u.columns, r);
        }
    }
}

RY_CPU_KERNEL(arg_reduce_f32, arg_reduce, strict, .simd = RY_SIMD,
              .applicable = ry_arg_reduce_applicable, .prepare = ry_arg_reduce_prepare,
              .initialise = ry_arg_reduce_initialise, .run = run);
