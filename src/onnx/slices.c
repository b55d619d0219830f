/* SPDX-License-Identifier: Apache-2.0 */
/* nanopb's callback for fields of variable length, and walking packed numbers. */
#include "onnx/slices.h"

#include <onnx.pb.h>
#include <pb_common.h>
#include <pb_decode.h>
#include <string.h>

/* The state of the streams that we make. nanopb hands a number that is not packed over in a stream
 * of its own, over a copy on its stack. */
typedef struct position {
    const uint8_t *at;
    ry_slices_source *source;
} position;

static bool read_bytes(pb_istream_t *input, pb_byte_t *buffer, size_t count)
{
    position *p = input->state;
    memcpy(buffer, p->at, count);
    p->at += count;
    return true;
}

static bool add_slice(ry_slices_source *source, ry_slices *list, ry_slice slice)
{
    ry_slice *grown =
        ry_arena_grow(source->arena, list->at, list->count, &list->capacity, sizeof *list->at);
    if (!grown) {
        source->out_of_memory = true;
        return false;
    }
    list->at = grown;
    list->at[list->count++] = slice;
    return true;
}

static bool reserve(ry_slices_source *source, ry_packed *packed, size_t size)
{
    if (size <= packed->capacity) {
        return true;
    }
    size_t capacity = packed->capacity * 2 > size ? packed->capacity * 2 : size;
    uint8_t *own = ry_arena_take(source->arena, capacity, 1);
    if (!own) {
        source->out_of_memory = true;
        return false;
    }
    if (packed->bytes.size) {
        memcpy(own, packed->bytes.data, packed->bytes.size);
    }
    packed->own = own;
    packed->capacity = capacity;
    packed->bytes.data = own;
    return true;
}

/* Numbers one by one and packed ones may alternate: their encodings joined are the packed encoding
 * of all. */
static bool join(ry_slices_source *source, ry_packed *packed, ry_slice slice)
{
    size_t size = packed->bytes.size;
    if (!reserve(source, packed, size + slice.size)) {
        return false;
    }
    if (slice.size) {
        memcpy(packed->own + size, slice.data, slice.size);
    }
    packed->bytes.size = size + slice.size;
    return true;
}

static bool is_number(const pb_field_iter_t *field)
{
    return PB_LTYPE(field->type) <= PB_LTYPE_LAST_PACKABLE;
}

/* A number by itself. */
static bool add_number(const pb_istream_t *input, const pb_field_iter_t *field)
{
    if (PB_HTYPE(field->type) != PB_HTYPE_REPEATED || !is_number(field)) {
        return false; /* a number where bytes belong */
    }
    ry_packed *packed = field->pData;
    return join(packed->source, packed, (ry_slice){input->state, input->bytes_left});
}

static bool add_bytes(ry_slices_source *source, const pb_field_iter_t *field, ry_slice slice)
{
    if (PB_HTYPE(field->type) != PB_HTYPE_REPEATED) {
        *(ry_slice *)field->pData = slice;
        return true;
    }
    if (!is_number(field)) {
        return add_slice(source, field->pData, slice);
    }
    ry_packed *packed = field->pData;
    if (packed->bytes.size) {
        return join(source, packed, slice);
    }
    packed->bytes = slice;
    return true;
}

bool ry_slices_field(pb_istream_t *istream, pb_ostream_t *ostream, const pb_field_iter_t *field)
{
    if (!istream || ostream) {
        return false;
    }
    if (istream->callback != read_bytes) {
        return add_number(istream, field) && pb_read(istream, NULL, istream->bytes_left);
    }
    position *p = istream->state;
    ry_slice slice = {p->at, istream->bytes_left};
    p->at += slice.size;
    istream->bytes_left = 0;
    return add_bytes(p->source, field, slice);
}

/* Lists of numbers must know the source: nanopb's own streams do not. */
static void prepare(ry_slices_source *source, const pb_msgdesc_t *type, void *message)
{
    pb_field_iter_t field;
    bool more = pb_field_iter_begin(&field, type, message);
    while (more) {
        if (PB_ATYPE(field.type) == PB_ATYPE_CALLBACK &&
            PB_HTYPE(field.type) == PB_HTYPE_REPEATED && is_number(&field)) {
            ((ry_packed *)field.pData)->source = source;
        }
        more = pb_field_iter_next(&field);
    }
}

bool ry_slices_decode(ry_slices_source *source, const pb_msgdesc_t *type, ry_slice bytes,
                      void *message, size_t size, const char **reason)
{
    memset(message, 0, size);
    prepare(source, type, message);
    position start = {bytes.data, source};
    pb_istream_t input = {.callback = read_bytes, .state = &start, .bytes_left = bytes.size};
    if (pb_decode_ex(&input, type, message, PB_DECODE_NOINIT)) {
        return true;
    }
    *reason = source->out_of_memory ? "out of memory"
              : input.errmsg        ? input.errmsg
                                    : "a number where bytes belong";
    return false;
}

bool ry_packed_varint(ry_slice *rest, uint64_t *number, bool *bad)
{
    uint64_t value = 0;
    for (unsigned shift = 0; rest->size; shift += 7) {
        uint8_t byte = *rest->data++;
        rest->size--;
        if (shift > 63) {
            *bad = true;
            return false;
        }
        value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) {
            *number = value;
            return true;
        }
        *bad = rest->size == 0;
    }
    return false;
}

size_t ry_packed_count_varints(ry_slice bytes)
{
    size_t count = 0;
    for (size_t i = 0; i < bytes.size; i++) {
        count += bytes.data[i] < 128;
    }
    return count;
}

bool ry_slice_is(ry_slice slice, const char *text)
{
    return slice.size == strlen(text) &&
           (slice.size == 0 || memcmp(slice.data, text, slice.size) == 0);
}
