/* SPDX-License-Identifier: Apache-2.0 */
/* How wrong the expression language's functions of one operand may be in f32, and numbers at which
 * they often are. */
#ifndef EXPR_BOUNDS_H
#define EXPR_BOUNDS_H

#include "expr/expr.h"

enum { EXPR_FUNCTIONS = 31, EXPR_SPECIALS = 36 };

typedef struct expr_function {
    const char *text;
    ry_expr_code code;
    double bound; /* ulp of f32 */
} expr_function;

extern const expr_function expr_functions[EXPR_FUNCTIONS];
extern const float expr_specials[EXPR_SPECIALS];

float expr_float_of_bits(uint32_t bits);

/* The distance of `got` from `truth` in units of the last place of a float with that many bits at
 * truth's magnitude; infinite where they differ in kind. A result rounded to infinity is as far as
 * the next number would be. */
double expr_ulps(double got, double truth, int digits, int min_exponent, double largest);
double expr_ulps_f32(double got, double truth);

#endif
