/* SPDX-License-Identifier: Apache-2.0 */
/* argmax and argmin of every type along any axis: blocks of columns side by side. Short rows become
 * columns of a transposed tile; a long row's lanes are columns that meet at the end. Ties go to the
 * first position (or the last), and NaN wins over every number, as in numpy. */
#include "base/integer.h"
#include "kernels/cpu/parts/cpu_kernel.h"
#include "kernels/cpu/search/arg_reduce_plan.h"
#include "kernels/cpu/simd/half.h"
#include "kernels/cpu/simd/simd.h"

enum {
    LANES = 64, /* rows of a tile; columns of a long row */
    TILE = 16   /* columns of a tile */
};

/* What beats the best so far: a minimum is a maximum of numbers in reverse order; `ties`: an equal
 * element does too. */
typedef struct rule {
    float sign;   /* floats: 1 or -1 */
    int32_t flip; /* integers: bits to invert, none or all */
    int32_t ties;
} rule;

/* best (values) and position: one a column. */
typedef struct arg_loops {
    void (*begin)(void *best, int32_t *position, int64_t n);
    /* n columns meet `count` rows of x, from element `at` on and `step` apart; `index`: the first's
     * position */
    void (*columns)(void *best, int32_t *position, const void *x, int64_t at, int64_t count,
                    int64_t step, int64_t n, int64_t index, rule r);
    /* the best of n columns, whose positions differ: halves meet; overwrites both */
    int64_t (*merge)(void *best, int64_t *position, int64_t n, rule r);
} arg_loops;

#define RY_SAME(x)                (x)
#define LOWEST_FLOAT(v)           ((v)-INFINITY)
#define LOWEST_SIGNED(v)          ((v) ~((UINT64_C(1) << (8 * sizeof(v) - 1)) - 1))
#define LOWEST_UNSIGNED(v)        0
#define ORDERED_FLOAT(v, x, r)    ((x) * (v)(r).sign)
#define ORDERED_SIGNED(v, x, r)   ((v)((x) ^ (v)(r).flip))
#define ORDERED_UNSIGNED(v, x, r) ((v)((x) ^ (v)(r).flip))

/* `line` has no branches, so compilers vectorise it. */
#define RY_LANE(name, element, value, sum, load, store, kind)                                   \
    static void begin_##name(void *best, int32_t *position, int64_t n)                          \
    {                                                                                           \
        for (int64_t i = 0; i < n; i++) {                                                       \
            ((value *)best)[i] = LOWEST_##kind(value);                                          \
            position[i] = 0;                                                                    \
        }                                                                                       \
    }                                                                                           \
    RY_INLINE void line_##name(value *restrict best, int32_t *restrict position,                \
                               const element *restrict x, int64_t n, int32_t index, rule r)     \
    {                                                                                           \
        for (int64_t i = 0; i < n; i++) {                                                       \
            const value v = ORDERED_##kind(value, load(x[i]), r);                               \
            const int32_t nan = v != v, best_nan = best[i] != best[i];                          \
            int32_t wins = (v > best[i]) | (r.ties & (v == best[i]));                           \
            wins = (wins & ~best_nan) | (nan & (~best_nan | r.ties));                           \
            best[i] = wins & 1 ? v : best[i];                                                   \
            position[i] = wins & 1 ? index : position[i];                                       \
        }                                                                                       \
    }                                                                                           \
    static void columns_##name(void *best, int32_t *position, const void *from, int64_t at,     \
                               int64_t count, int64_t step, int64_t n, int64_t index, rule r)   \
    {                                                                                           \
        const element *x = (const element *)from + at;                                          \
        for (int64_t k = 0; k < count && n == LANES; k++, x += step) {                          \
            line_##name(best, position, x, LANES, (int32_t)(index + k), r);                     \
        }                                                                                       \
        for (int64_t k = 0; k < count && n != LANES; k++, x += step) {                          \
            line_##name(best, position, x, n, (int32_t)(index + k), r);                         \
        }                                                                                       \
    }                                                                                           \
    static int64_t merge_##name(void *best, int64_t *restrict position, int64_t n, rule r)      \
    {                                                                                           \
        value *restrict b = best;                                                               \
        for (int64_t half = LANES / 2; half > 0; n = ry_min(n, half), half /= 2) {              \
            const int64_t pairs = ry_min(half, n - half);                                       \
            for (int64_t i = 0; i < pairs; i++) {                                               \
                const value v = b[i + half], w = b[i];                                          \
                const int64_t p = position[i + half];                                           \
                const int32_t nan = v != v, best_nan = w != w;                                  \
                const int32_t equal = (v == w) | (nan & best_nan), before = p < position[i];    \
                const int32_t wins = (v > w) | (nan & ~best_nan) | (equal & (before ^ r.ties)); \
                b[i] = wins & 1 ? v : w;                                                        \
                position[i] = wins & 1 ? p : position[i];                                       \
            }                                                                                   \
        }                                                                                       \
        return position[0];                                                                     \
    }
#include "kernels/cpu/parts/lane_types.inc"
#undef RY_LANE

static const arg_loops loops_of[RY_DTYPES] = {
#define RY_LANE(name, element, value, sum, load, store, kind) \
    [RY_##name] = {begin_##name, columns_##name, merge_##name},
#include "kernels/cpu/parts/lane_types.inc"
#undef RY_LANE
};

/* A task's operands. */
typedef struct search {
    const arg_loops *loops;
    const char *x;
    int64_t *y;
    int64_t length, size; /* elements per row; bytes per element */
    rule r;
} search;

/* Positions behind `first`; a column without a new best (-1) keeps what it has. */
static void keep(int64_t *y, int64_t first, const int32_t *position, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        y[i] = position[i] >= 0 ? first + position[i] : y[i];
    }
}

static void search_columns(const search *s, const ry_lane_unit *u, int64_t inner)
{
    uint64_t best[RY_LANE_COLUMNS];
    int32_t position[RY_LANE_COLUMNS];
    int64_t *y = s->y + u->outer * inner + u->column;
    s->loops->begin(best, position, u->columns);
    for (int64_t first = 0; first < s->length; first += ARG_SLICE) {
        const int64_t count = ry_min(ARG_SLICE, s->length - first);
        memset(position, first > 0 ? -1 : 0, sizeof position);
        s->loops->columns(best, position, s->x, u->at + first * inner, count, inner, u->columns, 0,
                          s->r);
        keep(y, first, position, u->columns);
    }
}

/* A lane sees every LANESth element; then the lanes' bests meet. */
static void search_row(const search *s, int64_t row)
{
    uint64_t best[LANES];
    int32_t position[LANES];
    int64_t place[LANES];
    const int64_t at = row * s->length, turns = s->length / LANES, rest = s->length % LANES;
    s->loops->begin(best, position, LANES);
    s->loops->columns(best, position, s->x, at, turns, LANES, LANES, 0, s->r);
    s->loops->columns(best, position, s->x, at + turns * LANES, 1, 0, rest, turns, s->r);
    for (int64_t i = 0; i < LANES; i++) {
        place[i] = (int64_t)position[i] * LANES + i;
    }
    s->y[row] = s->loops->merge(best, place, ry_min(s->length, LANES), s->r);
}

/* tile[k][r] = x[r][k] */
RY_INLINE void transpose(char *tile, const char *x, int64_t length, int64_t rows, int64_t columns,
                         const int64_t size)
{
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t k = 0; k < columns; k++) {
            memcpy(tile + (k * LANES + r) * size, x + (r * length + k) * size, (size_t)size);
        }
    }
}

static void search_rows(const search *s, int64_t row, int64_t rows)
{
    uint64_t best[LANES], tile[TILE * LANES];
    int32_t position[LANES];
    s->loops->begin(best, position, rows);
    for (int64_t k = 0; k < s->length; k += TILE) {
        const char *x = s->x + (row * s->length + k) * s->size;
        const int64_t columns = ry_min(s->length - k, TILE);
        switch (s->size) {
        case 1: transpose((char *)tile, x, s->length, rows, columns, 1); break;
        case 2: transpose((char *)tile, x, s->length, rows, columns, 2); break;
        case 4: transpose((char *)tile, x, s->length, rows, columns, 4); break;
        default: transpose((char *)tile, x, s->length, rows, columns, 8); break;
        }
        s->loops->columns(best, position, tile, 0, columns, LANES, rows, k, s->r);
    }
    keep(s->y + row, 0, position, rows);
}

static void run(const ry_cpu_launch *launch, size_t task)
{
    const ry_lane_blocks *b = launch->state;
    const ry_arg_reduce_attrs *a = &launch->problem->attrs.arg_reduce;
    const ry_dtype dtype = (ry_dtype)launch->problem->in[0].dtype;
    const search s = {.loops = &loops_of[dtype],
                      .x = launch->in[0],
                      .y = launch->out[0],
                      .length = b->lanes.length,
                      .size = (int64_t)ry_dtype_size(dtype),
                      .r = {a->min ? -1 : 1, a->min ? -1 : 0, a->select_last != 0}};
    const ry_cut_range units = ry_cut_part(&b->units, task);
    for (int64_t unit = units.first; unit < units.end;) {
        if (b->blocks != 0) {
            const ry_lane_unit u = ry_lane_blocks_unit(b, unit++);
            search_columns(&s, &u, b->lanes.inner);
        } else if (units.end - unit >= ARG_LEAST_ROWS && s.length <= ARG_SHORT_ROW) {
            const int64_t rows = ry_min(units.end - unit, LANES);
            search_rows(&s, unit, rows);
            unit += rows;
        } else {
            search_row(&s, unit++);
        }
    }
}

RY_CPU_KERNEL(arg_reduce, arg_reduce, strict, .simd = RY_SIMD,
              .applicable = ry_arg_reduce_applicable, .prepare = ry_arg_reduce_prepare,
              .initialise = ry_arg_reduce_initialise, .run = run);
