/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes of a node: checked against its row, read with the row's defaults, copied into a graph
 * operator's attributes.
 *
 * An attribute that the row does not list is refused, since it may change the result. Harmless and
 * therefore ignored: those that a row lists without a field (consumed_inputs, a hint for memory
 * reuse; stash_type, seed), and names with a leading underscore, which exporters use for notes. */
#include "onnx/operators.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

static const ry_attribute_spec *find_spec(const ry_import *import, const char *name)
{
    for (const ry_attribute_spec *spec = import->row->attributes; spec->name; spec++) {
        if (*spec->name && strcmp(spec->name, name) == 0) {
            return spec;
        }
    }
    return NULL;
}

const ry_attribute_record *ry_import_attribute(const ry_import *import, const char *name)
{
    for (int i = 0; i < import->node->attributes; i++) {
        if (strcmp(import->node->attribute[i].name, name) == 0) {
            return &import->node->attribute[i];
        }
    }
    return NULL;
}

static const char *type_name(int type)
{
    static const char *const names[] = {"nothing", "float",  "int",  "string", "tensor",
                                        "graph",   "floats", "ints", "strings"};
    return type >= 0 && type < (int)(sizeof names / sizeof *names) ? names[type] : "another type";
}

/* An empty list has no field of its own in IR version 1, so its kind cannot be told. */
static bool has_type(const ry_attribute_record *attribute, ry_attribute_type want)
{
    bool list =
        want == RY_ATTRIBUTE_floats || want == RY_ATTRIBUTE_ints || want == RY_ATTRIBUTE_strings;
    return attribute->type == (int)want ||
           (list && attribute->type == RY_ATTRIBUTE_ints && attribute->numbers.size == 0);
}

rynd_status ry_import_check_attributes(ry_import *import)
{
    for (int i = 0; i < import->node->attributes; i++) {
        const ry_attribute_record *attribute = &import->node->attribute[i];
        const ry_attribute_spec *spec = find_spec(import, attribute->name);
        if (!spec && *attribute->name == '_') {
            continue;
        }
        if (!spec) {
            ry_import_fail(import, RYND_ERROR_UNSUPPORTED,
                           "its attribute '%s' is not one that rynd reads for %s of opset %d",
                           attribute->name, import->node->op, (int)import->node->opset);
        } else if (!has_type(attribute, spec->type)) {
            ry_import_fail(import, RYND_ERROR_FORMAT, "its attribute '%s' is %s; it must be %s",
                           attribute->name, type_name(attribute->type), type_name((int)spec->type));
        }
    }
    for (const ry_attribute_spec *spec = import->row->attributes; spec->name; spec++) {
        if (spec->required && !ry_import_attribute(import, spec->name)) {
            ry_import_fail(import, RYND_ERROR_FORMAT, "its attribute '%s' is missing", spec->name);
        }
    }
    return import->status;
}

static double default_number(const ry_import *import, const char *name)
{
    const ry_attribute_spec *spec = find_spec(import, name);
    return spec ? spec->number : 0;
}

int64_t ry_import_int(ry_import *import, const char *name)
{
    const ry_attribute_record *attribute = ry_import_attribute(import, name);
    double preset = default_number(import, name);
    if (attribute) {
        return attribute->i;
    }
    return preset >= 9223372036854775807.0 ? INT64_MAX : (int64_t)preset;
}

double ry_import_float(ry_import *import, const char *name)
{
    const ry_attribute_record *attribute = ry_import_attribute(import, name);
    return attribute ? (double)attribute->f : default_number(import, name);
}

/* In the graph's arena: operators keep texts. */
const char *ry_import_text(ry_import *import, const char *name)
{
    const ry_attribute_record *attribute = ry_import_attribute(import, name);
    const ry_attribute_spec *spec = find_spec(import, name);
    if (!attribute) {
        return spec && spec->text ? spec->text : "";
    }
    const char *text = ry_arena_string(&import->graph->arena,
                                       attribute->s.size ? (const char *)attribute->s.data : "",
                                       attribute->s.size);
    if (!text && import->status == RYND_OK) {
        import->status = ry_fail_memory(import->reader->error);
    }
    return text ? text : "";
}

ry_ints ry_import_ints(ry_import *import, const char *name)
{
    const ry_attribute_record *attribute = ry_import_attribute(import, name);
    ry_ints list = {0};
    if (!attribute) {
        return list;
    }
    ry_slice rest = attribute->numbers;
    uint64_t number;
    bool bad = false;
    while (ry_packed_varint(&rest, &number, &bad)) {
        if (list.count == RY_MAX_INTS) {
            ry_import_fail(import, RYND_ERROR_UNSUPPORTED,
                           "its attribute '%s' has more than %d numbers", name, RY_MAX_INTS);
            return list;
        }
        list.at[list.count++] = (int64_t)number;
    }
    if (bad) {
        ry_import_fail(import, RYND_ERROR_FORMAT, "its attribute '%s' is damaged", name);
    }
    return list;
}

ry_floats ry_import_floats(ry_import *import, const char *name)
{
    const ry_attribute_record *attribute = ry_import_attribute(import, name);
    ry_floats list = {0};
    if (!attribute) {
        return list;
    }
    size_t count = attribute->numbers.size / sizeof(float);
    if (count > RY_MAX_INTS || attribute->numbers.size % sizeof(float)) {
        ry_import_fail(import, RYND_ERROR_UNSUPPORTED,
                       "its attribute '%s' is damaged or has more than %d numbers", name,
                       RY_MAX_INTS);
        return list;
    }
    for (; list.count < (int)count; list.count++) {
        float number;
        memcpy(&number, attribute->numbers.data + (size_t)list.count * sizeof number,
               sizeof number);
        list.at[list.count] = (double)number;
    }
    return list;
}

ry_dtype ry_import_type(ry_import *import, const char *name)
{
    int64_t type = ry_import_int(import, name);
    ry_dtype dtype = type ? ry_dtype_from_onnx(type) : RY_NONE;
    if (type && dtype == RY_NONE) {
        ry_import_fail(import, RYND_ERROR_UNSUPPORTED,
                       "its attribute '%s' asks for the ONNX data type %" PRId64
                       " (%s), which rynd does not compute with",
                       name, type, ry_onnx_type_name(type));
    }
    return dtype;
}

static bool same_word(const char *onnx, const char *word)
{
    for (; *onnx && tolower((unsigned char)*onnx) == *word; onnx++, word++) {
    }
    return *onnx == *word;
}

/* ONNX's words are ours in lower case, but for these. */
static const char *our_word(const char *onnx)
{
    static const char *const pairs[][2] = {
        {"NOTSET", "explicit"}, {"", "explicit"}, {"bilinear", "linear"}, {"bicubic", "cubic"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        if (strcmp(onnx, pairs[i][0]) == 0) {
            return pairs[i][1];
        }
    }
    return onnx;
}

static void set_word(ry_import *import, const ry_attribute_spec *spec, const ry_field *field,
                     int *place)
{
    const char *text = *spec->name ? ry_import_text(import, spec->name) : spec->text;
    const char *word = our_word(text);
    for (int i = 0; i < field->word_count; i++) {
        if (same_word(word, field->words[i])) {
            *place = i;
            return;
        }
    }
    ry_import_fail(import, RYND_ERROR_UNSUPPORTED, "its attribute '%s' has the unknown value '%s'",
                   spec->name, text);
}

static double number_of(ry_import *import, const ry_attribute_spec *spec)
{
    if (!*spec->name) {
        return spec->number;
    }
    return spec->type == RY_ATTRIBUTE_float ? ry_import_float(import, spec->name)
                                            : (double)ry_import_int(import, spec->name);
}

static int64_t int_of(ry_import *import, const ry_attribute_spec *spec)
{
    bool whole = *spec->name && spec->type == RY_ATTRIBUTE_int;
    return whole ? ry_import_int(import, spec->name) : (int64_t)number_of(import, spec);
}

static void set_field(ry_import *import, const ry_attribute_spec *spec, const ry_field *field,
                      char *attrs)
{
    void *place = attrs + field->offset;
    switch (field->kind) {
    case RY_FIELD_INT: *(int64_t *)place = int_of(import, spec); break;
    case RY_FIELD_FLOAT: *(double *)place = number_of(import, spec); break;
    case RY_FIELD_INTS: *(ry_ints *)place = ry_import_ints(import, spec->name); break;
    case RY_FIELD_FLOATS: *(ry_floats *)place = ry_import_floats(import, spec->name); break;
    case RY_FIELD_ENUM: set_word(import, spec, field, place); break;
    case RY_FIELD_TEXT: *(const char **)place = ry_import_text(import, spec->name); break;
    case RY_FIELD_EXPR: break;
    }
}

ry_attrs ry_import_attrs(ry_import *import, ry_op op)
{
    ry_attrs attrs = ry_attrs_default(op);
    int count = 0;
    const ry_field *fields = ry_op_fields(op, &count);
    for (const ry_attribute_spec *spec = import->row->attributes; spec->name; spec++) {
        for (int i = 0; spec->field && *spec->field && i < count; i++) {
            if (strcmp(fields[i].name, spec->field) == 0) {
                set_field(import, spec, &fields[i], (char *)&attrs);
            }
        }
    }
    return attrs;
}
