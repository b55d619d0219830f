/* SPDX-License-Identifier: Apache-2.0 */
/** @file train.h
 *  @brief Experimental (see <rynd/rynd.h>): trains a model on the caller's batches. */
#ifndef RYND_TRAIN_H
#define RYND_TRAIN_H

#include <rynd/exchange.h>
#include <rynd/plan.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Opaque. One thread at a time. */
typedef struct rynd_trainer rynd_trainer;

/** Loss functions: a mean, like PyTorch's loss of that name. y is the model's output, t the target,
 * of y's shape unless stated. */
typedef enum rynd_loss {
    /** y: [N, C, ...], before any softmax. t: classes [N, ...], or probabilities of y's shape. */
    RYND_LOSS_CROSS_ENTROPY = 0,
    RYND_LOSS_MSE,         /**< (y - t)^2 */
    RYND_LOSS_L1,          /**< |y - t| */
    RYND_LOSS_CHARBONNIER, /**< sqrt((y - t)^2 + epsilon^2) */
    RYND_LOSS_BCE,         /**< binary cross-entropy; y: logits, before any sigmoid */
    /** Detection heads of rynd/tasks.h. y: all outputs of the head. t: boxes [N, boxes, 5], in rows
     * class, left, top, right, bottom, in pixels of the input; a class below 0: no box. */
    RYND_LOSS_DETECTION,
} rynd_loss;

/** Optimizers, like PyTorch's of that name. */
typedef enum rynd_optimizer {
    RYND_OPTIMIZER_SGD = 0,
    RYND_OPTIMIZER_ADAM,
    RYND_OPTIMIZER_ADAMW, /**< decoupled weight decay */
} rynd_optimizer;

/** Initial parameters. A fresh parameter's values depend on the node that reads it; random values
 * depend only on seed, parameter name and element, on every machine. The fan-in is the number of
 * products summed per output element.
 * - Weights of convolutions and matrix products: by the rule below.
 * - Biases of both: 0 with HE, by the weights' rule with UNIFORM.
 * - Other vectors that are added: 0.
 * - Normalisations: scale 1, bias 0, running mean 0, running variance 1.
 * - All others (embeddings, slopes, scales), and frozen ones: the model's. */
typedef enum rynd_init {
    RYND_INIT_MODEL = 0, /**< the model's values */
    /** Normal with deviation sqrt(2 / fan-in): He et al., "Delving Deep into Rectifiers", ICCV
     * 2015. */
    RYND_INIT_HE,
    RYND_INIT_UNIFORM, /**< uniform between -1/sqrt(fan-in) and 1/sqrt(fan-in), like PyTorch */
} rynd_init;

/** Dropout nodes during a step, whatever the file says about training. Evaluation drops nothing. */
typedef enum rynd_dropout {
    /** Drops the node's ratio of the elements, and scales the others by 1 / (1 - ratio). Element i
     * (row-major) of the n-th node, from 0, is dropped if number i of rynd_random_uniform is below
     * the ratio, with seed dropout_seed, stream 0x64726f70 + n, and the number of earlier steps. */
    RYND_DROPOUT_MODEL = 0,
    RYND_DROPOUT_OFF, /**< drops nothing */
} rynd_dropout;

/** Options of rynd_trainer_create. */
typedef struct rynd_trainer_options {
    size_t size;
    rynd_loss loss;
    const char *output; /**< the output that the loss reads; NULL: the model's first */
    /** I64 or I32: classes. NONE: I64 for cross-entropy, else the output's type. */
    rynd_dtype target;
    double label_smoothing;     /**< for cross-entropy: 0 to below 1 */
    double charbonnier_epsilon; /**< 0: 1e-3 */
    rynd_optimizer optimizer;
    double momentum;     /**< for SGD: 0 to below 1 */
    int nesterov;        /**< for SGD with momentum: 1 or 0 */
    double weight_decay; /**< at least 0 */
    double beta1, beta2; /**< for Adam: below 1; 0: 0.9 and 0.999 */
    double epsilon;      /**< for Adam; 0: 1e-8 */
    double clip_norm;    /**< clips the global gradient norm to this; 0: no clipping */
    /** Weight of a batch's statistics in the running ones of batch normalisations, as PyTorch
     * counts it. 0: 1 - momentum of each node, which is 0.1 by default. */
    double norm_momentum;
    /** Parameters that stay fixed: patterns with * and ? (fnmatch) of parameter names, or of the
     * path names of nodes that read them ("/layer1/conv/Conv"), with or without the leading '/'.
     * Gradients that only they need are not computed. A batch normalisation whose scale and bias
     * are frozen keeps its statistics. A pattern without a match fails with NOT_FOUND, and names
     * alternatives. NULL if freeze_count is 0. */
    const char *const *freeze;
    size_t freeze_count;
    int keep_gradients; /**< 1: keeps gradients for rynd_trainer_get_gradient */
    /** Sizes, as in rynd_plan_options; the content of inputs is ignored. */
    const rynd_dim *dims;
    size_t dim_count;
    const rynd_tensor *inputs;
    int64_t batch;
    rynd_accuracy accuracy;
    const rynd_setting *settings; /**< as in rynd_plan_options */
    size_t setting_count;
    rynd_init init;
    uint64_t init_seed; /**< random seed of fresh parameters */
    rynd_dropout dropout;
    uint64_t dropout_seed; /**< random seed of dropout; ranks that share a batch need different ones
                            */
    /** Connection to other ranks, which train the same model together. `batch` is this rank's part,
     * of equal size on all. Gradients, running statistics and the loss are means over the ranks;
     * batch normalisations use their own rank's statistics. The struct is copied; its `user` must
     * live as long as the trainer. CPU only. NULL: one process. */
    const rynd_exchange *exchange;
    /** Bytes per bucket of gradients, which are exchanged during the backward pass; equal on all
     * ranks. 0: 8 MiB. */
    size_t bucket_bytes;
    /** Micro-batches per update; 0: 1. Each rynd_trainer_step adds the gradients of `batch` samples
     * to sums, which take the parameters' size of memory. Every accumulate-th step updates by their
     * mean. This equals one large batch, except for the statistics of batch normalisations. */
    int64_t accumulate;
    /** Limit in bytes of rynd_trainer_memory before the first evaluation: weights with packed
     * copies, optimizer states, gradient sums, values of a step, workspace. 0: no limit. Above it,
     * the backward pass recomputes values of the forward pass, chosen for the least predicted time.
     * The bits stay the same. If the limit is too low, OUT_OF_MEMORY names the least possible one.
     */
    size_t memory_limit;
    /** BF16: keeps the backward pass's copies of activations of 64 KiB and more as bfloat16, in
     * half the memory. Activations are float32 when they are made and used, as are parameters,
     * gradients, optimizer states and all sums; gradients are those of the rounded activations. F32
     * or NONE: keeps float32. */
    rynd_dtype storage;
    /** Trains only the parameters that match these patterns (as in `freeze`). NULL if
     * train_only_count is 0: trains all. */
    const char *const *train_only;
    size_t train_only_count;
    /** Trains only the last layers: counts nodes with weights of at least two dims backwards from
     * the output, and includes the biases and normalisations after the first of them. With
     * train_only: trains parameters that either selects. 0: all. More layers than the model has
     * fail with ARGUMENT. */
    int64_t train_last;
    /** For cross-entropy of classes: a class number, inside or outside of 0 to C - 1, whose
     * positions count neither in the loss nor in the mean's divisor, like PyTorch's ignore_index. A
     * batch of such positions alone has the loss 0. NULL: all count. */
    const int64_t *ignore_label;
    /** For detection: name of the head; NULL: recognised, as rynd_model_get_head does. */
    const char *head;
    int64_t boxes;     /**< for detection: rows of the target for each picture, at least 1 */
    double box_weight; /**< for detection: factor of the boxes' part of the loss; 0: 5 */
} rynd_trainer_options;

/** Makes a trainer for a model, which must outlive it and does not change; the caller destroys it.
 * options NULL: all defaults. It trains in float32 the floating-point initializers of at least one
 * dim that the output depends on. Batch normalisations use the batch's statistics and update
 * running ones. States live on the device of the model's context.
 *
 * With an exchange, every rank makes its trainer and then the same number of steps. Each step waits
 * for all ranks: if one fails, the others wait for ever, unless the exchange ends them
 * (rynd_mpi_abort).
 *
 * Fails with NOT_FOUND (an output, a pattern), SHAPE (an open dim; an output that does not fit the
 * loss), UNSUPPORTED (nothing to train; an operator without a gradient, which the message names;
 * shapes that depend on data; other types), DEVICE, OUT_OF_MEMORY. */
RYND_API rynd_status rynd_trainer_create(const rynd_model *model,
                                         const rynd_trainer_options *options,
                                         rynd_trainer **trainer);

/** Frees a trainer. */
RYND_API void rynd_trainer_destroy(rynd_trainer *trainer);

/** Describes the target: type and shape (data NULL). */
RYND_API rynd_status rynd_trainer_get_target(const rynd_trainer *trainer, rynd_tensor *target);

/** Makes one step: forward, loss, backward, update. With `accumulate`, only every accumulate-th
 * step updates, with its own learning rate.
 *
 * `inputs` has one tensor for each model input in order, of the planned types and shapes, with any
 * strides. The library may read them until the next step with other tensors. `loss` (optional)
 * receives the loss before the update, over all ranks' samples. The bits depend neither on the
 * number of threads nor on repetition. Allocates only if tensors differ from the last step's.
 *
 * Fails with SHAPE (another type or shape, or a class outside 0 to C - 1, or a box without an area: the message says where)
 * and ARGUMENT (data NULL, a learning rate that is no number) without any change; with DEVICE if
 * the exchange failed: then the trainer makes no further step. */
RYND_API rynd_status rynd_trainer_step(rynd_trainer *trainer, const rynd_tensor *inputs,
                                       const rynd_tensor *target, double learning_rate,
                                       double *loss);

/** Computes loss and output as in inference: with running statistics, changing nothing. The first
 * call plans, and allocates. Fails as rynd_trainer_create and rynd_trainer_step do. */
RYND_API rynd_status rynd_trainer_evaluate(rynd_trainer *trainer, const rynd_tensor *inputs,
                                           const rynd_tensor *target, double *loss);

/** Plans rynd_trainer_evaluate now instead of at its first call, so that rynd_trainer_memory counts
 * it. Fails as rynd_trainer_create does. */
RYND_API rynd_status rynd_trainer_prepare_evaluation(rynd_trainer *trainer);

/** Gives the output that the last step or evaluation computed its loss from; valid until the next.
 * Fails with ARGUMENT before the first. */
RYND_API rynd_status rynd_trainer_get_output(const rynd_trainer *trainer, rynd_tensor *output);

/** Number of outputs that the loss reads: 1, or those of a detection head. */
RYND_API size_t rynd_trainer_output_count(const rynd_trainer *trainer);

/** The same as rynd_trainer_get_output for output `index` of them, in the model's order. `name`
 * (optional) receives its name, which lives as long as the trainer. Fails with ARGUMENT. */
RYND_API rynd_status rynd_trainer_get_output_at(const rynd_trainer *trainer, size_t index,
                                                const char **name, rynd_tensor *output);

/** Kinds of states. */
typedef enum rynd_state_kind {
    RYND_STATE_PARAMETER = 0, /**< named as in the model */
    RYND_STATE_STATISTIC,     /**< a running mean or variance, named as in the model */
    RYND_STATE_OPTIMIZER,     /**< "train/step", the number of updates; with `accumulate`
                               * "train/micro_batch", the number of steps; "PARAMETER/momentum" of
                               * SGD; "PARAMETER/mean" and "PARAMETER/variance" of Adam */
} rynd_state_kind;

/** A state, which lives from step to step. Training resumes to the bit from a file with all states.
 * Gradients summed since the last update are not included. */
typedef struct rynd_state_info {
    size_t size;
    const char *name; /**< unique */
    rynd_state_kind kind;
    /** Type and shape. data: on a CPU the row-major values, to read until the next call that
     * changes them; NULL on other devices (rynd_trainer_read). */
    rynd_tensor tensor;
} rynd_state_info;

/** A parameter of a model: an initialiser of floats that a node reads. Training changes it, unless
 * rynd_trainer_options.freeze or train_only say otherwise. */
typedef struct rynd_parameter_info {
    size_t size;
    const char *name;   /**< patterns of freeze and train_only match it */
    const char *node;   /**< its first reader; patterns match the name if it contains a '/' */
    rynd_tensor tensor; /**< type and shape; data NULL */
} rynd_parameter_info;

/** Number of parameters. */
RYND_API size_t rynd_model_parameter_count(const rynd_model *model);

/** Describes a parameter; they are in the order of the file. */
RYND_API rynd_status rynd_model_get_parameter(const rynd_model *model, size_t index,
                                              rynd_parameter_info *info);

/** Number of states. */
RYND_API size_t rynd_trainer_state_count(const rynd_trainer *trainer);

/** Describes a state. The same model and options have the same order of states. */
RYND_API rynd_status rynd_trainer_get_state(const rynd_trainer *trainer, size_t index,
                                            rynd_state_info *info);

/** The same by name. Fails with NOT_FOUND. */
RYND_API rynd_status rynd_trainer_get_state_named(const rynd_trainer *trainer, const char *name,
                                                  rynd_state_info *info);

/** Copy a state to or from the caller's memory, with its type and shape and any strides. Fail with
 * NOT_FOUND, SHAPE, OUT_OF_MEMORY. */
RYND_API rynd_status rynd_trainer_read(rynd_trainer *trainer, const char *name,
                                       const rynd_tensor *tensor);
RYND_API rynd_status rynd_trainer_write(rynd_trainer *trainer, const char *name,
                                        const rynd_tensor *tensor);

/** Gives everything that decides about the trainer's bits, besides states, batches and learning
 * rates: words "option=value" with spaces between, which live as long as the trainer. They are the
 * options, the instruction set, the frozen weights, and all steps' kernels, forms and code.
 * Trainers with equal words, states and batches make equal bits. Threads and memory limits change
 * no bit and are left out. Store the words with the states, and compare before resuming. Fails with
 * OUT_OF_MEMORY. */
RYND_API rynd_status rynd_trainer_get_identity(rynd_trainer *trainer, const char **text);

/** Writes the model's file with the present parameters and running statistics, for inference, as
 * rynd_model_save does. Batch normalisations and dropouts in training mode become inference nodes,
 * which can be trained again, except normalisations whose further outputs are used. A CPU's trainer
 * needs no memory for copies. Fails as rynd_model_save does. */
RYND_API rynd_status rynd_trainer_save(const rynd_trainer *trainer, const char *path);

/** The same into new memory, which rynd_memory_free frees. Fails as rynd_model_save_memory does. */
RYND_API rynd_status rynd_trainer_save_memory(const rynd_trainer *trainer, void **data,
                                              size_t *size);

/** Gives the gradient of a parameter in the last step, before clipping and without weight decay;
 * valid until the next step. With `accumulate`, the mean of an update, right after it. Fails with
 * NOT_FOUND, and with ARGUMENT if gradients are not kept, or there was no step. */
RYND_API rynd_status rynd_trainer_get_gradient(const rynd_trainer *trainer, const char *name,
                                               rynd_tensor *tensor);

/** A bucket: gradients, running statistics and the loss that one exchange adds up. */
typedef struct rynd_bucket_info {
    size_t size;
    size_t bytes;   /**< bytes of float32 values */
    size_t made;    /**< number of plan steps before the bucket is complete */
    size_t awaited; /**< first step that needs the sums; the number of steps: none */
} rynd_bucket_info;

/** Number of buckets; 0 without an exchange. With `accumulate` they belong to the update's plan: a
 * micro-batch exchanges only its running statistics and loss. */
RYND_API size_t rynd_trainer_bucket_count(const rynd_trainer *trainer);

/** Describes a bucket, in the order of exchange. */
RYND_API rynd_status rynd_trainer_get_bucket(const rynd_trainer *trainer, size_t index,
                                             rynd_bucket_info *info);

/** The plan of a step, to inspect and predict (rynd_plan_get_step, rynd_plan_predict,
 * rynd_plan_get_memory). It lives as long as the trainer. */
RYND_API const rynd_plan *rynd_trainer_plan(const rynd_trainer *trainer);

/** With `accumulate`: the plan of the update, which every accumulate-th step runs in addition. NULL
 * if each step updates. */
RYND_API const rynd_plan *rynd_trainer_update_plan(const rynd_trainer *trainer);

/** Like rynd_session_profile and rynd_session_step_time, for the step's plan. */
RYND_API rynd_status rynd_trainer_profile(rynd_trainer *trainer, int on);
RYND_API double rynd_trainer_step_time(const rynd_trainer *trainer, size_t step);

/** Bytes for steps and evaluations, states and packed weights included. Constants that are read in
 * the mapped model file do not count. */
RYND_API size_t rynd_trainer_memory(const rynd_trainer *trainer);

#ifdef __cplusplus
}
#endif
#endif
