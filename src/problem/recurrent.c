/* SPDX-License-Identifier: Apache-2.0 */
/* Activations of recurrent layers, by name. */
#include "problem/recurrent.h"

#include <math.h>
#include <string.h>

typedef struct row {
    const char *name;
    int takes;
    double alpha, beta;
    const char *text;
} row;

static const row rows[] = {
#define RY_RECURRENT(name, takes, alpha, beta, text, in_c) {#name, takes, alpha, beta, text},
#include "problem/recurrent_functions.inc"
#undef RY_RECURRENT
};

enum { ROWS = sizeof rows / sizeof *rows };

/* One function for each row. */
#define RY_RECURRENT(name, takes, alpha, beta, text, in_c)   \
    static double apply_##name(double x, double a, double b) \
    {                                                        \
        (void)a;                                             \
        (void)b;                                             \
        return in_c;                                         \
    }
#include "problem/recurrent_functions.inc"
#undef RY_RECURRENT

static double (*const apply[])(double x, double a, double b) = {
#define RY_RECURRENT(name, takes, alpha, beta, text, in_c) apply_##name,
#include "problem/recurrent_functions.inc"
#undef RY_RECURRENT
};

static int find(const char *word, size_t length)
{
    for (int i = 0; i < ROWS; i++) {
        if (strlen(rows[i].name) == length && memcmp(rows[i].name, word, length) == 0) {
            return i;
        }
    }
    return -1;
}

bool ry_recurrent_functions(const ry_recurrent_attrs *attrs, int direction,
                            ry_recurrent_function function[RY_RECURRENT_MOST])
{
    static const char *const own[] = {
        [RY_recurrent_kind_rnn] = "tanh,tanh",
        [RY_recurrent_kind_lstm] = "sigmoid,tanh,tanh,sigmoid,tanh,tanh",
        [RY_recurrent_kind_gru] = "sigmoid,tanh,sigmoid,tanh",
    };
    static const int counts[] = {
        [RY_recurrent_kind_rnn] = 1, [RY_recurrent_kind_lstm] = 3, [RY_recurrent_kind_gru] = 2};
    const char *at = attrs->activations ? attrs->activations : own[attrs->kind];
    const int count = counts[attrs->kind], first = direction * count;
    int alphas = 0, betas = 0, i = 0;
    for (; *at && i < first + count; i++) {
        const size_t length = strcspn(at, ",");
        const int which = find(at, length);
        if (which < 0) {
            return false;
        }
        const row *r = &rows[which];
        const bool takes_alpha = r->takes > 0 &&
                                 alphas<attrs->alpha.count, takes_beta = r->takes> 1 &&
                                 betas < attrs->beta.count;
        const double alpha = takes_alpha ? attrs->alpha.at[alphas++] : r->alpha;
        const double beta = takes_beta ? attrs->beta.at[betas++] : r->beta;
        if (i >= first) {
            function[i - first] = (ry_recurrent_function){which, alpha, beta};
        }
        at += length + (at[length] == ',');
    }
    return i == first + count;
}

const char *ry_recurrent_text(int which)
{
    return rows[which].text;
}

double ry_recurrent_apply(const ry_recurrent_function *function, double x)
{
    return apply[function->which](x, function->alpha, function->beta);
}
