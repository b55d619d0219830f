/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs, initializers, nodes and outputs of a GraphProto, in this order, into a graph. */
#include "onnx/model_graph.h"

#include "graph/graph_names.h"
#include "graph/infer.h"
#include "onnx/operators.h"

#include <inttypes.h>
#include <onnx.pb.h>
#include <stdlib.h>
#include <string.h>

typedef struct builder {
    ry_reader *reader;
    ry_graph *graph;
    ry_onnx_GraphProto proto;
    ry_names known; /* inputs and initializers: name -> value */
    ry_node_list nodes;
} builder;

/* Whose ValueInfoProto. */
enum role { ROLE_INPUT, ROLE_OUTPUT, ROLE_INNER };

/* What a ValueInfoProto says. */
typedef struct declaration {
    const char *name;
    ry_dtype dtype; /* RY_NONE: not said */
    ry_shape shape; /* rank -1: not said */
} declaration;

/* A name that only an inner value's declaration has is no dim of the model: no symbol is made for
 * it. */
static rynd_status read_dim(builder *b, const char *name, enum role role, ry_slice bytes,
                            int64_t *dim)
{
    ry_onnx_TensorShapeProto_Dimension proto;
    RY_TRY(RY_READER_DECODE(b->reader, TensorShapeProto_Dimension, bytes, &proto));
    if (proto.has_dim_value && proto.dim_value >= 0) {
        *dim = proto.dim_value;
        return RYND_OK;
    }
    if (proto.has_dim_value && proto.dim_value < -1) {
        return ry_fail(b->reader->error, RYND_ERROR_SHAPE, "value '%s' has the dimension %" PRId64,
                       name, proto.dim_value);
    }
    if (role == ROLE_INNER) {
        *dim = INT64_MIN;
        return RYND_OK;
    }
    /* -1 is how some exporters say "any". */
    const char *text = "";
    RY_TRY(ry_reader_text(b->reader, proto.dim_param, &text));
    *dim = *text ? ry_graph_symbol(b->graph, text, strlen(text)) : ry_dim_unknown(b->graph);
    return *dim < 0 ? RYND_OK : ry_fail_memory(b->reader->error);
}

static rynd_status read_shape(builder *b, const char *name, enum role role, ry_slice bytes,
                              ry_shape *shape)
{
    ry_onnx_TensorShapeProto proto;
    if (!ry_slice_present(bytes)) {
        return RYND_OK;
    }
    RY_TRY(RY_READER_DECODE(b->reader, TensorShapeProto, bytes, &proto));
    if (proto.dim.count > RY_MAX_RANK) {
        return ry_fail(b->reader->error, RYND_ERROR_UNSUPPORTED,
                       "value '%s' has %zu dimensions; rynd has at most %d", name, proto.dim.count,
                       RY_MAX_RANK);
    }
    shape->rank = (int)proto.dim.count;
    for (int i = 0; i < shape->rank; i++) {
        RY_TRY(read_dim(b, name, role, proto.dim.at[i], &shape->dim[i]));
    }
    return RYND_OK;
}

static rynd_status read_declaration(builder *b, ry_slice bytes, enum role role, declaration *value)
{
    ry_onnx_ValueInfoProto proto;
    ry_onnx_TypeProto type;
    ry_onnx_TypeProto_Tensor tensor;
    *value = (declaration){.shape = {.rank = -1}};
    RY_TRY(RY_READER_DECODE(b->reader, ValueInfoProto, bytes, &proto));
    RY_TRY(ry_reader_text(b->reader, proto.name, &value->name));
    RY_TRY(RY_READER_DECODE(b->reader, TypeProto, proto.type, &type));
    if (!ry_slice_present(type.tensor_type)) {
        return role != ROLE_INPUT ? RYND_OK
                                  : ry_fail(b->reader->error, RYND_ERROR_UNSUPPORTED,
                                            "input '%s' is not a tensor; sequences, maps and "
                                            "optional values are not supported",
                                            value->name);
    }
    RY_TRY(RY_READER_DECODE(b->reader, TypeProto_Tensor, type.tensor_type, &tensor));
    value->dtype = ry_dtype_from_onnx(tensor.elem_type);
    if (value->dtype == RY_NONE && (role == ROLE_INPUT || tensor.elem_type)) {
        return ry_fail(
            b->reader->error, RYND_ERROR_UNSUPPORTED,
            "value '%s' has the ONNX data type %d (%s), which rynd does not compute with",
            value->name, (int)tensor.elem_type, ry_onnx_type_name(tensor.elem_type));
    }
    return read_shape(b, value->name, role, tensor.shape, &value->shape);
}

static rynd_status know(builder *b, const char *name, ry_value_id value)
{
    if (value == RY_NO_VALUE || !ry_names_add(&b->known, b->reader->source.arena, name, value)) {
        return ry_fail_memory(b->reader->error);
    }
    return RYND_OK;
}

static rynd_status add_initializers(builder *b)
{
    if (b->proto.sparse_initializer.count) {
        return ry_fail(
            b->reader->error, RYND_ERROR_UNSUPPORTED,
            "the graph has %zu sparse initializers, which rynd does not read; store them dense",
            b->proto.sparse_initializer.count);
    }
    for (size_t i = 0; i < b->proto.initializer.count; i++) {
        ry_tensor_record tensor;
        const rynd_status status =
            ry_reader_tensor(b->reader, b->proto.initializer.at[i], "", &b->graph->arena, &tensor);
        /* other errors name the tensor; memory may run out before its name is read */
        if (status == RYND_ERROR_OUT_OF_MEMORY) {
            ry_error_prefix(b->reader->error, "initializer %zu%s%s%s: ", i,
                            *tensor.name ? " ('" : "", tensor.name, *tensor.name ? "')" : "");
        }
        RY_TRY(status);
        if (!*tensor.name) {
            return ry_fail(b->reader->error, RYND_ERROR_FORMAT, "initializer %zu has no name", i);
        }
        if (ry_names_find(&b->known, tensor.name) != RY_NO_NAME) {
            return ry_fail(b->reader->error, RYND_ERROR_FORMAT,
                           "two initializers have the name '%s'", tensor.name);
        }
        ry_value_id value =
            ry_graph_add_constant(b->graph, tensor.name, tensor.dtype, &tensor.shape, tensor.data);
        RY_TRY(know(b, tensor.name, value));
        b->graph->values[value].unaligned = tensor.unaligned;
        b->graph->values[value].initializer = true;
    }
    return RYND_OK;
}

/* Up to IR version 3 initializers were repeated among the inputs; later that makes them defaults
 * that a caller may override, which rynd does not. */
static rynd_status add_inputs(builder *b)
{
    for (size_t i = 0; i < b->proto.input.count; i++) {
        declaration input;
        RY_TRY(read_declaration(b, b->proto.input.at[i], ROLE_INPUT, &input));
        uint32_t other = ry_names_find(&b->known, input.name);
        if (other != RY_NO_NAME && b->graph->values[other].constant) {
            continue;
        }
        if (!*input.name || other != RY_NO_NAME) {
            return ry_fail(b->reader->error, RYND_ERROR_FORMAT,
                           *input.name ? "two inputs have the name '%s'" : "an input has no name%s",
                           input.name);
        }
        ry_value_id value = ry_graph_add_value(b->graph, input.name, input.dtype, &input.shape);
        RY_TRY(know(b, input.name, value));
        if (!ry_graph_add_input(b->graph, value)) {
            return ry_fail_memory(b->reader->error);
        }
    }
    return RYND_OK;
}

/* A declaration that contradicts what the nodes compute, as tools leave behind that cut or change a
 * model. */
static void check_shape(builder *b, const char *what, const ry_value *value,
                        const declaration *declared)
{
    bool agree = value->shape.rank < 0 || declared->shape.rank < 0 ||
                 value->shape.rank == declared->shape.rank;
    for (int i = 0; agree && i < value->shape.rank && declared->shape.rank >= 0; i++) {
        int64_t have = value->shape.dim[i], said = declared->shape.dim[i];
        agree = have < 0 || said < 0 || have == said || value->bounded;
    }
    if (!agree) {
        char computed[256], text[256];
        ry_graph_warn(b->graph, "%s '%s' is declared with shape %s, but has %s, which holds", what,
                      declared->name, ry_shape_text(b->graph, &declared->shape, text, sizeof text),
                      ry_shape_text(b->graph, &value->shape, computed, sizeof computed));
    }
}

static rynd_status check_inner(builder *b)
{
    for (size_t i = 0; i < b->proto.value_info.count; i++) {
        declaration inner;
        const rynd_status status =
            read_declaration(b, b->proto.value_info.at[i], ROLE_INNER, &inner);
        if (status == RYND_ERROR_OUT_OF_MEMORY) {
            return status;
        }
        const ry_value_id id = inner.name ? ry_graph_find(b->graph, inner.name) : RY_NO_VALUE;
        if (status != RYND_OK) {
            ry_graph_warn(b->graph, "a declaration that is not needed is passed over: %s",
                          b->reader->error->text);
        } else if (id != RY_NO_VALUE) {
            check_shape(b, "value", &b->graph->values[id], &inner);
        }
    }
    return RYND_OK;
}

/* Where inference could not tell, the model's word is taken. */
static rynd_status merge_declaration(builder *b, ry_value *value, const declaration *output)
{
    check_shape(b, "output", value, output);
    if (output->dtype != RY_NONE && value->dtype != RY_NONE && output->dtype != value->dtype) {
        return ry_fail(b->reader->error, RYND_ERROR_SHAPE,
                       "output '%s' is declared as %s, but is %s", output->name,
                       ry_dtype_name(output->dtype), ry_dtype_name(value->dtype));
    }
    if (value->dtype == RY_NONE) {
        value->dtype = output->dtype;
    }
    if (value->shape.rank < 0) {
        value->shape = output->shape;
    }
    return RYND_OK;
}

static rynd_status add_outputs(builder *b)
{
    for (size_t i = 0; i < b->proto.output.count; i++) {
        declaration output;
        RY_TRY(read_declaration(b, b->proto.output.at[i], ROLE_OUTPUT, &output));
        ry_value_id value = ry_graph_find(b->graph, output.name);
        if (value == RY_NO_VALUE) {
            return ry_fail(b->reader->error, RYND_ERROR_FORMAT,
                           "output '%s' is missing: no node makes it", output.name);
        }
        RY_TRY(merge_declaration(b, &b->graph->values[value], &output));
        if (!ry_graph_add_output(b->graph, value)) {
            return ry_fail_memory(b->reader->error);
        }
    }
    return b->graph->output_count
               ? RYND_OK
               : ry_fail(b->reader->error, RYND_ERROR_FORMAT, "the graph has no outputs");
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const ry_onnx_usage *)a)->operator_name,
                  ((const ry_onnx_usage *)b)->operator_name);
}

static rynd_status count_operators(builder *b, ry_onnx_model *model)
{
    ry_names seen = {0};
    ry_onnx_usage *usage = NULL;
    size_t count = 0, capacity = 0;
    for (size_t n = 0; n < b->nodes.count; n++) {
        const char *op = b->nodes.at[n].op;
        uint32_t id = ry_names_find(&seen, op);
        if (usage && id != RY_NO_NAME) {
            usage[id].count++;
            continue;
        }
        usage = ry_arena_grow(&b->graph->arena, usage, count, &capacity, sizeof *usage);
        const char *name = usage ? ry_arena_string(&b->graph->arena, op, strlen(op)) : NULL;
        if (!name || !ry_names_add(&seen, b->reader->source.arena, op, (uint32_t)count)) {
            return ry_fail_memory(b->reader->error);
        }
        usage[count++] = (ry_onnx_usage){name, 1};
    }
    if (count) {
        qsort(usage, count, sizeof *usage, by_name);
    }
    model->usage = usage;
    model->usage_count = count;
    return RYND_OK;
}

/* A model that was exported for training works in inference, too, but not as its user may think. */
static void tell_training_mode(ry_graph *graph)
{
    size_t norms = 0, drops = 0;
    for (ry_node_id n = 0; n < graph->node_count; n++) {
        const ry_node *node = &graph->nodes[n];
        norms += node->op == RY_OP_batch_norm && node->running[0] != RY_NO_VALUE;
        drops += node->drop != 0 && node->op != RY_OP_identity;
    }
    if (norms + drops) {
        ry_graph_warn(graph,
                      "its BatchNormalization (%zu) and Dropout (%zu) are in training mode: a run "
                      "takes the statistics of its own batch, and drops; what training saves is "
                      "for inference",
                      norms, drops);
    }
}

rynd_status ry_model_graph(ry_reader *reader, ry_slice graph_bytes, const ry_opsets *opsets,
                           const ry_slices *functions, ry_onnx_model *model)
{
    builder b = {.reader = reader, .graph = model->graph};
    const char *name;
    RY_TRY(RY_READER_DECODE(reader, GraphProto, graph_bytes, &b.proto));
    RY_TRY(ry_reader_text(reader, b.proto.name, &name));
    b.graph->name = ry_arena_string(&b.graph->arena, name, strlen(name));
    if (!b.graph->name) {
        return ry_fail_memory(reader->error);
    }
    RY_TRY(add_initializers(&b));
    RY_TRY(add_inputs(&b));
    RY_TRY(ry_functions_read(reader, functions));
    RY_TRY(ry_nodes_read(reader, &b.proto.node, opsets, NULL, &b.nodes));
    RY_TRY(count_operators(&b, model));
    RY_TRY(ry_import_nodes(reader, b.graph, &b.nodes, &b.known));
    RY_TRY(check_inner(&b));
    RY_TRY(add_outputs(&b));
    RY_TRY(ry_graph_compact(b.graph, reader->error));
    tell_training_mode(b.graph);
    return ry_graph_verify(b.graph, reader->error);
}
