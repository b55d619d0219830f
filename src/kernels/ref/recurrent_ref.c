/* SPDX-License-Identifier: Apache-2.0 */
/* Reference recurrent layer: one sequence of one direction at a time, from ONNX's formulas. */
#include "kernels/ref/ref_common.h"
#include "problem/recurrent.h"

enum { X, W, R, BIAS, LENGTHS, FIRST_H, FIRST_C, PEEPHOLES };

/* One sequence: hidden and cell state, and the gates of an element, in scratch. */
typedef struct sequence {
    const ry_cpu_launch *launch;
    const ry_problem *p;
    const ry_recurrent_attrs *a;
    int64_t d, n, hidden, length;
    ry_recurrent_function function[RY_RECURRENT_MOST];
    double *h, *c, *gate, *reset;
} sequence;

static double number(const sequence *s, int input, int64_t i, int64_t j, int64_t k)
{
    const ry_tensor *t = &s->p->in[input];
    const int64_t index[] = {i, j, k};
    int64_t offset = 0;
    for (int d = 0; d < t->rank; d++) {
        offset += index[d] * t->stride[d];
    }
    return ry_ref_get(ry_ref_dtype(t), s->launch->in[input], offset);
}

static double state_of(const sequence *s, int input, int64_t j)
{
    const bool first = s->a->batch_first;
    return ry_problem_has_input(s->p, input)
               ? number(s, input, first ? s->n : s->d, first ? s->d : s->n, j)
               : 0;
}

/* The sum of row `row` of the weights with x of an element, with both biases or one. */
static double from_input(const sequence *s, int64_t t, int64_t row)
{
    const ry_tensor *x = &s->p->in[X];
    const bool first = s->a->batch_first;
    const int64_t rows = s->p->in[R].dim[1];
    double sum = ry_problem_has_input(s->p, BIAS) ? number(s, BIAS, s->d, row, 0) : 0;
    if (!ry_problem_has_input(s->p, W)) {
        return sum + number(s, X, first ? s->n : t, first ? t : s->n, s->d * rows + row);
    }
    for (int64_t i = 0; i < x->dim[2]; i++) {
        sum += number(s, X, first ? s->n : t, first ? t : s->n, i) * number(s, W, s->d, row, i);
    }
    return sum;
}

static double from_state(const sequence *s, const double *h, int64_t row)
{
    const int64_t rows = s->p->in[R].dim[1];
    double sum = ry_problem_has_input(s->p, BIAS) ? number(s, BIAS, s->d, rows + row, 0) : 0;
    for (int64_t j = 0; j < s->hidden; j++) {
        sum += h[j] * number(s, R, s->d, row, j);
    }
    return sum;
}

static double activate(const sequence *s, int which, double x)
{
    const double clip = s->a->clip;
    x = clip > 0 ? (x > clip ? clip : x < -clip ? -clip : x) : x;
    return ry_recurrent_apply(&s->function[which], x);
}

static double peephole(const sequence *s, int64_t which, int64_t j, double c)
{
    return ry_problem_has_input(s->p, PEEPHOLES)
               ? number(s, PEEPHOLES, s->d, which * s->hidden + j, 0) * c
               : 0;
}

static void lstm(const sequence *s)
{
    const int64_t size = s->hidden;
    for (int64_t j = 0; j < size; j++) {
        const double *gate = s->gate + j;
        const double i = activate(s, 0, gate[0] + peephole(s, 0, j, s->c[j]));
        const double f = s->a->input_forget
                             ? 1 - i
                             : activate(s, 0, gate[2 * size] + peephole(s, 2, j, s->c[j]));
        s->c[j] = f * s->c[j] + i * activate(s, 1, gate[3 * size]);
        const double o = activate(s, 0, gate[size] + peephole(s, 1, j, s->c[j]));
        s->h[j] = o * ry_recurrent_apply(&s->function[2], s->c[j]);
    }
}

/* gate: what x gives to update, reset and hidden. */
static void gru(const sequence *s)
{
    const int64_t size = s->hidden;
    double *update = s->gate, *own = s->gate + 2 * size;
    for (int64_t j = 0; j < size; j++) {
        const double r = activate(s, 0, s->gate[size + j] + from_state(s, s->h, size + j));
        update[j] = activate(s, 0, update[j] + from_state(s, s->h, j));
        s->reset[j] =
            s->a->linear_before_reset ? r * from_state(s, s->h, 2 * size + j) : r * s->h[j];
    }
    for (int64_t j = 0; j < size; j++) {
        own[j] =
            activate(s, 1,
                     own[j] + (s->a->linear_before_reset ? s->reset[j]
                                                         : from_state(s, s->reset, 2 * size + j)));
    }
    for (int64_t j = 0; j < size; j++) {
        s->h[j] = (1 - update[j]) * own[j] + update[j] * s->h[j];
    }
}

static void turn(const sequence *s, int64_t t)
{
    const int64_t rows = s->p->in[R].dim[1];
    const bool adds = s->a->kind != RY_recurrent_kind_gru;
    for (int64_t row = 0; row < rows; row++) {
        s->gate[row] = from_input(s, t, row) + (adds ? from_state(s, s->h, row) : 0);
    }
    if (s->a->kind == RY_recurrent_kind_lstm) {
        lstm(s);
    } else if (s->a->kind == RY_recurrent_kind_gru) {
        gru(s);
    } else {
        for (int64_t j = 0; j < s->hidden; j++) {
            s->h[j] = activate(s, 0, s->gate[j]);
        }
    }
}

static void store(const sequence *s, int output, int64_t t, const double *from)
{
    const bool first = s->a->batch_first;
    if (!ry_problem_has_output(s->p, output)) {
        return;
    }
    const ry_tensor *y = &s->p->out[output];
    const int64_t index[] = {first ? s->n : t, first ? t : s->d, first ? s->d : s->n};
    const int64_t state[] = {first ? s->n : s->d, first ? s->d : s->n};
    int64_t offset = 0;
    for (int d = 0; d < y->rank - 1; d++) {
        offset += (output ? state[d] : index[d]) * y->stride[d];
    }
    for (int64_t j = 0; j < s->hidden; j++) {
        ry_set_f64(ry_ref_dtype(y), s->launch->out[output], offset + j * y->stride[y->rank - 1],
                   from ? from[j] : 0);
    }
}

static void run_sequence(const ry_cpu_launch *launch, const int64_t *index)
{
    const ry_problem *p = launch->problem;
    const ry_recurrent_attrs *a = &p->attrs.recurrent;
    const int64_t hidden = p->in[R].dim[2];
    double *at = launch->scratch;
    sequence s = {.launch = launch,
                  .p = p,
                  .a = a,
                  .d = index[0],
                  .n = index[1],
                  .hidden = hidden,
                  .length = p->in[X].dim[a->batch_first != 0],
                  .h = at,
                  .c = at + hidden,
                  .reset = at + 2 * hidden,
                  .gate = at + 3 * hidden};
    const int64_t whole = s.length;
    (void)ry_recurrent_functions(a, (int)s.d, s.function);
    if (ry_problem_has_input(p, LENGTHS)) {
        const int64_t own = ry_get_i64(ry_ref_dtype(&p->in[LENGTHS]), launch->in[LENGTHS],
                                       s.n * p->in[LENGTHS].stride[0]);
        s.length = own < 0 ? 0 : own < whole ? own : whole;
    }
    for (int64_t j = 0; j < hidden; j++) {
        s.h[j] = state_of(&s, FIRST_H, j);
        s.c[j] = state_of(&s, FIRST_C, j);
    }
    for (int64_t i = 0; i < s.length; i++) {
        const int64_t t = ry_recurrent_backwards(a, (int)s.d) ? s.length - 1 - i : i;
        turn(&s, t);
        store(&s, 0, t, s.h);
    }
    for (int64_t t = s.length; t < whole; t++) {
        store(&s, 0, t, NULL);
    }
    store(&s, 1, 0, s.h);
    store(&s, 2, 0, s.c);
}

static bool applicable(const ry_problem *p)
{
    return p->inputs >= 3 && p->in[X].rank == 3 && p->in[R].rank == 3 &&
           ry_dtype_is_float(ry_ref_dtype(&p->in[X]));
}

static int64_t sequences(const ry_problem *p, int64_t dim[2])
{
    dim[0] = p->in[R].dim[0];
    dim[1] = p->in[X].dim[p->attrs.recurrent.batch_first ? 0 : 1];
    return dim[0] * dim[1];
}

static rynd_status prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    const ry_problem *p = query->problem;
    int64_t dim[2];
    ry_ref_prepare(prepared, sequences(p, dim));
    const size_t hidden = (size_t)p->in[R].dim[2];
    size_t bytes;
    if (!ry_mul_size(3 + (size_t)ry_recurrent_gates(&p->attrs.recurrent),
                     (hidden + RY_ALIGNMENT) * sizeof(double), &bytes)) {
        return ry_fail_memory(error);
    }
    prepared->scratch = bytes / RY_ALIGNMENT * RY_ALIGNMENT;
    return RYND_OK;
}

static void run(const ry_cpu_launch *launch, size_t task)
{
    int64_t dim[2];
    sequences(launch->problem, dim);
    ry_ref_each(launch, 2, dim, launch->prepared->tasks[0], task, run_sequence);
}

RY_REF_KERNEL(recurrent, applicable, prepare, .run = run);
