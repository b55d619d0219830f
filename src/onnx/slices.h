/* SPDX-License-Identifier: Apache-2.0 */
/* Protobuf without copies: strings, bytes, messages and packed numbers are slices of the bytes that
 * are read.
 *
 * nanopb decodes one message at a time into the structs that it makes from onnx.proto and
 * onnx.options; ry_slices_field (slices.c, declared by the generated header) is the callback of all
 * their fields of variable length. A message inside a message stays a slice until someone decodes
 * it, so nothing recurses. */
#ifndef RY_ONNX_SLICES_H
#define RY_ONNX_SLICES_H

#include "base/memory.h"

#include <pb.h>

/* size 0 and data NULL: the field is absent (an empty one has data). */
typedef struct ry_slice {
    const uint8_t *data;
    size_t size;
} ry_slice;

/* What is read, and where lists go. */
typedef struct ry_slices_source {
    ry_slice bytes;
    ry_arena *arena;
    bool out_of_memory;
} ry_slices_source;

typedef struct ry_slices {
    ry_slice *at;
    size_t count, capacity;
} ry_slices;

/* Numbers in protobuf's packed encoding; a slice of the source when they are there in one piece. */
typedef struct ry_packed {
    ry_slices_source *source;
    ry_slice bytes;
    uint8_t *own; /* the bytes, when they had to be joined */
    size_t capacity;
} ry_packed;

/* Decodes one message. `message` is cleared first. False: the bytes are no such message (`*reason`
 * says why), or memory is exhausted (source->out_of_memory). */
bool ry_slices_decode(ry_slices_source *source, const pb_msgdesc_t *type, ry_slice bytes,
                      void *message, size_t size, const char **reason);

/* Walks packed numbers: false at the end, or when they are malformed (*bad, which must be false
 * before). */
bool ry_packed_varint(ry_slice *rest, uint64_t *number, bool *bad);
size_t ry_packed_count_varints(ry_slice bytes);

bool ry_slice_is(ry_slice slice, const char *text);
static inline bool ry_slice_present(ry_slice slice)
{
    return slice.data != NULL;
}

#endif
