/* SPDX-License-Identifier: Apache-2.0 */
/* Writes protobuf by hand: a message is a sequence of (field number, wire type) keys with their
 * values (protobuf.dev, "Encoding"). */
#include "tiny_model.h"

#include <assert.h>
#include <string.h>

enum { WIRE_VARINT = 0, WIRE_BYTES = 2 };
/* Field numbers of onnx.proto. */
enum { MODEL_IR_VERSION = 1, MODEL_PRODUCER = 2, MODEL_GRAPH = 7, MODEL_OPSET = 8 };
enum { OPSET_VERSION = 2 };
enum { GRAPH_NODE = 1, GRAPH_NAME = 2, GRAPH_INITIALIZER = 5, GRAPH_INPUT = 11, GRAPH_OUTPUT = 12 };
enum { NODE_INPUT = 1, NODE_OUTPUT = 2, NODE_NAME = 3, NODE_OP = 4, NODE_ATTRIBUTE = 5 };
enum {
    ATTRIBUTE_NAME = 1,
    ATTRIBUTE_I = 3,
    ATTRIBUTE_INTS = 8,
    ATTRIBUTE_TYPE = 20,
    ATTRIBUTE_TYPE_INT = 2,
    ATTRIBUTE_TYPE_INTS = 7
};
enum { TENSOR_DIMS = 1, TENSOR_TYPE = 2, TENSOR_NAME = 8, TENSOR_RAW = 9, TENSOR_TYPE_FLOAT = 1 };
enum {
    VALUE_NAME = 1,
    VALUE_TYPE = 2,
    TYPE_TENSOR = 1,
    TENSOR_ELEMENT = 1,
    TENSOR_SHAPE = 2,
    SHAPE_DIM = 1,
    DIM_VALUE = 1,
    DIM_SYMBOL = 2
};

typedef struct message {
    uint8_t data[TINY_MODEL_CAPACITY];
    size_t size;
} message;

static void put_varint(message *m, uint64_t value)
{
    do {
        assert(m->size < sizeof m->data);
        m->data[m->size++] = (uint8_t)((value & 0x7F) | (value > 0x7F ? 0x80 : 0));
        value >>= 7;
    } while (value);
}

static void put_integer(message *m, unsigned field, uint64_t value)
{
    put_varint(m, field << 3 | WIRE_VARINT);
    put_varint(m, value);
}

static void put_bytes(message *m, unsigned field, const void *data, size_t size)
{
    put_varint(m, field << 3 | WIRE_BYTES);
    put_varint(m, size);
    assert(m->size + size <= sizeof m->data);
    memcpy(m->data + m->size, data, size);
    m->size += size;
}

static void put_text(message *m, unsigned field, const char *text)
{
    put_bytes(m, field, text, strlen(text));
}

static void put_message(message *m, unsigned field, const message *inner)
{
    put_bytes(m, field, inner->data, inner->size);
}

void tiny_values(float *values, size_t count, uint32_t seed)
{
    /* The linear congruential generator of Numerical Recipes, section 7.1. */
    uint32_t state = seed;
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        values[i] = (float)(int32_t)state / 2147483648.0f;
    }
}

static void put_weights(message *graph, const char *name, int rank, const int64_t *dim)
{
    message tensor = {.size = 0};
    float values[256];
    size_t count = 1;
    for (int i = 0; i < rank; i++) {
        put_integer(&tensor, TENSOR_DIMS, (uint64_t)dim[i]);
        count *= (size_t)dim[i];
    }
    assert(count <= sizeof values / sizeof values[0]);
    tiny_values(values, count, (uint32_t)strlen(name) + (uint32_t)name[0]);
    put_integer(&tensor, TENSOR_TYPE, TENSOR_TYPE_FLOAT);
    put_text(&tensor, TENSOR_NAME, name);
    put_bytes(&tensor, TENSOR_RAW, values, count * sizeof values[0]);
    put_message(graph, GRAPH_INITIALIZER, &tensor);
}

static void put_value(message *graph, unsigned field, const char *name, int rank,
                      const int64_t *dim)
{
    message shape = {.size = 0}, tensor = {.size = 0}, type = {.size = 0}, value = {.size = 0};
    for (int i = 0; i < rank; i++) {
        message extent = {.size = 0};
        if (dim[i] < 0) {
            put_text(&extent, DIM_SYMBOL, "batch");
        } else {
            put_integer(&extent, DIM_VALUE, (uint64_t)dim[i]);
        }
        put_message(&shape, SHAPE_DIM, &extent);
    }
    put_integer(&tensor, TENSOR_ELEMENT, TENSOR_TYPE_FLOAT);
    put_message(&tensor, TENSOR_SHAPE, &shape);
    put_message(&type, TYPE_TENSOR, &tensor);
    put_text(&value, VALUE_NAME, name);
    put_message(&value, VALUE_TYPE, &type);
    put_message(graph, field, &value);
}

/* A list of `count` integers, or, where it is 0, the single integer values[0]. */
typedef struct attribute {
    const char *name;
    int count;
    int64_t values[4];
} attribute;

static void put_node(message *graph, const char *op, const char *const *inputs, const char *output,
                     const attribute *attributes, int count)
{
    message node = {.size = 0};
    for (; *inputs; inputs++) {
        put_text(&node, NODE_INPUT, *inputs);
    }
    put_text(&node, NODE_OUTPUT, output);
    put_text(&node, NODE_NAME, output);
    put_text(&node, NODE_OP, op);
    for (int i = 0; i < count; i++) {
        message inner = {.size = 0};
        put_text(&inner, ATTRIBUTE_NAME, attributes[i].name);
        for (int j = 0; j < attributes[i].count; j++) {
            put_integer(&inner, ATTRIBUTE_INTS, (uint64_t)attributes[i].values[j]);
        }
        if (attributes[i].count == 0) {
            put_integer(&inner, ATTRIBUTE_I, (uint64_t)attributes[i].values[0]);
        }
        put_integer(&inner, ATTRIBUTE_TYPE,
                    attributes[i].count ? ATTRIBUTE_TYPE_INTS : ATTRIBUTE_TYPE_INT);
        put_message(&node, NODE_ATTRIBUTE, &inner);
    }
    put_message(graph, GRAPH_NODE, &node);
}

#define INPUTS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define DIMS(...) \
    (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), ((const int64_t[]){__VA_ARGS__})

static void put_graph(message *graph)
{
    static const attribute conv[] = {{"kernel_shape", 2, {3, 3}}, {"pads", 4, {1, 1, 1, 1}}};
    static const attribute pool[] = {{"kernel_shape", 2, {2, 2}}, {"strides", 2, {2, 2}}};
    static const attribute gemm[] = {{"transB", 0, {1}}};
    put_text(graph, GRAPH_NAME, "tiny");
    put_node(graph, "Conv", INPUTS("x", "w1", "b1"), "conv1", conv, 2);
    put_node(graph, "Relu", INPUTS("conv1"), "relu1", NULL, 0);
    put_node(graph, "MaxPool", INPUTS("relu1"), "pool1", pool, 2);
    put_node(graph, "Conv", INPUTS("pool1", "w2"), "conv2", NULL, 0);
    put_node(graph, "Add", INPUTS("conv2", "pool1"), "add1", NULL, 0);
    put_node(graph, "GlobalAveragePool", INPUTS("add1"), "mean1", NULL, 0);
    put_node(graph, "Flatten", INPUTS("mean1"), "flat1", NULL, 0);
    put_node(graph, "Gemm", INPUTS("flat1", "w3", "b3"), "gemm1", gemm, 1);
    put_node(graph, "Softmax", INPUTS("gemm1"), "y", NULL, 0);
    put_weights(graph, "w1", DIMS(6, TINY_CHANNELS, 3, 3));
    put_weights(graph, "b1", DIMS(6));
    put_weights(graph, "w2", DIMS(6, 6, 1, 1));
    put_weights(graph, "w3", DIMS(TINY_CLASSES, 6));
    put_weights(graph, "b3", DIMS(TINY_CLASSES));
    put_value(graph, GRAPH_INPUT, "x", DIMS(-1, TINY_CHANNELS, TINY_SIDE, TINY_SIDE));
    put_value(graph, GRAPH_OUTPUT, "y", DIMS(-1, TINY_CLASSES));
}

size_t tiny_model(uint8_t *bytes)
{
    message graph = {.size = 0}, opset = {.size = 0}, model = {.size = 0};
    put_graph(&graph);
    put_integer(&opset, OPSET_VERSION, 13);
    put_integer(&model, MODEL_IR_VERSION, 8);
    put_text(&model, MODEL_PRODUCER, "tests");
    put_message(&model, MODEL_GRAPH, &graph);
    put_message(&model, MODEL_OPSET, &opset);
    memcpy(bytes, model.data, model.size);
    return model.size;
}
