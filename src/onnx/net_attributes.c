/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes of a net's nodes: reading, setting, dropping. */
#include "onnx/net_attributes.h"

#include "onnx/wire.h"

#include <string.h>

enum { ATTRIBUTE_NAME = 1, ATTRIBUTE_FLOAT, ATTRIBUTE_INT, ATTRIBUTE_TEXT, ATTRIBUTE_TYPE = 20 };

static bool is_called(ry_slice attribute, const char *name)
{
    ry_wire_field field;
    bool bad = false, is = false;
    while (ry_wire_next(&attribute, &field, &bad)) {
        is = is || (field.number == ATTRIBUTE_NAME && field.wire == RY_WIRE_BYTES &&
                    ry_slice_is(field.bytes, name));
    }
    return is;
}

/* The index of an attribute; -1: the node lacks it. */
static int index_of(const ry_net_node *node, const char *name)
{
    for (int i = 0; i < node->attributes; i++) {
        if (is_called(node->attribute[i], name)) {
            return i;
        }
    }
    return -1;
}

rynd_status ry_net_attribute(const ry_net *net, const ry_net_node *node, const char *name,
                             ry_attribute_record *record, bool *found, ry_error *error)
{
    ry_reader reader = {
        .source = {.arena = net->arena}, .allocator = net->arena->allocator, .error = error};
    const int i = index_of(node, name);
    *found = i >= 0;
    return *found ? ry_reader_attribute(&reader, node->attribute[i], record) : RYND_OK;
}

/* Decodes a number field; 0 if malformed. */
static double number_in(const ry_wire_field *field)
{
    float real;
    uint64_t number = 0;
    bool bad = false;
    ry_slice rest = field->whole;
    if (field->number == ATTRIBUTE_FLOAT && field->wire == RY_WIRE_32) {
        memcpy(&real, rest.data + rest.size - sizeof real, sizeof real);
        return (double)real;
    }
    return ry_packed_varint(&rest, &number, &bad) && ry_packed_varint(&rest, &number, &bad)
               ? (double)(int64_t)number
               : 0;
}

double ry_net_number(const ry_net_node *node, const char *name, double otherwise)
{
    const int i = index_of(node, name);
    ry_slice bytes = i < 0 ? (ry_slice){0} : node->attribute[i];
    ry_wire_field field;
    bool bad = false;
    while (ry_wire_next(&bytes, &field, &bad)) {
        if ((field.number == ATTRIBUTE_FLOAT && field.wire == RY_WIRE_32) ||
            (field.number == ATTRIBUTE_INT && field.wire == RY_WIRE_VARINT)) {
            return number_in(&field);
        }
    }
    return otherwise;
}

bool ry_net_says(const ry_net_node *node, const char *name, const char *text)
{
    const int i = index_of(node, name);
    ry_slice bytes = i < 0 ? (ry_slice){0} : node->attribute[i];
    ry_wire_field field;
    bool bad = false, says = false;
    while (ry_wire_next(&bytes, &field, &bad)) {
        says = says || (field.number == ATTRIBUTE_TEXT && field.wire == RY_WIRE_BYTES &&
                        ry_slice_is(field.bytes, text));
    }
    return says;
}

void ry_net_drop_attribute(ry_net_node *node, const char *name)
{
    const int at = index_of(node, name);
    for (int i = at; at >= 0 && i + 1 < node->attributes; i++) {
        node->attribute[i] = node->attribute[i + 1];
    }
    node->attributes -= at >= 0;
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

/* Sets an attribute whose value was put behind its name. */
static rynd_status set_attribute(ry_net *net, ry_net_node *node, const char *name,
                                 const small_message *message, ry_error *error)
{
    ry_net_drop_attribute(node, name);
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
