/* SPDX-License-Identifier: Apache-2.0 */
/* Reading ONNX models and tensors.
 *
 * A model file is mapped and stays mapped: constants of the graph point into it. Files are hostile
 * input: every offset, length and count is checked against the file's size before it is used. */
#ifndef RY_ONNX_ONNX_H
#define RY_ONNX_ONNX_H

#include "graph/graph.h"

struct ry_wire_out;
typedef struct ry_onnx_metadata ry_onnx_metadata; /* onnx/metadata.h */

typedef struct ry_onnx_model {
    ry_graph *graph; /* symbols unbound, shapes inferred as far as they go */
    int64_t ir_version;
    int64_t opset; /* the default domain's */
    const char *producer, *path;
    const void *bytes; /* the file's, as they were read; NULL: made from another model */
    size_t byte_count;
    const char *folder;                /* folder of external data; NULL: none is read */
    struct ry_mapping *mappings;       /* the file, and external data files */
    const struct ry_onnx_usage *usage; /* the file's operators */
    size_t usage_count;
    ry_onnx_metadata *metadata; /* the first entry */
    bool metadata_changed;      /* since the file was read */
} ry_onnx_model;

typedef struct ry_onnx_usage {
    const char *operator_name;
    size_t count;
} ry_onnx_usage;

rynd_status ry_onnx_load(const char *path, const ry_allocator *allocator, ry_onnx_model *model,
                         ry_error *error);
/* `data` is borrowed and must outlive the model; external data is looked for in `folder` (NULL:
 * refused). */
rynd_status ry_onnx_load_memory(const void *data, size_t size, const char *folder,
                                const ry_allocator *allocator, ry_onnx_model *model,
                                ry_error *error);
/* `model` is a ry_onnx_model: constants of its file that are not read again soon need not stay in
 * memory (ry_mapping_unneeded). */
void ry_onnx_unneeded(const void *model, const void *data, size_t size);
void ry_onnx_free(ry_onnx_model *model);

/* A constant of a model with other values. */
typedef struct ry_onnx_replacement {
    const char *name;
    ry_tensor tensor; /* has the constant's dtype and shape; row-major */
} ry_onnx_replacement;

/* Where a model's message goes, and the data of its larger tensors. */
typedef struct ry_onnx_output {
    struct ry_wire_out *model;
    const char *location; /* the data file, from the model's folder on; NULL: data is inside */
    struct ry_wire_out *data;
    /* normalisations and dropouts in training mode are written in inference's form; normalisations
     * whose further outputs somebody reads, and nodes of functions, stay as they are */
    bool inference;
} ry_onnx_output;

/* Bytes of the largest message that protobuf reads, and so of the largest file without another
 * beside it. */
#define RY_ONNX_MOST INT32_MAX

/* Writes the model's file once more, field by field as it is there, but for the data of the
 * initializers (or outputs of Constant nodes) that are replaced. What was in other files is inside
 * then, or, with a location, all that is written anew and not small is there. Call it with outputs
 * that only count first: what can fail then does. */
rynd_status ry_onnx_write(const ry_onnx_model *model, const ry_onnx_replacement *replacements,
                          size_t count, const ry_onnx_output *to, ry_error *error);

/* A TensorProto file (.pb). The tensor's data and name live in the arena. */
rynd_status ry_onnx_tensor_read(const void *data, size_t size, ry_arena *arena, const char **name,
                                ry_tensor *tensor, ry_error *error);
/* Writes one into arena memory. */
rynd_status ry_onnx_tensor_write(const char *name, const ry_tensor *tensor, ry_arena *arena,
                                 const void **data, size_t *size, ry_error *error);

#endif
