/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX messages as records: what the reader shares, tensors, attributes and nodes. */
#ifndef RY_ONNX_PROTO_H
#define RY_ONNX_PROTO_H

#include "graph/graph.h"
#include "onnx/mapping.h"
#include "onnx/slices.h"

/* One model being read. `source.arena` holds what is needed until the graph is made; the rest goes
 * into the graph's arena. */
typedef struct ry_reader {
    ry_slices_source source;
    const ry_allocator *allocator;
    const char *folder; /* folder of external data; NULL: refused */
    ry_mapping **mappings;
    ry_error *error;
    /* functions of the model, for graphs in attributes (nodes.h) */
    struct ry_functions *functions;
    /* numbers are computed as soon as they are known: conditions and trip counts depend on them */
    bool settles;
    size_t unrolled;         /* nodes made of graphs in attributes so far */
    ry_names body_constants; /* tensors of graphs in attributes: place in the file -> value */
} ry_reader;

/* A TensorProto. The data is in the file, or in `arena` when it had to be decoded or aligned. */
typedef struct ry_tensor_record {
    const char *name;
    ry_dtype dtype;
    ry_shape shape;
    const void *data;
    bool unaligned; /* data is not aligned to its elements: only above RY_ALIGNED_UP_TO bytes */
} ry_tensor_record;

/* Tensors up to this size are copied when they are at an odd address; larger ones stay in the file.
 */
#define RY_ALIGNED_UP_TO (64 * 1024)

/* `what` names the tensor in messages when it has no name of its own. */
rynd_status ry_reader_tensor(ry_reader *reader, ry_slice bytes, const char *what, ry_arena *arena,
                             ry_tensor_record *tensor);

/* ONNX's name of a TensorProto.DataType that rynd does not compute with, for messages. */
const char *ry_onnx_type_name(int64_t data_type);

/* AttributeProto.AttributeType's numbers. */
typedef enum ry_attribute_type {
    RY_ATTRIBUTE_none = 0,
    RY_ATTRIBUTE_float = 1,
    RY_ATTRIBUTE_int = 2,
    RY_ATTRIBUTE_string = 3,
    RY_ATTRIBUTE_tensor = 4,
    RY_ATTRIBUTE_graph = 5,
    RY_ATTRIBUTE_floats = 6,
    RY_ATTRIBUTE_ints = 7,
    RY_ATTRIBUTE_strings = 8
} ry_attribute_type;

typedef struct ry_attribute_record {
    const char *name;
    const char *reference; /* the function's attribute to read in its place, or NULL */
    int type;              /* ry_attribute_type, or another of ONNX's */
    float f;
    int64_t i;
    ry_slice s, tensor; /* a TensorProto */
    ry_slice graph;     /* a GraphProto */
    ry_slice numbers;   /* packed floats or ints */
    ry_slices strings;
} ry_attribute_record;

/* A value outside that a graph in an attribute reads. */
typedef struct ry_capture {
    const char *name;  /* inside */
    const char *value; /* outside: another one in a function's body */
} ry_capture;

typedef struct ry_node_record {
    const char *name; /* the model's, or its first output's */
    const char *op, *domain;
    int64_t opset; /* its domain's; 0: not imported */
    int inputs, outputs, attributes;
    const char **in, **out; /* "": absent */
    ry_attribute_record *attribute;
    ry_capture *capture; /* what the graphs in attributes read */
    int captures;
    const struct ry_opsets *opsets; /* those of the node's graph or function */
    const struct ry_scope *scope;   /* renames the node's names; NULL: they are the model's own */
} ry_node_record;

/* True, or false and the reason. Malformed fields are refused in unknown fields too: nanopb alone
 * skips varints of any length there, which protobuf and ry_onnx_write refuse. */
bool ry_reader_decodes(ry_reader *reader, const pb_msgdesc_t *type, ry_slice bytes, void *message,
                       size_t size, const char **reason);

/* Decodes, or fails with a text that names the message's kind, `what`. */
rynd_status ry_reader_decode(ry_reader *reader, const pb_msgdesc_t *type, ry_slice bytes,
                             void *message, size_t size, const char *what);
rynd_status ry_reader_attribute(ry_reader *reader, ry_slice bytes, ry_attribute_record *attribute);
rynd_status ry_reader_node(ry_reader *reader, ry_slice bytes, ry_node_record *node);
/* A NUL-terminated copy in the reader's arena; a NUL inside is refused. */
rynd_status ry_reader_text(ry_reader *reader, ry_slice bytes, const char **text);

#define RY_READER_DECODE(reader, type, bytes, message) \
    ry_reader_decode(reader, ry_onnx_##type##_fields, bytes, message, sizeof *(message), #type)

#endif
