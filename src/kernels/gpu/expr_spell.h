/* SPDX-License-Identifier: Apache-2.0 */
/* How values of a program are written for a GPU: types, literals, functions, casts. A type's
 * register has its own C type; bool is an int, 0 or 1; the 16-bit floats are floats. */
#ifndef RY_KERNELS_GPU_EXPR_SPELL_H
#define RY_KERNELS_GPU_EXPR_SPELL_H

#include "base/text.h"
#include "expr/expr.h"

enum { RY_GPU_LITERAL = 64 };

/* A program with the type of each of its instructions (ry_expr_types). */
typedef struct ry_gpu_expr {
    const ry_expr *program;
    const ry_dtype *types;
    bool near; /* functions that are within 1e-6 of |x| will do where docs/accuracy.md has such */
} ry_gpu_expr;

/* C's name of a type in memory ("ushort" for the 16-bit floats), of four of them (NULL where they
 * are converted on the way), and in a register. */
const char *ry_gpu_memory_type(ry_dtype dtype);
const char *ry_gpu_vector_type(ry_dtype dtype);
const char *ry_gpu_register_type(ry_dtype dtype);

/* The type in which an integer is compared: its own, or int32_t for narrower ones. */
const char *ry_gpu_compared_type(ry_dtype dtype);

/* A number as a literal of a type: an integer's bits; a number of the program, as the type that its
 * use asks for has it. */
void ry_gpu_integer_literal(ry_dtype dtype, int64_t value, char literal[RY_GPU_LITERAL]);
void ry_gpu_number_literal(ry_dtype dtype, double value, char literal[RY_GPU_LITERAL]);

/* The type in which instruction i takes operand k. */
ry_dtype ry_gpu_operand_type(const ry_gpu_expr *expr, int i, int k);

/* The value of instruction i, for a use in that type: a literal or a name. */
void ry_gpu_value_literal(const ry_gpu_expr *expr, int i, ry_dtype dtype,
                          char literal[RY_GPU_LITERAL]);

/* A function's spelling for operands of a type, and its text: $a $b $c are the operands. */
const char *ry_gpu_spelled(const ry_gpu_expr *expr, ry_expr_code code, ry_dtype dtype);
void ry_gpu_put(ry_text *text, const char *format, ry_dtype dtype, char operand[3][RY_GPU_LITERAL]);

/* Instruction i, a cast or saturate, as an expression. */
void ry_gpu_put_cast(ry_text *text, const ry_gpu_expr *expr, int i);

/* The functions that programs call: before what is written of a program, once in a text. */
void ry_gpu_expr_functions(const ry_gpu_expr *expr, ry_text *text);

#endif
