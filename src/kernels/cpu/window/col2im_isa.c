/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel: col2im of every type (col2im_plan.h). */
#include "kernels/cpu/window/col2im_plan.h"

#include "kernels/cpu/parts/cpu_kernel.h"
#include "kernels/cpu/simd/half_rows.h"
#include "kernels/cpu/simd/lanes.h"

/* row: values, those of the elements that are a stride apart behind one another: element i is
 * row[i % stride * pitch + i / stride]. add: what each tap gives, whose columns are `apart`. */
typedef struct col2im_loops {
    size_t size; /* bytes per value */
    void (*add)(void *row, const void *x, int64_t at, const col2im_tap *tap, int64_t taps,
                int64_t apart);
    void (*store)(void *y, int64_t at, const void *row, int64_t n, int64_t stride, int64_t pitch);
} col2im_loops;

#define RY_SAME(x)                     (x)
#define ADD_FLOAT(value, sum, a, b)    ((a) + (b))
#define ADD_SIGNED(value, sum, a, b)   ((value)((sum)(a) + (sum)(b)))
#define ADD_UNSIGNED(value, sum, a, b) ((value)((sum)(a) + (sum)(b)))

/* row[i] += x[i] of f32, f16 or bf16. Rows are short: their last vector is masked. */
RY_INLINE void add_floats(const ry_dtype dtype, float *row, const void *x, int64_t n)
{
    const int64_t size = dtype == RY_f32 ? 4 : 2;
    int64_t i = 0;
    for (; i + RY_W <= n; i += RY_W) {
        const ry_vf next = ry_load_full(dtype, (const char *)x + size * i);
        ry_vf_store(row + i, ry_vf_add(ry_vf_load(row + i), next));
    }
    if (i < n) {
        const ry_vm m = ry_vm_first(n - i);
        const ry_vf next = ry_load_masked(dtype, (const char *)x + size * i, m);
        ry_vf_store_m(row + i, m, ry_vf_add(ry_vf_load_m(row + i, m), next));
    }
}

/* Loops by the name of a type's conversion. */
#define ADD_ROW_RY_SAME(value, sum, kind, row, x, n)       \
    if (_Generic(*(row), float : true, default : false)) { \
        add_floats(RY_f32, (float *)(void *)(row), x, n);  \
    } else {                                               \
        for (int64_t i = 0; i < n; i++) {                  \
            row[i] = ADD_##kind(value, sum, row[i], x[i]); \
        }                                                  \
    }
#define ADD_ROW_ry_f16_to_f32_inline(value, sum, kind, row, x, n)  add_floats(RY_f16, row, x, n);
#define ADD_ROW_ry_bf16_to_f32_inline(value, sum, kind, row, x, n) add_floats(RY_bf16, row, x, n);
#define STORE_ROW_RY_SAME(y, row, n)                               memcpy(y, row, (size_t)(n) * sizeof *(y))
#define STORE_ROW_ry_f32_to_f16_inline(y, row, n)                  ry_f16_store((size_t)(n), y, row)
#define STORE_ROW_ry_f32_to_bf16_inline(y, row, n)                 ry_bf16_store((size_t)(n), y, row)

#define RY_LANE(name, element, value, sum, load, store_one, kind)                               \
    static void add_##name(void *to, const void *from, int64_t at, const col2im_tap *tap,       \
                           int64_t taps, int64_t apart)                                         \
    {                                                                                           \
        for (int64_t k = 0; k < taps; k++, at += apart) {                                       \
            value *restrict row = (value *)to + tap[k].to;                                      \
            const element *restrict x = (const element *)from + at + tap[k].first;              \
            const int64_t n = tap[k].n;                                                         \
            ADD_ROW_##load(value, sum, kind, row, x, n)                                         \
        }                                                                                       \
    }                                                                                           \
    RY_INLINE void interleave_##name(element *restrict y, const value *restrict row, int64_t n, \
                                     const int64_t stride, int64_t pitch)                       \
    {                                                                                           \
        for (int64_t i = 0; i < n / stride; i++) {                                              \
            for (int64_t r = 0; r < stride; r++) {                                              \
                y[i * stride + r] = (element)store_one(row[r * pitch + i]);                     \
            }                                                                                   \
        }                                                                                       \
        for (int64_t i = n / stride * stride; i < n; i++) {                                     \
            y[i] = (element)store_one(row[i % stride * pitch + i / stride]);                    \
        }                                                                                       \
    }                                                                                           \
    static void store_##name(void *to, int64_t at, const void *row, int64_t n, int64_t stride,  \
                             int64_t pitch)                                                     \
    {                                                                                           \
        element *y = (element *)to + at;                                                        \
        switch (stride) {                                                                       \
        case 1: STORE_ROW_##store_one(y, (const value *)row, n); break;                         \
        case 2: interleave_##name(y, row, n, 2, pitch); break;                                  \
        case 4: interleave_##name(y, row, n, 4, pitch); break;                                  \
        default: interleave_##name(y, row, n, stride, pitch); break;                            \
        }                                                                                       \
    }
#include "kernels/cpu/parts/lane_types.inc"
#undef RY_LANE

static const col2im_loops loops_of[RY_DTYPES] = {
#define RY_LANE(name, element, value, sum, load, store_one, kind) \
    [RY_##name] = {sizeof(value), add_##name, store_##name},
#include "kernels/cpu/parts/lane_types.inc"
#undef RY_LANE
};

static col2im_tap tap_of(const col2im_plan *s, int64_t tap)
{
    const ry_window_axis *w = &s->window.axis[s->window.rank - 1];
    const ry_window_range r =
        ry_window_inside(w->in, tap * w->dilation - w->pad, w->stride, w->out);
    const bool any = r.end > r.begin;
    const int64_t at = any ? ry_window_at(w, r.begin, tap) : 0;
    return (col2im_tap){r.begin, r.end - r.begin, at % w->stride * s->pitch + at / w->stride};
}

/* A task's operands. */
typedef struct folding {
    const col2im_plan *plan;
    const col2im_loops *loops;
    const void *x;
    char *row;
    col2im_tap *taps; /* the first COL2IM_TAPS */
} folding;

/* Adds the columns of one row of a block, whose first tap is at x[at], at one row of blocks. */
static void add_taps(const folding *f, int64_t at)
{
    const ry_window_axis *w = &f->plan->window.axis[f->plan->window.rank - 1];
    const int64_t known = ry_min(w->taps, COL2IM_TAPS), apart = f->plan->positions;
    f->loops->add(f->row, f->x, at, f->taps, known, apart);
    for (int64_t tap = known; tap < w->taps; tap++) {
        const col2im_tap t = tap_of(f->plan, tap);
        f->loops->add(f->row, f->x, at + tap * apart, &t, 1, apart);
    }
}

/* Adds what row `row` of plane `plane` gets. `known`: images of two dims, whose other planes have the
 * same readers; NULL: not kept. */
static void add_row(const folding *f, int64_t plane, int64_t row, ry_window_readers *known,
                    bool first)
{
    const col2im_plan *s = f->plan;
    const ry_window *w = &s->window;
    const int last = w->rank - 1;
    int64_t taps = w->axis[last].taps, blocks = w->axis[last].out,
            at = plane * s->taps * s->positions, count[RY_MAX_RANK], step[RY_MAX_RANK],
            index[RY_MAX_RANK] = {0};
    bool any = true;
    for (int i = last - 1; i >= 0; i--) {
        const ry_window_axis *axis = &w->axis[i];
        const ry_window_readers r =
            known && !first ? *known : ry_window_readers_of(axis, row % axis->in);
        if (known) {
            *known = r;
        }
        row /= axis->in;
        at += r.tap * taps * s->positions + r.out * blocks;
        step[i] = r.tap_step * taps * s->positions + r.out_step * blocks;
        count[i] = r.count;
        any = any && r.count > 0;
        taps *= axis->taps;
        blocks *= axis->out;
    }
    for (bool more = any; more; more = ry_index_next(last, count, index)) {
        int64_t from = at;
        for (int i = 0; i < last; i++) {
            from += index[i] * step[i];
        }
        add_taps(f, from);
    }
}

static void run(const ry_cpu_launch *launch, size_t task)
{
    const col2im_plan *s = launch->state;
    const ry_window_axis *w = &s->window.axis[s->window.rank - 1];
    const folding f = {.plan = s,
                       .loops = &loops_of[launch->problem->in[0].dtype],
                       .x = launch->in[0],
                       .row = (char *)launch->scratch + s->row,
                       .taps = launch->scratch};
    for (int64_t tap = 0; tap < ry_min(w->taps, COL2IM_TAPS); tap++) {
        f.taps[tap] = tap_of(s, tap);
    }
    ry_window_readers *known = (void *)((char *)launch->scratch + COL2IM_TAPS * sizeof(col2im_tap));
    const ry_cut_range units = ry_cut_part(&s->units, task);
    for (int64_t unit = units.first; unit < units.end; unit++) {
        memset(f.row, 0, (size_t)s->values * f.loops->size);
        const int64_t row = unit % s->rows;
        add_row(&f, unit / s->rows, row, s->known ? known + row : NULL,
                unit - units.first < s->rows);
        f.loops->store(launch->out[0], unit * w->in, f.row, w->in, w->stride, s->pitch);
    }
}

RY_CPU_KERNEL(col2im, col2im, strict, .simd = RY_SIMD, .applicable = ry_col2im_applicable,
              .prepare = ry_col2im_prepare, .initialise = ry_col2im_initialise, .run = run);
