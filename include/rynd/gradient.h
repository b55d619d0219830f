/* SPDX-License-Identifier: Apache-2.0 */
/** @file gradient.h
 *  @brief Experimental (see <rynd/rynd.h>): gradients of a model's outputs, for your own loss and
 *  optimizer.
 *
 *      rynd_gradient_options options = RYND_SIZED(rynd_gradient_options, .batch = 16,
 *          .inputs = (const char *[]){"w1"}, .input_count = 1);
 *      rynd_model_create_gradient(model, &options, &gradient);
 *      rynd_plan_create(gradient, NULL, &plan);
 *      rynd_session_create(plan, &session);
 *      rynd_session_bind(session, "x", &x);   "w1" likewise
 *      rynd_session_run_forward(session);     output "y"
 *      rynd_session_bind(session, "gradient/y", &dy);
 *      rynd_session_run_backward(session);    output "gradient/w1"
 *
 * <rynd/train.h> has losses, optimizers and their state, too. */
#ifndef RYND_GRADIENT_H
#define RYND_GRADIENT_H

#include <rynd/session.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Options of rynd_model_create_gradient. */
typedef struct rynd_gradient_options {
    size_t size;
    /** Names of floating-point inputs and initializers whose gradients are computed. Such an
     * initializer becomes an input of the new model, which runs read anew. */
    const char *const *inputs;
    size_t input_count;
    /** Names of floating-point outputs whose gradients are given; NULL: all of them. */
    const char *const *outputs;
    size_t output_count;
    const struct rynd_dim *dims; /**< as rynd_plan_options.dims; every open dim needs its size */
    size_t dim_count;
    int64_t batch; /**< as rynd_plan_options.batch */
} rynd_gradient_options;

/** Makes a model of the outputs of `model` and of gradients, for the same context:
 *  - inputs: those of `model`, the initializers that `options` names, then "gradient/OUTPUT" for
 *    each output whose gradient is given;
 *  - outputs: those of `model`, then "gradient/INPUT" for each input that `options` names: the sum
 *    over all outputs of their gradients times the derivatives. It is zeros if no output depends on
 *    the input.
 *
 * Gradients have the shapes and types of their tensors. A batch normalisation in ONNX's training
 * mode takes the statistics of its batch. The model has fixed shapes, and is planned and run like a
 * loaded one; one plan holds forward and backward pass. `model` must outlive it. Any thread.
 *
 * Fails with NOT_FOUND (no such input or output), ARGUMENT (no input is named, one is named twice
 * or is of another type), SHAPE (an open dim), UNSUPPORTED (an operator without a gradient, by
 * name; a shape depends on data), OUT_OF_MEMORY. */
RYND_API rynd_status rynd_model_create_gradient(const rynd_model *model,
                                                const rynd_gradient_options *options,
                                                rynd_model **gradient);

/** Runs the forward pass of a session whose plan is of a gradient model: it writes the outputs of
 * the original model, and needs the inputs of that model only. Fails as rynd_session_run does, and
 * with ARGUMENT if the plan is of another model. */
RYND_API rynd_status rynd_session_run_forward(rynd_session *session);

/** Runs the backward pass, from values that the forward pass has kept in the session: it writes the
 * gradients of inputs. It reads some inputs of the forward pass again (rynd_plan_rereads_input),
 * whose memory must have kept its content; outputs may have been overwritten. Each forward pass
 * allows one backward pass; rynd_session_run does both. Fails as rynd_session_run does, and with
 * ARGUMENT if no forward pass went before. */
RYND_API rynd_status rynd_session_run_backward(rynd_session *session);

/** Numbers of inputs and outputs of the forward pass, which come before those of the backward pass;
 * 0 for plans of other models. */
RYND_API size_t rynd_plan_forward_inputs(const rynd_plan *plan);
RYND_API size_t rynd_plan_forward_outputs(const rynd_plan *plan);

/** 1 if the backward pass reads the memory of an input that the forward pass reads, too; index: in
 * the gradient model. 0 for other inputs, out of range, and plans of other models. */
RYND_API int rynd_plan_rereads_input(const rynd_plan *plan, size_t index);

#ifdef __cplusplus
}
#endif
#endif
