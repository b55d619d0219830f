/* SPDX-License-Identifier: Apache-2.0 */
/* Recurrent layers: what their attributes say of gates, directions and activations. */
#ifndef RY_PROBLEM_RECURRENT_H
#define RY_PROBLEM_RECURRENT_H

#include "problem/attrs.h"

/* Activations of one direction: at most f, g and h. */
#define RY_RECURRENT_MOST 3

typedef struct ry_recurrent_function {
    int which; /* the row of recurrent_functions.inc */
    double alpha, beta;
} ry_recurrent_function;

static inline int ry_recurrent_gates(const ry_recurrent_attrs *attrs)
{
    return attrs->kind == RY_recurrent_kind_lstm ? 4 : attrs->kind == RY_recurrent_kind_gru ? 3 : 1;
}

static inline int ry_recurrent_directions(const ry_recurrent_attrs *attrs)
{
    return attrs->direction == RY_recurrent_direction_bidirectional ? 2 : 1;
}

/* Does the direction go from the last element to the first? */
static inline bool ry_recurrent_backwards(const ry_recurrent_attrs *attrs, int direction)
{
    return attrs->direction == RY_recurrent_direction_reverse || direction == 1;
}

/* The activations of a direction. False: a word of the list is unknown, or the list is too short.
 * An absent list has the layer's own; alphas and betas go to the activations that take them, in the
 * order of the list, and the activation's own after the last. */
bool ry_recurrent_functions(const ry_recurrent_attrs *attrs, int direction,
                            ry_recurrent_function function[RY_RECURRENT_MOST]);

/* The text of a row, as of expressions: of "$", "A" and "B". */
const char *ry_recurrent_text(int which);
double ry_recurrent_apply(const ry_recurrent_function *function, double x);

#endif
