/* SPDX-License-Identifier: Apache-2.0 */
/* nanopb's callback for fields of variable length, and walking packed numbers. */
#include "onnx/slices.h"

#include <pb_common.h>
#include <pb_decode.h>
#include <string.h>

/* pb_istream_from_buffer keeps its position in `state`. */
static ry_slice rest_of(const pb_istream_t *input)
{
    return (ry_slice){.data = input->state, .size = input->bytes_left};
}

static bool add_slice(ry_slices *list, ry_slice slice)
{
    ry_slice *grown = ry_arena_grow(list->source->arena, list->at, list->count, &list->capacity, sizeof *list->at);
    if (!grown) {
        list->source->out_of_memory = true;
        return false;
    }
    list->at = grown;
    list->at[list->count++] = slice;
    return true;
}

/* nanopb hands a number that is not packed over in a buffer on its own stack. */
static bool lies_in_source(const ry_slices_source *source, ry_slice slice)
{
    uintptr_t begin = (uintptr_t)source->bytes.data, at = (uintptr_t)slice.data;
    return at >= begin && at - begin <= source->bytes.size;
}

static bool reserve(ry_packed *packed, size_t size)
{
    if (size <= packed->capacity) {
        return true;
    }
    size_t capacity = packed->capacity * 2 > size ? packed->capacity * 2 : size;
    uint8_t *own = ry_arena_take(packed->source->arena, capacity, 1);
    if (!own) {
        packed->source->out_of_memory = true;
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

/* Numbers one by one and packed ones may alternate: their encodings joined are the packed encoding of all. */
static bool add_packed(ry_packed *packed, ry_slice slice)
{
    if (!packed->bytes.size && lies_in_source(packed->source, slice)) {
        packed->bytes = slice;
        return true;
    }
    if (!slice.size) {
        return true;
    }
    size_t size = packed->bytes.size;
    if (!reserve(packed, size + slice.size)) {
        return false;
    }
    memcpy(packed->own + size, slice.data, slice.size);
    packed->bytes.size = size + slice.size;
    return true;
}

static bool is_number(const pb_field_iter_t *field)
{
    return PB_LTYPE(field->type) <= PB_LTYPE_LAST_PACKABLE;
}

bool ry_slices_field(pb_istream_t *input, pb_ostream_t *output, const pb_field_iter_t *field)
{
    if (!input || output) {
        return false;
    }
    ry_slice slice = rest_of(input);
    bool done = true;
    if (PB_HTYPE(field->type) != PB_HTYPE_REPEATED) {
        *(ry_slice *)field->pData = slice;
    } else if (is_number(field)) {
        done = add_packed(field->pData, slice);
    } else {
        done = add_slice(field->pData, slice);
    }
    return done && pb_read(input, NULL, input->bytes_left);
}

/* Repeated fields must know their source before decoding. */
static void prepare(ry_slices_source *source, const pb_msgdesc_t *type, void *message)
{
    pb_field_iter_t field;
    bool more = pb_field_iter_begin(&field, type, message);
    while (more) {
        if (PB_ATYPE(field.type) == PB_ATYPE_CALLBACK && PB_HTYPE(field.type) == PB_HTYPE_REPEATED) {
            if (is_number(&field)) {
                ((ry_packed *)field.pData)->source = source;
            } else {
                ((ry_slices *)field.pData)->source = source;
            }
        }
        more = pb_field_iter_next(&field);
    }
}

bool ry_slices_decode(ry_slices_source *source, const pb_msgdesc_t *type, ry_slice bytes, void *message, size_t size, const char **reason)
{
    static const uint8_t nothing[1];
    memset(message, 0, size);
    prepare(source, type, message);
    pb_istream_t input = pb_istream_from_buffer(bytes.data ? bytes.data : nothing, bytes.size);
    if (pb_decode_ex(&input, type, message, PB_DECODE_NOINIT)) {
        return true;
    }
    *reason = source->out_of_memory ? "out of memory" : PB_GET_ERROR(&input);
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
    return slice.size == strlen(text) && (slice.size == 0 || memcmp(slice.data, text, slice.size) == 0);
}
