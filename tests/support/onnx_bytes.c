/* SPDX-License-Identifier: Apache-2.0 */
/* Writes protobuf by hand: a message is a sequence of (field number, wire type) keys with their
 * values (protobuf.dev, "Encoding"). */
#include "onnx_bytes.h"

#include <stdlib.h>
#include <string.h>

enum { WIRE_VARINT = 0, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

static void append(onnx_bytes *m, const void *data, size_t size)
{
    if (m->size + size > m->capacity) {
        m->capacity = 2 * (m->size + size) + 64;
        m->data = realloc(m->data, m->capacity);
        if (!m->data) {
            abort();
        }
    }
    if (size) {
        memcpy(m->data + m->size, data, size);
    }
    m->size += size;
}

void onnx_bytes_free(onnx_bytes *m)
{
    free(m->data);
    *m = (onnx_bytes){0};
}

void put_varint(onnx_bytes *m, uint64_t number)
{
    do {
        uint8_t byte = (uint8_t)((number & 127) | (number > 127 ? 128 : 0));
        append(m, &byte, 1);
        number >>= 7;
    } while (number);
}

void put_int(onnx_bytes *m, unsigned field, int64_t number)
{
    put_varint(m, field << 3 | WIRE_VARINT);
    put_varint(m, (uint64_t)number);
}

void put_float(onnx_bytes *m, unsigned field, float number)
{
    put_varint(m, field << 3 | WIRE_FIXED32);
    append(m, &number, sizeof number);
}

void put_bytes(onnx_bytes *m, unsigned field, const void *data, size_t size)
{
    put_varint(m, field << 3 | WIRE_BYTES);
    put_varint(m, size);
    append(m, data, size);
}

void put_text(onnx_bytes *m, unsigned field, const char *text)
{
    put_bytes(m, field, text, strlen(text));
}

void put_message(onnx_bytes *m, unsigned field, onnx_bytes inner)
{
    put_bytes(m, field, inner.data, inner.size);
    onnx_bytes_free(&inner);
}

onnx_bytes make_tensor(const char *name, int data_type, int rank, const int64_t *dims)
{
    onnx_bytes m = {0};
    for (int i = 0; i < rank; i++) {
        put_int(&m, 1, dims[i]);
    }
    put_int(&m, 2, data_type);
    if (name) {
        put_text(&m, 8, name);
    }
    return m;
}

onnx_bytes make_floats(const char *name, int rank, const int64_t *dims, const float *numbers)
{
    onnx_bytes m = make_tensor(name, 1, rank, dims);
    size_t count = 1;
    for (int i = 0; i < rank; i++) {
        count *= (size_t)dims[i];
    }
    put_bytes(&m, 9, numbers, count * sizeof *numbers);
    return m;
}

static void put_names(onnx_bytes *m, unsigned field, const char *names)
{
    while (*names) {
        size_t length = strcspn(names, ",");
        put_bytes(m, field, names, length);
        names += length + (names[length] == ',');
    }
}

onnx_bytes make_node(const char *op, const char *inputs, const char *outputs)
{
    onnx_bytes m = {0};
    put_names(&m, 1, inputs);
    put_names(&m, 2, outputs);
    put_text(&m, 4, op);
    return m;
}

void add_int_attribute(onnx_bytes *node, const char *name, int64_t number)
{
    onnx_bytes a = {0};
    put_text(&a, 1, name);
    put_int(&a, 3, number);
    put_int(&a, 20, 2);
    put_message(node, 5, a);
}

void add_ints_attribute(onnx_bytes *node, const char *name, int count, const int64_t *numbers)
{
    onnx_bytes a = {0};
    put_text(&a, 1, name);
    for (int i = 0; i < count; i++) {
        put_int(&a, 8, numbers[i]);
    }
    put_int(&a, 20, 7);
    put_message(node, 5, a);
}

void add_float_attribute(onnx_bytes *node, const char *name, float number)
{
    onnx_bytes a = {0};
    put_text(&a, 1, name);
    put_float(&a, 2, number);
    put_int(&a, 20, 1);
    put_message(node, 5, a);
}

void add_text_attribute(onnx_bytes *node, const char *name, const char *text)
{
    onnx_bytes a = {0};
    put_text(&a, 1, name);
    put_text(&a, 4, text);
    put_int(&a, 20, 3);
    put_message(node, 5, a);
}

void add_tensor_attribute(onnx_bytes *node, const char *name, onnx_bytes tensor)
{
    onnx_bytes a = {0};
    put_text(&a, 1, name);
    put_message(&a, 5, tensor);
    put_int(&a, 20, 4);
    put_message(node, 5, a);
}

onnx_bytes make_value(const char *name, int rank, const int64_t *dims)
{
    onnx_bytes m = {0}, type = {0}, tensor = {0}, shape = {0};
    for (int i = 0; i < rank; i++) {
        onnx_bytes dim = {0};
        if (dims[i] < 0) {
            put_text(&dim, 2, "N");
        } else {
            put_int(&dim, 1, dims[i]);
        }
        put_message(&shape, 1, dim);
    }
    put_int(&tensor, 1, 1);
    if (rank >= 0) {
        put_message(&tensor, 2, shape);
    }
    put_message(&type, 1, tensor);
    put_text(&m, 1, name);
    put_message(&m, 2, type);
    return m;
}

void add_node(onnx_bytes *graph, onnx_bytes node)
{
    put_message(graph, 1, node);
}

void add_initializer(onnx_bytes *graph, onnx_bytes tensor)
{
    put_message(graph, 5, tensor);
}

void add_input(onnx_bytes *graph, onnx_bytes value)
{
    put_message(graph, 11, value);
}

void add_output(onnx_bytes *graph, onnx_bytes value)
{
    put_message(graph, 12, value);
}

onnx_bytes make_model(int64_t ir_version, int64_t opset, onnx_bytes graph)
{
    onnx_bytes m = {0};
    put_int(&m, 1, ir_version);
    put_text(&m, 2, "a test");
    put_message(&m, 7, graph);
    if (opset) {
        onnx_bytes import = {0};
        put_int(&import, 2, opset);
        put_message(&m, 8, import);
    }
    return m;
}
