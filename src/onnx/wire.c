/* SPDX-License-Identifier: Apache-2.0 */
/* Fields of protobuf messages, byte by byte. */
#include "onnx/wire.h"

#include <string.h>

static bool pass_over(ry_slice *rest, uint64_t count)
{
    if (count > rest->size) {
        return false;
    }
    rest->data += count;
    rest->size -= (size_t)count;
    return true;
}

static bool read_content(ry_slice *rest, ry_wire_field *field)
{
    uint64_t number;
    bool bad = false;
    switch (field->wire) {
    case RY_WIRE_VARINT: return ry_packed_varint(rest, &field->value, &bad);
    case RY_WIRE_64: return pass_over(rest, 8);
    case RY_WIRE_32: return pass_over(rest, 4);
    case RY_WIRE_BYTES:
        if (!ry_packed_varint(rest, &number, &bad) || number > rest->size) {
            return false;
        }
        field->bytes = (ry_slice){rest->data, (size_t)number};
        return pass_over(rest, number);
    default: return false; /* groups, which ONNX has none of */
    }
}

bool ry_wire_next(ry_slice *rest, ry_wire_field *field, bool *bad)
{
    uint64_t tag;
    const uint8_t *start = rest->data;
    *field = (ry_wire_field){0};
    if (!ry_packed_varint(rest, &tag, bad)) {
        return false;
    }
    field->number = tag >> 3;
    field->wire = (unsigned)(tag & 7);
    if (!read_content(rest, field)) {
        *bad = true;
        return false;
    }
    field->whole = (ry_slice){start, (size_t)(rest->data - start)};
    return true;
}

bool ry_wire_is_message(ry_slice bytes)
{
    ry_wire_field field;
    bool bad = false;
    while (ry_wire_next(&bytes, &field, &bad)) {
    }
    return !bad;
}

void ry_wire_put(ry_wire_out *out, const void *bytes, size_t count)
{
    if (out->put && count && !out->failed) {
        out->failed = !out->put(out->user, bytes, count);
    }
    out->size += count;
}

void ry_wire_put_varint(ry_wire_out *out, uint64_t number)
{
    uint8_t bytes[10];
    size_t count = 0;
    do {
        bytes[count++] = (uint8_t)(number > 127 ? (number & 127) | 128 : number);
        number >>= 7;
    } while (number);
    ry_wire_put(out, bytes, count);
}

void ry_wire_put_number(ry_wire_out *out, unsigned field, uint64_t number)
{
    ry_wire_put_varint(out, field << 3 | RY_WIRE_VARINT);
    ry_wire_put_varint(out, number);
}

void ry_wire_put_head(ry_wire_out *out, unsigned field, uint64_t size)
{
    ry_wire_put_varint(out, field << 3 | RY_WIRE_BYTES);
    ry_wire_put_varint(out, size);
}

void ry_wire_put_text(ry_wire_out *out, unsigned field, const char *text)
{
    ry_wire_put_head(out, field, strlen(text));
    ry_wire_put(out, text, strlen(text));
}
