/* SPDX-License-Identifier: Apache-2.0 */
/** @file train.h
 *  @brief Trains a model: steps on the caller's batches, from a loss and an optimizer. */
#ifndef RYND_TRAIN_H
#define RYND_TRAIN_H

#include <rynd/exchange.h>
#include <rynd/predict.h>
#include <rynd/session.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Opaque. One thread at a time. */
typedef struct rynd_trainer rynd_trainer;

/** What is made small: a mean, as PyTorch's loss of that name has it. `y` is the model's output,
 * `t` the target, of y's shape where nothing else is said. */
typedef enum rynd_loss {
    /** y is [N, C, ..], before any softmax; t are class numbers [N, ..], or rows of probabilities
     * of y's shape */
    RYND_LOSS_CROSS_ENTROPY = 0,
    RYND_LOSS_MSE,         /**< (y - t)^2 */
    RYND_LOSS_L1,          /**< |y - t| */
    RYND_LOSS_CHARBONNIER, /**< sqrt((y - t)^2 + epsilon^2) */
    RYND_LOSS_BCE,         /**< binary cross-entropy; y are logits, before any sigmoid */
} rynd_loss;

/** How parameters change, as PyTorch's optimizer of that name. */
typedef enum rynd_optimizer {
    RYND_OPTIMIZER_SGD = 0,
    RYND_OPTIMIZER_ADAM,
    RYND_OPTIMIZER_ADAMW, /**< weight decay beside the gradient, not in it */
} rynd_optimizer;

/** What parameters are before the first step. Fresh ones are numbers by what reads them, random
 * ones functions of the seed, the parameter's name and the element's place: the same on every
 * machine. The fan-in is how many products are added up in one element of the output.
 * - weights of convolutions and products: by the rule below;
 * - biases of both: 0 with HE, as their weights with UNIFORM;
 * - other vectors that are added to something: 0;
 * - normalisations: scale 1, bias 0, running mean 0, running variance 1;
 * - all others (embeddings, slopes, scales), and frozen ones: the model's. */
typedef enum rynd_init {
    RYND_INIT_MODEL = 0, /**< the model's, to train on */
    /** normal, of deviation sqrt(2 / fan-in): He et al., "Delving Deep into Rectifiers", ICCV 2015
     */
    RYND_INIT_HE,
    RYND_INIT_UNIFORM, /**< from -1/sqrt(fan-in) to that, as PyTorch's layers are made */
} rynd_init;

/** What a step does with the model's Dropout nodes, whether or not the file says that they train;
 * evaluation passes everything. */
typedef enum rynd_dropout {
    /** drops the node's ratio of the elements, and scales the others by 1 / (1 - ratio): element i
     * (row-major) of the n-th node, from 0, where number i of rynd_random_uniform is below the
     * ratio, for seed dropout_seed, stream 0x64726f70 + n, and the number of steps before */
    RYND_DROPOUT_MODEL = 0,
    RYND_DROPOUT_OFF, /**< passes everything, too */
} rynd_dropout;

/** Options. Set `size` to sizeof(rynd_trainer_options) and everything else that is not wanted to 0.
 * Borrowed during the call only. */
typedef struct rynd_trainer_options {
    size_t size;
    rynd_loss loss;
    const char *output; /**< that the loss is of; NULL: the model's first */
    /** I64 or I32: class numbers; NONE: I64 for cross-entropy, else the output's type */
    rynd_dtype target;
    double label_smoothing;     /**< of cross-entropy: 0 to below 1 */
    double charbonnier_epsilon; /**< 0: 1e-3 */
    rynd_optimizer optimizer;
    double momentum;     /**< of SGD: 0 to below 1 */
    int nesterov;        /**< of SGD with a momentum */
    double weight_decay; /**< at least 0 */
    double beta1, beta2; /**< of Adam: below 1; 0: 0.9 and 0.999 */
    double epsilon;      /**< of Adam; 0: 1e-8 */
    double clip_norm;    /**< gradients together are at most so long; 0: as long as they are */
    /** the part that a batch's statistics have in the running ones of batch normalisations, as
     * PyTorch counts it; 0: 1 - momentum of each node, which is 0.1 where the file has none */
    double norm_momentum;
    /** Parameters that stay as they are: patterns with * and ? (fnmatch) of their names, or of the
     * names of nodes that read them where these are paths ("/layer1/conv/Conv"), with or without
     * the '/' in front. Nothing is computed that only they would need. A batch normalisation whose
     * scale and bias stay keeps its statistics, too. NOT_FOUND, with names, for a pattern that
     * matches nothing. NULL when freeze_count is 0. */
    const char *const *freeze;
    size_t freeze_count;
    int keep_gradients; /**< 1: for rynd_trainer_get_gradient */
    /** Sizes, as rynd_plan_options has them; the content of inputs does not count. */
    const rynd_dim *dims;
    size_t dim_count;
    const rynd_tensor *inputs;
    int64_t batch;
    rynd_accuracy accuracy;
    const rynd_setting *settings; /**< as rynd_plan_options has them */
    size_t setting_count;
    rynd_init init;
    uint64_t init_seed; /**< of fresh numbers */
    rynd_dropout dropout;
    uint64_t dropout_seed; /**< of what is dropped; ranks that share a batch need different ones */
    /** The way to other ranks that train the same: with it a step is one of all of them together,
     * and `batch` is this rank's part, as large as the others'. Gradients, running statistics and
     * the loss are means over the ranks; batch normalisations use the statistics of the rank's own
     * part. The struct is borrowed during the call, what it leads to as long as the trainer. CPU
     * only. NULL: there are no others. */
    const rynd_exchange *exchange;
    /** Gradients go through the exchange in buckets that are full with so many bytes, while the
     * backward pass goes on; 0: 8 MiB. The same on all ranks. */
    size_t bucket_bytes;
    /** Micro-batches of one update; 0: 1. Each call of rynd_trainer_step takes one of `batch`
     * samples, and adds its gradients to sums, which are memory of the parameters' size; every
     * accumulate-th call updates by their mean: as one batch of all, but for the statistics of
     * batch normalisations, which are of each micro-batch. */
    int64_t accumulate;
    /** Bytes that rynd_trainer_memory may say before the first evaluation: weights, also packed
     * ones, what the optimizer keeps, sums of gradients, values of a step and workspace; 0: any.
     * Where a step would take more, values of the forward pass are not kept for the backward pass,
     * but recomputed there: those for which least time is predicted. The same bits come of it.
     * OUT_OF_MEMORY where that is not enough, with the least that is possible. */
    size_t memory_limit;
    /** BF16: what the backward pass reads of the forward pass is kept for it as bfloat16, in half
     * the memory: activations of 64 KiB and more. They are float32 where they are made and where
     * they are read, and so are parameters, gradients, what the optimizer keeps and all sums.
     * Gradients are those of rounded activations. F32, or NONE: they are kept as they are. */
    rynd_dtype storage;
    /** Patterns as `freeze` has them, of the only parameters that are trained: all others stay as
     * they are. NULL when train_only_count is 0: all are trained. */
    const char *const *train_only;
    size_t train_only_count;
    /** The last layers are trained, and all before them stay as they are, whatever their names:
     * counted from the output back, nodes with weights of at least two dims, with what is behind
     * the first of them (biases, normalisations). With train_only: what either names. 0: all.
     * ARGUMENT where the model has fewer. */
    int64_t train_last;
} rynd_trainer_options;

/** Makes a trainer of a model, which must outlive it and does not change. options NULL: all
 * defaults. What is trained: the model's floating-point initializers of at least one dim from which
 * the output is computed, in float32. Batch normalisations use the batch's statistics, and keep
 * running ones. It trains on the device of the model's context, where states live. Fails with
 * ARGUMENT, NOT_FOUND (an output, a pattern), SHAPE (an open dim, an output that the loss is not
 * of), UNSUPPORTED (nothing to train; an operator that has no gradient, which the message names;
 * shapes that depend on data; other types), DEVICE, OUT_OF_MEMORY. With an exchange every rank
 * makes its trainer, and then makes as many steps: a step waits for the other ranks, and where one
 * fails they wait for ever, unless the exchange ends them (rynd_mpi_abort). */
RYND_API rynd_status rynd_trainer_create(rynd_model *model, const rynd_trainer_options *options,
                                         rynd_trainer **trainer);
/** Frees a trainer; NULL is allowed. */
RYND_API void rynd_trainer_destroy(rynd_trainer *trainer);

/** What a target must be: type and shape; data is NULL. Fails with ARGUMENT. */
RYND_API rynd_status rynd_trainer_get_target(const rynd_trainer *trainer, rynd_tensor *target);

/** One step: forward, loss, backward, update; with `accumulate` the update is made by every
 * accumulate-th call, with the learning rate of that one. inputs: one for each of the model's, in
 * its order, of the planned types and shapes and any strides; borrowed until the next call with
 * others. `loss` receives that of the parameters before the step, of all ranks' samples; NULL is
 * allowed. The same bits at any number of threads, and of the same number of ranks. Memory is taken
 * only where tensors are others than in the step before. Fails with ARGUMENT (data NULL, a learning
 * rate that is no number), SHAPE (another type or shape, a class number outside 0 to C - 1: the
 * message tells where): then nothing has changed; DEVICE where the exchange failed: the trainer
 * makes no further step. */
RYND_API rynd_status rynd_trainer_step(rynd_trainer *trainer, const rynd_tensor *inputs,
                                       const rynd_tensor *target, double learning_rate,
                                       double *loss);

/** Loss and output with the parameters as they are, as in inference: running statistics, and
 * nothing changes. The first call plans, and takes memory. Fails as rynd_trainer_create and
 * rynd_trainer_step. */
RYND_API rynd_status rynd_trainer_evaluate(rynd_trainer *trainer, const rynd_tensor *inputs,
                                           const rynd_tensor *target, double *loss);

/** Plans what rynd_trainer_evaluate runs now, not at its first call: rynd_trainer_memory counts it
 * then. Fails as rynd_trainer_create. */
RYND_API rynd_status rynd_trainer_prepare_evaluation(rynd_trainer *trainer);

/** The output that the loss was of, of the last step or evaluation; valid until the next. Fails
 * with ARGUMENT where there was none. */
RYND_API rynd_status rynd_trainer_get_output(const rynd_trainer *trainer, rynd_tensor *output);

/** What a state is. */
typedef enum rynd_state_kind {
    RYND_STATE_PARAMETER = 0, /**< by the name that the model has for it */
    RYND_STATE_STATISTIC,     /**< a running mean or variance, by that name, too */
    RYND_STATE_OPTIMIZER,     /**< "train/step", the number of updates; with `accumulate`
                               * "train/micro_batch", that of steps; "<parameter>/momentum" of SGD;
                               * "<parameter>/mean" and "<parameter>/variance" of Adam */
} rynd_state_kind;

/** What lives from step to step: with all of it in a file, training goes on as if it had never
 * stopped, to the bit. Gradients that were summed up since the last update are not of it. */
typedef struct rynd_state_info {
    size_t size;      /**< set by the caller to sizeof(rynd_state_info) */
    const char *name; /**< unique; lives as long as the trainer */
    rynd_state_kind kind;
    /** Type and shape. data: where a CPU's trainer has it, row-major, to be read until the next
     * call that changes it; NULL on other devices (rynd_trainer_read). */
    rynd_tensor tensor;
} rynd_state_info;

RYND_API size_t rynd_trainer_state_count(const rynd_trainer *trainer); /**< 0 for NULL */
/** By index; the order is the same for the same model and options. Fails with ARGUMENT when it is
 * out of range. */
RYND_API rynd_status rynd_trainer_get_state(const rynd_trainer *trainer, size_t index,
                                            rynd_state_info *info);
/** Copies a state to or from the caller's memory, of its type and shape and any strides. Fails with
 * NOT_FOUND (the name), SHAPE, ARGUMENT. */
RYND_API rynd_status rynd_trainer_read(rynd_trainer *trainer, const char *name,
                                       const rynd_tensor *tensor);
RYND_API rynd_status rynd_trainer_write(rynd_trainer *trainer, const char *name,
                                        const rynd_tensor *tensor);

/** What decides about the bits that a trainer computes, besides its states, batches and learning
 * rates: words "option=value" with spaces between them, which live as long as the trainer. They are
 * the options by their names, the instruction set, the constants that steps read (frozen weights),
 * and the kernels and forms of all steps with what these were compiled from; of two trainers with
 * equal words, states and batches make equal bits. Threads and memory limits change no bit, and are
 * no words. Whoever keeps states keeps this beside them, and compares before going on. Fails with
 * OUT_OF_MEMORY. */
RYND_API rynd_status rynd_trainer_get_identity(rynd_trainer *trainer, const char **text);

/** Writes the model's file with the present parameters and running statistics, for inference: as
 * rynd_model_save does, field by field, but batch normalisations and dropouts in training mode are
 * written in inference's form (but for normalisations whose further outputs somebody reads), which
 * a trainer trains just as well. States are read in place, so a CPU's trainer takes no memory for
 * their copies. Fails as rynd_model_save. */
RYND_API rynd_status rynd_trainer_save(const rynd_trainer *trainer, const char *path);
/** The same into memory, which rynd_memory_free frees. Fails as rynd_model_save_memory. */
RYND_API rynd_status rynd_trainer_save_memory(const rynd_trainer *trainer, void **data,
                                              size_t *size);

/** The gradient of a parameter in the last step, before clipping and without weight decay: valid
 * until the next. With `accumulate` it is the mean of an update, right behind it. Fails with
 * NOT_FOUND (the name), ARGUMENT where gradients are not kept, or there was no step. */
RYND_API rynd_status rynd_trainer_get_gradient(const rynd_trainer *trainer, const char *name,
                                               rynd_tensor *tensor);

/** A bucket of the exchange with other ranks: what is added up at once. */
typedef struct rynd_bucket_info {
    size_t size;    /**< set by the caller to sizeof(rynd_bucket_info) */
    size_t bytes;   /**< of floats: gradients, running statistics, the loss */
    size_t made;    /**< steps of the plan that run until all of it is there */
    size_t awaited; /**< the step that waits for the sums; as many as there are: none does */
} rynd_bucket_info;

/** In the order in which they go through the exchange; 0 without one, and for NULL. With
 * `accumulate` they are of the update, and its plan's steps are counted: a micro-batch exchanges
 * its running statistics and its loss only. */
RYND_API size_t rynd_trainer_bucket_count(const rynd_trainer *trainer);
/** Fails with ARGUMENT when the index is out of range. */
RYND_API rynd_status rynd_trainer_get_bucket(const rynd_trainer *trainer, size_t index,
                                             rynd_bucket_info *info);

/** The plan of a step, to be looked at and predicted (rynd_plan_get_step, rynd_plan_predict,
 * rynd_plan_get_memory); it lives as long as the trainer. NULL for NULL. */
RYND_API const rynd_plan *rynd_trainer_plan(const rynd_trainer *trainer);
/** With `accumulate`: that of the update, which every accumulate-th step makes besides. NULL where
 * each step updates, and for NULL. */
RYND_API const rynd_plan *rynd_trainer_update_plan(const rynd_trainer *trainer);
/** As rynd_session_profile and rynd_session_step_time, of the plan's steps. */
RYND_API rynd_status rynd_trainer_profile(rynd_trainer *trainer, int on);
RYND_API double rynd_trainer_step_time(const rynd_trainer *trainer, size_t step);
/** Bytes that it holds for steps and evaluations, states and packed weights included; 0 for NULL.
 * Constants that are read where the model's file has them are beside it. */
RYND_API size_t rynd_trainer_memory(const rynd_trainer *trainer);

#ifdef __cplusplus
}
#endif
#endif
