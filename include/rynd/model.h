/* SPDX-License-Identifier: Apache-2.0 */
/** @file model.h
 *  @brief An ONNX file as loaded, and a look at what it holds. */
#ifndef RYND_MODEL_H
#define RYND_MODEL_H

#include <rynd/context.h>
#include <rynd/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Opaque. May be used by many threads at once. */
typedef struct rynd_model rynd_model;

/** Loads an ONNX file (IR versions 1 to the newest, every opset; operators: docs/operators.md). The
 * file is mapped and weights are used where they are stored: it must not change while the model
 * lives. External data files are looked for beside it and may not leave its folder. Fails with IO,
 * FORMAT (message: file, node, value), UNSUPPORTED (every operator that rynd lacks, by node),
 * SHAPE, OUT_OF_MEMORY (message: file, node or tensor, bytes). Where a declared shape contradicts
 * what the nodes compute, the latter holds and the log hears of it. */
RYND_API rynd_status rynd_model_load(rynd_context *context, const char *path, rynd_model **model);

/** As rynd_model_load, from memory that stays the caller's and must outlive the model. External
 * data is refused. */
RYND_API rynd_status rynd_model_load_memory(rynd_context *context, const void *data, size_t size,
                                            rynd_model **model);

/** Frees a model; NULL is allowed. Its plans must be gone. */
RYND_API void rynd_model_destroy(rynd_model *model);

/** A tensor that a model knows by a name. Borrowed during the call that takes it. */
typedef struct rynd_named_tensor {
    const char *name;
    rynd_tensor tensor;
} rynd_named_tensor;

/** Writes a model's ONNX file once more, with other values for some of its constants. What rynd
 * does not read (metadata, documentation, ...) is copied as it is; weights that were in other files
 * are inside, but where the file would be larger than 2 GiB, protobuf's most: then they, and those
 * that are replaced, are in "<path>.data" beside it. Each of `tensors` (`count` of them; NULL where
 * it is 0) names an initializer, the output of a Constant node, that of an Identity of such a
 * constant, which becomes an initializer of its own, or a vector that a trainer gave to a
 * normalisation which shared one
 * ("<vector>/<output>/scale"), which is added; it has its dtype and shape, and any strides. The
 * file is written whole or not at all: beside, with fsync, then renamed over `path`, or over what
 * `path` links to; it may be the model's own. Many threads may save one model. Fails with ARGUMENT
 * (a constant named twice, too), NOT_FOUND (no such constant), SHAPE, UNSUPPORTED (the model was
 * made by rynd_model_create_part), IO, OUT_OF_MEMORY. */
RYND_API rynd_status rynd_model_save(const rynd_model *model, const char *path,
                                     const rynd_named_tensor *tensors, size_t count);
/** As rynd_model_save, into memory that the caller frees with rynd_memory_free by the model's
 * context. Fails with UNSUPPORTED above 2 GiB, too. On failure *data is NULL and *size 0. */
RYND_API rynd_status rynd_model_save_memory(const rynd_model *model,
                                            const rynd_named_tensor *tensors, size_t count,
                                            void **data, size_t *size);

/** Which part of a model. Set `size` to sizeof(rynd_part_options) and everything else that is not
 * wanted to 0. Borrowed during the call only. */
typedef struct rynd_part_options {
    size_t size;
    /** names of values: what the part reads in place of computing it, and what it gives. outputs
     * NULL: the whole model; inputs are not looked at then. */
    const char *const *inputs;
    size_t input_count;
    const char *const *outputs;
    size_t output_count;
    const struct rynd_dim *dims; /**< as rynd_plan_options.dims: every open dim must get its size */
    size_t dim_count;
    int64_t batch; /**< as rynd_plan_options.batch */
} rynd_part_options;

/** Makes a model of what computes some values of another from others, for the devices of any
 * context: planned, predicted and run like a model that was loaded. Its shapes are fixed: open dims
 * get their sizes here. Values that `model` only computes from constants are constants of the part.
 * The model, its context and `context` must outlive the part. rynd_model_get_info counts no ONNX
 * nodes and operators of it. Fails with NOT_FOUND (no such value), ARGUMENT (an input is a constant
 * or is named twice; an output is not computed from the inputs, which miss one that the message
 * names), SHAPE (a dim is open, or an input's shape depends on data), OUT_OF_MEMORY. */
RYND_API rynd_status rynd_model_create_part(const rynd_model *model, rynd_context *context,
                                            const rynd_part_options *options, rynd_model **part);

/** A graph input or output. `dim[i]` is -1 where the model leaves it open; `symbol[i]` is then its
 * name ("batch", "2*H", never NULL). Strings live as long as the model. */
typedef struct rynd_value_info {
    size_t size; /**< set by the caller to sizeof(rynd_value_info) */
    const char *name;
    rynd_dtype dtype;
    int rank; /**< -1: not known */
    int64_t dim[RYND_MAX_RANK];
    const char *symbol[RYND_MAX_RANK];
} rynd_value_info;

/** How many inputs and outputs; 0 for NULL. */
RYND_API size_t rynd_model_input_count(const rynd_model *model);
RYND_API size_t rynd_model_output_count(const rynd_model *model);
/** Fails with ARGUMENT when index is out of range. */
RYND_API rynd_status rynd_model_get_input(const rynd_model *model, size_t index,
                                          rynd_value_info *info);
RYND_API rynd_status rynd_model_get_output(const rynd_model *model, size_t index,
                                           rynd_value_info *info);

/** Facts about a model. Strings live as long as the model. */
typedef struct rynd_model_info {
    size_t size; /**< set by the caller to sizeof(rynd_model_info) */
    const char *name, *producer;
    int64_t ir_version, opset;
    int64_t parameters; /**< elements of all initializers */
    /** multiply-adds, with open dims taken as 1 where nothing else is known; -1 when a shape
     * needs data */
    int64_t macs;
    size_t node_count;     /**< ONNX nodes */
    size_t operator_count; /**< different ONNX operators: rynd_model_get_operator */
} rynd_model_info;

/** Fails with ARGUMENT. */
RYND_API rynd_status rynd_model_get_info(const rynd_model *model, rynd_model_info *info);

/** Bytes of weights that the plans of a model share, and of those that no plan reads any more. */
typedef struct rynd_weights {
    size_t size;           /**< set by the caller to sizeof(rynd_weights) */
    size_t packed;         /**< reordered for kernels */
    size_t derived;        /**< made from the model's constants: folded, scaled */
    size_t unused_packed;  /**< part of `packed` without a plan */
    size_t unused_derived; /**< part of `derived` without a plan */
    size_t keep;           /**< how many of each stay unused: rynd_model_keep */
} rynd_weights;

/** Counts them. Any thread. Fails with ARGUMENT. */
RYND_API rynd_status rynd_model_get_weights(const rynd_model *model, rynd_weights *weights);

/** Sets how many bytes of packed weights, and of derived ones, stay when no plan reads them. More
 * go, the least recently used first; what one plan has packed stays, even if it is more. At first:
 * as many as the model's constants have. 0 frees all that no plan reads. Any thread. Fails with
 * ARGUMENT. */
RYND_API rynd_status rynd_model_keep(rynd_model *model, size_t bytes);

/** The index-th operator in alphabetical order, and how many nodes have it. Fails with ARGUMENT
 * when index is out of range. */
RYND_API rynd_status rynd_model_get_operator(const rynd_model *model, size_t index,
                                             const char **name, size_t *count);

/** A node of the graph as rynd reads it. Strings live as long as the model. `inputs`/`outputs` are
 * value names ("" when absent). */
typedef struct rynd_node_info {
    size_t size; /**< set by the caller to sizeof(rynd_node_info) */
    const char *name;
    const char *op;     /**< rynd's operator: "conv" */
    const char *source; /**< the ONNX operator it came from: "Conv" */
    int inputs, outputs;
} rynd_node_info;

RYND_API size_t rynd_model_node_count(const rynd_model *model); /**< 0 for NULL */
/** Fails with ARGUMENT when index is out of range. */
RYND_API rynd_status rynd_model_get_node(const rynd_model *model, size_t index,
                                         rynd_node_info *info);
/** NULL when out of range, or model is NULL */
RYND_API const char *rynd_model_node_input(const rynd_model *model, size_t node, int index);
/** likewise */
RYND_API const char *rynd_model_node_output(const rynd_model *model, size_t node, int index);
/** Type and shape of any value of the graph, by name. Fails with ARGUMENT, NOT_FOUND. */
RYND_API rynd_status rynd_model_get_value(const rynd_model *model, const char *name,
                                          rynd_value_info *info);

/** Reads an ONNX TensorProto (a .pb file's content): allocates through the context; free with
 * rynd_tensor_free. `name` (may be NULL) receives the tensor's name, owned with the data. Fails
 * with ARGUMENT, FORMAT, UNSUPPORTED, SHAPE, OUT_OF_MEMORY. */
RYND_API rynd_status rynd_tensor_read_pb(rynd_context *context, const void *data, size_t size,
                                         rynd_tensor *tensor, const char **name);
/** Frees the data (and name) of a tensor that rynd_tensor_read_pb made; does nothing where one of
 * the two is NULL. */
RYND_API void rynd_tensor_free(rynd_context *context, rynd_tensor *tensor);
/** Writes a TensorProto into memory that the caller frees with rynd_memory_free. `name` may be
 * NULL: the tensor has none. The tensor may have any strides, and its data any alignment. Fails
 * with ARGUMENT (a tensor of dtype NONE or without data, too), OUT_OF_MEMORY; then *data is NULL
 * and *size 0. */
RYND_API rynd_status rynd_tensor_write_pb(rynd_context *context, const char *name,
                                          const rynd_tensor *tensor, void **data, size_t *size);
/** Does nothing where one of the two is NULL. */
RYND_API void rynd_memory_free(rynd_context *context, void *memory);

#ifdef __cplusplus
}
#endif
#endif
