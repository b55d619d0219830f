/* SPDX-License-Identifier: Apache-2.0 */
/* Protobuf's encoding: walking the fields of a message, and writing some.
 * (https://protobuf.dev/programming-guides/encoding) */
#ifndef RY_ONNX_WIRE_H
#define RY_ONNX_WIRE_H

#include "onnx/slices.h"

enum { RY_WIRE_VARINT = 0, RY_WIRE_64 = 1, RY_WIRE_BYTES = 2, RY_WIRE_32 = 5 };

typedef struct ry_wire_field {
    uint64_t number; /* field number */
    unsigned wire;
    ry_slice whole; /* with its tag */
    ry_slice bytes; /* the content of a RY_WIRE_BYTES */
    uint64_t value; /* the content of a RY_WIRE_VARINT */
} ry_wire_field;

/* The next field of a message: false at its end, or where it is malformed (*bad, which must be
 * false before). */
bool ry_wire_next(ry_slice *rest, ry_wire_field *field, bool *bad);

/* Can all bytes be read as fields of a message? */
bool ry_wire_is_message(ry_slice bytes);

/* Destination of written bytes. Without `put` bytes are only counted. */
typedef struct ry_wire_out {
    bool (*put)(void *user, const void *bytes, size_t count); /* false: it failed */
    void *user;
    uint64_t size; /* written so far */
    bool failed;   /* nothing is put any more */
} ry_wire_out;

void ry_wire_put(ry_wire_out *out, const void *bytes, size_t count);
void ry_wire_put_varint(ry_wire_out *out, uint64_t number);
void ry_wire_put_number(ry_wire_out *out, unsigned field, uint64_t number);
/* Tag and length; `size` bytes must follow. */
void ry_wire_put_head(ry_wire_out *out, unsigned field, uint64_t size);
void ry_wire_put_text(ry_wire_out *out, unsigned field, const char *text);

#endif
