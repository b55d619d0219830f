/* SPDX-License-Identifier: Apache-2.0 */
/** @file expr.h
 *  @brief Experimental (see <rynd/rynd.h>): pointwise, broadcast and reduction programs, and their
 *  gradients.
 *
 *      y0 = max(x0 * 2 + x1, 0)                    inputs x0, x1, ... broadcast by NumPy's rules
 *      t = x0 - x1; y0 = sqrt(sum(t * t)); y1 = t  several outputs; reductions over one set of axes
 *
 * docs/expressions.md describes the language, and gradients at points without a derivative. */
#ifndef RYND_EXPR_H
#define RYND_EXPR_H

#include <rynd/session.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Opaque: an expression for fixed types and shapes, ready to run. One thread at a time. */
typedef struct rynd_expr rynd_expr;

/** Options of rynd_expr_create. */
typedef struct rynd_expr_options {
    size_t size;
    /** Descriptions of x0, x1, ...: dtype, dims, and the strides to plan for (`data` is ignored).
     * As many as the text has inputs. */
    const rynd_tensor *inputs;
    size_t input_count;
    /** Dims of the broadcast shape that reductions reduce; negative ones count from its end. NULL:
     * all. */
    const int64_t *axes;
    size_t axis_count;
    int keepdims;           /**< 1: reduced dims stay, with size 1; 0: they go */
    rynd_accuracy accuracy; /**< as in rynd_plan_options */
    /** Descriptions of y0, y1, ...: dtype, dims, and the strides to write (`data` is ignored). NULL,
     * or dtype NONE: row-major. The CPU writes any strides in place; other devices write row-major
     * or channels last in place, and copy others (rynd_op_run_async writes all in place). Dtypes and
     * dims must be the expression's (SHAPE). */
    const rynd_tensor *outputs;
    size_t output_count; /**< as many as the text has outputs; 0 if outputs is NULL */
} rynd_expr_options;

/** Makes an expression; the caller destroys it. `text` is a program, whose inputs the options
 * describe, or a problem's text, which contains everything except the accuracy:
 * "expr x0=3x4:f32 y0=3:f32 program='sum(x0)' axes=1 keepdims=0" (docs/problems.md). Fails with
 * FORMAT (naming the column), SHAPE (shapes or types disagree), UNSUPPORTED, OUT_OF_MEMORY. */
RYND_API rynd_status rynd_expr_create(rynd_context *context, const char *text,
                                      const rynd_expr_options *options, rynd_expr **expr);

/** Frees an expression. Its gradients stay. */
RYND_API void rynd_expr_destroy(rynd_expr *expr);

/** Makes the gradient of an expression, which runs like an expression and may outlive it.
 *  - Inputs: the expression's, then the gradient of each floating-point output, row-major, with the
 *    output's shape and type.
 *  - Outputs: the gradients of the inputs whose number in `wanted` (one for each input) is 1, with
 *    their shapes and types. wanted NULL: all floating-point inputs.
 * Fails with UNSUPPORTED (the gradient of a gradient; a program too large for the language),
 * OUT_OF_MEMORY, and with ARGUMENT if a wanted input is no float, or none is wanted. */
RYND_API rynd_status rynd_expr_create_gradient(const rynd_expr *expr, const int *wanted,
                                               rynd_expr **gradient);

/** Numbers of inputs and outputs. */
RYND_API size_t rynd_expr_input_count(const rynd_expr *expr);
RYND_API size_t rynd_expr_output_count(const rynd_expr *expr);

/** Describe an input or output: dtype, dims, strides. */
RYND_API rynd_status rynd_expr_get_input(const rynd_expr *expr, size_t index, rynd_tensor *tensor);
RYND_API rynd_status rynd_expr_get_output(const rynd_expr *expr, size_t index, rynd_tensor *tensor);

/** Computes all outputs (rynd_expr_output_count of them, in the caller's memory) from
 * rynd_expr_input_count inputs. Dtypes and dims must be as described. Strides and alignment may be
 * any that rynd_session_bind takes; others than described cost a copy. Outputs may not share memory
 * with inputs. Fails with SHAPE, UNSUPPORTED, OUT_OF_MEMORY, DEVICE; the expression stays usable.
 */
RYND_API rynd_status rynd_expr_execute(rynd_expr *expr, const rynd_tensor *inputs,
                                       const rynd_tensor *outputs);

/** The expression as a model, for the caller's own plans, predictions, tuning and sessions. Inputs
 * are x0, x1, ... (a gradient adds dy0, dy1, ...), outputs y0, y1, ... (dx0, dx1, ...). It lives as
 * long as the expression. */
RYND_API rynd_model *rynd_expr_model(const rynd_expr *expr);

/** The expression's plan. It lives as long as the expression. */
RYND_API const rynd_plan *rynd_expr_plan(const rynd_expr *expr);

#ifdef __cplusplus
}
#endif
#endif
