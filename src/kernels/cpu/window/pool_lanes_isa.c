/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel: pooling of every type and kind, and maxima with indices (pool_plan.h).
 *
 * NCHW: an output row at a time. Without indices the window's input rows are joined into one row of
 * values, then the row's taps. With indices each tap of each input row meets the best so far.
 * NHWC: an output position at a time, in blocks of channels. Maxima of bytes join the window's input
 * rows first, as NCHW does: a position has few bytes. */
#include "kernels/cpu/parts/cpu_kernel.h"
#include "kernels/cpu/simd/half.h"
#include "kernels/cpu/simd/simd.h"
#include "kernels/cpu/window/pool_plan.h"

#include <string.h>

enum { BLOCK = 256 }; /* channels */

/* What is done to elements. */
typedef struct rule {
    ry_pool_kind kind;
    int64_t power;
} rule;

/* y = sum / (rows * counted[i * counted_step]) */
typedef struct divide {
    const float *counted;
    int64_t counted_step;
    float rows;
} divide;

/* best, sum, row: arrays of values. x, y: elements, from `at` on. where: the place in its plane of
 * an element's best, less the element's own part. */
typedef struct pool_loops {
    size_t size; /* bytes per value */
    void (*begin)(void *best, int64_t n, rule how);
    void (*join)(void *best, const void *x, int64_t at, int64_t n, rule how);
    void (*taps)(void *best, const void *row, int64_t at, int64_t step, int64_t n, rule how);
    void (*meet)(void *best, int32_t *where, const void *x, int64_t at, int64_t step, int64_t n,
                 int32_t position);
    void (*store)(void *y, int64_t at, void *best, int64_t n, rule how, divide by);
} pool_loops;

#define RY_SAME(x)         (x)
#define LOWEST_FLOAT(v)    ((v)-INFINITY)
#define LOWEST_SIGNED(v)   ((v) ~((UINT64_C(1) << (8 * sizeof(v) - 1)) - 1))
#define LOWEST_UNSIGNED(v) 0

RY_INLINE float power_of_float(float x, float p)
{
    return f32_pow(x, p);
}

RY_INLINE double power_of_double(double x, double p)
{
    return pow(x, p);
}

/* Sums are for floats: averages, and norms of order p. */
#define SUMS_FLOAT(name, element, value, load, store_one)                                     \
    static void add_##name(value *restrict s, const element *restrict x, int64_t n, rule how) \
    {                                                                                         \
        if (how.kind == RY_pool_kind_average) {                                               \
            for (int64_t i = 0; i < n; i++) {                                                 \
                s[i] += load(x[i]);                                                           \
            }                                                                                 \
        } else if (how.power == 2) {                                                          \
            for (int64_t i = 0; i < n; i++) {                                                 \
                const value v = load(x[i]);                                                   \
                s[i] += v * v;                                                                \
            }                                                                                 \
        } else {                                                                              \
            for (int64_t i = 0; i < n; i++) {                                                 \
                const value v = load(x[i]), a = v < 0 ? -v : v;                               \
                s[i] += how.power == 1 ? a : power_of_##value(a, (value)how.power);           \
            }                                                                                 \
        }                                                                                     \
    }                                                                                         \
    static void finish_##name(value *s, int64_t n, rule how, divide by)                       \
    {                                                                                         \
        const value root = (value)1 / (value)how.power;                                       \
        for (int64_t i = 0; i < n && how.kind == RY_pool_kind_average; i++) {                 \
            const float d = by.rows * by.counted[i * by.counted_step];                        \
            s[i] /= d > 0 ? (value)d : (value)1;                                              \
        }                                                                                     \
        for (int64_t i = 0; i < n && how.kind == RY_pool_kind_lp; i++) {                      \
            s[i] = how.power == 2 ? (value)sqrt((double)s[i]) : power_of_##value(s[i], root); \
        }                                                                                     \
    }
#define NO_SUMS(name, element, value)                                       \
    static void add_##name(value *s, const element *x, int64_t n, rule how) \
    {                                                                       \
        (void)s, (void)x, (void)n, (void)how;                               \
    }                                                                       \
    static void finish_##name(value *s, int64_t n, rule how, divide by)     \
    {                                                                       \
        (void)s, (void)n, (void)how, (void)by;                              \
    }
#define SUMS_SIGNED(name, element, value, load, store_one)   NO_SUMS(name, element, value)
#define SUMS_UNSIGNED(name, element, value, load, store_one) NO_SUMS(name, element, value)

/* NaN wins over every number: for integers the clause is constant. */
#define WINS(v, b) ((v) > (b) || (v) != (v))

#define RY_LANE(name, element, value, sum, load, store_one, type_kind)                         \
    SUMS_##type_kind(name, element, value, load,                                               \
                     store_one) static void begin_##name(void *best, int64_t n, rule how)      \
    {                                                                                          \
        const value first = how.kind == RY_pool_kind_max ? LOWEST_##type_kind(value) : 0;      \
        for (int64_t i = 0; i < n; i++) {                                                      \
            ((value *)best)[i] = first;                                                        \
        }                                                                                      \
    }                                                                                          \
    static void join_##name(void *best, const void *from, int64_t at, int64_t n, rule how)     \
    {                                                                                          \
        value *restrict b = best;                                                              \
        const element *restrict x = (const element *)from + at;                                \
        if (how.kind != RY_pool_kind_max) {                                                    \
            add_##name(b, x, n, how);                                                          \
            return;                                                                            \
        }                                                                                      \
        for (int64_t i = 0; i < n; i++) {                                                      \
            const value v = load(x[i]);                                                        \
            b[i] = WINS(v, b[i]) ? v : b[i];                                                   \
        }                                                                                      \
    }                                                                                          \
    RY_INLINE void steps_##name(value *restrict b, const value *restrict x, int64_t n,         \
                                const int64_t step, const bool maximum)                        \
    {                                                                                          \
        for (int64_t i = 0; i < n; i++) {                                                      \
            const value v = x[i * step];                                                       \
            b[i] = maximum ? (WINS(v, b[i]) ? v : b[i]) : (value)(b[i] + v);                   \
        }                                                                                      \
    }                                                                                          \
    static void taps_##name(void *best, const void *row, int64_t at, int64_t step, int64_t n,  \
                            rule how)                                                          \
    {                                                                                          \
        const value *x = (const value *)row + at;                                              \
        if (how.kind != RY_pool_kind_max) {                                                    \
            steps_##name(best, x, n, step, false);                                             \
        } else if (step == 1) {                                                                \
            steps_##name(best, x, n, 1, true);                                                 \
        } else if (step == 2) {                                                                \
            steps_##name(best, x, n, 2, true);                                                 \
        } else {                                                                               \
            steps_##name(best, x, n, step, true);                                              \
        }                                                                                      \
    }                                                                                          \
    RY_INLINE void search_##name(value *restrict b, int32_t *restrict where,                   \
                                 const element *restrict x, int64_t n, const int64_t step,     \
                                 int32_t position)                                             \
    {                                                                                          \
        for (int64_t i = 0; i < n; i++) {                                                      \
            const value v = load(x[i * step]);                                                 \
            const int wins = (v > b[i]) | ((v != v) & (b[i] == b[i]));                         \
            b[i] = wins ? v : b[i];                                                            \
            where[i] = wins ? position : where[i];                                             \
        }                                                                                      \
    }                                                                                          \
    static void meet_##name(void *best, int32_t *where, const void *from, int64_t at,          \
                            int64_t step, int64_t n, int32_t position)                         \
    {                                                                                          \
        const element *x = (const element *)from + at;                                         \
        if (step == 1) {                                                                       \
            search_##name(best, where, x, n, 1, position);                                     \
        } else if (step == 2) {                                                                \
            search_##name(best, where, x, n, 2, position);                                     \
        } else {                                                                               \
            search_##name(best, where, x, n, step, position);                                  \
        }                                                                                      \
    }                                                                                          \
    static void store_##name(void *to, int64_t at, void *best, int64_t n, rule how, divide by) \
    {                                                                                          \
        element *restrict y = (element *)to + at;                                              \
        if (how.kind != RY_pool_kind_max) {                                                    \
            finish_##name(best, n, how, by);                                                   \
        }                                                                                      \
        for (int64_t i = 0; i < n; i++) {                                                      \
            y[i] = (element)store_one(((const value *)best)[i]);                               \
        }                                                                                      \
    }
#include "kernels/cpu/parts/lane_types.inc"
#undef RY_LANE

static const pool_loops loops_of[RY_DTYPES] = {
#define RY_LANE(name, element, value, sum, load, store_one, type_kind) \
    [RY_##name] = {sizeof(value), begin_##name, join_##name,           \
                   taps_##name,   meet_##name,  store_##name},
#include "kernels/cpu/parts/lane_types.inc"
#undef RY_LANE
};

/* A task's operands. */
typedef struct pooling {
    const pool_plan *plan;
    const pool_loops *loops;
    const void *x;
    void *y;
    int64_t *index;         /* NULL: not asked for */
    const int64_t *strides; /* what an index grows by along each dim */
    bool whole;             /* indices count the whole tensor's elements, not a plane's */
    void *row, *best;
    int32_t *where;
    rule how;
} pooling;

/* The index in its plane of an input row's first element. */
static int64_t row_position(const pooling *p, int64_t offset)
{
    const ry_window *w = &p->plan->window;
    int64_t rest = offset / pool_along(w)->in, position = 0;
    rest /= p->plan->path == POOL_CHANNELS ? p->plan->channels : 1;
    for (int i = w->rank - 2; i >= 0; i--) {
        position += rest % w->axis[i].in * p->strides[i];
        rest /= w->axis[i].in;
    }
    return position;
}

static void store_index(int64_t *restrict index, const int32_t *restrict where, int64_t n,
                        int64_t first, int64_t step)
{
    for (int64_t i = 0; i < n; i++) {
        index[i] = first + where[i] + i * step;
    }
}

/* Output positions whose tap is inside the input. */
static ry_window_range outputs_of(const ry_window_axis *w, int64_t tap)
{
    return ry_window_inside(w->in, tap * w->dilation - w->pad, w->stride, w->out);
}

/* Reduces the joined row to an adaptive pool's outputs. */
static void adaptive_columns(const pooling *p)
{
    const pool_plan *s = p->plan;
    const pool_column *column = pool_columns(s);
    for (int64_t o = 0; o < pool_along(&s->window)->out; o++) {
        for (int64_t j = 0; j < column[o].count; j++) {
            p->loops->taps((char *)p->best + (size_t)o * p->loops->size, p->row,
                           column[o].first + j, 1, 1, p->how);
        }
    }
}

static void plane_row(const pooling *p, int64_t plane, int64_t row)
{
    const pool_plan *s = p->plan;
    const ry_window_axis *w = pool_along(&s->window);
    const pool_row *t = pool_rows(s) + row;
    const int64_t *offset = pool_offsets(s) + t->begin, base = plane * s->in_size;
    p->loops->begin(p->row, w->in, p->how);
    p->loops->begin(p->best, w->out, p->how);
    for (int64_t k = 0; k < t->count; k++) {
        p->loops->join(p->row, p->x, base + offset[k], w->in, p->how);
    }
    if (w->adaptive) {
        adaptive_columns(p);
    }
    for (int64_t c = 0; c < w->taps && !w->adaptive; c++) {
        const ry_window_range r = outputs_of(w, c);
        p->loops->taps((char *)p->best + (size_t)r.begin * p->loops->size, p->row,
                       ry_window_at(w, r.begin, c), w->stride, r.end - r.begin, p->how);
    }
    p->loops->store(p->y, (plane * s->rows + row) * w->out, p->best, w->out, p->how,
                    (divide){pool_divisors(s), 1, (float)t->divisor});
}

/* The maxima of an adaptive pool's output row in an input row, whose first element is number
 * `position` of its plane. */
static void adaptive_meet(const pooling *p, int64_t at, int64_t position)
{
    const pool_plan *s = p->plan;
    const pool_column *column = pool_columns(s);
    const int64_t apart = p->strides[s->window.rank - 1];
    for (int64_t o = 0; o < pool_along(&s->window)->out; o++) {
        for (int64_t i = column[o].first; i < column[o].first + column[o].count; i++) {
            p->loops->meet((char *)p->best + (size_t)o * p->loops->size, p->where + o, p->x, at + i,
                           1, 1, (int32_t)(position + i * apart));
        }
    }
}

static void plane_row_indexed(const pooling *p, int64_t plane, int64_t row)
{
    const pool_plan *s = p->plan;
    const ry_window_axis *w = pool_along(&s->window);
    const pool_row *t = pool_rows(s) + row;
    const pool_column *column = pool_columns(s);
    const int64_t *offset = pool_offsets(s) + t->begin, base = plane * s->in_size;
    const int64_t apart = p->strides[s->window.rank - 1], out = (plane * s->rows + row) * w->out;
    const int64_t first = t->count ? row_position(p, offset[0]) : 0,
                  step = w->adaptive ? 0 : w->stride; /* what `where` leaves out of a place */
    p->loops->begin(p->best, w->out, p->how);
    for (int64_t o = 0; o < w->out; o++) {
        p->where[o] = (int32_t)(first + (column[o].first - o * step) * apart);
    }
    for (int64_t k = 0; k < t->count; k++) {
        const int64_t position = row_position(p, offset[k]);
        if (w->adaptive) {
            adaptive_meet(p, base + offset[k], position);
        }
        for (int64_t c = 0; c < w->taps && !w->adaptive; c++) {
            const ry_window_range r = outputs_of(w, c);
            p->loops->meet((char *)p->best + (size_t)r.begin * p->loops->size, p->where + r.begin,
                           p->x, base + offset[k] + ry_window_at(w, r.begin, c), w->stride,
                           r.end - r.begin,
                           (int32_t)(position + (c * w->dilation - w->pad) * apart));
        }
    }
    p->loops->store(p->y, out, p->best, w->out, p->how, (divide){0});
    store_index(p->index + out, p->where, w->out, p->whole ? base : 0, step * apart);
    for (int64_t o = 0; o < w->out && s->empty; o++) { /* the maximum of nothing has index 0 */
        p->index[out + o] = t->count && column[o].count ? p->index[out + o] : 0;
    }
}

/* n channels from channel c on of output position o of a row. */
static void position(const pooling *p, int64_t image, int64_t row, int64_t o, int64_t c, int64_t n)
{
    const pool_plan *s = p->plan;
    const ry_window_axis *w = pool_along(&s->window);
    const pool_row *t = pool_rows(s) + row;
    const pool_column *column = pool_columns(s) + o;
    const int64_t *offset = pool_offsets(s) + t->begin;
    const int64_t base = image * s->channels * s->in_size + c,
                  apart = p->strides[s->window.rank - 1],
                  out = ((image * s->rows + row) * w->out + o) * s->channels + c;
    uint64_t best[BLOCK];
    int32_t where[BLOCK];
    p->loops->begin(best, n, p->how);
    for (int64_t k = 0; k < t->count; k++) {
        const int64_t position = p->index ? row_position(p, offset[k]) : 0;
        for (int64_t j = 0; j < column->count; j++) {
            const int64_t i = column->first + j * w->dilation,
                          at = base + offset[k] + i * s->channels;
            const int32_t here = (int32_t)(position + i * apart);
            for (int64_t l = 0; l < n && p->index && k + j == 0; l++) {
                where[l] = here;
            }
            if (p->index) {
                p->loops->meet(best, where, p->x, at, 1, n, here);
            } else {
                p->loops->join(best, p->x, at, n, p->how);
            }
        }
    }
    p->loops->store(p->y, out, best, n, p->how,
                    (divide){pool_divisors(s) + o, 0, (float)t->divisor});
    if (p->index && t->count && column->count) {
        store_index(p->index + out, where, n, p->whole ? (image * s->channels + c) * s->in_size : 0,
                    p->whole ? s->in_size : 0);
    } else if (p->index) {
        memset(p->index + out, 0, (size_t)n * sizeof *p->index);
    }
}

/* A row of maxima of bytes, channels last. */
static void bytes_row(const pooling *p, int64_t image, int64_t row)
{
    const pool_plan *s = p->plan;
    const ry_window_axis *w = pool_along(&s->window);
    const pool_row *t = pool_rows(s) + row;
    const int64_t *offset = pool_offsets(s) + t->begin, base = image * s->channels * s->in_size;
    const size_t channels = (size_t)s->channels;
    p->loops->begin(p->row, w->in * s->channels, p->how);
    for (int64_t k = 0; k < t->count; k++) {
        p->loops->join(p->row, p->x, base + offset[k], w->in * s->channels, p->how);
    }
    char *y = (char *)p->y + (size_t)((image * s->rows + row) * w->out) * channels;
    for (int64_t o = 0; o < w->out; o++, y += channels) {
        const pool_column *column = pool_columns(s) + o;
        if (column->count == 0) {
            p->loops->begin(y, s->channels, p->how);
            continue;
        }
        memcpy(y, (const char *)p->row + (size_t)column->first * channels, channels);
        for (int64_t j = 1; j < column->count; j++) {
            p->loops->join(y, p->row, (column->first + j * w->dilation) * s->channels, s->channels,
                           p->how);
        }
    }
}

static void run(const ry_cpu_launch *launch, size_t task)
{
    const pool_plan *s = launch->state;
    const ry_problem *problem = launch->problem;
    const ry_window_axis *w = pool_along(&s->window);
    int64_t strides[RY_MAX_RANK];
    ry_pool_index_strides(problem, &s->window, strides);
    const pooling p = {.plan = s,
                       .loops = &loops_of[problem->in[0].dtype],
                       .x = launch->in[0],
                       .y = launch->out[0],
                       .index = ry_problem_has_output(problem, 1) ? launch->out[1] : NULL,
                       .strides = strides,
                       .whole = !problem->attrs.pool.plane_indices,
                       .row = launch->scratch,
                       .best = (uint64_t *)launch->scratch + w->in,
                       .where = (int32_t *)((uint64_t *)launch->scratch + w->in + w->out),
                       .how = {problem->attrs.pool.kind, problem->attrs.pool.p}};
    const ry_cut_range units = ry_cut_part(&s->units, task);
    for (int64_t unit = units.first; unit < units.end; unit++) {
        const int64_t plane = unit / s->rows, row = unit % s->rows;
        if (s->path == POOL_ROWS && p.index) {
            plane_row_indexed(&p, plane, row);
        } else if (s->path == POOL_ROWS) {
            plane_row(&p, plane, row);
        }
        if (s->byte_rows) {
            bytes_row(&p, plane, row);
            continue;
        }
        for (int64_t o = 0; o < w->out && s->path == POOL_CHANNELS; o++) {
            for (int64_t c = 0; c < s->channels; c += BLOCK) {
                position(&p, plane, row, o, c, ry_min(s->channels - c, BLOCK));
            }
        }
    }
}

RY_CPU_KERNEL(pool_lanes, pool, strict, .simd = RY_SIMD, .applicable = ry_pool_lanes_applicable,
              .prepare = ry_pool_lanes_prepare, .initialise = ry_pool_initialise, .run = run);
