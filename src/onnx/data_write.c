/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the data of a TensorProto, or a TensorProto of dims, type and data. */
#include "onnx/data_write.h"

#include "base/integer.h"
#include "onnx/onnx.h"
#include "onnx/proto.h"

#include <inttypes.h>
#include <stdio.h>

/* onnx.proto: a file beside is mapped page by page; what is small is as well inside. */
enum { PAGE = 4096, LEAST_BESIDE = 1024 };

void ry_data_count_begin(ry_data_out *to, ry_data_count *count)
{
    *count = (ry_data_count){.out = to->out, .offset = to->offset};
    to->out = &count->counted;
}

bool ry_data_count_end(ry_data_out *to, ry_data_count *count, unsigned field)
{
    const uint64_t size = count->counted.size;
    to->out = count->out;
    ry_wire_put_head(to->out, field, size);
    if (!to->out->put) {
        to->out->size += size;
        return false;
    }
    to->offset = count->offset;
    return true;
}

static void put_entry(ry_data_out *to, const char *key, const char *value)
{
    enum { EXTERNAL_DATA = 13, KEY = 1, VALUE = 2 };
    ry_data_count count;
    ry_data_count_begin(to, &count);
    ry_wire_put_text(to->out, KEY, key);
    ry_wire_put_text(to->out, VALUE, value);
    if (ry_data_count_end(to, &count, EXTERNAL_DATA)) {
        ry_wire_put_text(to->out, KEY, key);
        ry_wire_put_text(to->out, VALUE, value);
    }
}

static void put_adjacent(ry_data_out *to, const void *data, size_t size)
{
    enum { DATA_LOCATION = 14, EXTERNAL = 1 };
    static const uint8_t zeros[PAGE];
    const uint64_t begin = (to->offset + PAGE - 1) / PAGE * PAGE;
    char text[2][24];
    snprintf(text[0], sizeof text[0], "%" PRIu64, begin);
    snprintf(text[1], sizeof text[1], "%zu", size);
    put_entry(to, "location", to->location);
    put_entry(to, "offset", text[0]);
    put_entry(to, "length", text[1]);
    ry_wire_put_number(to->out, DATA_LOCATION, EXTERNAL);
    if (to->out->put) {
        ry_wire_put(to->beside, zeros, (size_t)(begin - to->offset));
        ry_wire_put(to->beside, data, size);
    }
    to->offset = begin + size;
}

void ry_data_put(ry_data_out *to, const void *data, size_t size)
{
    enum { RAW_DATA = 9 };
    if (to->location && size >= LEAST_BESIDE) {
        put_adjacent(to, data, size);
        return;
    }
    ry_wire_put_head(to->out, RAW_DATA, size);
    ry_wire_put(to->out, data, size);
}

void ry_data_put_tensor(ry_data_out *to, const ry_tensor *tensor)
{
    enum { DIMS = 1, DATA_TYPE = 2 };
    for (int i = 0; i < tensor->rank; i++) {
        ry_wire_put_number(to->out, DIMS, (uint64_t)tensor->dim[i]);
    }
    ry_wire_put_number(to->out, DATA_TYPE, (uint64_t)ry_dtype_to_onnx((ry_dtype)tensor->dtype));
    ry_data_put(to, tensor->data, ry_tensor_bytes(tensor));
}

static void put_named(ry_data_out *to, const char *name, const ry_tensor *tensor)
{
    enum { NAME = 8 };
    ry_wire_put_text(to->out, NAME, name);
    ry_data_put_tensor(to, tensor);
}

void ry_data_put_initializer(ry_data_out *to, const char *name, const ry_tensor *tensor)
{
    enum { GRAPH_INITIALIZER = 5 };
    ry_data_count count;
    ry_data_count_begin(to, &count);
    put_named(to, name, tensor);
    if (ry_data_count_end(to, &count, GRAPH_INITIALIZER)) {
        put_named(to, name, tensor);
    }
}

static void put_attribute(ry_data_out *to, const ry_tensor *tensor)
{
    enum { NAME = 1, TENSOR = 5, TYPE = 20 };
    ry_data_count count;
    ry_wire_put_text(to->out, NAME, "value");
    ry_wire_put_number(to->out, TYPE, RY_ATTRIBUTE_tensor);
    ry_data_count_begin(to, &count);
    ry_data_put_tensor(to, tensor);
    if (ry_data_count_end(to, &count, TENSOR)) {
        ry_data_put_tensor(to, tensor);
    }
}

void ry_data_put_value(ry_data_out *to, const ry_tensor *tensor)
{
    enum { NODE_ATTRIBUTE = 5 };
    ry_data_count count;
    ry_data_count_begin(to, &count);
    put_attribute(to, tensor);
    if (ry_data_count_end(to, &count, NODE_ATTRIBUTE)) {
        put_attribute(to, tensor);
    }
}
