/* SPDX-License-Identifier: Apache-2.0 */
/** @file op_run.h
 *  @brief Experimental (see <rynd/rynd.h>): runs operators on device memory in a stream. */
#ifndef RYND_OP_RUN_H
#define RYND_OP_RUN_H

#include <rynd/buffer.h>
#include <rynd/op.h>
#include <rynd/stream.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The memory of one input or output of a run; plain data. All 0: the input or output is absent, or
 * constant. */
typedef struct rynd_operand {
    rynd_buffer *buffer; /**< made with the operator's context */
    size_t offset;       /**< bytes to the first element, a multiple of the element's size */
    /** In place of `buffer`: one element in host memory, for an input of one element or with strides
     * of 0. It is read during the call, so that a learning rate needs no buffer and no new
     * operator. */
    const void *value;
} rynd_operand;

/** Puts a run of the operator into a stream. Operands have the dims and strides of
 * rynd_op_get_input and rynd_op_get_output (rynd_op_options sets strides). `inputs` and `outputs`
 * have rynd_op_input_count and rynd_op_output_count operands.
 *
 * An output may have the place of inputs if rynd_op_in_place says so; no other operands may overlap
 * an output. The buffers must live until the call returns, and keep their content until the run is
 * done.
 *
 * `workspace` has rynd_op_workspace bytes that no other work uses at the same time, from an offset
 * that is a multiple of 64. NULL: the first such run allocates the operator's own.
 *
 * Runs of one operator follow one another, in whichever streams they are. An operator of several
 * steps (rynd_op_plan) waits for its earlier run before it returns. Illegal tensor contents are
 * reported by this call on the CPU, by rynd_op_wait on other devices.
 *
 * Fails with ARGUMENT (an operand or the workspace does not fit; the message names it),
 * OUT_OF_MEMORY, DEVICE, SHAPE. */
RYND_API rynd_status rynd_op_run_async(rynd_op *op, const rynd_operand *inputs,
                                       const rynd_operand *outputs, const rynd_operand *workspace,
                                       rynd_stream *stream);

/** Waits for the operator's runs. Fails with SHAPE if a tensor's content was illegal since the last
 * call, such as an index outside its axis (as rynd_op_execute), and with DEVICE. */
RYND_API rynd_status rynd_op_wait(rynd_op *op);

/** Bytes of the workspace of rynd_op_run_async; 0: it needs none. An operator of several steps has
 * its own memory for them. */
RYND_API size_t rynd_op_workspace(const rynd_op *op);

/** 1 if a run may write this output over this input; both then have one buffer, offset, type, dims
 * and strides. Else 0. ReLU, optimizers' updates and running statistics of a batch normalisation
 * allow it; operators of several steps do not. */
RYND_API int rynd_op_in_place(const rynd_op *op, size_t output, size_t input);

/** Describes an output of the last run, as rynd_op_get_output does, but with its exact dims, where
 * they depend on data ("nonzero", "compress", "nms": elements are row-major at the beginning of the
 * memory). Waits for the run, as rynd_op_wait. Fails also with ARGUMENT before the first run. */
RYND_API rynd_status rynd_op_get_result(rynd_op *op, size_t index, rynd_tensor *tensor);

#ifdef __cplusplus
}
#endif
#endif
