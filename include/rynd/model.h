/* SPDX-License-Identifier: Apache-2.0 */
/** @file model.h
 *  @brief ONNX models: load, inspect, save, cut. */
#ifndef RYND_MODEL_H
#define RYND_MODEL_H

#include <rynd/context.h>
#include <rynd/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Opaque. Many threads may use it at once. */
typedef struct rynd_model rynd_model;

/** Loads an ONNX file: IR version 1 to the newest, every opset, the operators of
 * docs/operators.md. The caller destroys the model. The file is mapped and weights are used in
 * place: it must not change while the model lives. External data files must lie in the model's
 * folder or below. Any thread.
 *
 * Fails with IO, FORMAT (naming file, node and value), UNSUPPORTED (naming every missing operator
 * and its nodes), SHAPE, OUT_OF_MEMORY. If a declared shape contradicts the computed shape, the
 * computed one holds, and the log gets a warning. */
RYND_API rynd_status rynd_model_load(rynd_context *context, const char *path, rynd_model **model);

/** Like rynd_model_load, from `size` bytes of the caller's memory, which must outlive the model.
 * External data is refused. */
RYND_API rynd_status rynd_model_load_memory(rynd_context *context, const void *data, size_t size,
                                            rynd_model **model);

/** Frees a model. Its plans, trainers and parts must be gone. */
RYND_API void rynd_model_destroy(rynd_model *model);

/** A tensor with its name in the model. */
typedef struct rynd_named_tensor {
    const char *name;
    rynd_tensor tensor;
} rynd_named_tensor;

/** Writes the model's ONNX file again, with new values for some constants. Everything else is
 * copied, metadata and documentation too. External weights move into the file; above 2 GiB,
 * protobuf's limit, they go to "PATH.data" beside it.
 *
 * Each of the `count` tensors has a constant's name, dtype and shape, and any strides (NULL if
 * count is 0). A constant is an initializer, the output of a Constant node, or an Identity of one:
 * the Identity then becomes an initializer. The name "VECTOR/OUTPUT/scale" is also allowed: a
 * trainer gives it to a normalisation that shared its vector; the vector is added.
 *
 * The file appears whole or not at all: a new file is synced and renamed over `path`, or over the
 * target of a link. `path` may be the model's own file. Any thread. Fails with ARGUMENT (a constant
 * is named twice), NOT_FOUND (no such constant), SHAPE, UNSUPPORTED (the model is a part:
 * rynd_model_create_part), IO, OUT_OF_MEMORY. */
RYND_API rynd_status rynd_model_save(const rynd_model *model, const char *path,
                                     const rynd_named_tensor *tensors, size_t count);

/** Like rynd_model_save, into new memory, which the caller frees by rynd_memory_free with the
 * model's context. On failure *data is NULL and *size 0. Also fails with UNSUPPORTED above 2 GiB.
 */
RYND_API rynd_status rynd_model_save_memory(const rynd_model *model,
                                            const rynd_named_tensor *tensors, size_t count,
                                            void **data, size_t *size);

/** Writes the model's file with another last layer, to be trained on other classes: the last product
 * before the first output (Gemm, MatMul, or Conv with one group) gets random weights for `classes`
 * outputs, its bias becomes 0, and the output's declared dims change. Softmax, Sigmoid, Relu,
 * Flatten, Reshape, Squeeze, Identity, Dropout, average pools, ReduceMean and an Add of a bias may
 * come after the product. Weights are uniform from -1/sqrt(fan-in) to 1/sqrt(fan-in), as PyTorch's
 * layers begin; the same seed and sizes give the same weights.
 *
 * The file is written as by rynd_model_save. Fails with ARGUMENT (classes below 1), UNSUPPORTED
 * (naming the node that is in the way), IO, OUT_OF_MEMORY. */
RYND_API rynd_status rynd_model_save_new_head(const rynd_model *model, int64_t classes,
                                              uint64_t seed, const char *path);

/** Like rynd_model_save_new_head, into new memory, which the caller frees by rynd_memory_free. */
RYND_API rynd_status rynd_model_save_new_head_memory(const rynd_model *model, int64_t classes,
                                                     uint64_t seed, void **data, size_t *size);

/** Options of rynd_model_create_part. */
typedef struct rynd_part_options {
    size_t size;
    const char *const *inputs; /**< names of values that the part reads as its inputs */
    size_t input_count;
    const char *const *outputs; /**< names of values that it gives; NULL: the whole model */
    size_t output_count;
    const struct rynd_dim *dims; /**< as rynd_plan_options.dims; every open dim needs its size */
    size_t dim_count;
    int64_t batch; /**< as rynd_plan_options.batch */
} rynd_part_options;

/** Makes a model of the nodes that compute some values of `model` from others, for the device of
 * any context. The part has fixed shapes, and is planned and run like a loaded model. Values that
 * `model` computes from constants only are constants of the part; rynd_model_get_info counts no
 * ONNX nodes and operators in it. `model`, its context and `context` must outlive the part. Any
 * thread.
 *
 * Fails with NOT_FOUND (no such value), ARGUMENT (an input is a constant or named twice; an output
 * needs an input that the message names), SHAPE (an open dim, or an input whose shape depends on
 * data), OUT_OF_MEMORY. */
RYND_API rynd_status rynd_model_create_part(const rynd_model *model, rynd_context *context,
                                            const rynd_part_options *options, rynd_model **part);

/** A value of the graph. An open dimension has dim[i] = -1, and its name in symbol[i]: "batch",
 * "2*H". symbol[i] is never NULL for i below rank. */
typedef struct rynd_value_info {
    size_t size;
    const char *name;
    rynd_dtype dtype;
    int rank; /**< -1: unknown */
    int64_t dim[RYND_MAX_RANK];
    const char *symbol[RYND_MAX_RANK];
} rynd_value_info;

/** Numbers of inputs and outputs. */
RYND_API size_t rynd_model_input_count(const rynd_model *model);
RYND_API size_t rynd_model_output_count(const rynd_model *model);

/** Describe an input or output by its index. */
RYND_API rynd_status rynd_model_get_input(const rynd_model *model, size_t index,
                                          rynd_value_info *info);
RYND_API rynd_status rynd_model_get_output(const rynd_model *model, size_t index,
                                           rynd_value_info *info);

/** Describes any value of the graph, inputs and outputs included, by its name. Fails with
 * NOT_FOUND. */
RYND_API rynd_status rynd_model_get_value(const rynd_model *model, const char *name,
                                          rynd_value_info *info);

/** Facts about a model. */
typedef struct rynd_model_info {
    size_t size;
    const char *name, *producer;
    int64_t ir_version, opset;
    int64_t parameters;    /**< elements of all initializers */
    int64_t macs;          /**< multiply-adds, unknown open dims taken as 1; -1: depends on data */
    size_t node_count;     /**< ONNX nodes */
    size_t operator_count; /**< distinct ONNX operators (rynd_model_get_operator) */
} rynd_model_info;

/** Describes a model. */
RYND_API rynd_status rynd_model_get_info(const rynd_model *model, rynd_model_info *info);

/** An entry of a model's metadata: ModelProto.metadata_props of the ONNX file. */
typedef struct rynd_metadata {
    size_t size;
    const char *key, *value; /**< UTF-8; valid until the model's metadata changes */
} rynd_metadata;

/** Number of entries. A part of a model has none. */
RYND_API size_t rynd_model_metadata_count(const rynd_model *model);

/** Describes an entry by its index, in the file's order. */
RYND_API rynd_status rynd_model_get_metadata(const rynd_model *model, size_t index,
                                             rynd_metadata *metadata);

/** Returns the value of a key, or NULL if the model has no such key. */
RYND_API const char *rynd_model_find_metadata(const rynd_model *model, const char *key);

/** Sets the value of a key for files that are written later (rynd_model_save, rynd_trainer_save).
 * value NULL removes the key. Texts are copied. Not while another thread uses the model's metadata
 * or saves it. Fails with OUT_OF_MEMORY. */
RYND_API rynd_status rynd_model_set_metadata(rynd_model *model, const char *key, const char *value);

/** Bytes of weights that a model's plans share. */
typedef struct rynd_weights {
    size_t size;
    size_t packed;         /**< reordered for kernels */
    size_t derived;        /**< computed from the model's constants: folded, scaled */
    size_t unused_packed;  /**< part of `packed` that no plan uses */
    size_t unused_derived; /**< part of `derived` that no plan uses */
    size_t keep;           /**< limit of each unused part (rynd_model_keep) */
} rynd_weights;

/** Counts the shared weights. */
RYND_API rynd_status rynd_model_get_weights(const rynd_model *model, rynd_weights *weights);

/** Limits the bytes of packed weights, and of derived ones, that stay without a plan. Above the
 * limit the least recently used go first; the packed weights of one plan always stay together.
 * Default: the size of the model's constants. 0 frees all unused weights. */
RYND_API rynd_status rynd_model_keep(rynd_model *model, size_t bytes);

/** Gives the index-th operator in alphabetical order, and its number of nodes. */
RYND_API rynd_status rynd_model_get_operator(const rynd_model *model, size_t index,
                                             const char **name, size_t *count);

/** A node of the graph as rynd reads it. */
typedef struct rynd_node_info {
    size_t size;
    const char *name;
    const char *op;      /**< rynd's operator: "conv" */
    const char *source;  /**< the ONNX operator: "Conv" */
    int inputs, outputs; /**< their numbers */
} rynd_node_info;

/** Number of nodes. */
RYND_API size_t rynd_model_node_count(const rynd_model *model);

/** Describes a node. */
RYND_API rynd_status rynd_model_get_node(const rynd_model *model, size_t index,
                                         rynd_node_info *info);

/** Names of the index-th value that a node reads or writes: "" if it is absent, NULL if `node` or
 * `index` is out of range. */
RYND_API const char *rynd_model_node_input(const rynd_model *model, size_t node, int index);
RYND_API const char *rynd_model_node_output(const rynd_model *model, size_t node, int index);

#ifdef __cplusplus
}
#endif
#endif
