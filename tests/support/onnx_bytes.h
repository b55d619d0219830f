/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX messages written field by field, good and bad ones, for tests of the reader. Numbers of
 * fields: onnx.proto. */
#ifndef TESTS_ONNX_BYTES_H
#define TESTS_ONNX_BYTES_H

#include <stddef.h>
#include <stdint.h>

typedef struct onnx_bytes {
    uint8_t *data; /* malloc'd; grows; onnx_bytes_free */
    size_t size, capacity;
} onnx_bytes;

void onnx_bytes_free(onnx_bytes *m);
void put_varint(onnx_bytes *m, uint64_t number);
void put_int(onnx_bytes *m, unsigned field, int64_t number);
void put_float(onnx_bytes *m, unsigned field, float number);
void put_bytes(onnx_bytes *m, unsigned field, const void *data, size_t size);
void put_text(onnx_bytes *m, unsigned field, const char *text);
/* A message inside: `inner` is freed. */
void put_message(onnx_bytes *m, unsigned field, onnx_bytes inner);

/* Messages. Lists of names are separated by commas; an empty name is an absent input. */
/* without data */
onnx_bytes make_tensor(const char *name, int data_type, int rank, const int64_t *dims);
/* raw_data */
onnx_bytes make_floats(const char *name, int rank, const int64_t *dims, const float *numbers);
onnx_bytes make_node(const char *op, const char *inputs, const char *outputs);
void add_int_attribute(onnx_bytes *node, const char *name, int64_t number);
void add_ints_attribute(onnx_bytes *node, const char *name, int count, const int64_t *numbers);
void add_float_attribute(onnx_bytes *node, const char *name, float number);
void add_text_attribute(onnx_bytes *node, const char *name, const char *text);
void add_tensor_attribute(onnx_bytes *node, const char *name, onnx_bytes tensor);
/* A ValueInfoProto of f32; a dim of -1 becomes the symbol "N". rank -1: no shape. */
onnx_bytes make_value(const char *name, int rank, const int64_t *dims);
void add_node(onnx_bytes *graph, onnx_bytes node);
void add_initializer(onnx_bytes *graph, onnx_bytes tensor);
void add_input(onnx_bytes *graph, onnx_bytes value);
void add_output(onnx_bytes *graph, onnx_bytes value);
/* opset 0: no opset_import. `graph` is freed. */
onnx_bytes make_model(int64_t ir_version, int64_t opset, onnx_bytes graph);

#endif
