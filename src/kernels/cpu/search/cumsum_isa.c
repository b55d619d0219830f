/* SPDX-License-Identifier: Apache-2.0 */
/* Cumulative sums and products of every type along any axis: blocks of columns side by side, or
 * RUNS rows at once. A long row alone is cut into RUNS parts, whose sums are taken before. */
#include "kernels/cpu/parts/cpu_kernel.h"
#include "kernels/cpu/search/cumsum_plan.h"
#include "kernels/cpu/simd/half.h"
#include "kernels/cpu/simd/simd.h"

enum {
    RUNS = 8,
    FEW_RUNS = 2, /* if rows are whole pages */
    PAGE = 4096,  /* bytes; rows of whole pages are in one set of a first-level cache, which has no
                  * room for x and y of RUNS */
    LONG_ROW = 64 * RUNS /* elements: shorter rows are scanned from end to end */
};

typedef struct rule {
    bool product, exclusive;
} rule;

/* Elements first + j * step + r * apart, for j < count and r < runs; each run has a sum. */
typedef struct walk {
    int64_t first, step, apart, count;
    int runs;
} walk;

/* Sums are one a column or a run, and go on. `to` of a walk may be NULL: only its sums are taken.
 */
typedef struct scan_loops {
    void (*columns)(void *to, const void *from, int64_t at, int64_t n, void *sums, rule how);
    void (*walk)(void *to, const void *from, const walk *w, void *sums, rule how);
    void (*begin)(void *sums, int64_t n, rule how);
    /* Run r begins with sum 0 and the totals of the runs before it. */
    void (*chain)(void *sums, const void *totals);
} scan_loops;

#define RY_SAME(x) (x)

#define RY_LANE(name, element, value, sum, load, store, kind)                                 \
    RY_INLINE void line_##name(element *y, const element *x, int64_t n, sum *restrict s,      \
                               const bool product, const bool exclusive)                      \
    {                                                                                         \
        for (int64_t i = 0; i < n; i++) {                                                     \
            const sum before = s[i], next = (sum)load(x[i]);                                  \
            const sum after = (sum)(product ? before * next : before + next);                 \
            s[i] = after;                                                                     \
            y[i] = (element)store((value)(exclusive ? before : after));                       \
        }                                                                                     \
    }                                                                                         \
    static void columns_##name(void *to, const void *from, int64_t at, int64_t n, void *sums, \
                               rule how)                                                      \
    {                                                                                         \
        element *y = (element *)to + at;                                                      \
        const element *x = (const element *)from + at;                                        \
        if (how.product) {                                                                    \
            line_##name(y, x, n, sums, true, how.exclusive);                                  \
        } else if (how.exclusive) {                                                           \
            line_##name(y, x, n, sums, false, true);                                          \
        } else {                                                                              \
            line_##name(y, x, n, sums, false, false);                                         \
        }                                                                                     \
    }                                                                                         \
    RY_INLINE void runs_##name(element *y, const element *x, const walk *w, sum *s,           \
                               const int runs, const rule how)                                \
    {                                                                                         \
        for (int64_t j = 0, at = w->first; j < w->count; j++, at += w->step) {                \
            _Pragma("GCC unroll 8") for (int r = 0; r < runs; r++)                            \
            {                                                                                 \
                const int64_t i = at + r * w->apart;                                          \
                const sum before = s[r], next = (sum)load(x[i]);                              \
                s[r] = (sum)(how.product ? before * next : before + next);                    \
                if (y) {                                                                      \
                    y[i] = (element)store((value)(how.exclusive ? before : s[r]));            \
                }                                                                             \
            }                                                                                 \
        }                                                                                     \
    }                                                                                         \
    static void walk_##name(void *to, const void *from, const walk *w, void *sums, rule how)  \
    {                                                                                         \
        sum s[RUNS];                                                                          \
        memcpy(s, sums, sizeof s);                                                            \
        if (w->runs == RUNS && !how.product && !how.exclusive && to) {                        \
            runs_##name(to, from, w, s, RUNS, (rule){false, false});                          \
        } else if (w->runs == FEW_RUNS && !how.product && !how.exclusive && to) {             \
            runs_##name(to, from, w, s, FEW_RUNS, (rule){false, false});                      \
        } else if (w->runs == RUNS && !to) {                                                  \
            runs_##name(NULL, from, w, s, RUNS, (rule){false, false});                        \
        } else {                                                                              \
            runs_##name(to, from, w, s, w->runs, how);                                        \
        }                                                                                     \
        memcpy(sums, s, sizeof s);                                                            \
    }                                                                                         \
    static void begin_##name(void *sums, int64_t n, rule how)                                 \
    {                                                                                         \
        for (int64_t i = 0; i < n; i++) {                                                     \
            ((sum *)sums)[i] = (sum)(how.product ? 1 : 0);                                    \
        }                                                                                     \
    }                                                                                         \
    static void chain_##name(void *sums, const void *totals)                                  \
    {                                                                                         \
        sum *s = sums, all = s[0];                                                            \
        for (int r = 0; r < RUNS; r++) {                                                      \
            s[r] = all;                                                                       \
            all = (sum)(all + ((const sum *)totals)[r]);                                      \
        }                                                                                     \
    }
#include "kernels/cpu/parts/lane_types.inc"
#undef RY_LANE

static const scan_loops loops_of[RY_DTYPES] = {
#define RY_LANE(name, element, value, sum, load, store, kind) \
    [RY_##name] = {columns_##name, walk_##name, begin_##name, chain_##name},
#include "kernels/cpu/parts/lane_types.inc"
#undef RY_LANE
};

/* Where a task reads and writes, and how. */
typedef struct scan {
    const scan_loops *loops;
    const void *x;
    void *y;
    int64_t length;
    bool reverse;
    rule how;
} scan;

/* From element `from` of the row whose first element is at `row`, in the order of the scan. */
static walk walk_of(const scan *s, int64_t row, int64_t from, int64_t count, int64_t apart,
                    int runs)
{
    return s->reverse ? (walk){row + s->length - 1 - from, -1, apart, count, runs}
                      : (walk){row + from, 1, apart, count, runs};
}

static void scan_rows(const scan *s, int64_t row, int runs)
{
    uint64_t sums[RUNS], totals[RUNS];
    s->loops->begin(sums, RUNS, s->how);
    if (runs > 1 || s->length < LONG_ROW || s->how.product) {
        const walk all = walk_of(s, row, 0, s->length, s->length, runs);
        s->loops->walk(s->y, s->x, &all, sums, s->how);
        return;
    }
    const int64_t head = s->length % RUNS, part = s->length / RUNS;
    const walk first = walk_of(s, row, 0, head, 0, 1);
    const walk parts = walk_of(s, row, head, part, s->reverse ? -part : part, RUNS);
    s->loops->walk(s->y, s->x, &first, sums, s->how);
    s->loops->begin(totals, RUNS, s->how);
    s->loops->walk(NULL, s->x, &parts, totals, s->how);
    s->loops->chain(sums, totals);
    s->loops->walk(s->y, s->x, &parts, sums, s->how);
}

static void scan_columns(const scan *s, const ry_lane_unit *u, int64_t inner)
{
    uint64_t sums[CUMSUM_COLUMNS];
    s->loops->begin(sums, u->columns, s->how);
    for (int64_t k = 0; k < s->length; k++) {
        const int64_t at = u->at + (s->reverse ? s->length - 1 - k : k) * inner;
        s->loops->columns(s->y, s->x, at, u->columns, sums, s->how);
    }
}

static void run(const ry_cpu_launch *launch, size_t task)
{
    const ry_lane_blocks *s = launch->state;
    const ry_cumsum_attrs *a = &launch->problem->attrs.cumsum;
    const ry_dtype dtype = (ry_dtype)launch->problem->in[0].dtype;
    const scan how = {.loops = &loops_of[dtype],
                      .x = launch->in[0],
                      .y = launch->out[0],
                      .length = s->lanes.length,
                      .reverse = a->reverse != 0,
                      .how = {a->product != 0, a->exclusive != 0}};
    const ry_cut_range units = ry_cut_part(&s->units, task);
    for (int64_t unit = units.first; unit < units.end;) {
        const int64_t row = s->lanes.length * (int64_t)ry_dtype_size(dtype);
        const int together = row % PAGE == 0 ? FEW_RUNS : RUNS;
        const int runs = units.end - unit >= together ? together : 1;
        if (s->blocks == 0) {
            scan_rows(&how, unit * s->lanes.length, runs);
            unit += runs;
        } else {
            const ry_lane_unit u = ry_lane_blocks_unit(s, unit++);
            scan_columns(&how, &u, s->lanes.inner);
        }
    }
}

RY_CPU_KERNEL(cumsum, cumsum, strict, .simd = RY_SIMD, .applicable = ry_cumsum_applicable,
              .prepare = ry_cumsum_prepare, .initialise = ry_cumsum_initialise, .run = run);
