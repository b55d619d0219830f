/* SPDX-License-Identifier: Apache-2.0 */
/* The turns of a recurrent layer, as ONNX defines them, for numbers of type REAL: a template, whose
 * functions NAME(x) makes. The functions of recurrent_functions.inc see exp, tanh, log1p, expm1,
 * fabs, fmin and fmax. */

#define RY_RECURRENT(name, takes, alpha, beta, text, in_c)      \
    static void NAME(name)(REAL * y, int64_t n, REAL a, REAL b) \
    {                                                           \
        (void)a;                                                \
        (void)b;                                                \
        for (int64_t i = 0; i < n; i++) {                       \
            const REAL x = y[i];                                \
            y[i] = (REAL)(in_c);                                \
        }                                                       \
    }
#include "problem/recurrent_functions.inc"
#undef RY_RECURRENT

static void (*const NAME(functions)[])(REAL *y, int64_t n, REAL a, REAL b) = {
#define RY_RECURRENT(name, takes, alpha, beta, text, in_c) NAME(name),
#include "problem/recurrent_functions.inc"
#undef RY_RECURRENT
};

/* Activation number `which` of the direction, of n numbers. */
static void NAME(apply)(const walk *w, int which, REAL *y, int64_t n)
{
    const ry_recurrent_function *f = &w->plan->function[w->direction][which];
    NAME(functions)[f->which](y, n, (REAL)f->alpha, (REAL)f->beta);
}

/* The same of gates' sums, which are clipped first. */
static void NAME(activate)(const walk *w, int which, REAL *y, int64_t n)
{
    const REAL clip = (REAL)w->plan->attrs.clip;
    for (int64_t i = 0; clip > 0 && i < n; i++) {
        y[i] = y[i] > clip ? clip : y[i] < -clip ? -clip : y[i];
    }
    NAME(apply)(w, which, y, n);
}

/* y += a + b */
static void NAME(add)(REAL *restrict y, const REAL *restrict a, const REAL *restrict b, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        y[i] += a[i] + b[i];
    }
}

/* y += a * b */
static void NAME(add_product)(REAL *restrict y, const REAL *restrict a, const REAL *restrict b,
                              int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        y[i] += a[i] * b[i];
    }
}

static void NAME(lstm)(const walk *w, const void *memory, int64_t row)
{
    const recurrent_plan *s = w->plan;
    const int64_t n = s->hidden;
    REAL *i = (REAL *)w->sums + row * s->step, *o = i + n, *f = o + n, *g = f + n,
         *h = (REAL *)w->h + row * n, *c = (REAL *)w->c + row * n;
    const REAL *x = memory, *peephole = w->peepholes;
    NAME(add)(i, x, w->bias, 4 * n);
    if (peephole) {
        NAME(add_product)(i, peephole, c, n);
        NAME(add_product)(f, peephole + 2 * n, c, n);
    }
    NAME(activate)(w, 0, i, peephole ? n : 3 * n);
    if (peephole) {
        NAME(activate)(w, 0, f, n);
    }
    NAME(activate)(w, 1, g, n);
    for (int64_t j = 0; j < n; j++) {
        const REAL forgets = s->attrs.input_forget ? 1 - i[j] : f[j];
        c[j] = forgets * c[j] + i[j] * g[j];
        h[j] = c[j];
    }
    if (peephole) {
        NAME(add_product)(o, peephole + n, c, n);
        NAME(activate)(w, 0, o, n);
    }
    NAME(apply)(w, 2, h, n);
    for (int64_t j = 0; j < n; j++) {
        h[j] *= o[j];
    }
}

/* Update and reset gates, and the reset state. */
static void NAME(reset)(const walk *w, const void *memory, int64_t row)
{
    const recurrent_plan *s = w->plan;
    const int64_t n = s->hidden;
    REAL *z = (REAL *)w->sums + row * s->step, *r = z + n, *reset = (REAL *)w->reset + row * n;
    const REAL *h = (const REAL *)w->h + row * n;
    NAME(add)(z, memory, w->bias, 2 * n);
    NAME(activate)(w, 0, z, 2 * n);
    for (int64_t j = 0; j < n; j++) {
        reset[j] = r[j] * h[j];
    }
}

static void NAME(gru)(const walk *w, const void *memory, int64_t row)
{
    const recurrent_plan *s = w->plan;
    const int64_t n = s->hidden;
    REAL *z = (REAL *)w->sums + row * s->step, *r = z + n, *own = r + n,
         *h = (REAL *)w->h + row * n;
    const REAL *x = memory, *bias = w->bias, *inner = bias + 3 * n;
    if (!recurrent_resets(s)) {
        NAME(add)(z, x, bias, 2 * n);
        NAME(activate)(w, 0, z, 2 * n);
        for (int64_t j = 0; j < n; j++) {
            own[j] = r[j] * (own[j] + inner[j]);
        }
    }
    NAME(add)(own, x + 2 * n, bias + 2 * n, n);
    NAME(activate)(w, 1, own, n);
    for (int64_t j = 0; j < n; j++) {
        h[j] = (1 - z[j]) * own[j] + z[j] * h[j];
    }
}

static void NAME(rnn)(const walk *w, const void *memory, int64_t row)
{
    const recurrent_plan *s = w->plan;
    REAL *sums = (REAL *)w->sums + row * s->step;
    NAME(add)(sums, memory, w->bias, s->hidden);
    NAME(activate)(w, 0, sums, s->hidden);
    memcpy((REAL *)w->h + row * s->hidden, sums, (size_t)s->hidden * sizeof(REAL));
}

/* Both biases of each gate; of a hidden gate that is reset after its product, the state's is
 * apart. */
static void NAME(begin)(const walk *w, const void *bias, REAL *sum)
{
    const recurrent_plan *s = w->plan;
    const int64_t n = s->hidden, rows = s->gates * n,
                  joined = s->attrs.kind == RY_recurrent_kind_gru && !recurrent_resets(s) ? rows - n
                                                                                          : rows;
    const REAL *from = (const REAL *)bias + (bias ? 2 * rows * w->direction : 0);
    for (int64_t j = 0; j < rows + n; j++) {
        const int64_t inner = j < rows ? j : j - n;
        const bool outside = j < rows, inside = outside ? j < joined : joined < rows;
        sum[j] = bias ? (outside ? from[j] : 0) + (inside ? from[rows + inner] : 0) : 0;
    }
}

static void NAME(pack)(const recurrent_plan *s, const REAL *weights, int64_t panel, REAL *to)
{
    const int64_t second = panel - s->panels[0],
                  first = second < 0 ? panel * s->lanes : s->columns + second * s->lanes,
                  end = second < 0 ? s->columns : s->gates * s->hidden;
    for (int64_t k = 0; k < s->hidden; k++) {
        for (int64_t lane = 0; lane < s->lanes; lane++) {
            const int64_t row = first + lane;
            to[k * s->lanes + lane] = row < end ? weights[row * s->hidden + k] : 0;
        }
    }
}

static const cell_loops NAME(loops) = {
    {[RY_recurrent_kind_lstm] = NAME(lstm),
     [RY_recurrent_kind_gru] = NAME(gru),
     [RY_recurrent_kind_rnn] = NAME(rnn)},
    NAME(reset),
};
