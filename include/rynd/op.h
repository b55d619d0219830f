/* SPDX-License-Identifier: Apache-2.0 */
/** @file op.h
 *  @brief One problem on the caller's own memory, for authors of other frameworks. */
#ifndef RYND_OP_H
#define RYND_OP_H

#include <rynd/plan.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Opaque and immutable but for its workspace: one thread at a time. */
typedef struct rynd_op rynd_op;

/** Options. Set `size` to sizeof(rynd_op_options) and everything else that is not wanted to 0. */
typedef struct rynd_op_options {
    size_t size;
    rynd_accuracy accuracy; /**< DEFAULT: as the problem's text says */
    /** Descriptions with strides (data NULL) for the problem's inputs and outputs in order, in
     * place of the text's layout; NULL: as the text says. dims must agree. An input whose `data` is
     * not NULL is constant (weights): it is packed now where the kernel packs it, must stay valid
     * and unchanged while the operator lives, and may be NULL in rynd_op_execute. */
    const rynd_tensor *inputs, *outputs;
    const char *kernel; /**< use this kernel, whatever its accuracy; NULL: the best */
    /** Bit i: input i is constant, too, though its `data` is NULL. Such an operator can be looked
     * at, not run: nothing is packed. Bits of inputs that the problem does not have do nothing. */
    unsigned constants;
    /** as in rynd_plan_options, for the operator's name or NULL; NULL when setting_count is 0 */
    const rynd_setting *settings;
    size_t setting_count;
} rynd_op_options;

/** 1 when the first word of `text` is an operator's name ("conv n=1 ..."), 0 when not, or NULL:
 * tells a problem from a file's name. */
RYND_API int rynd_op_is_problem(const char *text);

/** Makes an operator from a problem's text: "conv n=1 c=64 h=56 w=56 k=64 r=3 s=3 pad=1"
 * (docs/problems.md). Inputs of a convolution: x, w, bias (present when the text has bias=1),
 * residual (residual=1). options NULL: all defaults. Fails with ARGUMENT, FORMAT (the text), SHAPE,
 * UNSUPPORTED, NOT_FOUND (no kernel of that name), OUT_OF_MEMORY. */
RYND_API rynd_status rynd_op_create(rynd_context *context, const char *problem,
                                    const rynd_op_options *options, rynd_op **op);
/** Frees an operator; NULL is allowed. */
RYND_API void rynd_op_destroy(rynd_op *op);
RYND_API size_t rynd_op_input_count(const rynd_op *op);  /**< absent ones count, too; 0 for NULL */
RYND_API size_t rynd_op_output_count(const rynd_op *op); /**< likewise */
/** Descriptions: dtype, dims, strides. dtype NONE for an absent one. Fail with ARGUMENT when index
 * is out of range. */
RYND_API rynd_status rynd_op_get_input(const rynd_op *op, size_t index, rynd_tensor *tensor);
RYND_API rynd_status rynd_op_get_output(const rynd_op *op, size_t index, rynd_tensor *tensor);
/** Runs it. `inputs[i]` and `outputs[i]` are the first elements' addresses (NULL for absent or
 * constant ones), laid out as described and aligned to their elements; there are
 * rynd_op_input_count and rynd_op_output_count of them. Fails with ARGUMENT, OUT_OF_MEMORY, and
 * SHAPE where the content of an input is illegal (an index outside its axis); the operator stays
 * usable. */
RYND_API rynd_status rynd_op_execute(rynd_op *op, const void *const *inputs, void *const *outputs);
/** The chosen kernel, canonical text, counts. Strings live as long as the operator. Fails with
 * ARGUMENT. */
RYND_API rynd_status rynd_op_get_info(const rynd_op *op, rynd_step_info *info);
/** As rynd_plan_knob_count and rynd_plan_get_knob. */
RYND_API size_t rynd_op_knob_count(const rynd_op *op);
RYND_API rynd_status rynd_op_get_knob(const rynd_op *op, size_t index, rynd_knob *knob);
/** Bytes: `weights` are constants, packed where the kernel packs them; `activations` the other
 * inputs and outputs, which are the caller's; `workspace` is the operator's own. Fails with
 * ARGUMENT. */
RYND_API rynd_status rynd_op_get_memory(const rynd_op *op, rynd_memory *memory);

#ifdef __cplusplus
}
#endif
#endif
