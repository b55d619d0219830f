/* SPDX-License-Identifier: Apache-2.0 */
/** @file expr.h
 *  @brief Pointwise, broadcast and reduce from a text, and the gradient of it.
 *
 *      y0 = max(x0 * 2 + x1, 0)                    inputs x0, x1 ... broadcast together by numpy's
 *                                                  rules
 *      t = x0 - x1; y0 = sqrt(sum(t * t)); y1 = t  several outputs, and reductions over one set of
 *                                                  axes
 *
 * The language, and what gradients are where a function has none: docs/expressions.md. */
#ifndef RYND_EXPR_H
#define RYND_EXPR_H

#include <rynd/session.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Opaque: an expression for tensors of fixed types and shapes, ready to run. One thread at a time.
 */
typedef struct rynd_expr rynd_expr;

/** Options. Set `size` to sizeof(rynd_expr_options) and everything else that is not wanted to 0.
 * Borrowed during the call only. */
typedef struct rynd_expr_options {
    size_t size;
    /** Descriptions of x0, x1, ...: dtype, dims, and the strides that rynd_expr_execute will see,
     * which are planned for (`data` is not looked at). As many as the text has inputs. */
    const rynd_tensor *inputs;
    size_t input_count;
    /** What reductions reduce: dims of the broadcast shape, negative ones counted from its end.
     * NULL: all. */
    const int64_t *axes;
    size_t axis_count;
    int keepdims;           /**< 1: reduced dims stay, as 1; 0: they go */
    rynd_accuracy accuracy; /**< as in rynd_plan_options */
} rynd_expr_options;

/** Makes an expression of a program (options say what its inputs are), or of a problem's text,
 * "expr x0=3x4:f32 y0=3:f32 program='sum(x0)' axes=1 keepdims=0" (docs/problems.md), which says
 * everything but the accuracy itself. The context must outlive it. Fails with FORMAT (the text: the
 * message has the column), SHAPE (shapes or types that do not go together), ARGUMENT, UNSUPPORTED,
 * OUT_OF_MEMORY. */
RYND_API rynd_status rynd_expr_create(rynd_context *context, const char *text,
                                      const rynd_expr_options *options, rynd_expr **expr);
/** Frees an expression; NULL is allowed. Its gradients stay. */
RYND_API void rynd_expr_destroy(rynd_expr *expr);

/** Makes the gradient of an expression, which runs like it. Its inputs are the expression's, and
 * after them the gradient of each output, row-major and of the output's shape and type; outputs
 * that are no floats have none. Its outputs are the gradients of the inputs that `wanted` has a 1
 * for (one number for each input; NULL: all floats), of their shapes and types. `expr` may be gone
 * before it. Fails with ARGUMENT (an input that is no float is wanted, or none), UNSUPPORTED (the
 * gradient of a gradient; more than the language's bounds), OUT_OF_MEMORY. */
RYND_API rynd_status rynd_expr_create_gradient(const rynd_expr *expr, const int *wanted,
                                               rynd_expr **gradient);

RYND_API size_t rynd_expr_input_count(const rynd_expr *expr);  /**< 0 for NULL */
RYND_API size_t rynd_expr_output_count(const rynd_expr *expr); /**< likewise */
/** Descriptions: dtype, dims, strides; outputs are row-major. Fail with ARGUMENT when index is out
 * of range. */
RYND_API rynd_status rynd_expr_get_input(const rynd_expr *expr, size_t index, rynd_tensor *tensor);
RYND_API rynd_status rynd_expr_get_output(const rynd_expr *expr, size_t index, rynd_tensor *tensor);

/** Computes all outputs of rynd_expr_input_count inputs, into rynd_expr_output_count outputs, which
 * are the caller's: dtypes and dims as described, strides and alignment as rynd_session_bind takes
 * them (others than the described ones cost a copy). Outputs may not share memory with inputs.
 * Fails with ARGUMENT, SHAPE, UNSUPPORTED, OUT_OF_MEMORY, DEVICE; the expression stays usable. */
RYND_API rynd_status rynd_expr_execute(rynd_expr *expr, const rynd_tensor *inputs,
                                       const rynd_tensor *outputs);

/** The expression as a model with inputs x0, x1, ... (of a gradient dy0, dy1, ... after them) and
 * outputs y0, y1, ... (dx0, dx1, ...), for plans, predictions, tuning and sessions of the caller's
 * own. It lives as long as the expression; NULL for NULL. */
RYND_API rynd_model *rynd_expr_model(const rynd_expr *expr);
/** The plan that it runs by: steps, kernels, memory. Likewise. */
RYND_API const rynd_plan *rynd_expr_plan(const rynd_expr *expr);

#ifdef __cplusplus
}
#endif
#endif
