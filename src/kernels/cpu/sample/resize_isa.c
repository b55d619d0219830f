/* SPDX-License-Identifier: Apache-2.0 */
/* Resize of any number of dims and every numeric type: nearest, linear and cubic in every
 * coordinate mode, with or without antialiasing.
 *
 * Separable: input rows are resized along the width, then an output row is a weighted sum of those.
 * The few rows that neighbouring output rows share are kept in a ring. Elements of other types than
 * float and double become sums row by row. A tap of weight 0 counts as a product: an infinity
 * beside it gives NaN. */
#include "kernels/cpu/sample/resize_plan.h"

#include "kernels/cpu/parts/cpu_kernel.h"
#include "kernels/cpu/simd/simd.h"
#include "kernels/cpu/simd/simd_int8.h"

/* Rows of a type as sums, and sums as elements; NULL where they are the same. */
typedef struct conversion {
    void (*load)(void *sums, const void *elements, int64_t n);
    void (*store)(void *elements, const void *sums, int64_t n);
} conversion;

/* A walk along output rows. */
typedef struct walk {
    const resize_plan *plan;
    resize_tables tables;
    const conversion *convert;
    const void *x;
    void *scratch;
    int64_t line_bytes;         /* an input row */
    int64_t index[RY_MAX_RANK]; /* the output row's, of each lead */
    int64_t *held;              /* input row in each slot of the ring */
} walk;

#define RY_LANE_TEXT "kernels/cpu/sample/resize_lanes.h"
#include "kernels/cpu/sample/each_type.h"

/* Bytes whose sums are floats from 0 to 255. */
static void load_bytes(void *restrict sums, const void *restrict elements, int64_t n)
{
    float *to = sums;
    const uint8_t *from = elements;
    for (int64_t i = 0; i < n; i += RY_W) {
        const int64_t count = n - i < RY_W ? n - i : RY_W;
        ry_vf_store_m(to + i, ry_vm_first(count), ry_vf_from_vi(ry_vi_load_u8(from + i, count)));
    }
}

static void store_bytes(void *restrict elements, const void *restrict sums, int64_t n)
{
    uint8_t *to = elements;
    const float *from = sums;
    for (int64_t i = 0; i < n; i += RY_W) {
        const int64_t count = n - i < RY_W ? n - i : RY_W;
        ry_vi_store_u8(to + i, count, ry_vi_round(ry_vf_load_m(from + i, ry_vm_first(count))));
    }
}

#define CONVERSION(type)          \
    {                             \
        load_##type, store_##type \
    }
static const conversion conversions[] = {RY_LANE_TABLE(CONVERSION)}, same = {NULL, NULL},
                        exact_bytes = {load_bytes, store_bytes};

static const conversion *conversion_of(const resize_plan *s)
{
    const bool floats = s->dtype == RYND_DTYPE_F32 || s->dtype == RYND_DTYPE_F64;
    return floats ? &same : s->bytes ? &exact_bytes : &conversions[s->dtype];
}

/* One tap of an output row: its input row, the slot of the ring for that, and its weight. */
typedef struct source {
    int64_t row, slot;
    double weight;
} source;

/* Fills the taps first .. first + count - 1 along the last lead, for a tap of each other one. */
static void list_taps(const walk *at, const resize_axis *t, int64_t o, source from, source *to)
{
    const int64_t first = resize_first(&at->tables, t, o);
    for (int64_t tap = 0; tap < t->taps; tap++) {
        const int64_t i = first + tap;
        to[tap] = (source){from.row * t->in + i, from.slot * t->slots + (i & (t->slots - 1)),
                           from.weight * resize_weight(&at->tables, t, tap, o)};
    }
}

/* Lists all taps of an output row that the ring holds, the last lead's fastest. */
static void list_sources(const walk *at, source *all)
{
    const resize_plan *s = at->plan;
    int64_t count = 1;
    all[0] = (source){0, 0, 1};
    for (int a = 0; a < s->leads; a++) {
        const resize_axis *t = &s->lead[a];
        if (t->kept) {
            for (int64_t k = 0; k < count; k++) {
                all[k].row = all[k].row * t->in + at->index[a];
            }
            continue;
        }
        for (int64_t k = count - 1; k >= 0; k--) {
            list_taps(at, t, at->index[a], all[k], all + k * t->taps);
        }
        count *= t->taps;
    }
}

/* The input row of an output row that has one, of weight 1. */
RY_INLINE int64_t plain_source(const walk *at)
{
    int64_t row = 0;
    for (int a = 0; a < at->plan->leads; a++) {
        const resize_axis *t = &at->plan->lead[a];
        row = row * t->in + (t->kept ? at->index[a] : resize_first(&at->tables, t, at->index[a]));
    }
    return row;
}

/* Tap k of an output row that has more taps than the ring. */
static source find_source(const walk *at, int64_t k)
{
    const resize_plan *s = at->plan;
    source found = {0, 0, 1};
    int64_t step = 1;
    for (int a = s->leads - 1; a >= 0; a--) {
        const resize_axis *t = &s->lead[a];
        const int64_t tap = k % t->taps, o = at->index[a];
        found.row += (t->kept ? o : resize_first(&at->tables, t, o) + tap) * step;
        found.weight *= resize_weight(&at->tables, t, tap, o);
        step *= t->in;
        k /= t->taps;
    }
    return found;
}

#define SUM       float
#define ROW(name) name##_f32_rows
#include "kernels/cpu/sample/resize_rows.h"

#define SUM       double
#define ROW(name) name##_f64_rows
#include "kernels/cpu/sample/resize_rows.h"

/* Elements of a size, along the width, each a copy of one. */
#define PICK(name, type)                                                   \
    static void name(const walk *at, void *to, const void *from)           \
    {                                                                      \
        const resize_axis *t = &at->plan->width;                           \
        const int32_t *restrict first = resize_firsts(&at->tables, t);     \
        const int64_t n = at->plan->inner, in = t->in, out = t->out;       \
        const type *restrict x = from;                                     \
        type *restrict y = to;                                             \
        if (n == 1 && t->repeat == 2) {                                    \
            for (int64_t i = 0; i < in; i++) {                             \
                y[2 * i] = x[i];                                           \
                y[2 * i + 1] = x[i];                                       \
            }                                                              \
        } else if (n == 1 && !t->far) {                                    \
            for (int64_t o = 0; o < out; o++) {                            \
                y[o] = x[first[o]];                                        \
            }                                                              \
        } else if (n < 8 && !t->far) {                                     \
            for (int64_t o = 0; o < out; o++) {                            \
                for (int64_t c = 0; c < n; c++) {                          \
                    y[o * n + c] = x[first[o] * n + c];                    \
                }                                                          \
            }                                                              \
        } else {                                                           \
            for (int64_t o = 0; o < out; o++) {                            \
                const type *one = x + resize_first(&at->tables, t, o) * n; \
                memcpy(y + o * n, one, (size_t)n * sizeof *y);             \
            }                                                              \
        }                                                                  \
    }

PICK(pick_1, uint8_t)
PICK(pick_2, uint16_t)
PICK(pick_4, uint32_t)
PICK(pick_8, uint64_t)

static void pick_row(const walk *at, size_t size, void *y, const void *x)
{
    const resize_plan *s = at->plan;
    if (s->width.repeat == 1) {
        memcpy(y, x, (size_t)(s->width.out * s->inner) * size);
    } else {
        (size == 1 ? pick_1 : size == 2 ? pick_2 : size == 4 ? pick_4 : pick_8)(at, y, x);
    }
}

/* n elements of the value of what is outside. */
static void extrapolate(const ry_cpu_launch *launch, void *y, int64_t n)
{
    const resize_plan *s = launch->state;
    const double value = s->transposed ? 0 : launch->problem->attrs.resize.extrapolation;
    const float single = (float)value;
    const size_t size = ry_dtype_size((ry_dtype)s->dtype);
    for (int64_t i = 0; i < n; i++) {
        void *to = (char *)y + i * (int64_t)size;
        conversions[s->dtype].store(to, s->wide ? (const void *)&value : &single, 1);
    }
}

static bool is_outside(const walk *at)
{
    bool outside = false;
    for (int a = 0; a < at->plan->leads; a++) {
        const resize_axis *t = &at->plan->lead[a];
        outside |= at->index[a] < t->inside_begin || at->index[a] >= t->inside_end;
    }
    return outside;
}

/* Moves to the next output row. */
static void step(walk *at)
{
    for (int a = at->plan->leads - 1; a >= 0 && ++at->index[a] == at->plan->lead[a].out; a--) {
        at->index[a] = 0;
    }
}

/* Output rows [begin, end), each a copy of an input row or of its pixels. */
static void pick_rows(const walk *at, int64_t begin, int64_t end, char *y)
{
    const resize_plan *s = at->plan;
    const resize_axis *t = &s->lead[s->leads - 1];
    const size_t size = ry_dtype_size((ry_dtype)s->dtype);
    const int64_t bytes = s->width.out * s->inner * (int64_t)size;
    int64_t o = begin % t->out, plane = begin / t->out * t->in, before = -1;
    for (int64_t r = begin; r < end; r++, y += bytes) {
        const int64_t from = plane + resize_first(&at->tables, t, o);
        if (from == before) {
            memcpy(y, y - bytes, (size_t)bytes);
        } else {
            pick_row(at, size, y, (const char *)at->x + from * at->line_bytes);
        }
        before = from;
        if (++o == t->out) {
            o = 0;
            plane += t->in;
        }
    }
}

/* Rows of planes that need no index of each lead; false: the task has others. */
static bool run_planes(const walk *at, int64_t begin, int64_t end, char *y)
{
    const resize_plan *s = at->plan;
    if (!s->single || s->extrapolates || (at->convert->load && !s->picks)) {
        return false;
    }
    if (s->picks) {
        pick_rows(at, begin, end, y);
    } else if (s->wide) {
        planes_f64_rows(at, begin, end, (void *)y);
    } else {
        planes_f32_rows(at, begin, end, (void *)y);
    }
    return true;
}

static void run(const ry_cpu_launch *launch, size_t task)
{
    const resize_plan *s = launch->state;
    if (s->fills > 0 && launch->phase == 0) {
        ry_resize_fill(launch->problem, s, task, launch->workspace, launch->scratch);
        return;
    }
    const int64_t size = (int64_t)ry_dtype_size((ry_dtype)s->dtype), n = s->width.out * s->inner;
    const ry_cut_range rows = ry_cut_part(&s->rows, task);
    const int64_t first = rows.first, end = rows.end;
    int64_t held[RESIZE_RING], before = -1;
    memset(held, -1, sizeof held);
    walk at = {.plan = s,
               .tables = {{(const char *)s, launch->workspace}, s->wide},
               .convert = conversion_of(s),
               .x = launch->in[0],
               .scratch = launch->scratch,
               .line_bytes = s->width.in * s->inner * size,
               .held = held};
    if (run_planes(&at, first, end, (char *)launch->out[0] + first * n * size)) {
        return;
    }
    int64_t rest = first;
    for (int a = s->leads - 1; a >= 0; a--) {
        at.index[a] = rest % s->lead[a].out;
        rest /= s->lead[a].out;
    }
    for (int64_t r = first; r < end; r++, step(&at)) {
        char *y = (char *)launch->out[0] + r * n * size;
        if (s->extrapolates && is_outside(&at)) {
            extrapolate(launch, y, n);
            before = -1;
            continue;
        }
        const int64_t from = s->plain ? plain_source(&at) : -1;
        if (s->plain && from == before) {
            memcpy(y, y - n * size, (size_t)(n * size));
        } else if (s->picks) {
            pick_row(&at, (size_t)size, y, (const char *)at.x + from * at.line_bytes);
        } else if (s->plain && !at.convert->load && s->width.repeat != 1) {
            const void *x = (const char *)at.x + from * at.line_bytes;
            s->wide ? resized_f64_rows(&at, (void *)y, x) : resized_f32_rows(&at, (void *)y, x);
        } else {
            (s->wide ? output_f64_rows : output_f32_rows)(&at, y);
        }
        before = from;
        if (!s->extrapolates) {
            continue;
        }
        extrapolate(launch, y, s->width.inside_begin * s->inner);
        extrapolate(launch, y + s->width.inside_end * s->inner * size,
                    (s->width.out - s->width.inside_end) * s->inner);
    }
}

RY_CPU_KERNEL(resize, resize, strict, .simd = RY_SIMD, .applicable = ry_resize_applicable,
              .prepare = ry_resize_prepare, .initialise = ry_resize_initialise, .run = run);

RY_CPU_KERNEL(resize_grad, resize_grad, strict, .simd = RY_SIMD, .applicable = ry_resize_applicable,
              .prepare = ry_resize_prepare, .initialise = ry_resize_initialise, .run = run);
