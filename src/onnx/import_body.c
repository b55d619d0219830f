/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs in attributes, added to the graph node by node: once for a branch, once a turn for a
 * loop's body. */
#include "onnx/operators.h"

#include <onnx.pb.h>

/* Far above what exporters unroll: a recurrent layer of 1,000 turns has about 20,000. */
enum { MOST_NODES = 1 << 15 };

typedef struct body {
    ry_import *import;
    ry_reader *reader;
    ry_onnx_GraphProto proto;
    ry_scope scope;
    size_t names; /* in the scope */
} body;

static rynd_status bind(body *b, const char *name, const char *value)
{
    b->scope.actual[b->names] = value;
    return ry_names_add(&b->scope.names, b->reader->source.arena, name, (uint32_t)b->names++)
               ? RYND_OK
               : ry_fail_memory(b->reader->error);
}

static const char *name_of(const body *b, ry_value_id value)
{
    return b->import->graph->values[value].name;
}

static rynd_status bind_inputs(body *b, const ry_value_id *in)
{
    for (size_t i = 0; i < b->proto.input.count; i++) {
        ry_onnx_ValueInfoProto input;
        const char *name;
        RY_TRY(RY_READER_DECODE(b->reader, ValueInfoProto, b->proto.input.at[i], &input));
        RY_TRY(ry_reader_text(b->reader, input.name, &name));
        RY_TRY(bind(b, name, name_of(b, in[i])));
    }
    return RYND_OK;
}

/* The bodies of all turns share a tensor: it is read once, and found by its place in the file. */
static rynd_status bind_initializer(body *b, ry_slice bytes)
{
    ry_graph *graph = b->import->graph;
    ry_onnx_TensorProto proto;
    const char *name,
        *place = ry_arena_format(b->reader->source.arena, "%p", (const void *)bytes.data);
    RY_TRY(RY_READER_DECODE(b->reader, TensorProto, bytes, &proto));
    RY_TRY(ry_reader_text(b->reader, proto.name, &name));
    if (!place) {
        return ry_fail_memory(b->reader->error);
    }
    ry_value_id value = ry_names_find(&b->reader->body_constants, place);
    if (value == RY_NO_NAME) {
        ry_tensor_record tensor;
        const char *unique = name;
        RY_TRY(ry_reader_tensor(b->reader, bytes, "", &graph->arena, &tensor));
        RY_TRY(ry_scope_rename(b->reader, &b->scope, &unique));
        value = ry_graph_add_constant(graph, unique, tensor.dtype, &tensor.shape, tensor.data);
        if (value == RY_NO_VALUE ||
            !ry_names_add(&b->reader->body_constants, b->reader->source.arena, place, value)) {
            return ry_fail_memory(b->reader->error);
        }
        graph->values[value].unaligned = tensor.unaligned;
    }
    return bind(b, name, name_of(b, value));
}

static rynd_status find_outputs(body *b, ry_value_id *out)
{
    for (size_t i = 0; i < b->proto.output.count; i++) {
        ry_onnx_ValueInfoProto output;
        const char *name;
        RY_TRY(RY_READER_DECODE(b->reader, ValueInfoProto, b->proto.output.at[i], &output));
        RY_TRY(ry_reader_text(b->reader, output.name, &name));
        RY_TRY(ry_scope_rename(b->reader, &b->scope, &name));
        out[i] = ry_graph_find(b->import->graph, name);
        if (out[i] == RY_NO_VALUE) {
            return ry_fail(b->reader->error, RYND_ERROR_FORMAT,
                           "node '%s' (%s): output %zu of a graph in its attributes is missing: no "
                           "node makes it",
                           b->import->node->name, b->import->node->op, i);
        }
    }
    return RYND_OK;
}

static rynd_status fill_scope(body *b, const ry_value_id *in)
{
    const ry_node_record *node = b->import->node;
    const size_t most = b->proto.input.count + b->proto.initializer.count + (size_t)node->captures;
    b->scope = (ry_scope){.prefix = node->name,
                          .number = b->reader->unrolled++,
                          .actual = RY_TAKE(b->reader->source.arena, const char *, most)};
    if (!b->scope.actual) {
        return ry_fail_memory(b->reader->error);
    }
    if (node->scope) {
        b->scope.call = node->scope->call;
        b->scope.function = node->scope->function;
    }
    RY_TRY(bind_inputs(b, in));
    for (size_t i = 0; i < b->proto.initializer.count; i++) {
        RY_TRY(bind_initializer(b, b->proto.initializer.at[i]));
    }
    for (int i = 0; i < node->captures; i++) {
        RY_TRY(bind(b, node->capture[i].name, node->capture[i].value));
    }
    return RYND_OK;
}

/* The scope lives as long as the reader: nodes inside refer to it. */
static rynd_status add_body(body *b, const ry_value_id *in, ry_value_id *out)
{
    ry_node_list nodes;
    RY_TRY(fill_scope(b, in));
    RY_TRY(ry_nodes_read(b->reader, &b->proto.node, b->import->node->opsets, &b->scope, &nodes));
    b->reader->unrolled += nodes.count;
    if (b->reader->unrolled > MOST_NODES) {
        return ry_fail(b->reader->error, RYND_ERROR_UNSUPPORTED,
                       "node '%s' (%s): it and others before it grow to more than %d nodes when "
                       "they are unrolled",
                       b->import->node->name, b->import->node->op, MOST_NODES);
    }
    RY_TRY(
        b->import->run_nodes(b->reader, b->import->graph, &nodes, &b->import->graph->value_names));
    return find_outputs(b, out);
}

void ry_import_body(ry_import *import, const char *attribute, int inputs, const ry_value_id *in,
                    int outputs, ry_value_id *out)
{
    const ry_attribute_record *record = ry_import_attribute(import, attribute);
    body *b = RY_TAKE(import->reader->source.arena, body, 1);
    if (ry_import_failed(import)) {
        return;
    }
    if (!b) {
        import->status = ry_fail_memory(import->reader->error);
        return;
    }
    *b = (body){.import = import, .reader = import->reader};
    import->status = RY_READER_DECODE(b->reader, GraphProto, record->graph, &b->proto);
    if (!ry_import_failed(import) &&
        ((int)b->proto.input.count != inputs || (int)b->proto.output.count != outputs)) {
        ry_import_fail(import, RYND_ERROR_FORMAT,
                       "its %s has %zu inputs and %zu outputs; it must have %d and %d", attribute,
                       b->proto.input.count, b->proto.output.count, inputs, outputs);
    }
    if (!ry_import_failed(import)) {
        import->status = add_body(b, in, out);
    }
}
