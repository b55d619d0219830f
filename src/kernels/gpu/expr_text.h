/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of the expression language as text for a GPU: values in registers, a statement an
 * instruction, with the meaning of the reference (kernels/ref/expr_ref.c). */
#ifndef RY_KERNELS_GPU_EXPR_TEXT_H
#define RY_KERNELS_GPU_EXPR_TEXT_H

#include "kernels/gpu/expr_spell.h"
#include "problem/attrs.h"

/* Types and functions of a program:
 *
 *   program_inputs        x0, x1, ...
 *   program_outputs       y0, y1, ...
 *   program_sums          what is reduced, so far
 *   void front(const program_inputs x, program_outputs *y, program_sums *t)
 *                         of one position: outputs that are behind no reduction; what it adds
 *   void begin(program_sums *t), void join(program_sums *t, const program_sums *with)
 *   void behind(program_sums t, program_outputs *y)
 *                         outputs behind reductions, of `divisor` positions each */
void ry_gpu_expr_program(const ry_gpu_expr *expr, const ry_dtype *outputs, int64_t divisor,
                         ry_text *text);

/* Reductions of a program. */
int ry_gpu_expr_sums(const ry_expr *program);

/* FUNCTION float activate(float x0): an activation of epilogues (problem/activations.inc), within
 * 1e-6 of |x| where docs/accuracy.md says so; with all that it calls. */
void ry_gpu_activation(ry_text *text, ry_activation activation, float alpha, float beta);

#endif
