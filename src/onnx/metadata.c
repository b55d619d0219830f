/* SPDX-License-Identifier: Apache-2.0 */
/* The metadata of a model: pairs of texts, ModelProto.metadata_props (onnx.proto). */
#include "onnx/metadata.h"

#include "onnx/wire.h"

#include <string.h>

enum { METADATA_PROPS = RY_ONNX_METADATA_FIELD, KEY = 1, VALUE = 2 };

static rynd_status add(ry_onnx_model *model, const char *key, const char *value, ry_error *error)
{
    ry_arena *arena = &model->graph->arena;
    ry_onnx_metadata *entry = RY_TAKE(arena, ry_onnx_metadata, 1);
    RY_TRY(entry && key && value ? RYND_OK : ry_fail_memory(error));
    ry_onnx_metadata **end = &model->metadata;
    while (*end) {
        end = &(*end)->next;
    }
    *entry = (ry_onnx_metadata){.key = key, .value = value};
    *end = entry;
    return RYND_OK;
}

/* An entry without a key or a value has an empty text there, as protobuf reads it. */
static rynd_status read_entry(ry_onnx_model *model, ry_slice bytes, ry_error *error)
{
    ry_slice key = {(const uint8_t *)"", 0}, value = key;
    ry_wire_field field;
    bool bad = false;
    while (ry_wire_next(&bytes, &field, &bad)) {
        if (field.wire == RY_WIRE_BYTES && field.number == KEY) {
            key = field.bytes;
        } else if (field.wire == RY_WIRE_BYTES && field.number == VALUE) {
            value = field.bytes;
        }
    }
    ry_arena *arena = &model->graph->arena;
    return bad ? RYND_OK
               : add(model, ry_arena_string(arena, (const char *)key.data, key.size),
                     ry_arena_string(arena, (const char *)value.data, value.size), error);
}

rynd_status ry_onnx_metadata_read(ry_onnx_model *model, ry_error *error)
{
    ry_slice rest = {model->bytes, model->byte_count};
    ry_wire_field field;
    bool bad = false;
    while (ry_wire_next(&rest, &field, &bad)) {
        if (field.number == METADATA_PROPS && field.wire == RY_WIRE_BYTES) {
            RY_TRY(read_entry(model, field.bytes, error));
        }
    }
    return RYND_OK;
}

static void remove_key(ry_onnx_model *model, const char *key)
{
    for (ry_onnx_metadata **at = &model->metadata; *at;) {
        if (strcmp((*at)->key, key) == 0) {
            *at = (*at)->next;
        } else {
            at = &(*at)->next;
        }
    }
}

rynd_status ry_onnx_metadata_set(ry_onnx_model *model, const char *key, const char *value,
                                 ry_error *error)
{
    ry_arena *arena = &model->graph->arena;
    const char *own_key = ry_arena_string(arena, key, strlen(key));
    const char *own_value = value ? ry_arena_string(arena, value, strlen(value)) : "";
    RY_TRY(own_key && own_value ? RYND_OK : ry_fail_memory(error));
    remove_key(model, key);
    model->metadata_changed = true;
    return value ? add(model, own_key, own_value, error) : RYND_OK;
}

static void put_entry(ry_wire_out *out, const ry_onnx_metadata *entry)
{
    ry_wire_put_text(out, KEY, entry->key);
    ry_wire_put_text(out, VALUE, entry->value);
}

void ry_onnx_metadata_write(const ry_onnx_model *model, ry_wire_out *out)
{
    for (const ry_onnx_metadata *entry = model->metadata; entry; entry = entry->next) {
        ry_wire_out count = {0};
        put_entry(&count, entry);
        ry_wire_put_head(out, METADATA_PROPS, count.size);
        put_entry(out, entry);
    }
}
