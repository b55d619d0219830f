/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes of a net's nodes: reading, setting, dropping. */
#include "onnx/net_attributes.h"

#include "onnx/wire.h"

#include <string.h>

static ry_reader reader_of(const ry_net *net, ry_error *error)
{
    return (ry_reader){
        .source = {.arena = net->arena}, .allocator = net->arena->allocator, .error = error};
}

bool ry_net_attribute(const ry_net *net, const ry_net_node *node, const char *name,
                      ry_attribute_record *record)
{
    ry_error unused = {""};
    ry_reader reader = reader_of(net, &unused);
    for (int i = 0; i < node->attributes; i++) {
        if (ry_reader_attribute(&reader, node->attribute[i], record) == RYND_OK &&
            strcmp(record->name, name) == 0) {
            return true;
        }
    }
    return false;
}

double ry_net_number(const ry_net *net, const ry_net_node *node, const char *name, double otherwise)
{
    ry_attribute_record record;
    return !ry_net_attribute(net, node, name, &record) ? otherwise
           : record.type == RY_ATTRIBUTE_float         ? (double)record.f
                                                       : (double)record.i;
}

bool ry_net_says(const ry_net *net, const ry_net_node *node, const char *name, const char *text,
                 bool otherwise)
{
    ry_attribute_record record;
    return ry_net_attribute(net, node, name, &record) ? ry_slice_is(record.s, text) : otherwise;
}

typedef struct small_message {
    uint8_t bytes[256];
    size_t used;
} small_message;

static bool put_small(void *user, const void *bytes, size_t count)
{
    small_message *to = user;
    if (count > sizeof to->bytes - to->used) {
        return false;
    }
    memcpy(to->bytes + to->used, bytes, count);
    to->used += count;
    return true;
}

void ry_net_drop_attribute(const ry_net *net, ry_net_node *node, const char *name)
{
    ry_error unused = {""};
    ry_reader reader = reader_of(net, &unused);
    ry_slice *kept = RY_TAKE(net->arena, ry_slice, node->attributes + 1);
    int count = 0;
    for (int i = 0; kept && i < node->attributes; i++) {
        ry_attribute_record record;
        const bool is = ry_reader_attribute(&reader, node->attribute[i], &record) == RYND_OK &&
                        strcmp(record.name, name) == 0;
        if (!is) {
            kept[count++] = node->attribute[i];
        }
    }
    if (kept) {
        node->attribute = kept;
        node->attributes = count;
    }
}

/* Sets an attribute whose value was put behind its name. */
static rynd_status set_attribute(ry_net *net, ry_net_node *node, const char *name,
                                 const small_message *message, ry_error *error)
{
    ry_net_drop_attribute(net, node, name);
    ry_slice *list = RY_TAKE(net->arena, ry_slice, node->attributes + 1);
    const char *copy = ry_arena_string(net->arena, (const char *)message->bytes, message->used);
    if (!list || !copy) {
        return ry_fail_memory(error);
    }
    if (node->attributes) {
        memcpy(list, node->attribute, (size_t)node->attributes * sizeof *list);
    }
    list[node->attributes] = (ry_slice){(const uint8_t *)copy, message->used};
    node->attribute = list;
    node->attributes++;
    return RYND_OK;
}

enum { ATTRIBUTE_NAME = 1, ATTRIBUTE_INT = 3, ATTRIBUTE_TEXT = 4, ATTRIBUTE_TYPE = 20 };

rynd_status ry_net_set_int(ry_net *net, ry_net_node *node, const char *name, int64_t value,
                           ry_error *error)
{
    small_message message = {.used = 0};
    ry_wire_out out = {.put = put_small, .user = &message};
    ry_wire_put_text(&out, ATTRIBUTE_NAME, name);
    ry_wire_put_number(&out, ATTRIBUTE_INT, (uint64_t)value);
    ry_wire_put_number(&out, ATTRIBUTE_TYPE, RY_ATTRIBUTE_int);
    return set_attribute(net, node, name, &message, error);
}

rynd_status ry_net_set_text(ry_net *net, ry_net_node *node, const char *name, const char *text,
                            ry_error *error)
{
    small_message message = {.used = 0};
    ry_wire_out out = {.put = put_small, .user = &message};
    ry_wire_put_text(&out, ATTRIBUTE_NAME, name);
    ry_wire_put_text(&out, ATTRIBUTE_TEXT, text);
    ry_wire_put_number(&out, ATTRIBUTE_TYPE, RY_ATTRIBUTE_string);
    return set_attribute(net, node, name, &message, error);
}
