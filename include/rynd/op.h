/* SPDX-License-Identifier: Apache-2.0 */
/** @file op.h
 *  @brief One operator on the caller's memory, such as a convolution for another framework. */
#ifndef RYND_OP_H
#define RYND_OP_H

#include <rynd/plan.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Opaque; immutable except for its workspace. One thread at a time. */
typedef struct rynd_op rynd_op;

/** Options of rynd_op_create. */
typedef struct rynd_op_options {
    size_t size;
    rynd_accuracy accuracy; /**< DEFAULT: as the problem's text says */
    /** Descriptions of the problem's inputs and outputs in order, whose strides replace the text's
     * layout; dims must agree. NULL: as the text says.
     *
     * An input whose `data` is not NULL is constant (weights). The kernel may pack it now. It must
     * stay valid and unchanged while the operator lives, and may be NULL in rynd_op_execute. */
    const rynd_tensor *inputs, *outputs;
    const char *kernel; /**< the kernel to use, whatever its accuracy; NULL: the fastest */
    /** Bit i: input i is constant although its `data` is NULL. Such an operator can be inspected,
     * not run. Bits beyond the inputs have no effect. */
    unsigned constants;
    /** As in rynd_plan_options, with the operator's name or NULL as the step: then one kernel
     * computes it. Other names are those of steps of rynd_op_plan. */
    const rynd_setting *settings;
    size_t setting_count;
} rynd_op_options;

/** 1 if the first word of `text` is an operator's name ("conv n=1 ..."), else 0; tells problems
 * from file names. Any thread. */
RYND_API int rynd_op_is_problem(const char *text);

/** Makes an operator from a problem's text, "conv n=1 c=64 h=56 w=56 k=64 r=3 s=3 pad=1"
 * (docs/problems.md); the caller destroys it. Inputs of a convolution: x, w, bias (with bias=1),
 * residual (with residual=1). options NULL: all defaults. Any thread. Fails with FORMAT (the text),
 * SHAPE, UNSUPPORTED, NOT_FOUND (no such kernel), OUT_OF_MEMORY. */
RYND_API rynd_status rynd_op_create(rynd_context *context, const char *problem,
                                    const rynd_op_options *options, rynd_op **op);

/** Frees an operator, or gives it back to the context (rynd_op_create_cached). */
RYND_API void rynd_op_destroy(rynd_op *op);

/** Numbers of inputs and outputs, absent ones included. */
RYND_API size_t rynd_op_input_count(const rynd_op *op);
RYND_API size_t rynd_op_output_count(const rynd_op *op);

/** Describe an input or output: dtype (NONE: absent), dims, strides. */
RYND_API rynd_status rynd_op_get_input(const rynd_op *op, size_t index, rynd_tensor *tensor);
RYND_API rynd_status rynd_op_get_output(const rynd_op *op, size_t index, rynd_tensor *tensor);

/** Runs the operator. `inputs` and `outputs` have the address of each first element
 * (rynd_op_input_count and rynd_op_output_count of them; NULL for absent and constant ones), laid
 * out as described and aligned to the elements. Fails with OUT_OF_MEMORY, and with SHAPE if an
 * input's content is illegal, such as an index outside its axis; the operator stays usable. */
RYND_API rynd_status rynd_op_execute(rynd_op *op, const void *const *inputs, void *const *outputs);

/** The plan of an operator that takes several steps, as the same node of a model does ("einsum ..."
 * into transposes and products); NULL: one kernel computes it. rynd_plan_step_count,
 * rynd_plan_get_step, rynd_plan_explain and the like read it. It is the operator's and lives as
 * long. */
RYND_API const rynd_plan *rynd_op_plan(const rynd_op *op);

/** Describes the operator as a step: kernel, canonical text, counts. The kernel of several steps
 * is the list of theirs, "transpose + matmul_avx512". */
RYND_API rynd_status rynd_op_get_info(const rynd_op *op, rynd_step_info *info);

/** Like rynd_plan_knob_count, rynd_plan_get_knob and rynd_plan_get_knob_value. An operator of
 * several steps has no knobs itself: its plan's steps have. */
RYND_API size_t rynd_op_knob_count(const rynd_op *op);
RYND_API rynd_status rynd_op_get_knob(const rynd_op *op, size_t index, rynd_knob *knob);
RYND_API rynd_status rynd_op_get_knob_value(const rynd_op *op, size_t knob, size_t index,
                                            char *value, size_t size);

/** Gives the memory of an operator: `weights` are its constants, packed or not; `activations` the
 * other inputs and outputs, which belong to the caller; `workspace` its own. */
RYND_API rynd_status rynd_op_get_memory(const rynd_op *op, rynd_memory *memory);

#ifdef __cplusplus
}
#endif
#endif
