/* SPDX-License-Identifier: Apache-2.0 */
/* The builder that every program comes from: it makes equal subexpressions one instruction, folds
 * constants, orders the operands of commutative functions, and keeps reduced and unreduced terms
 * apart. For the files of expr/ only.
 *
 * Numbers returned are instructions of the builder; negative ones are failures (ry_expr_build_*),
 * and an operand that is negative makes the result so, so that only the end needs a check. */
#ifndef RY_EXPR_EXPR_BUILD_H
#define RY_EXPR_EXPR_BUILD_H

#include "expr/expr.h"

#define RY_EXPR_BUILD_FULL   (-1) /* more than the capacity */
#define RY_EXPR_BUILD_MIXED  (-2) /* a reduced and an unreduced operand */
#define RY_EXPR_BUILD_NESTED (-3) /* a reduction of a reduced term */

/* In patterns only (ry_expr_match): a number not yet known. `index` says which. */
#define RY_EXPR_parameter RY_EXPR_CODES

typedef struct ry_expr_builder {
    const ry_allocator *allocator;
    int count, capacity, inputs;
    ry_expr_instruction *code;
    uint8_t *side;    /* RY_EXPR_FREE (constants only), _UNREDUCED or _REDUCED */
    uint16_t *next;   /* chains of equal hash */
    uint16_t *bucket; /* [RY_EXPR_BUCKETS], instruction + 1 */
} ry_expr_builder;

#define RY_EXPR_BUCKETS 256

enum { RY_EXPR_FREE, RY_EXPR_UNREDUCED, RY_EXPR_REDUCED };

/* false: out of memory */
bool ry_expr_builder_init(ry_expr_builder *builder, const ry_allocator *allocator);
void ry_expr_builder_free(ry_expr_builder *builder);

int ry_expr_build_input(ry_expr_builder *builder, int index);
int ry_expr_build_constant(ry_expr_builder *builder, double value);
int ry_expr_build_parameter(ry_expr_builder *builder, int index);
int ry_expr_build_cast(ry_expr_builder *builder, ry_expr_code code, ry_dtype dtype, int operand);
int ry_expr_build(ry_expr_builder *builder, ry_expr_code code, const int *operand);

/* The same with the algebra of real numbers: 0 * a is 0, a * 1 and a + 0 are a, select(c, a, 0) +
 * select(c, 0, b) is select(c, a, b). Not for programs as they are given, where 0 * inf is NaN and
 * -0 + 0 is 0; for gradients, which consist of such terms. */
int ry_expr_build_simple(ry_expr_builder *builder, ry_expr_code code, const int *operand);
bool ry_expr_is_number(const ry_expr_builder *builder, int at, double value);

/* Copies an instruction; `operand` and `input` are the builder's. */
int ry_expr_build_copy(ry_expr_builder *builder, const ry_expr_instruction *instruction,
                       const int *operand, const int *input);
/* Copies a program's instructions; map[i] is the builder's instruction of i, input k becomes
 * `input[k]`, an instruction. */
void ry_expr_build_program(ry_expr_builder *builder, const ry_expr *program, const int *input,
                           int *map);

/* The program of the outputs given, in canonical order and without what they do not use. `inputs`
 * is at least what is used. */
rynd_status ry_expr_builder_finish(const ry_expr_builder *builder, int inputs, const int *result,
                                   int outputs, ry_arena *arena, const ry_expr **program,
                                   ry_error *error);

bool ry_expr_commutes(ry_expr_code code);

/* Text to builder, without finishing: results go to result[RY_EXPR_MAX_OUTPUTS]. symbolic:
 * parameters become RY_EXPR_parameter. */
rynd_status ry_expr_parse_into(ry_expr_builder *builder, const char *text,
                               const ry_expr_parameter *parameters, int parameter_count,
                               bool symbolic, int *result, int *outputs, ry_error *error);

#endif
