/* SPDX-License-Identifier: Apache-2.0 */
/* Random expressions of all types, broadcast shapes, strides and axes, on guarded memory: the same
 * cases everywhere. */
#ifndef EXPR_RANDOM_H
#define EXPR_RANDOM_H

#include "expr/expr.h"
#include "kernels/kernel.h"

enum { EXPR_GUARD = 128, EXPR_GUARD_BYTE = 0xA5, EXPR_MAX_TEXT = 2048 };

/* Any order of dimensions, gaps, negative strides: EXPR_GUARD bytes, `size` bytes, EXPR_GUARD
 * bytes. */
typedef struct expr_operand {
    ry_tensor description;
    unsigned char *block;
    size_t size, start; /* bytes; where element 0 is stored */
} expr_operand;

static inline void *expr_operand_data(const expr_operand *o)
{
    return o->block + EXPR_GUARD + o->start;
}

typedef struct expr_case {
    ry_problem problem;
    ry_tensor in[8], out[8];
    expr_operand given[8]; /* inputs; outputs from 4 on */
    char name[EXPR_MAX_TEXT + 1024];
} expr_case;

typedef void (*expr_check)(const expr_case *c);

/* Elements of output o agree, and every byte that is none of them is untouched (the reference wrote
 * the same places). Both blocks are as large as the operand's. */
void expr_case_compare(const ry_kernel *kernel, const expr_case *c, int o, const unsigned char *got,
                       const unsigned char *expected);

void expr_random_pointwise(int rounds, expr_check check);
/* Operands in any order of dimensions, with rows longer than a tile. */
void expr_random_transposed(int rounds, expr_check check);
void expr_random_reductions(int rounds, expr_check check);
/* Large enough to be cut into slices: everything, the inner or the outer dimension, short rows. */
void expr_random_large_reductions(int rounds, expr_check check);
/* Every cast and saturation between all types, and 16-bit rounding in the middle of a program; of
 * these pairs of types each `step`-th. */
void expr_random_casts(int step, expr_check check);

#endif
