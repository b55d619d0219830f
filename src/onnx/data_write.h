/* SPDX-License-Identifier: Apache-2.0 */
/* The data of tensors that are written: inside of the model's message, or in a file beside it. */
#ifndef RY_ONNX_DATA_WRITE_H
#define RY_ONNX_DATA_WRITE_H

#include "onnx/wire.h"
#include "tensor/tensor.h"

/* What a message is written to. */
typedef struct ry_data_out {
    ry_wire_out *out;
    const char *location; /* the data file, from the model's folder on; NULL: no data file */
    ry_wire_out *beside;
    uint64_t offset; /* in the data file: where the next tensor may begin */
} ry_data_out;

/* Messages need their lengths first: they are written twice, and counted only the first time. The
 * output that counts, and where to go on afterwards. */
typedef struct ry_data_count {
    ry_wire_out counted;
    ry_wire_out *out;
    uint64_t offset;
} ry_data_count;

void ry_data_count_begin(ry_data_out *to, ry_data_count *count);
/* Back to the output; how many bytes there were. Where that output counts, too, they are added, and
 * the message is written already: false. */
bool ry_data_count_end(ry_data_out *to, ry_data_count *count, unsigned field);

/* The fields of a TensorProto that hold data. */
void ry_data_put(ry_data_out *to, const void *data, size_t size);
/* With those of dims and data type. */
void ry_data_put_tensor(ry_data_out *to, const ry_tensor *tensor);
/* A graph's initializer, and a node's attribute "value". */
void ry_data_put_initializer(ry_data_out *to, const char *name, const ry_tensor *tensor);
void ry_data_put_value(ry_data_out *to, const ry_tensor *tensor);

#endif
