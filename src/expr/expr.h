/* SPDX-License-Identifier: Apache-2.0 */
/* The expression language: pointwise, broadcast and reduce. Every elementwise and reducing operator
 * is a program of it.
 *
 *   y0 = max(x0 * a + b, 0)                       inputs x0, x1, ... broadcast together by numpy's
 *                                                 rules
 *   t = x0 - x1; y0 = sqrt(sum(t * t)); y1 = max(t)   names, several outputs, reductions over one
 *                                                     set of axes, code after a reduction
 *   y0 = cast(x0 >= x1, i32)                      types follow the inputs; comparisons give bool;
 *                                                 cast(e, dtype), saturate(e, dtype)
 *
 * A bare expression is `y0 = ` of it. Reductions: sum prod max min mean (all over the same axes,
 * which the node states, not the text). An output that uses no reduction has the broadcast shape;
 * one that does has the reduced shape. Within one expression, reduced and unreduced terms may not
 * meet (`x0 - mean(x0)` is refused: write two nodes).
 *
 * Operators, loosest first: |  ^  & (on bool)   == != < <= > >=   + -   * /   - ! (unary);
 * everything else is a function of expr_ops.inc. Numbers, `inf` and `nan` are constants; what
 * consists of constants alone is computed in f64 when the text is read. Statements are separated by
 * ';'.
 *
 * Types: the operands of an arithmetic operator have one type, constants take it; f16 and bf16
 * compute in f32 and round when stored; integer arithmetic wraps in its own width; integer division
 * truncates, by zero gives 0; f64 computes in f64. Results of `y` have the expression's type
 * (f16/bf16 inputs give their own type back).
 *
 * A program is immutable and may be shared by threads; it lives in the arena given. expr_ops.inc
 * lists the functions. A GPU device prints the same program as kernel text: nothing here assumes a
 * CPU, the evaluator is kernels/cpu's. */
#ifndef RY_EXPR_EXPR_H
#define RY_EXPR_EXPR_H

#include "base/memory.h"
#include "base/status.h"
#include "tensor/tensor.h"

/* Bounds of one program; longer texts are refused. */
#define RY_EXPR_MAX_INSTRUCTIONS 1024
#define RY_EXPR_MAX_INPUTS       256
#define RY_EXPR_MAX_OUTPUTS      64
#define RY_EXPR_MAX_DEPTH        128 /* nested parentheses and calls in a text */

/* What an instruction does: RY_EXPR_OP(name, ...) in expr_ops.inc, plus these four. */
typedef enum ry_expr_code {
    RY_EXPR_input,    /* x[index] */
    RY_EXPR_constant, /* value */
    RY_EXPR_cast,     /* to dtype, C rules (saturating for float to integer) */
    RY_EXPR_saturate, /* round half to even, clamp to dtype's range */
#define RY_EXPR_OP(name, operands, result, swapped) RY_EXPR_##name,
#include "expr/expr_ops.inc"
#undef RY_EXPR_OP
    RY_EXPR_CODES,
    RY_EXPR_none = RY_EXPR_CODES
} ry_expr_code;

/* The third column of expr_ops.inc. */
typedef enum ry_expr_class {
    RY_EXPR_CLASS_NONE, /* input, constant, cast, saturate */
    RY_EXPR_CLASS_SAME,
    RY_EXPR_CLASS_BOOL,
    RY_EXPR_CLASS_FLOAT,
    RY_EXPR_CLASS_LOGIC,
    RY_EXPR_CLASS_BITS,
    RY_EXPR_CLASS_SELECT,
    RY_EXPR_CLASS_REDUCE
} ry_expr_class;

const char *ry_expr_code_name(ry_expr_code code); /* as in the text: reduce_min is "min" */
int ry_expr_code_operands(ry_expr_code code);
ry_expr_class ry_expr_code_class(ry_expr_code code);
/* The function that gives the same with swapped operands, itself if it commutes; RY_EXPR_none. */
ry_expr_code ry_expr_code_swapped(ry_expr_code code);
/* The gradient program of a function from expr_gradients.inc, with a b c y g as x0 ... x4; NULL if
 * it has none. */
const char *ry_expr_code_gradient(ry_expr_code code);

typedef struct ry_expr_instruction {
    ry_expr_code code;
    ry_dtype dtype;      /* target type of cast and saturate */
    uint16_t operand[3]; /* indices of earlier instructions */
    uint16_t index;      /* number of the input */
    double value;        /* the constant */
} ry_expr_instruction;

/* SSA: instruction i may use those before it. Equal subexpressions are one instruction; constants
 * are folded. */
typedef struct ry_expr {
    int inputs, outputs, count;
    const ry_expr_instruction *code;
    const uint16_t *result; /* instruction of each output */
    const bool *reduced;    /* whether each instruction depends on a reduction */
    bool reduces;           /* some instruction is a reduction */
    uint64_t hash;          /* hash of the structure: equal programs have equal hashes */
} ry_expr;

typedef struct ry_expr_parameter {
    const char *name; /* `a` in the text becomes the number */
    double value;
} ry_expr_parameter;

rynd_status ry_expr_parse(const char *text, const ry_expr_parameter *parameters,
                          int parameter_count, ry_arena *arena, const ry_expr **program,
                          ry_error *error);
/* parses back to an equal program */
const char *ry_expr_print(const ry_expr *program, ry_arena *arena);
bool ry_expr_equal(const ry_expr *a, const ry_expr *b);

/* Whether `program` is `text` for some numbers in place of its parameters; if so, gives the numbers
 * (in parameters[].value). Fails with OUT_OF_MEMORY only. */
rynd_status ry_expr_match(const ry_expr *program, const char *text, ry_expr_parameter *parameters,
                          int parameter_count, const ry_allocator *allocator, bool *found,
                          ry_error *error);

/* inner's output `output` becomes outer's input `input`; the new inputs are outer's others in
 * order, then inner's. Neither may reduce, but outer may when inner does not. NULL program when out
 * of memory or too long. */
rynd_status ry_expr_compose(const ry_expr *outer, int input, const ry_expr *inner, int output,
                            ry_arena *arena, const ry_expr **program, ry_error *error);

/* The same program with its inputs renamed: input i becomes input map[i] of `inputs`. Two may
 * become one: mul(x0, sigmoid(x1)) by {0, 0} is silu. */
rynd_status ry_expr_rename(const ry_expr *program, const int *map, int inputs, ry_arena *arena,
                           const ry_expr **renamed, ry_error *error);

/* Instruction at[k] becomes a new input, of number inputs + k, and `results` the instructions of
 * the outputs: what stands between them. Cut at its reductions, a program falls into pointwise
 * ones. */
rynd_status ry_expr_cut(const ry_expr *program, const int *at, int count, const int *results,
                        int outputs, ry_arena *arena, const ry_expr **part, ry_error *error);

/* The outputs named, of a program that does not reduce; those `summed` are summed over the axes. */
rynd_status ry_expr_outputs(const ry_expr *program, const int *outputs, const bool *summed,
                            int count, ry_arena *arena, const ry_expr **picked, ry_error *error);

/* The gradient of a program that does not reduce, by the rules of expr_gradients.inc: its inputs
 * are the program's; then, for each output, the gradient of it; then the outputs themselves, where
 * they are shorter to read than to compute. Inputs that it does not use are there all the same. */
typedef struct ry_expr_gradient_options {
    const ry_dtype *inputs; /* types of the program's inputs */
    const bool *wanted;     /* whether each input's gradient is needed */
    const bool *given;      /* whether each output has a gradient; NULL: all have */
    const bool *known;      /* whether each output may be read; NULL: none may */
} ry_expr_gradient_options;

/* at[i]: the output of *gradient that is the gradient of input i; -1 if the gradient is not needed
 * or is 0 everywhere. *gradient is NULL if every at[i] is -1. Inputs of integer or bool type have
 * gradient 0. */
rynd_status ry_expr_gradient(const ry_expr *program, const ry_expr_gradient_options *options,
                             ry_arena *arena, const ry_expr **gradient, int *at, ry_error *error);

/* The type of each instruction for the inputs' types (types[count]); RYND_ERROR_SHAPE with a
 * message when operands disagree. A constant takes the type of the operand it meets, f32 where it
 * meets none; used with several types, it has the first of them here, and each use its own. */
rynd_status ry_expr_types(const ry_expr *program, const ry_dtype *inputs, ry_dtype *types,
                          ry_error *error);

/* One pointwise function of SAME, FLOAT, BOOL, LOGIC or SELECT class in f64 (bool as 0 and 1), and
 * one of BITS or SAME class in the integer type `dtype`, whose values are held sign- or
 * zero-extended: what constant folding and the reference kernel compute with. */
double ry_expr_scalar_f64(ry_expr_code code, double a, double b, double c);
int64_t ry_expr_scalar_int(ry_expr_code code, ry_dtype dtype, int64_t a, int64_t b);
bool ry_expr_same_number(double a, double b); /* zeros of two signs are two numbers, NaN is one */
/* cast and saturate of one value. */
/* integers of the type's width, sign- or zero-extended; bool: value != 0 */
int64_t ry_expr_wrap(ry_dtype dtype, int64_t value);
/* clamped to the range; truncates, or rounds half to even; NaN gives 0 */
int64_t ry_expr_to_int(ry_dtype dtype, double value, bool round);

#endif
