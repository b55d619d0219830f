/* SPDX-License-Identifier: Apache-2.0 */
/* All turns of some sequences of a recurrent layer: in each turn a product of their states by
 * panels, then the cells. */
#include "kernels/cpu/parts/cpu_kernel.h"
#include "kernels/cpu/recurrent/recurrent_plan.h"
#include "kernels/cpu/recurrent/recurrent_tile.h"
#include "kernels/cpu/simd/simd.h"
#include "kernels/cpu/simd/vector_math.h"

#include <string.h>

/* A task. */
typedef struct walk {
    const ry_cpu_launch *launch;
    const recurrent_plan *plan;
    int direction;
    ry_cut_range rows;
    size_t size;        /* bytes of a number */
    const char *panels; /* the direction's */
    /* a row each: states, cells, sums of gates, the state times its reset gate */
    void *h, *c, *sums, *reset;
    const void *bias, *peepholes;
} walk;

typedef void (*cell)(const walk *w, const void *x, int64_t row);

typedef struct cell_loops {
    cell turn[RY_recurrent_kind_count];
    cell reset;
} cell_loops;

#define REAL    double
#define NAME(x) x##_f64
#include "kernels/cpu/recurrent/recurrent_cells.h"
#undef REAL
#undef NAME
#define REAL    float
#define NAME(x) x##_f32
#define exp     f32_exp
#define tanh    f32_tanh
#define log1p   f32_log1p
#define expm1   f32_expm1
#define fabs    f32_abs
#define fmin    fminf
#define fmax    fmaxf
#include "kernels/cpu/recurrent/recurrent_cells.h"
#undef exp
#undef tanh
#undef log1p
#undef expm1
#undef fabs
#undef fmin
#undef fmax

/* NULL: the problem lacks the input. */
static const void *input(const ry_cpu_launch *launch, int i)
{
    return ry_problem_has_input(launch->problem, i) ? launch->in[i] : NULL;
}

/* Sums of panels [first, end) into the columns from `column` on. */
static void multiply(const walk *w, const void *h, int64_t first, int64_t end, int64_t column)
{
    const recurrent_plan *s = w->plan;
    const int64_t bytes = (int64_t)w->size;
    for (int64_t panel = first; panel < end; panel++, column += s->lanes) {
        const recurrent_tile tile = {.h = h,
                                     .panel = w->panels + panel * s->hidden * s->lanes * bytes,
                                     .sums = (char *)w->sums + column * bytes,
                                     .rows = w->rows.count,
                                     .depth = s->hidden,
                                     .h_step = s->hidden,
                                     .sum_step = s->step};
        RY_ISA_SYMBOL(recurrent_multiply)(&tile, s->wide);
    }
}

/* Elements of the sequence of a row. */
static int64_t length_of(const walk *w, int64_t row)
{
    const void *lengths = input(w->launch, RECURRENT_LENGTHS);
    if (!lengths) {
        return w->plan->time;
    }
    const ry_dtype dtype = (ry_dtype)w->launch->problem->in[RECURRENT_LENGTHS].dtype;
    return ry_clamp(ry_get_i64(dtype, lengths, w->rows.first + row), 0, w->plan->time);
}

/* The element of turn i, or behind the last one. */
static int64_t element_of(const walk *w, int64_t row, int64_t i)
{
    const int64_t length = length_of(w, row);
    return i < length && ry_recurrent_backwards(&w->plan->attrs, w->direction) ? length - 1 - i : i;
}

static const void *input_of(const walk *w, int64_t row, int64_t t)
{
    const recurrent_plan *s = w->plan;
    const int64_t n = w->rows.first + row, rows = s->gates * s->hidden,
                  at = s->attrs.batch_first ? n * s->time + t : t * s->batch + n;
    return (const char *)w->launch->in[RECURRENT_X] +
           (at * s->directions + w->direction) * rows * (int64_t)w->size;
}

static int64_t state_at(const walk *w, int64_t row)
{
    const recurrent_plan *s = w->plan;
    const int64_t n = w->rows.first + row, d = w->direction;
    return (s->attrs.batch_first ? n * s->directions + d : d * s->batch + n) * s->hidden *
           (int64_t)w->size;
}

/* Stores the row's state as element t of y, or zeros. */
static void store(const walk *w, int64_t row, int64_t t, bool live)
{
    const recurrent_plan *s = w->plan;
    const int64_t n = w->rows.first + row, d = w->direction,
                  at = s->attrs.batch_first ? (n * s->time + t) * s->directions + d
                                            : (t * s->directions + d) * s->batch + n,
                  bytes = s->hidden * (int64_t)w->size;
    char *y = ry_problem_has_output(w->launch->problem, 0) ? (char *)w->launch->out[0] + at * bytes
                                                           : NULL;
    if (y && live) {
        memcpy(y, (const char *)w->h + row * bytes, (size_t)bytes);
    } else if (y) {
        memset(y, 0, (size_t)bytes);
    }
}

static void turn(const walk *w, int64_t i)
{
    const recurrent_plan *s = w->plan;
    const cell_loops *loops = s->wide ? &loops_f64 : &loops_f32;
    multiply(w, w->h, 0, s->panels[0], 0);
    for (int64_t row = 0; recurrent_resets(s) && row < w->rows.count; row++) {
        loops->reset(w, input_of(w, row, element_of(w, row, i)), row);
    }
    multiply(w, w->reset, s->panels[0], recurrent_panels(s), s->columns);
    for (int64_t row = 0; row < w->rows.count; row++) {
        const bool live = i < length_of(w, row);
        const int64_t t = element_of(w, row, i);
        if (live) {
            loops->turn[s->attrs.kind](w, input_of(w, row, t), row);
        }
        store(w, row, t, live);
    }
}

/* The first states (from an input, or zeros), or the last ones. */
static void read_states(const walk *w, int number, void *to)
{
    const int64_t bytes = w->plan->hidden * (int64_t)w->size;
    const char *from = input(w->launch, number);
    for (int64_t row = 0; row < w->rows.count; row++) {
        char *own = (char *)to + row * bytes;
        if (from) {
            memcpy(own, from + state_at(w, row), (size_t)bytes);
        } else {
            memset(own, 0, (size_t)bytes);
        }
    }
}

static void write_states(const walk *w, int output, const void *from)
{
    const int64_t bytes = w->plan->hidden * (int64_t)w->size;
    char *to = ry_problem_has_output(w->launch->problem, output) ? w->launch->out[output] : NULL;
    for (int64_t row = 0; to && row < w->rows.count; row++) {
        memcpy(to + state_at(w, row), (const char *)from + row * bytes, (size_t)bytes);
    }
}

static void run(const ry_cpu_launch *launch, size_t task)
{
    const recurrent_plan *s = launch->state;
    ry_cut_range range[RY_CUT_AXES];
    ry_cut_task(&s->tasks, task, range);
    const size_t size = s->wide ? sizeof(double) : sizeof(float);
    const int64_t d = range[0].first,
                  panel = s->hidden * s->lanes * (int64_t)size * recurrent_panels(s);
    char *scratch = launch->scratch;
    const char *peepholes = input(launch, RECURRENT_PEEPHOLES);
    const walk w = {.launch = launch,
                    .plan = s,
                    .direction = (int)d,
                    .rows = range[1],
                    .size = size,
                    .panels = (const char *)launch->packed + d * panel,
                    .h = scratch + s->h,
                    .c = scratch + s->c,
                    .sums = scratch + s->sums,
                    .reset = scratch + s->reset,
                    .bias = scratch + s->bias,
                    .peepholes = peepholes ? peepholes + d * 3 * s->hidden * (int64_t)size : NULL};
    if (s->wide) {
        begin_f64(&w, input(launch, RECURRENT_BIAS), (void *)(scratch + s->bias));
    } else {
        begin_f32(&w, input(launch, RECURRENT_BIAS), (void *)(scratch + s->bias));
    }
    read_states(&w, RECURRENT_FIRST_H, w.h);
    read_states(&w, RECURRENT_FIRST_C, w.c);
    for (int64_t i = 0; i < s->time; i++) {
        turn(&w, i);
    }
    write_states(&w, 1, w.h);
    write_states(&w, 2, w.c);
}

static void pack(const ry_cpu_launch *launch, size_t task)
{
    const recurrent_plan *s = launch->state;
    const int64_t panels = recurrent_panels(s), d = (int64_t)task / panels,
                  weights = d * s->gates * s->hidden * s->hidden,
                  to = (int64_t)task * s->hidden * s->lanes;
    if (s->wide) {
        pack_f64(s, (const double *)launch->in[RECURRENT_R] + weights, (int64_t)task % panels,
                 (double *)launch->packed_out + to);
    } else {
        pack_f32(s, (const float *)launch->in[RECURRENT_R] + weights, (int64_t)task % panels,
                 (float *)launch->packed_out + to);
    }
}

RY_CPU_KERNEL(recurrent_turns, recurrent, strict, .simd = RY_SIMD,
              .applicable = ry_recurrent_applicable, .prepare = ry_recurrent_prepare,
              .initialise = ry_recurrent_initialise, .pack = pack, .run = run,
              .packed_inputs = 1u << RECURRENT_R, .packing = ry_recurrent_packing);
